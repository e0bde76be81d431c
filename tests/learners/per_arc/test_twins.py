"""Every rule beside its enumerating twin, step by step, on thousands of random graphs and reward tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surepath import BPIUCRL, EPRL, MDP
from surepath.learners.per_arc.eprl import RuleLearner
from tests.learners.worlds import experiment_choices, random_mdp, reward_table, theory_choices
from tests.naive.learner import Choices, NaiveLearner

EPISODES = 24


def close(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return a[0] == b[0] and abs(a[1] - b[1]) <= 1e-9 * (1 + abs(b[1]))


def best(twin: NaiveLearner, value: Any, paths: np.ndarray) -> tuple[float, float]:
    return max(value(p) for p in paths)


def walk_together(learner: RuleLearner, twin: NaiveLearner, table: np.ndarray) -> int:
    """Play both on one reward table and compare everything they say; how many episodes."""
    mdp = learner.mdp
    for t, rewards in enumerate(table):
        path = learner.ask()
        assert path.tolist() in twin.candidates().tolist() or "static" in twin.choices.sampling
        if not ("static" in twin.choices.sampling and t % 2 == 0):
            assert close(twin.objective(path), best(twin, twin.objective, twin.candidates()))
        learner.tell(path, rewards[path])
        twin.tell(path, mdp.sign * np.where(mdp.is_known[path], 0.0, rewards[path]))
        if twin.doubtful:
            return t
        assert learner.active.tolist() == twin.active.tolist()
        assert learner.stopped == twin.stopped
        advice = learner.recommend()
        assert advice.tolist() in twin.answers().tolist()
        assert close(twin.answer_value(advice), best(twin, twin.answer_value, twin.answers()))
        if learner.stopped:
            assert learner.stop_reason == twin.reason
        expected = twin.certified_gap(advice)
        assert learner.certified_gap() == pytest.approx(expected, rel=1e-9, abs=1e-9)
        if learner.stopped:
            return t + 1
    return len(table)


def problem(seed: int) -> tuple[np.random.Generator, Any, float, float, float]:
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng)
    sigma = float(rng.choice([0.0, 0.02, 0.1, 0.4]))
    return rng, mdp, float(rng.choice([0.0, 0.3, 2.0])), float(rng.choice([0.05, 0.3])), sigma


def times(mdp: Any) -> int:
    states, actions = mdp.sizes or (int(mdp.node_state.max()) + 1, int(mdp.action.max()) + 1)
    return states * actions


@pytest.mark.parametrize("sampling", ["max-coverage", "static-max-coverage", "max-diameter", "coverage"])
@pytest.mark.parametrize("elimination", ["return", "value", "both"])
def test_eprl_follows_the_paper(sampling: str, elimination: str) -> None:
    played = eliminated = stopped = 0
    for seed in range(130):
        rng, mdp, epsilon, delta, sigma = problem(seed)
        settings = {
            "sampling": sampling,
            "elimination": elimination,
            "schedule": str(rng.choice(["every-episode", "every-episode", "paper", "end-of-period", "every-sa"])),
        }
        learner = EPRL(mdp, epsilon, delta, sigma, **settings)  # type: ignore[arg-type]
        twin = NaiveLearner(mdp, theory_choices(settings, times(mdp)), epsilon, delta, learner.sigma)
        played += walk_together(learner, twin, reward_table(rng, mdp, EPISODES))
        eliminated += int((~learner.active).any())
        stopped += int(learner.stopped)
    assert played > 300
    assert eliminated > 20
    assert 20 < stopped < 130


@pytest.mark.parametrize("sampling", ["max-coverage", "max-diameter"])
@pytest.mark.parametrize("schedule", ["every-episode", "every-sa"])
def test_the_return_rule_looks_again_after_the_value_rule_removed_an_arc(sampling: str, schedule: str) -> None:
    """s -> u -> v or w, and v is bad: once the way to v is gone, no active policy passes v's two arcs."""
    available = np.zeros((3, 3, 2), dtype=bool)
    available[:, :, 0] = available[1, 0, 1] = available[2, 1, 1] = True
    next_state = np.zeros((3, 3, 2), dtype=int)
    next_state[1, 0] = [1, 2]
    mdp = MDP.from_arrays(next_state, available=available)
    sigma, means = np.array([5.0, 0.1, 0.1, 0.1, 0.1, 0.1]), np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    settings = {"sampling": sampling, "elimination": "both", "schedule": schedule}
    learner = EPRL(mdp, 0.0, 0.1, sigma, **settings)  # type: ignore[arg-type]
    twin = NaiveLearner(mdp, theory_choices(settings, times(mdp)), 0.0, 0.1, learner.sigma)
    table = means + 0.3 * sigma * np.random.default_rng(0).standard_normal((300, 6))
    assert walk_together(learner, twin, table) < 100
    assert learner.stop_reason == "single"


