"""The report of a study: one file that says what the certificate says, escaped, printable, without any other file."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from surepath import MDP, Study
from surepath.cli.main import app
from surepath.errors import MissingExtraError, SettingError
from surepath.plots.studies import report_html, write_report


class Words(HTMLParser):
    """The text of a page and its tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.tags = "", list[str]()
        self.links = list[str]()
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attributes if name in ("src", "href", "xlink:href")]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    mdp = MDP.from_steps({"<b>model</b>": ["small", "<script>"], "prompt": ["short", "long"]}, sigma=0.2)
    made = Study.create(mdp, f"sqlite:///{tmp_path / 's.db'}", "a & b", epsilon=0.2, delta=0.1, cases=["T-1", "T-2"])
    rng = np.random.default_rng(1)
    while not made.done:
        trial = made.ask()
        luck = {"T-1": -0.1, "T-2": 0.1}[trial.cases[0]]
        made.tell(trial, trial.path * 0.4 + luck + rng.normal(0, 0.05, 2), cost=0.25)
    return made


def test_a_report_says_what_the_certificate_says(study: Study) -> None:
    page = report_html(study)
    found, certificate = Words(page), study.certificate()
    said = " ".join(found.text.split())
    for words in (str(certificate), *certificate["assumptions"], "No score contradicts what was declared."):
        assert " ".join(words.split()) in said
    assert f"Spent{study.spent:,.2f}, 0.25 a trial" in said
    assert certificate["log"]["digest"] in said
    assert re.search(r"SHA-256 [0-9a-f]{64};", said)
    harder, easier = (one.case for one in study.cases)
    assert said.index(harder) < said.index(easier)
    assert found.tags.count("svg") == 2
    assert "script" not in found.tags  # names are escaped
    assert "@media print" in page
    assert [link for link in found.links if not link.startswith("#")] == []  # no other file is needed
    assert "url(" not in re.sub(r"url\(#", "", page)


def test_a_study_without_trials_has_a_report() -> None:
    study = Study.create(MDP.from_steps({"a": ["x", "y"]}, sigma=1.0), "memory", epsilon=0.5, delta=0.1)
    assert "Nothing is proven yet after 0 trials." in Words(report_html(study)).text


def test_a_report_is_printed_by_a_browser(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("chromium") is None:
        pytest.skip("needs chromium, Debian's package: make system")
    write_report(study, tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF-")
    with pytest.raises(SettingError, match=r"ends in \.html or \.pdf, not 'report\.txt'"):
        write_report(study, tmp_path / "report.txt")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtraError, match=r"Chromium is not installed; write \.html"):
        write_report(study, tmp_path / "report.pdf")


def test_the_command_writes_it_and_a_certificate_is_not_a_page(study: Study, tmp_path: Path) -> None:
    file, place = str(tmp_path / "r.html"), study.storage.url
    done = CliRunner().invoke(app, ["study", "report", "--storage", place, "--out", file])
    assert (done.exit_code, done.output) == (0, f"wrote {file}\n")
    assert Path(file).read_text(encoding="utf-8").startswith("<!doctype html>")
    refused = CliRunner().invoke(app, ["study", "certificate", "--storage", place, "--out", str(tmp_path / "c.html")])
    assert refused.exit_code == 2
    assert "surepath study report --out" in " ".join(refused.output.replace("│", " ").split())
