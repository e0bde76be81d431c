"""What the figures share: the learners under every preset, and the judgement of the guarantees."""

from __future__ import annotations

from typing import Any

import pytest

from surepath.experiments.figures import PRESETS
from surepath.experiments.figures.common import LABELS, error_claims, learners, proven, summary, under
from surepath.learners.registry import build
from surepath.model import families
from tests.experiments.figures.frames import rows

pl = pytest.importorskip("polars")


@pytest.mark.parametrize("preset", PRESETS)
def test_the_four_learners_take_the_preset(preset: str) -> None:
    found = [dict(learner) for learner in learners(preset)]
    assert tuple(learner.pop("label") for learner in found) == LABELS
    mdp = families.paper_random().mdp
    built = [build({**learner, "epsilon": 0.1, "delta": 0.1, "sigma": 1.0}, mdp) for learner in found]
    assert [learner.settings().get("preset") for learner in built] == [preset, preset, preset, None]
    assert built[0].settings()["widths"] == {"theory": "paper", "text": "uncapped"}.get(preset, "empirical")


def answers(delta: float, wrong: int, runs: int, cut: bool = False, instance: str = "i") -> Any:
    """Runs of Challenger on one instance, some of them wrong."""
    return pl.DataFrame(
        {"instance": instance, "learner": "Challenger", "delta": delta, "epsilon": 1.0, "epsilon_per_gap": 2.0,
         "run": range(runs), "tau": 5, "correct": [i >= wrong for i in range(runs)], "censored": cut}
    )  # fmt: skip


def test_too_many_errors_break_the_guarantee() -> None:
    paper, ours = error_claims(summary(rows({label: [5, 5] for label in LABELS}, runs=2)), "theory")
    assert (paper.measured, paper.holds) == ("0 wrong of 24 answers (0.00%)", True)
    assert (ours.measured, ours.holds) == ("0 wrong of 8 answers (0.00%)", True)
    many = answers(0.1, 20, 40)
    assert not error_claims(summary(many), "theory")[1].holds
    assert error_claims(summary(many), "theory")[0].measured == "no run stopped before the budget"
    at = "20 wrong of 40 answers (50.00%); at worst 20 of 40 for Challenger at delta 0.1"
    assert error_claims(summary(many), "theory")[1].measured == at
    assert error_claims(summary(answers(0.1, 6, 40)), "theory")[1].holds  # more than a tenth, but chance does that
    # Neither a large delta elsewhere, nor right answers on other instances, nor cut runs hide errors.
    assert not error_claims(summary(pl.concat([answers(0.1, 0, 180), answers(1e-12, 1, 20)])), "theory")[1].holds
    others = [answers(0.1, 0, 20, instance=f"j{i}") for i in range(9)]
    assert not error_claims(summary(pl.concat([*others, answers(0.1, 20, 20)])), "theory")[1].holds
    assert error_claims(summary(answers(0.1, 3, 20, cut=True)), "theory")[1].holds is None


def test_theorems_are_judged_on_what_they_are_about() -> None:
    frame = rows({label: [5, 5] for label in LABELS}, runs=2)
    assert set(proven(frame, "theory")["learner"]) == set(LABELS)
    assert set(proven(frame, "experiment")["learner"]) == {"Challenger"}
    assert under(0.5, "theory", cut=False) is True
    assert under(0.5, "theory", cut=True) is None
    assert under(0.5, "experiment", cut=False) is None
    assert under(1.5, "experiment", cut=True) is False
