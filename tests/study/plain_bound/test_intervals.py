"""Intervals that learn the noise, a second time: they confirm what EPRL and BPI-UCRL prove, and hardly more."""

from __future__ import annotations

import numpy as np
import pytest

from surepath import BPIUCRL, EPRL, MDP
from surepath.study.plain_bound.checker import checker_of
from surepath.study.plain_bound.evidence import Scores, Sums
from surepath.study.plain_bound.intervals import LearnedIntervals, largest_sum
from surepath.study.verify import verify
from tests.naive import processes
from tests.strategies import arc_values
from tests.study.pipelines import new_study, pipeline, play


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
        earlier = Sums(learner._visits.copy(), learner._origin.copy(), learner._sums.copy(), scores)
        rewards = means[path] + 0.2 * (rng.random(2) - 0.5)
        learner.tell(path, rewards)
        for arc, gain in zip(path.tolist(), mdp.gains_of(path, rewards).tolist()):
            scores.add(arc, gain)
        seen = Sums(learner._visits.copy(), learner._origin.copy(), learner._sums.copy(), scores)
        lost = before & ~learner.active
        if lost.any():
            gone = plain.ruled_out(seen, path, before) | plain.ruled_out(earlier, path, before)
            assert gone[lost].all()
    gap = learner.certified_gap()
    assert plain.proves(seen, learner.recommend(), learner.active, gap)
    assert gap == 0 or not plain.proves(seen, learner.recommend(), learner.active, gap * (1 - 2e-3))


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
