"""The short way: many episodes between two looks decide the same as single steps, which never take it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surepath import BPIUCRL, EPRL, Bernoulli, Gaussian, Instance
from surepath.kernels.sweeps import reality_of
from surepath.simulation.simulate import drive
from tests.learners.worlds import random_mdp

WIDE: dict[str, Any] = {"sampling": "max-diameter"}
SPRINTERS: list[tuple[Any, dict[str, Any]]] = [
    (EPRL, {**WIDE, "elimination": "none"}),
    (EPRL, {**WIDE, "elimination": "return"}),
    (EPRL, {**WIDE, "elimination": "value"}),
    (EPRL, {**WIDE, "elimination": "both", "schedule": "every-sa"}),
    (EPRL, {**WIDE, "elimination": "return", "schedule": "every-sa", "widths": "mixture"}),
    (EPRL, {**WIDE, "preset": "experiment"}),
    (BPIUCRL, {"widths": "mixture"}),
    (BPIUCRL, {"elimination": "value"}),
    (BPIUCRL, {"preset": "experiment"}),
    (BPIUCRL, {"preset": "experiment", "elimination": "none"}),
]
NAMES = ["-".join([cls.__name__, *map(str, options.values())]) for cls, options in SPRINTERS]
GRID = np.array([0.1, 0.5, 0.2])


@pytest.mark.parametrize(("cls", "options"), SPRINTERS, ids=NAMES)
def test_a_sprint_decides_the_same_as_steps(cls: Any, options: dict[str, Any]) -> None:
    """Every epsilon of a fused run against a run of its own in steps; Gaussian rewards, drawn ahead, and others."""
    settled = eliminated = 0
    for seed in range(16):
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng)
        means = np.round(rng.random(mdp.n_arcs), 1)  # near ties and ties
        law = Bernoulli(means) if seed % 4 == 3 else Gaussian(means, sigma=0.1)
        instance, learner = Instance(mdp, law), cls(mdp, 0.1, 0.1, 0.1, **options)
        budget = int(rng.integers(300, 900))
        fused = learner._run(reality_of(instance), np.random.default_rng(seed), budget, GRID)
        steps = drive(learner, instance, np.random.default_rng(seed), budget, GRID)
        for ours, theirs in zip(fused, steps, strict=True):
            assert ours.tolist() == theirs.tolist()
        settled += int((fused.tau < budget).sum())
        eliminated += int(fused.eliminated.max() > 0)
    assert settled > 10
    assert eliminated > 2 or "none" in options.values() or (cls is BPIUCRL and "elimination" not in options)


JUDGED: list[tuple[Any, dict[str, Any]]] = [
    (BPIUCRL, {"preset": "experiment"}),
    (BPIUCRL, {"elimination": "value", "widths": "mixture"}),
    (BPIUCRL, {"elimination": "value", "widths": "empirical"}),
    (EPRL, {**WIDE, "elimination": "value", "schedule": "every-sa", "widths": "mixture"}),
    (EPRL, {**WIDE, "preset": "experiment"}),
]


@pytest.mark.parametrize(("cls", "options"), JUDGED, ids=["-".join(map(str, o.values())) for _, o in JUDGED])
def test_the_value_rule_judged_in_a_sprint_takes_out_the_same_arcs_at_the_same_time(
    cls: Any, options: dict[str, Any]
) -> None:
    """Arcs without noise, known arcs and ties; the gap, the arcs left and the stop after a few episodes and after many.

    Means that turn over make widths fail, so that what is left of a slack is used up faster than it seems.
    """
    gone: list[int] = []
    for seed in range(24):
        rng = np.random.default_rng(100 + seed)
        mdp = random_mdp(rng)
        means = np.where(mdp.is_known, mdp.sign * mdp.known_gain, rng.integers(0, 4, mdp.n_arcs) / 2)
        sigma = rng.choice([0.0, 0.3, 1.0], mdp.n_arcs)
        instance = Instance(mdp, Gaussian(means, sigma=sigma))
        learner = cls(mdp, 0.05, 0.1, np.where(seed % 3 == 0, 0.2, 0.5) * sigma, **options)
        budget, grid = (
            int(rng.choice([40, 150, 500, 1500], p=[0.4, 0.3, 0.2, 0.1])),
            np.array([0.3, 0.05])[seed % 2 :][:1],
        )
        if seed % 7 == 5:  # near a stop again and again
            budget, grid = 300, np.array([2.0, 1.5, 1.0, 0.7, 0.5, 0.35, 0.25])
        fused = learner._run(reality_of(instance), np.random.default_rng(seed), budget, grid)
        steps = drive(learner, instance, np.random.default_rng(seed), budget, grid)
        for ours, theirs in zip(fused, steps, strict=True):
            assert ours.tolist() == theirs.tolist()
        gone.append(int(fused.eliminated[-1]))
    assert sum(number > 0 for number in gone) > 8


def test_tables_of_widths_are_shared_and_grow_without_changing() -> None:
    """Learners with the same widths have one table; a longer one begins with the shorter; others have their own."""
    mdp = random_mdp(np.random.default_rng(0))
    one, two = BPIUCRL(mdp, 0.1, 0.123, 1.0), EPRL(mdp, 0.2, 0.123, 2.0)
    short = one._table_for(100)
    assert two._table_for(100) is short
    long = two._table_for(5000)
    assert len(long) > 5000
    assert long[: len(short)].tolist() == short.tolist()
    assert one._table_for(5000) is long
    assert BPIUCRL(mdp, 0.1, 0.2, 1.0)._table_for(100)[1] != short[1]
    assert BPIUCRL(mdp, 0.1, 0.123, 1.0, widths="mixture")._table_for(100)[1] != short[1]
    assert BPIUCRL(mdp, 0.1, 0.123, 1.0, widths="mixture", prior=3.0)._table_for(100)[1] != short[1]
