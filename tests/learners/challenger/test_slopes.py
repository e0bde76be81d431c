"""The slopes of a full check: few of them, and for every pair of paths one that is as good as any."""

from __future__ import annotations

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
    learner = learner_on(mdp, seed, prior="detour")
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
