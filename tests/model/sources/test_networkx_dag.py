"""networkx graphs: the same ways as networkx itself finds, and refusals in words."""

from __future__ import annotations

import re
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepath import MDP
from surepath.errors import ProblemError
from tests.naive.paths import all_paths


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(1, 7)).filter(lambda uv: uv[0] < uv[1]), max_size=14))
def test_plans_are_the_simple_paths_of_networkx(edges: set[tuple[int, int]]) -> None:
    graph = nx.DiGraph([*sorted(edges), (0, 7)])
    mdp = MDP.from_networkx(graph, 0, 7)
    names = {
        int(arc): (mdp.state_label(int(mdp.source[arc])), mdp.action_label(int(arc)))
        for arc in np.flatnonzero(~mdp.is_known)
    }
    edge_of = {arc: (int(state), int(action)) for arc, (state, action) in names.items()}
    ways = [[edge_of[arc] for arc in path if arc in edge_of] for path in all_paths(mdp)]
    assert sorted(ways) == sorted(map(list, nx.all_simple_edge_paths(graph, 0, 7)))


def test_attributes_and_parallel_edges() -> None:
    graph = nx.MultiDiGraph()
    graph.add_edge("home", "work", toll=4.0)
    graph.add_edge("home", "work", mean=2.0, sigma=0.5)
    graph.add_edge("home", "work", key="ferry", mean=9.0, sigma=1.5, action="boat")
    graph.add_edge("work", "home")
    mdp = MDP.from_networkx(graph, "home", "work", direction="minimize", attributes={"known": "toll"})
    assert mdp.action_labels == ("work", "work (1)", "boat")
    assert mdp.known is not None
    assert mdp.known[0] == 4.0
    assert mdp.sigma is not None
    assert mdp.sigma.tolist() == [0.0, 0.5, 1.5]
    assert mdp.n_arcs == 3


def test_shorter_ways_wait_at_no_cost() -> None:
    mdp = MDP.from_networkx(nx.DiGraph([("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("b", "d")]), "a", "d")
    assert mdp.horizon == 3
    assert mdp.n_paths == 3
    assert np.flatnonzero(mdp.is_known).size == 2


BAD: list[tuple[Any, Any, Any, dict[str, Any], str]] = [
    ("graph", 0, 1, {}, "a networkx graph is needed, not str"),
    (nx.Graph([(0, 1)]), 0, 1, {}, "the graph has no directions; a plan needs a DiGraph or a MultiDiGraph"),
    (nx.DiGraph([(0, 1)]), 7, 1, {}, "the source 7 is not a node of the graph"),
    (nx.DiGraph([(0, 1)]), 0, 7, {}, "the target 7 is not a node of the graph"),
    (nx.DiGraph([(0, 1), (1, "1")]), 0, 1, {}, "two nodes of the graph are both called '1': 1 and '1'"),
    (nx.DiGraph([(0, 1), (1, 2), (2, 1), (1, 3)]), 0, 3, {}, "the edges form a cycle: '1' -> '2' -> '1'"),
    (nx.DiGraph([(0, 1), (2, 3)]), 0, 3, {}, "the source '0' cannot reach the target '3'"),
    (nx.DiGraph([(0, 1)]), 0, 1, {"attributes": {"knwon": "toll"}}, "attributes may rename action, known, sigma"),
]


@pytest.mark.parametrize(("graph", "source", "target", "options", "message"), BAD)
def test_bad_graphs_are_refused_in_words(
    graph: Any, source: Any, target: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ProblemError, match=re.escape(message)):
        MDP.from_networkx(graph, source, target, **options)
