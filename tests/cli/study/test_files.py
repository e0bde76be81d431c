"""`surepath study` and files: the lab cycle by CSV alone, past results, export and restore, certificates."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surepath import Study
from surepath.cli.main import app
from surepath.errors import CertificateError, RewardError, SettingError, SurepathError
from tests.cli.studies import SCORE, call, created, facts


def fill(path: Path, **cells: str) -> list[list[str]]:
    """Fill in the scores of a sheet; "line_column" names cells that get something else."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    for row in rows[1:]:
        row[3], row[4] = str(SCORE[row[1]]), str(SCORE[row[2]])
    for key, text in cells.items():
        line, column = key.lstrip("_").split("_")
        rows[int(line) - 1][int(column)] = text
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return rows


def test_a_lab_cycle_by_csv_alone(here: Path) -> None:
    created("--lease", "7d", "--epsilon", "0.05")
    assert call("ask", "--n", "96", "--csv", "plate.csv") == (
        "wrote plate.csv: trials 1 to 96; fill in the scores (failed where a step failed), then\n"
        "  surepath study tell plate.csv\n"
    )
    plate = here / "plate.csv"
    assert plate.read_text().startswith("number,plan.chunk,plan.model,score.chunk,score.model\n1,256,small,,\n")
    assert "is there already" in call("ask", "--n", "2", "--csv", "plate.csv", error=SettingError)
    assert facts("status")["trials"] == 96
    fill(plate, _7_4="abc")
    assert "plate.csv, line 7: score.model must be a number, or failed, not 'abc'" in call(
        "tell", "plate.csv", error=RewardError
    )
    assert facts("status")["states"]["running"] == 96
    fill(plate, _7_4="failed", _9_3="", _9_4="", _10_3="failed", _10_4="")
    said = call("tell", "plate.csv")
    assert said.startswith("plate.csv: 95 recorded; 1 without scores, left as they are (trial 8)")
    counts = facts("status")["states"]
    assert [counts[state] for state in ("complete", "partial", "failed", "running")] == [93, 1, 1, 1]
    before = facts("status")
    assert "95 recorded before, nothing changed" in call("tell", "plate.csv")
    assert facts("tell", "plate.csv") == {"told": 0, "repeated": 95, "late": 0, "empty": [8], "done": before["done"]}
    assert {**facts("status"), "now": 0, "running": 0} == {**before, "now": 0, "running": 0}


def test_a_sheet_that_cannot_be_written_takes_no_trials(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    created()
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    for n, sheet in ((3, "nowhere/plate.csv"), (3, "plate.xlsx"), (385, "plate.csv")):
        call("ask", "--n", str(n), "--csv", sheet, "--wells", error=SurepathError)
    assert facts("status")["trials"] == 0
    assert not [file for file in here.iterdir() if file.suffix in (".csv", ".partial", ".xlsx")]


def test_the_certificate_is_checked_against_the_log_in_every_form(here: Path) -> None:
    created()
    study = Study.load("sqlite:///study.db")
    study.enqueue({"chunk": "256", "model": "large"})
    study.exclude({"chunk": "256"})
    study.optimize(lambda plan: [SCORE[option] for option in plan.values()])
    study.enqueue({"chunk": "512", "model": "small"})
    said = call("certificate", "--out", "c.json")
    assert said.startswith("wrote c.json: After ")
    assert said.endswith("check it with surepath verify c.json\n")
    assert "is there already" in call("certificate", "--out", "c.json", error=SettingError)
    call("export", "log.jsonl")
    for words in ([], ["--storage", "study.db"], ["--log", "log.jsonl"]):
        done = CliRunner().invoke(app, ["verify", "c.json", *words])
        assert (done.exit_code, done.stdout.partition(":")[0]) == (0, "yes"), done.output
    for wrong in ("c.json", "missing.jsonl"):  # no log: that says nothing about the certificate
        assert isinstance(CliRunner().invoke(app, ["verify", "c.json", "--log", wrong]).exception, CertificateError)


def test_export_restore_and_delete(here: Path) -> None:
    created()
    call("ask", "--n", "3")
    call("tell", "1", "0.5", "0.25")
    call("exclude", "chunk=256")
    call("enqueue", "chunk=512", "model=small")
    assert call("export", "log.jsonl") == "wrote log.jsonl: 3 trials\n"
    assert "is there already" in call("export", "log.jsonl", error=SettingError)
    assert call("export", "log.csv", "--force") == "wrote log.csv: 3 trials\n"
    assert call("restore", "log.jsonl", "--storage", "other.db") == "restored pipeline: 3 trials\n"
    digests = {Study.load(f"sqlite:///{file}.db").digest for file in ("study", "other")}
    assert len(digests) == 1
    assert "nothing was deleted" in call("delete", answer="n\n", code=1)
    assert "nothing was deleted" in call("delete", answer="", code=1)
    assert facts("status")["trials"] == 3
    assert call("delete", answer="y\n") == "deleted pipeline\n"
    assert call("list") == "no studies here; surepath study create makes one\n"
    call("restore", "log.jsonl")
    assert Study.load("sqlite:///study.db").digest in digests
    assert call("delete", "--yes") == "deleted pipeline\n"


def test_past_results(here: Path) -> None:
    created()
    (here / "past.csv").write_text(
        "chunk,model,score.chunk,score.model\n256,small,0.5,0.4\n512,large,0.7,\n512,small,,\n"
    )
    (here / "none.csv").write_text("chunk,model,score.chunk,score.model\n")
    assert call("import-log", "none.csv") == "imported 0 trials from none.csv\n"  # and no word on the proof
    said = call("import-log", "past.csv")
    assert said.startswith("imported 2 trials from past.csv; 1 row without any score left out\nThe proof now rests")
    assert "not picked by how they came out" in said
    assert call("import-log", "past.csv") == "past.csv was imported before; nothing changed\n"
    assert facts("status")["trials"] == 2
    assert call("import-log", "past.csv", "--again").startswith("imported 2 trials")
