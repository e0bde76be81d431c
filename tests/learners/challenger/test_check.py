"""The full check beside one that judges every row of the grid, again and again: what it leaves out tells nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from surepath import MDP, Challenger, families
from surepath.learners import runs as tasks
from surepath.learners.challenger.check import make_row
from surepath.learners.challenger.run import act
from surepath.learners.challenger.state import EXCURSION
from tests.learners.challenger.test_noise import NOISES, told
from tests.learners.challenger.test_twin import graphs, learner_on, seeds
from tests.learners.worlds import options

pytestmark = pytest.mark.pure


def left_by(learner: Challenger, rows: np.ndarray, epsilon: float) -> list[int]:
    """Judge all rows until none takes out anything more; returns the arcs off the incumbent that are left."""
    mdp, seen, work, pairs = learner.mdp, learner._seen, learner._work, learner.pairs
    on = np.isin(np.arange(mdp.n_arcs), work.incumbent)
    kept, slack = seen.alive.copy(), work.slack[0] + 1e-12 * epsilon
    before = -1
    while before != int(seen.alive.sum()):
        before = int(seen.alive.sum())
        for j, k in rows:
            single = int(pairs.prior[int(j)] == EXCURSION and epsilon == 0.0)
            work.grid[0] = j, k
            constant = make_row(learner.graph, pairs, seen, work, 0, single)
            z = work.behind[mdp.source] + work.weight + work.ahead[mdp.target] + constant
            if k < 0:  # a quiet row: beyond half its wall a path takes a noisy arc
                z[~(z <= -0.5 * k)] = np.inf
            limit = epsilon + slack if k < 0 else epsilon - slack
            seen.alive[(z <= limit) & ~on] = False
    left = np.flatnonzero(seen.alive & ~on)
    seen.alive[:] = kept
    return left.tolist()


def hold_together(learner: Challenger) -> None:
    """The check takes out what judging every row takes out, just below the certified gap and far below it."""
    work = learner._work
    arrays = learner.graph, learner.pairs, learner._seen, work
    gap = learner._act(tasks.CERTIFY)
    if not 1e-6 < gap < np.inf:
        return
    for share in (0.05, 0.2, 0.5, 0.8, 0.998, 1.0):
        work.grid[:] = 0.0
        epsilon = share * gap
        passed = act(*arrays, tasks.CHECK, 0, epsilon) == 1.0
        rows = work.grid[work.grid[:, 1] != 0.0].copy()
        found = np.flatnonzero(work.live & ~work.on).tolist()
        assert found == left_by(learner, rows, epsilon)
        assert passed == (not found) == (share == 1.0)


@settings(max_examples=60)
@given(graphs, seeds)
def test_the_check_takes_out_what_all_rows_do(mdp: MDP, seed: int) -> None:
    hold_together(learner_on(mdp, seed))


@pytest.mark.parametrize("seed", range(30, 40))
def test_the_check_takes_out_what_all_rows_do_on_a_longer_graph(seed: int) -> None:
    """Sigmas of different sizes: an arc may leave by a row that comes after the one by which another can leave then."""
    instance, rng = families.layered(2, 2, 8, seed=seed, sigma=0.5), np.random.default_rng(seed)
    arcs = instance.mdp.n_arcs
    sigma = 0.5 * np.exp(rng.uniform(-2, 2, arcs))
    learner = Challenger(instance.mdp, 0.5, 0.1, sigma, dependence="independent")
    seen = learner._seen
    seen.visits[:] = np.exp(rng.uniform(1, 9, arcs)).astype(int)
    seen.sums[:] = seen.visits * (instance.gains + sigma * rng.standard_normal(arcs) / 20)
    learner._act(tasks.REFRESH)
    hold_together(learner)


@pytest.mark.parametrize("noise", NOISES)
def test_the_check_takes_out_what_all_rows_do_where_noise_is_learned(noise: str) -> None:
    for seed in range(4):
        for trials in (12, 60):
            hold_together(told(options(3, 3), trials, seed, noise=noise)[0])
