"""What Challenger says of itself: its rivals, what is missing, and what cannot be settled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import MDP, Challenger, Gaussian, Instance
from surepath.learners import runs as tasks
from surepath.learners.base import proven_gap
from surepath.learners.challenger.check import make_row
from surepath.learners.challenger.state import KEPT
from tests.learners.challenger.plays import chain, play
from tests.learners.worlds import with_known


def test_the_explanation_names_challengers_and_what_is_missing() -> None:
    instance = chain()
    learner = Challenger(instance.mdp, 0.1, 0.1, 0.2)
    early = learner.explain()
    assert early.rivals == []
    assert f"{instance.mdp.n_arcs} options have no score yet" in early.remark
    play(learner, instance, np.random.default_rng(0), 40)
    now = learner.explain(challengers=2)
    assert now.incumbent == learner.recommend().tolist()
    assert now.certified_gap == learner.certified_gap()
    assert len(now.rivals) == 2
    assert now.rivals[0].bound >= now.rivals[1].bound
    assert now.rivals[0].bound == now.certified_gap
    assert all(rival.path != now.incumbent and rival.separating for rival in now.rivals)
    assert now.to_dict()["rivals"][0]["path"] == now.rivals[0].path
    text = str(now)
    assert "after 40 trials: " in text
    assert "may be better by up to" in text
    assert "separated by: " in text
    assert now.remark == ""


def test_the_explanation_says_that_a_tie_cannot_be_settled_at_epsilon_zero() -> None:
    instance = Instance(MDP.from_arrays([[[0, 0]]]), Gaussian([0.5, 0.5], 0.1))
    learner = Challenger(instance.mdp, 0.0, 0.1, 0.1)
    play(learner, instance, np.random.default_rng(0), 50)
    assert not learner.stopped
    assert "epsilon is 0: this stops only if the best plan is unique" in str(learner.explain())


NOISES: dict[str, dict[str, Any]] = {
    "sigma": {"sigma": 0.4},
    "half exact": {},
    "known": {"sigma": 0.4},
    "unknown": {"sigma": "unknown"},
    "bernstein": {"noise": "bernstein"},
    "betting": {"noise": "betting"},
    "any": {"sigma": 0.4, "dependence": "any"},
    "any, half exact": {"dependence": "any"},
    "any, known": {"sigma": 0.4, "dependence": "any"},
    "any, betting": {"noise": "betting", "dependence": "any"},
}


def problem(noise: str) -> MDP:
    steps = {"a": [0, 1, 2], "b": [0, 1], "c": [0, 1, 2]}
    if noise.endswith(("bernstein", "betting")):
        return MDP.from_steps(steps, depends="previous", reward_range=(-1, 3))
    sigma = {"a": 0.4, "b": 0.0, "c": 0.4} if noise.endswith("half exact") else None
    mdp = MDP.from_steps(steps, depends="previous", sigma=sigma)
    return with_known(mdp, np.where(np.arange(mdp.n_arcs) % 3 == 0, 0.3, np.nan)) if noise.endswith("known") else mdp


@pytest.mark.parametrize("noise", list(NOISES))
@settings(max_examples=6, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3, 1.0]))
def test_the_largest_bound_of_a_challenger_is_the_certified_gap(noise: str, seed: int, epsilon: float) -> None:
    """Before and after the stop; and while the gap is that of today, the challenger named is what stands against it."""
    rng, mdp = np.random.default_rng(seed), problem(noise)
    learner = Challenger(mdp, epsilon, 0.1, **{"dependence": "independent", **NOISES[noise]})
    means = rng.uniform(-0.5, 1.5, mdp.n_arcs)
    scatter = np.where(learner.sigma > 0, 0.4, 0.0)
    for trial in range(1, 161):
        path = learner.recommend() if learner.stopped else learner.ask()
        told = np.clip(means[path] + scatter[path] * rng.standard_normal(mdp.horizon), -1, 3)
        learner.tell(path, np.where(mdp.is_known[path], 0.3, told))
        if trial not in (20, 50, 100, 160):
            continue
        gap, now = proven_gap(learner), learner.explain()
        bounds = [rival.bound for rival in now.rivals]
        assert now.certified_gap == gap
        if np.isinf(gap):
            assert bounds == []
        elif gap > 0:
            assert max(bounds) == bounds[0] == gap
        else:
            assert set(bounds) <= {0.0}
        assert learner.recommend().tolist() == now.incumbent
        if not learner.stopped:
            assert (learner.ask() == learner.ask()).all()


@pytest.mark.parametrize("dependence", ["independent", "any"])
def test_the_bound_of_a_challenger_is_the_least_of_the_rows(dependence: str) -> None:
    """By hand: weights of a row at the incumbent's arcs are 0, so a bound is their sum and the row's constant."""
    instance = chain()
    learner = Challenger(instance.mdp, 0.1, 0.1, 0.2, dependence=dependence)
    play(learner, instance, np.random.default_rng(0), 40)
    rivals = learner.explain(challengers=6).rivals
    assert len(rivals) > 2
    learner._work.grid[:] = 0.0
    learner._act(tasks.CHECK)
    work, rows = learner._work, np.flatnonzero(learner._work.grid[:, 1] > 0).tolist()
    rows += [KEPT] if dependence == "any" else []
    for rival in rivals[1:]:
        totals = []
        for row in rows:
            constant = make_row(learner.graph, learner.pairs, learner._seen, work, row, 0)
            totals.append(constant + work.weight[rival.path].sum())
        assert rival.bound == pytest.approx(min(*totals, rivals[0].bound))
        assert rival.bound >= (work.mean[rival.path] - work.mean[learner.recommend()]).sum()
