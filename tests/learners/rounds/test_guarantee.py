"""Violations of the bounds of Rounds, measured where they are most likely; mutants are found out there."""

from __future__ import annotations

import numpy as np
import pytest

from surepath import Rounds, simulate
from surepath.learners.rounds.bound import Bets
from tests.learners.rates import DELTAS, is_above
from tests.learners.rounds import worlds

pytestmark = pytest.mark.guarantee

ALL = [0.1, 0.5, 0.9]


@pytest.mark.parametrize(("options", "mutants"), [(2, ("mixture", "pooled")), (60, ("prior",))])
def test_no_best_option_is_proven_worse_more_often_than_delta(options: int, mutants: tuple[str, ...]) -> None:
    rng, rounds = np.random.default_rng(options), 60 if options == 2 else 15
    failed = np.sum([worlds.union_violated(ALL, options, rounds, rng) for _ in range(80)], axis=0)
    for count, delta in zip(failed, ALL):
        assert not is_above(int(count), 80, delta)
    for mutant in mutants:  # the price of the mixture shows best where many runs may fail
        delta = 0.5 if mutant == "mixture" else 0.1
        found = np.sum([worlds.union_violated([delta], options, rounds, rng, mutant) for _ in range(400)])
        assert is_above(int(found), 400, delta), mutant


@pytest.mark.parametrize("size", [2, 6])
def test_bets_keep_the_guarantee_and_predictions_that_know_the_score_do_not(size: int) -> None:
    rng = np.random.default_rng(size)

    def failed(bets: type[Bets], law: worlds.Scores, runs: int) -> np.ndarray:
        return np.sum([worlds.pair_violated(bets, law, ALL, size, 40, rng) for _ in range(runs)], axis=0)

    for law in (worlds.losses(0.05), worlds.answers(1)):
        for count, delta in zip(failed(Bets, law, 100), ALL):
            assert not is_above(int(count), 100, delta)
    mutant = worlds.InSample if size == 2 else worlds.OwnScore  # long rounds hide the first
    assert is_above(int(failed(mutant, worlds.answers(1), 400)[0]), 400, 0.1)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("shape", ["free", "chain"])
def test_answers_are_wrong_at_most_as_often_as_delta(shape: str, delta: float) -> None:
    """All wrong plans lie just outside epsilon."""
    instance = worlds.free(4, 3, 0, 1.0) if shape == "free" else worlds.chain(4, 2, 0, 1.0)
    means = np.zeros(instance.mdp.n_arcs)
    means[instance.best_path()] = 0.31
    near = worlds.noisy_at_the_end(instance.mdp, means, 1.0)
    found = simulate({"name": "Rounds", "epsilon": 0.3, "delta": delta}, near, 60, 7)
    assert not is_above(int((~found.correct).sum()), 60, delta)
    effect = 0.8 - 0.2 + 0.05 * (means > 0)
    wrong = 0
    for seed in range(15):
        learner = Rounds(instance.mdp, 0.045, delta, reward_range=(0, 1), seed=seed)
        worlds.play(learner, effect / instance.mdp.horizon, worlds.answers(20), seed)
        wrong += not np.array_equal(learner.recommend(), instance.best_path())
    assert not is_above(wrong, 15, delta)
