"""Periods as observables: what they say against a twin that lists paths, and the theorem on how long they last."""

from __future__ import annotations

from math import isnan, log

import numpy as np
import pytest

from surepath import EPRL, MDP, families
from surepath.learners.base import Learner
from tests.learners.worlds import random_mdp, reward_table
from tests.naive.flows import least_episodes


class Twin:
    """Counts visits, reads the active sets, and works the periods out anew from the definition."""

    def __init__(self, mdp: MDP) -> None:
        self.mdp, self.n = mdp, np.zeros(mdp.n_arcs, dtype=int)
        self.active = np.ones(mdp.n_arcs, dtype=bool)
        self.told, self.history = 0, [(self.k(), 1)]
        self.lacking = self.undersampled()

    def learned(self) -> np.ndarray:
        return self.active & ~self.mdp.is_known

    def k(self) -> int:
        learned = self.learned()
        return 1 + int(self.n[learned].min()) if learned.any() else 1

    def undersampled(self) -> np.ndarray:
        return self.learned() & (self.n < self.k())

    def tell(self, path: np.ndarray, active: np.ndarray) -> None:
        self.n[path] += 1
        self.told += 1
        self.active = active
        if self.learned().any() and self.k() != self.history[-1][0]:
            self.history.append((self.k(), self.told + 1))
            self.lacking = self.undersampled()


@pytest.mark.parametrize("sampling", ["max-coverage", "static-max-coverage"])
@pytest.mark.parametrize("preset", ["theory", "text"])
def test_periods_are_those_of_the_definition_and_last_as_long_as_proven(sampling: str, preset: str) -> None:
    ended, longest = 0, 0.0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng)
        learner = EPRL(mdp, 0.0, 0.2, 0.05, sampling=sampling, preset=preset)
        twin = Twin(mdp)
        limits: list[float] = []
        for rewards in reward_table(rng, mdp, 60):
            path = learner.ask()
            learner.tell(path, rewards[path])
            twin.tell(path, learner.active)
            period = learner.period
            assert period is not None
            assert (period.number, period.start) == twin.history[-1]
            assert period.episodes == twin.told + 1 - twin.history[-1][1]
            assert period.undersampled.tolist() == twin.lacking.tolist()
            assert period.cover == pytest.approx(least_episodes(mdp, twin.lacking.astype(float)), abs=1e-6)
            assert len(period.cut) == period.cover
            share = 1.0 if sampling == "static-max-coverage" else log(mdp.horizon) + 1
            assert period.limit == pytest.approx(2 * share * period.cover)
            if len(limits) < len(twin.history):
                limits.append(period.limit)
            if learner.stopped:
                break
        lengths = learner.durations
        assert [(k, start) for k, start, _ in lengths] == twin.history
        assert sum(length for _, _, length in lengths) == learner.episodes
        for (_, _, length), limit in zip(lengths[:-1], limits):
            assert length <= limit + 1e-9
            ended, longest = ended + 1, max(longest, length / limit)
    assert ended > 100
    assert longest > 0.5 / (log(3) + 1)  # as long as a smallest cover, or longer


def test_the_coverage_function_counts_what_paths_visit_together() -> None:
    learner = EPRL(MDP.from_arrays([[[0, 0]], [[0, 0]]]), 0.1, 0.1, 1.0)
    period = learner.period
    assert period is not None
    assert period.covered([]) == 0
    assert period.covered([np.array([0, 2])]) == 2
    assert period.covered([np.array([0, 2]), np.array([0, 3])]) == 3
    assert period.cover == 2
    assert period.limit == pytest.approx(4 * (log(2) + 1))


def test_rules_without_periods_or_without_the_theorem_say_so() -> None:
    mdp = MDP.from_arrays([[[0, 0]]])
    widest = EPRL(mdp, 0.1, 0.1, 1.0, sampling="max-diameter")
    assert (widest.period, widest.durations) == (None, [])
    for authors in (EPRL(mdp, 0.1, 0.1, 1.0, preset="experiment"), EPRL(mdp, 0.1, 0.1, 1.0, sampling="coverage")):
        assert authors.period is not None
        assert isnan(authors.period.limit)


def test_periods_survive_a_snapshot_and_begin_anew_after_an_exclusion() -> None:
    world = families.chain(3, 3, seed=1)
    learner = EPRL(world.mdp, 0.05, 0.1, 0.1)
    rng = np.random.default_rng(0)
    for _ in range(25):
        path = learner.ask()
        learner.tell(path, world.means[path] + 0.1 * rng.standard_normal(3))
    again = Learner.from_snapshot(world.mdp, learner.snapshot())
    assert isinstance(again, EPRL)
    assert again.durations == learner.durations
    one, two = learner.period, again.period
    assert one is not None
    assert two is not None
    assert one.undersampled.tolist() == two.undersampled.tolist()
    learner.exclude(1)
    period = learner.period
    assert period is not None
    assert (period.start, period.episodes) == (26, 0)
    assert not period.undersampled[1]
