"""The slopes of a full check: few of them, and for every pair of paths one that is as good as any."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from surepath import MDP
from surepath.learners import runs as tasks
from tests.learners.challenger.test_twin import graphs, incumbent_of, learner_on, scales, seeds, twin_of

pytestmark = pytest.mark.pure


@settings(max_examples=60)
@given(graphs, seeds)
def test_no_slope_left_out_would_bound_a_pair_much_better(mdp: MDP, seed: int) -> None:
    """Neighbours are a factor of 1.2 apart, so the best is missed by 1.1 at most, which costs little of the width."""
    learner = learner_on(mdp, seed, prior="both")
    learner._act(tasks.CHECK)
    twin = twin_of(learner)
    p, grid = incumbent_of(learner, twin), learner._work.grid
    own = [j for j, entry in enumerate(learner.bound["entries"]) if entry["kind"] != "shifted"]
    twin.entries = [twin.entries[j] for j in own]
    tried = [grid[(grid[:, 0] == j) & (grid[:, 1] > 0), 1] for j in own]
    if not all(map(len, tried)):
        return  # no arc that is left has noise
    bounds = twin.best_bounds(p, tried)
    for q, best in twin.best_bounds(p, [scales(learner)] * len(own)).items():
        difference = twin.value(q) - twin.value(p)
        assert bounds[q] - difference <= 1.02 * (best - difference) + 1e-12


@settings(max_examples=40)
@given(graphs, seeds)
def test_the_slopes_of_an_entry_rise_by_one_factor_and_follow_each_other(mdp: MDP, seed: int) -> None:
    learner = learner_on(mdp, seed)
    learner._act(tasks.CHECK)
    grid = learner._work.grid
    used = grid[grid[:, 1] != 0]
    assert len(used) < len(grid)
    assert (np.diff(used[:, 0]) >= 0).all()  # entry by entry
    for j, entry in enumerate(learner.bound["entries"]):
        slopes = used[(used[:, 0] == j) & (used[:, 1] > 0), 1]
        steps = np.diff(np.log(slopes)) / np.log(learner.pairs.ratio)
        assert steps == pytest.approx(np.round(steps), abs=1e-6)  # gaps leave out whole steps
        assert (steps < 0).all() if entry["kind"] == "shifted" else (steps > 0).all()