@pytest.mark.parametrize("sampling", ["max-coverage", "max-diameter"])
@pytest.mark.parametrize("elimination", ["return", "value", "both"])
def test_eprl_follows_the_paper_in_long_runs(sampling: str, elimination: str) -> None:
    """Sigmas far apart and many episodes: most are judged by what is left of the slack."""
    played = eliminated = 0
    for seed in range(30):
        rng, mdp, _, delta, _ = problem(1000 + seed)
        settings = {
            "sampling": sampling,
            "elimination": elimination,
            "schedule": str(rng.choice(["every-episode", "every-sa"])),
        }
        sigma = rng.choice([0.01, 0.05, 0.2], size=mdp.n_arcs)
        learner = EPRL(mdp, 0.0, delta, sigma, **settings)  # type: ignore[arg-type]
        twin = NaiveLearner(mdp, theory_choices(settings, times(mdp)), 0.0, delta, learner.sigma)
        table = rng.random(mdp.n_arcs) + sigma * rng.standard_normal((250, mdp.n_arcs))
        played += walk_together(learner, twin, table)
        eliminated += int((~learner.active).any())
    assert played > 1000
    assert eliminated > 5


@pytest.mark.parametrize("sampling", ["max-coverage", "max-diameter"])
def test_eprl_follows_the_authors_code(sampling: str) -> None:
    eliminated = stopped = 0
    for seed in range(150):
        rng, mdp, epsilon, delta, sigma = problem(seed)
        learner = EPRL(mdp, epsilon, delta, sigma, sampling=sampling, preset="experiment")
        chosen = experiment_choices("coverage" if sampling == "max-coverage" else sampling, times(mdp))
        twin = NaiveLearner(mdp, chosen, epsilon, delta, learner.sigma)
        walk_together(learner, twin, reward_table(rng, mdp, EPISODES))
        eliminated += int((~learner.active).any())
        stopped += int(learner.stopped)
    assert eliminated > 20
    assert 20 < stopped < 150


@pytest.mark.parametrize("elimination", ["none", "value"])
def test_bpi_ucrl_follows_the_paper(elimination: str) -> None:
    stopped = 0
    for seed in range(200):
        rng, mdp, epsilon, delta, sigma = problem(seed)
        learner = BPIUCRL(mdp, epsilon, delta, sigma, elimination=elimination)
        chosen = Choices(
            sampling="optimistic",
            by_return=False,
            by_value=elimination == "value",
            stopping="optimal-gap",
            single=False,
            recommendation="cautious",
        )
        twin = NaiveLearner(mdp, chosen, epsilon, delta, learner.sigma)
        walk_together(learner, twin, reward_table(rng, mdp, EPISODES))
        stopped += int(learner.stopped)
    assert 20 < stopped < 200


def test_bpi_ucrl_follows_the_authors_code() -> None:
    for seed in range(150):
        rng, mdp, epsilon, delta, sigma = problem(seed)
        learner = BPIUCRL(mdp, epsilon, delta, sigma, preset="experiment")
        twin = NaiveLearner(mdp, experiment_choices("optimistic", times(mdp)), epsilon, delta, learner.sigma)
        walk_together(learner, twin, reward_table(rng, mdp, EPISODES))
