"""`surepath reproduce`: small versions of whole figures, from the command line to the report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surepath.cli.main import app
from surepath.errors import SettingError
from surepath.experiments.figures.common import Claim
from surepath.experiments.figures.reproduce import FIGURES, Section, report

pytest.importorskip("polars")
pytest.importorskip("matplotlib")


@pytest.mark.parametrize("name", ["figure-cases", "figure-hard", "figure-bounds", "figure-tree"])
@pytest.mark.slow
def test_a_small_figure_from_the_command_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = FIGURES[name]
    for attribute, value in {
        "EPSILON_GRID": (3.0, 10.0),
        "SEEDS": (25, 3),
        "DELTAS": (0.1, 0.01),
        "TREES": ((2, 3, 4),),
        "CROSSING": (2, 2, 6, 1.0, (0.1, 0.01)),
        "GROWING_SIZES": {"states": [(2, 2, 6), (4, 2, 6)], "actions": [(2, 2, 6)], "horizon": [(2, 2, 6)]},
    }.items():
        if hasattr(module, attribute):
            monkeypatch.setattr(module, attribute, value)
    command = ["reproduce", name, "--out", str(tmp_path), "--runs", "2", "--workers", "1", "--json"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert [figure["figure"] for figure in told["figures"]] == [name]
    assert {f"{name}.png", f"{name}.svg", f"{name}.pdf", "report.html"} < set(told["files"])
    assert any(file.startswith(f"{name}-") and file.endswith(".parquet") for file in told["files"])
    assert f'<h2 id="{name}">' in (tmp_path / "report.html").read_text()
    assert {claim["holds"] for claim in told["figures"][0]["claims"]} <= {True, False, None}
    again = CliRunner().invoke(app, command)  # nothing is played twice
    assert json.loads(again.stdout)["figures"][0]["claims"] == told["figures"][0]["claims"]


def test_an_unknown_figure_is_named(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["reproduce", "figure-ratio", "--out", str(tmp_path / "x")])
    assert isinstance(result.exception, SettingError)
    assert "figure 'figure-ratio' is not known (did you mean \"figure-ratios\"?)" in str(result.exception)
    result = CliRunner().invoke(app, ["reproduce", "figure-cover", "--preset", "x", "--out", str(tmp_path / "x")])
    assert "preset 'x' is not known" in str(result.exception)
    result = CliRunner().invoke(app, ["reproduce", "figure-cases", "--runs", "0", "--out", str(tmp_path / "x")])
    assert "runs must be at least 1, not 0" in str(result.exception)
    assert not (tmp_path / "x").exists()


def test_the_report_has_the_figures_of_earlier_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FIGURES["figure-cases"], "SEEDS", (25,))
    for name in ("figure-cover", "figure-cases"):
        command = ["reproduce", name, "--out", str(tmp_path), "--runs", "2", "--workers", "1", "--quiet"]
        assert CliRunner().invoke(app, command).exit_code == 0
    result = CliRunner().invoke(app, ["reproduce", "figure-cover", "--out", str(tmp_path), "--preset", "theory"])
    assert "holds figures made with --preset experiment; choose another folder" in str(result.exception)
    page = (tmp_path / "report.html").read_text()
    assert '<h2 id="figure-cases">' in page
    assert '<h2 id="figure-cover">' in page


def test_the_report_needs_no_other_file_and_escapes() -> None:
    claims = [Claim("a < b", "1 & 2", True), Claim("c", "d", False), Claim("e", "f", None)]
    section = Section("figure-x", "Title", "Compare the bars.", b"\x89PNG", claims, {"runs": 3}, 1.5, "theory")
    page = report([section])
    assert "How to read this.</b> Compare the bars." in page
    assert '<td>a &lt; b</td><td>1 &amp; 2</td><td class="yes">yes</td>' in page
    assert '<td class="no">no</td>' in page
    assert "<td>not settled</td>" in page
    assert "Preset <b>theory</b>: Algorithm 1 of the paper" in page
    assert "experiment</b>" not in page
    assert not re.search(r"(src|href)=\"(?!data:|#figure-x)", page)
    assert "http" not in page


def test_a_section_is_kept_beside_its_picture(tmp_path: Path) -> None:
    section = Section("figure-x", "T", "R", b"\x89PNG", [Claim("a", "b", None)], {"runs": 3}, 1.5, "theory")
    section.save(tmp_path)
    assert Section.load(tmp_path, "figure-x") == section
    assert Section.load(tmp_path, "figure-y") is None
    (tmp_path / "figure-x.json").write_text("{")
    assert Section.load(tmp_path, "figure-x") is None
