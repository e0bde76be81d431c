"""What the figures share: learners under every preset."""

from __future__ import annotations

import pytest

from surepath.experiments.figures.common import LABELS, PRESETS, learners
from surepath.learners.registry import build
from surepath.model import families

pytest.importorskip("polars")


@pytest.mark.parametrize("preset", PRESETS)
def test_the_four_learners_take_the_preset(preset: str) -> None:
    found = [dict(learner) for learner in learners(preset)]
    assert tuple(learner.pop("label") for learner in found) == LABELS
    mdp = families.paper_random().mdp
    built = [build({**learner, "epsilon": 0.1, "delta": 0.1, "sigma": 1.0}, mdp) for learner in found]
    assert [learner.settings().get("preset") for learner in built] == [preset, preset, preset, None]
    assert built[0].settings()["widths"] == {"theory": "paper", "text": "uncapped"}.get(preset, "empirical")
