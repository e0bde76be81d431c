"""docs/plots.md: every command in it runs, in the order in which it stands there, and every command is named in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.main import get_command

from surepath.cli.main import app
from tests.cli.test_studies_guide import ROOT, commands, run

pytest.importorskip("polars")
pytest.importorskip("matplotlib")


@pytest.mark.slow
def test_every_command_of_the_guide_runs(tmp_path: Path) -> None:
    done = run(commands("docs/plots.md"), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    made = {file.name for file in tmp_path.iterdir()}
    names = ("graph.png", "gap.png", "intervals.png", "challengers.png", "visits.svg", "proven.pdf", "cost.png")
    assert {*names, "compare.png", "stopping.png", "report.md", "report-cost.png"} <= made
    assert (tmp_path / "results" / "report.html").is_file()


def test_every_kind_of_picture_stands_in_the_guide() -> None:
    text = (ROOT / "docs" / "plots.md").read_text(encoding="utf-8")
    kinds = get_command(app).commands["plot"].commands  # type: ignore[attr-defined]
    assert [kind for kind in kinds if f"| `plot {kind}` |" not in text] == []
