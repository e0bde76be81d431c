"""Where nodes go in a drawing: against counting, node by node."""

from __future__ import annotations

from collections import Counter

from hypothesis import given

from surepath import MDP
from surepath.model.paths import fan, node_places
from tests.strategies import mdps


@given(mdps())
def test_places_and_bends_are_those_of_counting(mdp: MDP) -> None:
    x, y = node_places(mdp)
    for stage in range(mdp.horizon):
        nodes = range(int(mdp.stage_node[stage]), int(mdp.stage_node[stage + 1]))
        assert [x[node] for node in nodes] == [stage] * len(nodes)
        assert [y[node] for node in nodes] == [i - (len(nodes) - 1) / 2 for i in range(len(nodes))]
    assert (x[-1], y[-1]) == (mdp.horizon, 0.0)
    bend, size = fan(mdp)
    pairs = Counter(zip(mdp.source.tolist(), mdp.target.tolist()))
    seen: Counter[tuple[int, int]] = Counter()
    for arc, pair in enumerate(zip(mdp.source.tolist(), mdp.target.tolist())):
        assert size[arc] == pairs[pair]
        assert bend[arc] == seen[pair] - (pairs[pair] - 1) / 2
        seen[pair] += 1
