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
