"""The part of a run that is compiled for the rules of Algorithm 1 plays like the whole of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surepath import MDP, Gaussian, Instance, simulate
from surepath.learners.base import build
from surepath.learners.per_arc.learner import RuleLearner

GRAPH = MDP.from_arrays(np.random.default_rng(1).integers(2, size=(3, 2, 2)))
MEANS = np.random.default_rng(2).uniform(0.05, 0.95, GRAPH.n_arcs)
LEAN: list[dict[str, Any]] = [
    {},
    {"elimination": "none"},
    {"sampling": "coverage", "schedule": "end-of-period"},
    {"widths": "mixture", "schedule": "geometric", "recommendation": "cautious"},
]


def learner(spec: dict[str, Any]) -> RuleLearner:
    found = build({"name": "EPRL", "epsilon": 1.0, "delta": 0.1, "sigma": 0.5, **spec}, GRAPH)
    assert isinstance(found, RuleLearner)
    return found


@pytest.mark.parametrize("spec", LEAN)
def test_lean_rules_play_the_same_in_both_parts(spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    eprl, instance = learner(spec), Instance(GRAPH, Gaussian(MEANS, 0.5))
    assert eprl._full() is None
    lean = simulate(eprl, instance, runs=5, seed=0, epsilons=[1.0, 2.0], workers=1, budget=3000)
    monkeypatch.setattr(RuleLearner, "_full", lambda self, betas=False: 1)
    full = simulate(eprl, instance, runs=5, seed=0, epsilons=[1.0, 2.0], workers=1, budget=3000)
    assert lean.to_dict() == full.to_dict()
    assert np.array_equal(lean.path, full.path)
    assert len(set(lean.tau.tolist())) > 1 or spec.get("elimination") == "none"
