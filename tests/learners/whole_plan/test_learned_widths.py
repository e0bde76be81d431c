"""WholePlan's widths where noise is learned, beside exact integration; saved and woken; runs and steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from surepath import MDP, Bounded, Instance, WholePlan
from surepath.kernels.arrays import reality_of
from surepath.learners.base import Learner
from surepath.simulation.stepwise import drive
from tests.naive.processes import largest_sum, squares

DELTA = 0.2
# A range of 1, a range of 4, a sigma; one option of the last stage is known.
LOW, HIGH = np.array([0, 0, -2, -2, -np.inf, -np.inf]), np.array([1, 1, 2, 2, np.inf, np.inf])
SIGMA, KNOWN = np.array([np.nan] * 4 + [0.3, np.nan]), np.array([np.nan] * 5 + [0.4])


def mixed(direction: str) -> MDP:
    base = MDP.from_arrays(np.zeros((3, 1, 2), dtype=int))
    fields: dict[str, Any] = {
        name: getattr(base, name) for name in ("first", "target", "stage_node", "node_state", "action")
    }
    return MDP(**fields, sigma=SIGMA, known=KNOWN, reward_range=(LOW, HIGH), direction=direction)


def draw(rng: np.random.Generator, path: np.ndarray) -> np.ndarray:
    span = np.where(path < 4, HIGH[path] - np.maximum(LOW[path], -9), 1.0)
    scores = np.where(path < 4, LOW[path], 0.0) + span * rng.beta(9, 6, 3)
    return np.where(path == 5, 0.4, scores)


def exact_width(rewards: np.ndarray, path: np.ndarray, plans: int) -> float:
    """The least of the mixture's width, Bernstein's and the range, of a plan with these rewards [n, H]."""
    n, variance, v = len(rewards), 0.0, 0.0
    unit = max(HIGH[e] - LOW[e] for e in path if e < 4)
    for h, e in enumerate(path):
        if e < 4:
            span = HIGH[e] - LOW[e]
            v += squares((rewards[:, h] - LOW[e]) / span) * (span / unit) ** 2
            variance += span**2 / 4
        elif e == 4:
            v += n * (0.3 / unit) ** 2
            variance += 0.3**2
    radius = math.log(2 * plans / DELTA) + 0.5 * math.log((n + 20) / 20)
    most = float(largest_sum(math.log(4 * plans / DELTA), np.array([v]))[0])
    wide = 5.0 if path[2] == 5 else math.inf
    return min(math.sqrt(2 * variance * (n + 20) * radius) / n, unit * most / n, wide)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_bounds_are_those_of_exact_integration(direction: str) -> None:
    """Upper bounds of two plans differ by their means and widths, whatever they are relative to."""
    rng, mdp = np.random.default_rng(1), mixed(direction)
    learner = WholePlan(mdp, 0.0, DELTA)
    assert learner.widths == "bernstein"
    arcs = learner._arcs
    seen: list[list[np.ndarray]] = [[] for _ in arcs]
    for _ in range(40):
        for p, path in enumerate(arcs):
            rewards = draw(rng, path)
            learner.tell(path, rewards)
            seen[p].append(rewards)
    learner._plans.active[:] = True
    learner.certified_gap()
    upper = learner._plans.upper.copy()
    width = np.array([exact_width(np.array(rows), path, len(arcs)) for rows, path in zip(seen, arcs)])
    mean = mdp.sign * np.array([np.sum(rows, axis=1).mean() for rows in seen])
    off = (upper - upper[0]) - (mean - mean[0] + width - width[0])
    assert np.abs(off).max() < 2e-3 * width.max()
    assert (width < 5).all()


def test_a_snapshot_goes_on_bit_for_bit_and_runs_decide_as_steps_do() -> None:
    rng, mdp = np.random.default_rng(2), mixed("maximize")
    learner = WholePlan(mdp, 0.1, DELTA)
    for t in range(60):
        path = learner.ask()
        learner.tell(path, draw(rng, path)[: 3 if t % 7 else 2])  # some trials break off
    twin = Learner.from_snapshot(mdp, learner.snapshot())
    for _ in range(30):
        path = learner.ask()
        assert path.tolist() == twin.ask().tolist()
        rewards = draw(rng, path)
        learner.tell(path, rewards)
        twin.tell(path, rewards)
        assert learner.certified_gap() == twin.certified_gap()
    ranged = MDP.from_arrays(np.zeros((2, 1, 2), dtype=int), reward_range=(0, 1))
    instance = Instance(ranged, Bounded(0, 1, [0.2, 0.8, 0.7, 0.1], concentration=10.0))
    player = WholePlan(ranged, 0.3, DELTA)
    for seed in range(3):
        run = player._run(reality_of(instance), np.random.default_rng(seed), 10_000, np.array([0.3]))
        steps = drive(player, instance, np.random.default_rng(seed), 10_000, np.array([0.3]))
        assert (run.tau[0], run.path[0].tolist()) == (steps.tau[0], steps.path[0].tolist())
        assert run.gap[0] == pytest.approx(steps.gap[0])
