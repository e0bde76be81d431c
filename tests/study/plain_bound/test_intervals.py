"""Intervals a second time, with noise declared or learned: they confirm what the learners prove, and hardly more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surepath import BPIUCRL, EPRL, MDP, Uniform
from surepath._types import BoolArray, IntArray
from surepath.study.plain_bound.checker import checker_of
from surepath.study.plain_bound.evidence import Scores, Sums
from surepath.study.plain_bound.intervals import LearnedIntervals, PlainIntervals, largest_sum
from surepath.study.verify import verify
from tests.naive import processes
from tests.strategies import arc_values
from tests.study.pipelines import new_study, pipeline, play


def seen_by(learner: Any, scores: Scores | None = None) -> Sums:
    """What a learner has seen by now."""
    return Sums(learner._visits.copy(), learner._origin.copy(), learner._sums.copy(), scores)


def confirm_ruled_out(plain: Any, learner: Any, path: IntArray, before: BoolArray, moments: tuple[Sums, ...]) -> None:
    """What the learner has just ruled out is ruled out by the sums before or after its last trial."""
    lost = before & ~learner.active
    if lost.any():
        out = np.any([plain.ruled_out(seen, path, before) for seen in moments], axis=0)
        assert out[lost].all()


def confirm_gap(plain: Any, learner: Any, seen: Sums, slack: float) -> None:
    """The learner's gap is proven, and hardly a smaller one."""
    gap = learner.certified_gap()
    assert plain.proves(seen, learner.recommend(), learner.active, gap)
    assert gap == 0 or not plain.proves(seen, learner.recommend(), learner.active, gap * (1 - slack))


@pytest.mark.parametrize("kind", [EPRL, BPIUCRL, Uniform])
@pytest.mark.parametrize("widths", ["paper", "mixture"])
def test_it_confirms_what_learners_of_single_arcs_prove(kind: type, widths: str) -> None:
    mdp = MDP.from_steps({"a": [0, 1, 2], "b": [0, 1], "c": [0, 1]}, sigma=0.1)
    learner = kind(mdp, epsilon=0.25, delta=0.1, sigma=0.1, widths=widths)
    feasible = np.ones(mdp.n_arcs, dtype=bool)
    plain, why = checker_of(mdp, learner.settings(), feasible)
    assert isinstance(plain, PlainIntervals), why
    means, rng = arc_values(mdp, 5), np.random.default_rng(0)
    while not learner.stopped:
        path = learner.ask()
        before, earlier = learner.active, seen_by(learner)
        learner.tell(path, means[path] + 0.1 * rng.standard_normal(mdp.horizon))
        confirm_ruled_out(plain, learner, path, before, (earlier, seen_by(learner)))
    confirm_gap(plain, learner, seen_by(learner), 1e-9)


def test_the_largest_sum_is_that_of_exact_integration() -> None:
    v = np.array([0.0, 0.3, 7.0, 400.0, 2e4])
    for budget in (1.4, 6.0, 30.0):
        ours = np.array([largest_sum(budget, float(one)) for one in v])
        assert processes.log_process(ours, v).min() >= budget
        assert processes.log_process(ours * (1 - 1e-6), v).max() < budget


@pytest.mark.parametrize("weight", [0.0, 2.0])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("kind", [EPRL, BPIUCRL])
def test_it_confirms_what_the_learners_prove_and_hardly_more(kind: type, direction: str, weight: float) -> None:
    mdp = MDP.from_steps({"a": [0, 1, 2], "b": [0, 1]}, reward_range=(-1, 2), direction=direction)
    mdp = mdp.with_costs(np.linspace(0.0, 0.5, mdp.n_arcs), weight)
    learner = kind(mdp, epsilon=0.4, delta=0.1)
    plain, why = checker_of(mdp, learner.settings(), np.ones(mdp.n_arcs, dtype=bool))
    assert isinstance(plain, LearnedIntervals), why
    assert plain.needs_scores
    means, rng, scores = arc_values(mdp, 5), np.random.default_rng(0), Scores(mdp.n_arcs)
    while not learner.stopped:
        path, before = learner.ask(), learner.active
        earlier = seen_by(learner, scores)
        rewards = means[path] + 0.2 * (rng.random(2) - 0.5)
        learner.tell(path, rewards)
        for arc, gain in zip(path.tolist(), mdp.gains_of(path, rewards).tolist()):
            scores.add(arc, gain)
        confirm_ruled_out(plain, learner, path, before, (earlier, seen_by(learner, scores)))
    confirm_gap(plain, learner, seen_by(learner, scores), 2e-3)


def test_a_study_of_scores_in_a_range_is_verified_from_its_scores() -> None:
    study = new_study(problem=pipeline(sigma=None, reward_range=(-0.5, 1.5)), learner="eprl", sigma=None, epsilon=1.0)
    play(study, trials=200)
    content = study.certificate().to_dict()
    assert content["settings"]["widths"] == "bernstein"
    assert any("nothing else is assumed of its noise" in said for said in content["assumptions"])
    verdict = verify(content)
    assert verdict.answer == "yes", verdict
    assert verify(content, storage=study.storage).answer == "yes"
    arc = next(arc for arc, some in enumerate(content["evidence"]["scores"]) if len(some) > 1)
    content["evidence"]["scores"][arc][:2] = content["evidence"]["scores"][arc][1::-1]  # the same sum, another order
    assert verify(content, storage=study.storage).answer == "no"
