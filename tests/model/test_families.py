"""Families: ids that rebuild exactly, the shapes they promise, and the facts they were made to show."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from surepath import Instance, families, theory
from surepath.errors import ProblemError
from tests.naive.flows import least_episodes
from tests.naive.paths import all_paths

pytestmark = pytest.mark.pure

SMALL = [
    families.paper_random(2, 2, 3, seed=7),
    families.paper_random(3, 2, 3, min_gap=0.03, sigma=0.25, seed=1),
    families.chain(3, 2, seed=4),
    families.chain(3, 2, seed=4, sigma=0.3),
    families.bandit(5, seed=1),
    families.tree(3, 3, seed=2),
    families.grid(3, 4, seed=3),
    families.layered(6, 2, 5, seed=9, sigma=0.125),
    families.minimax_hard(4, 2, 6),
    families.minimax_tree(4, 2, 6),
    families.cover_gap(4),
    families.support_tickets(),
    families.decoys(2, 3, tiny=0.125),
]


@pytest.mark.parametrize("instance", SMALL, ids=lambda instance: str(instance.id))
def test_an_id_rebuilds_its_instance_exactly(instance: Instance) -> None:
    again = families.from_id(str(instance.id))
    assert again == instance
    assert again.mdp == instance.mdp
    assert (again.sigma == instance.sigma).all()


def test_every_family_is_covered_above() -> None:
    assert {str(instance.id).partition("-v")[0] for instance in SMALL} == set(families.FAMILIES)


def test_ids_name_what_differs_from_the_defaults() -> None:
    assert SMALL[0].id == "paper_random-v1/s2a2h3/seed7"
    assert SMALL[1].id == "paper_random-v1/s3a2h3/min_gap0.03/sigma0.25/seed1"
    assert SMALL[12].id == "decoys-v1/b2k3/tiny0.125"
    double = families.paper_random(2, np.int64(2), 3, sigma=np.float64(2))  # type: ignore[arg-type]
    assert double.id == "paper_random-v1/s2a2h3/sigma2.0/seed0"
    assert families.from_id(double.id) == double
    assert families.chain(3, 2, seed=4).id != families.chain(3, 2, seed=5).id


def test_draws_of_version_one_never_change() -> None:
    """The promise of a versioned id: these numbers hold for every later release."""
    assert families.paper_random(2, 2, 3, seed=7).means.round(6).tolist() == PAPER_RANDOM
    assert families.chain(2, 2, seed=0).means.round(6).tolist() == CHAIN
    assert families.layered(3, 2, 2, seed=0).means.round(6).tolist() == LAYERED


PAPER_RANDOM = [0.03568, 0.514889, 0.496873, 0.247515, 0.011794, 0.192402, 0.692032, 0.200607]
CHAIN = [0.636962, 0.269787, 0.81327, 0.912756, 0.606636, 0.729497]
LAYERED = [0.606636, 0.729497, 0.543625, 0.935072, 0.815854, 0.002739]


def test_paper_random_keeps_its_gap_over_all_states() -> None:
    instance = families.paper_random(2, 2, 3, min_gap=0.3, seed=0)
    # On the reachable part: no positive gap between an action and the best of its state is 0.3 or less.
    mdp, value = instance.mdp, np.zeros(instance.mdp.n_nodes + 1)
    for node in range(mdp.n_nodes - 1, -1, -1):
        arcs = np.arange(mdp.first[node], mdp.first[node + 1])
        q = instance.means[arcs] + value[mdp.target[arcs]]
        value[node] = q.max()
        gaps = q.max() - q
        assert (gaps[gaps > 0] > 0.3).all()


@pytest.mark.parametrize(("states", "actions", "horizon"), [(2, 2, 3), (4, 3, 7), (8, 3, 9)])
def test_minimax_hard_waits_descends_and_stays(states: int, actions: int, horizon: int) -> None:
    instance = families.minimax_hard(states, actions, horizon)
    mdp, depth, last = instance.mdp, states.bit_length() - 1, horizon // 3
    assert (instance.means == 0).all()
    for path in all_paths(mdp)[:: max(1, mdp.n_paths // 50)]:
        visited = [int(mdp.arcs.state[arc]) for arc in path]
        waits = visited.count(0)
        assert 1 <= waits <= last
        inside = visited[waits:]
        assert inside[0] == 1
        assert all(b in (2 * a, 2 * a + 1) for a, b in pairwise(inside[:depth]))
        leaf = inside[depth - 1]
        assert states // 2 <= leaf < states
        assert set(inside[depth - 1 :]) == {leaf}
    # Entering at stage j (from 1) leaves H - j - d + 1 stages in one of S/2 leaves.
    count = sum(states // 2 * actions ** (horizon - j - depth + 1) for j in range(1, last + 1))
    assert mdp.n_paths == count


@pytest.mark.parametrize("m", [1, 3])
def test_cover_gap_needs_m_plus_one_paths_with_the_shortcut_and_2m_without(m: int) -> None:
    mdp = families.cover_gap(m).mdp
    shortcut = mdp.arc(1, "first hub", "shortcut")
    demand = np.ones(mdp.n_arcs)
    demand[shortcut] = 0
    assert least_episodes(mdp, demand) == pytest.approx(m + 1)
    capacity = np.full(mdp.n_arcs, np.inf)
    capacity[shortcut] = 0
    assert least_episodes(mdp, demand, capacity) == pytest.approx(2 * m)
    assert theory.minimum_flow(mdp, demand, integer=True).value == m + 1
    assert theory.minimum_flow(mdp, demand, capacity, integer=True).value == 2 * m


BAD: list[tuple[Any, str]] = [
    (3, "an id is text such as 'chain-v1/n8k4/seed7', not 3"),
    ("chian-v1/n8k4/seed7", "no family of instances is called 'chian' (did you mean \"chain\"?)"),
    ("chain-v1", 'after "chain-v1/" comes a shape such as "n8k4"'),
    ("chain-v1/n8k4/sead7", "'sead7' names no parameter (did you mean \"seed\"?)"),
    ("chain-v1/n8k4/seedx", "'seedx' does not hold a number"),
    ("chain-v1/n8k4", "is not how this instance is written; its id is 'chain-v1/n8k4/seed0'"),
    ("chain-v1/n8k4/sigma-1/seed0", "sigma must be 0 or more, not -1"),
    ("tree-v1/a999h99/seed0", "at most 100,000,000 are built"),
    ("grid-v1/r1c1/seed0", "a grid needs at least two crossings"),
    ("minimax_hard-v1/s6a2h9", "minimax_hard needs 2, 4, 8, ... states (a start and a full binary tree), not 6"),
    ("minimax_tree-v1/s8a2h3", "minimax_tree needs a horizon above log2(states) = 3 for 8 states, not 3"),
    ("minimax_hard-v1/s8a2h8", "a horizon of at least 3 log2(states) = 9 for 8 states, not 8"),
    ("decoys-v1/b3k3/tiny0.75", "decoys needs 0 < tiny <= gap, not tiny 0.75 and gap 0.5"),
]


@pytest.mark.parametrize(("id", "message"), BAD)
def test_bad_ids_are_refused_in_words(id: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(message)):
        families.from_id(id)


def test_the_paper_counts_gaps_of_unreachable_states_too() -> None:
    for seed in range(20):
        instance = families.paper_random(seed=seed)
        assert instance.id is not None
        least = families.paper_min_gap(instance.id)
        value = theory.gaps(instance).value
        assert 0.1 < least <= value[value > 0].min() + 1e-12
    with pytest.raises(ProblemError, match="only instances of paper_random-v1"):
        families.paper_min_gap("chain-v1/n8k4/seed7")
