"""The worst case: the published bound is refuted by a list of plays, the corrected one is not."""

from __future__ import annotations

import numpy as np
import pytest

from surepath import Design, families, simulate, theory
from surepath.experiments.figures.hard import REFUTED
from tests.naive.paths import all_paths


def test_the_published_bound_is_above_what_a_fixed_list_needs() -> None:
    """The paper's own instance: two states, two actions, 576 stages."""
    mdp = families.minimax_hard(2, 2, 576).mdp
    enough = theory.design_episodes(mdp, 6.0, 1e-150)
    published = theory.worst_case_lower_bound(2, 2, 576, 6.0, 1e-150, formula="published")
    assert (enough, round(published)) == REFUTED
    assert theory.worst_case_lower_bound(2, 2, 576, 6.0, 1e-150) < enough


@pytest.mark.parametrize("states", [2, 4, 8])
@pytest.mark.parametrize("delta", [0.1, 1e-3, 1e-12, 1e-100])
def test_no_list_contradicts_the_corrected_bound(states: int, delta: float) -> None:
    for horizon in (4, 9, 30):
        mdp = families.minimax_tree(states, 2, horizon).mdp
        assert theory.worst_case_lower_bound(states, 2, horizon, 1.0, delta) < theory.design_episodes(mdp, 1.0, delta)


def test_an_episode_visits_leaves_as_often_as_the_proof_says() -> None:
    """H - log2 S visits of a leaf in every episode of the tree; of the waiting instance, one entry is counted often."""
    mdp = families.minimax_tree(4, 3, 6).mdp
    leaf = mdp.node_state[mdp.source] >= 2
    assert {int(leaf[list(path)].sum()) for path in all_paths(mdp)} == {6 - 2}
    pairs = {(int(s), int(a)) for s, a in zip(mdp.node_state[mdp.source][leaf], mdp.action[leaf])}
    assert len(pairs) == 4 * 3 // 2


def test_the_design_is_right_on_the_trees() -> None:
    instance = families.minimax_tree(4, 2, 6)
    assert Design(instance.mdp, 1.0, 0.1, 1.0).schedule.episodes == theory.design_episodes(instance.mdp, 1.0, 0.1)
    found = simulate({"name": "Design", "epsilon": 1.0, "delta": 0.1}, instance, 20, 0)
    assert np.unique(found.tau).tolist() == [theory.design_episodes(instance.mdp, 1.0, 0.1)]
