"""Challenger where numbers are far apart, large or no numbers at all: no proof may come out of rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surepath import MDP, Challenger, Empirical, Instance, simulate
from surepath.errors import RewardError, SettingError
from surepath.learners import runs as tasks
from surepath.verify.bound import Sums
from tests.learners.challenger.plays import play
from tests.verify.tools import plain_of


def test_what_double_precision_cannot_decide_is_refused_in_words() -> None:
    mdp = MDP.from_arrays([[[0, 0]]])
    learner = Challenger(mdp, 1e-6, 0.1, 1e-3, dependence="independent")
    with pytest.raises(RewardError, match=r"scores of size 1e\+10 make .* too coarse"):
        learner.tell([0], [1e10])
    assert learner.episodes == 0
    known = MDP.from_edges(
        [
            {"stage": 0, "state": "s", "action": "a", "next_state": None, "known": 1e16},
            {"stage": 0, "state": "s", "action": "b", "next_state": None},
        ]
    )
    with pytest.raises(SettingError, match=r"scores of size 1e\+16 make .* too coarse for epsilon 0\.5"):
        Challenger(known, 0.5, 0.1, 1.0, dependence="independent")
    exact = Challenger(
        known, 0.0, 0.1, 1.0, dependence="independent"
    )  # nothing is promised but the best: it goes on until that is clear
    for _ in range(50):
        exact.tell([1], [1e16 + 2.0])
    assert not exact.stopped
    assert exact.certified_gap() > 2.0


@pytest.mark.parametrize("task", [tasks.PLAN, tasks.CHECK])
def test_what_is_no_number_proves_nothing(task: int) -> None:
    """Broken inside on purpose: a NaN in the bounds keeps the check from passing, behind a state's only arc too."""
    available = np.ones((2, 2, 2), dtype=bool)
    available[1, 1, 1] = False
    mdp = MDP.from_arrays([[[0, 1], [0, 1]], [[0, 0], [0, 0]]], available=available)
    bound = Challenger(mdp, 1e6, 0.1, 1.0, dependence="independent").bound
    # The entry for ties needs no logarithm of a, so it stays out.
    fixed: dict[str, Any] = {"bound": bound[:-1]}
    learner = Challenger(mdp, 1e6, 0.1, 1.0, dependence="independent", **fixed)
    for path in ([0, 2], [0, 3], [1, 4]):
        learner._absorb(np.array(path), np.array([0.5, 0.5]))
    for place in range(5):
        for names in (("top", "low"), ("a",), ("log_a",), ("extra",)):
            broken = Challenger(mdp, 1e6, 0.1, 1.0, dependence="independent", **fixed)
            broken._load({**learner._evidence(), "planned": False})
            assert broken._act(tasks.CHECK) == 1.0  # with numbers it passes: 1e6 is far beyond every bound
            for name in names:
                getattr(broken._work, name)[..., place] = np.nan
            assert broken._act(task) == 0.0, (place, names)
            assert broken._seen.alive.all()


def test_subnormal_sigmas_are_refused() -> None:
    with pytest.raises(SettingError, match=r"sigma must be 0 or at least 1e-100"):
        Challenger(MDP.from_arrays([[[0, 0]]]), 0.1, 0.1, [1.0, 5e-324], dependence="independent")


def test_without_noise_declared_nothing_is_built() -> None:
    with pytest.raises(SettingError, match=r"Challenger: the noise of the scores is not declared .* Three ways to"):
        Challenger(MDP.from_arrays([[[0, 0]]]), 0.1, 0.1, dependence="independent")
    bounded = MDP.from_arrays([[[0, 0]]], reward_range=(0.0, 4.0))
    assert Challenger(bounded, 0.1, 0.1, dependence="independent").sigma.tolist() == [2.0, 2.0]


def tied_but_for_rounding() -> Instance:
    """Plans b and c tie: 1.9 - 1.7 = 1.1 - 0.9; which sum is larger in doubles depends on whether a, 5.9, is left.

    Plan c has five last steps, so it is the dearer one to prove.
    """
    rows = [("s", "a", "x"), ("s", "b", "y"), ("s", "c", "z"), ("x", "f", "t"), ("y", "g", "t")]
    mdp = MDP.from_edges(rows + [("z", f"h{i}", "t") for i in range(5)])
    values = [5.9, 1.9, 1.1, -100.0, -1.7, -0.9, -101.0, -102.0, -103.0, -104.0]
    return Instance(mdp, Empirical([[value] for value in values]))


@pytest.mark.parametrize("epsilon", [0.072, 0.0735, 0.075, 0.077])
def test_the_answer_is_the_path_that_passed_the_check(epsilon: float) -> None:
    instance = tied_but_for_rounding()
    learner = Challenger(instance.mdp, epsilon=epsilon, delta=0.1, sigma=0.01, dependence="independent")
    run = simulate(learner, instance, runs=1, seed=0, workers=1)
    play(learner, instance, np.random.default_rng(0), 100)
    assert learner.stopped
    assert run.tau.tolist() == [learner.episodes]
    plain = plain_of(learner)
    seen = Sums(learner._visits.copy(), learner._origin.copy(), learner._sums.copy())
    for path, gap in ((learner.recommend(), learner.certified_gap()), (run.path[0], float(run.gap[0]))):
        assert plain.proves(seen, path, learner.active, gap)
