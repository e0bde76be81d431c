"""The report of one's own experiment: it needs no other file, names what it counts, and escapes what it shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from surepath.experiments.report import rate_cells, report_data, write_report
from surepath.experiments.runner import run
from surepath.experiments.spec import Spec
from tests.experiments.specs import MAX_DIAMETER, small

pytest.importorskip("polars")
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    place: Path = tmp_path_factory.mktemp("report") / "out"
    learners = [MAX_DIAMETER, {"name": "BPIUCRL", "label": "<b>bpi</b>"}]
    run(Spec.from_dict(small(learners=learners, name="<i>own</i>")), place, workers=1)
    return place


def test_the_page_needs_no_other_file_and_escapes(folder: Path, tmp_path: Path) -> None:
    write_report(folder, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<i>own" not in text
    assert "<b>bpi" not in text
    assert "&lt;b&gt;bpi&lt;/b&gt;" in text
    assert text.count("data:image/png;base64,") == 3
    assert not re.search(r"(src|href)=\"(?!data:|#)", text)
    for words in ("Wrong answers against delta", "Learners compared", "Cost over epsilon", "Stopping times"):
        assert f"<h2>{words}" in text


def test_the_numbers_are_those_of_the_rows(folder: Path) -> None:
    made = report_data(folder, "max-diameter")
    assert made.rates["runs"].to_list() == [10] * 4
    assert made.comparison.filter(made.comparison["learner"] == "max-diameter")["ratio"].to_list() == [1.0] * 4
    assert made.settings["max-diameter"]["sampling"] == "max-diameter"
    assert len(made.findings) == 2
    assert made.findings[1].startswith("max-diameter, delta 0.1: 0 wrong of 10 runs at worst (95 % interval 0.00% to")
    assert made.findings[1].endswith("within what delta allows")


def test_runs_that_are_missing_are_said(folder: Path, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    next((copy / "rows").glob("*.parquet")).unlink()
    assert "runs are stored; play the others with" in report_data(copy).findings[0]


def test_too_many_wrong_answers_are_reported(folder: Path) -> None:
    from dataclasses import replace

    import polars

    made = report_data(folder)
    changed = made.rates.with_columns(polars.Series("chance", [0.001, 1.0, 1.0, 1.0]))
    assert [row[-1] for row in rate_cells(replace(made, rates=changed))[1]] == ["no", "yes", "yes", "yes"]
