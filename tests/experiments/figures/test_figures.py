"""Every figure is one file with its data, its drawing and its claims; all share learners and presets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from surepath.experiments.drawing import draw_panels
from surepath.experiments.figures import cover
from surepath.experiments.figures.common import LABELS, Options, learners
from surepath.learners.base import build
from surepath.learners.per_arc.eprl import PRESETS
from surepath.model import families

pytest.importorskip("polars")


def test_a_drawing_is_a_matplotlib_figure(tmp_path: Path) -> None:
    pytest.importorskip("polars")
    figure_class = pytest.importorskip("matplotlib.figure").Figure
    drawn = draw_panels(cover.panels(cover.make(Options(folder=tmp_path)).frames), cover.TITLE)
    assert isinstance(drawn, figure_class)
    assert drawn.get_suptitle() == cover.TITLE


def test_figures_are_imported_without_matplotlib() -> None:
    code = "import sys, surepath.experiments.figures.reproduce; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("preset", PRESETS)
def test_the_four_learners_take_the_preset(preset: str) -> None:
    found = [dict(learner) for learner in learners(preset)]
    assert tuple(learner.pop("label") for learner in found) == LABELS
    mdp = families.paper_random().mdp
    built = [build({**learner, "epsilon": 0.1, "delta": 0.1, "sigma": 1.0}, mdp) for learner in found]
    assert [learner.settings().get("preset") for learner in built] == [preset, preset, preset, None]
    assert built[0].settings()["widths"] == {"theory": "paper", "text": "uncapped"}.get(preset, "empirical")


def test_covers_are_exact(tmp_path: Path) -> None:
    found = cover.make(Options(folder=tmp_path))
    assert all(claim.holds for claim in found.claims)
    assert found.frames["covers"].columns == ["m", "open", "closed", "cover"]
