"""Edge tables: layering and padding against plain enumeration of the rows, and every refusal in words."""

from __future__ import annotations

import re
import tracemalloc
from typing import Any

import numpy as np
import pandas
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepath import MDP
from surepath.errors import ProblemError
from surepath.model.edges import build, read_rows
from tests.naive.paths import all_paths
from tests.strategies import mdps

ROUTES = [("home", "bus", "work"), ("home", "walk", "park"), ("park", "walk", "work")]


def naive_routes(rows: list[tuple[str, str, str | None]], state: str | None) -> list[tuple[int, ...]]:
    """Every way from a state to where no row leaves, as row numbers."""
    own = [i for i, row in enumerate(rows) if row[0] == state]
    if not own:
        return [()]
    return [(i, *rest) for i in own for rest in naive_routes(rows, rows[i][2])]


@st.composite
def dags(draw: st.DrawFn) -> list[tuple[str, str, str | None]]:
    """Rows of a random DAG of named states that starts in "n0"; parallel edges and long jumps included."""
    size = draw(st.integers(1, 5))
    rows: list[tuple[str, str, str | None]] = []
    for i in range(size):
        for a in range(draw(st.integers(1 if i == 0 else 0, 3))):
            goal = draw(st.one_of(st.integers(i + 1, size), st.none()))
            rows.append((f"n{i}", f"a{a}", None if goal is None else f"n{goal}"))
    return rows


@given(dags())
def test_a_dag_has_the_same_plans_after_padding(rows: list[tuple[str, str, str | None]]) -> None:
    mdp = MDP.from_edges(rows, source="n0")
    numbers = {(state, action): row for row, (state, action, _) in enumerate(rows)}
    names = [(mdp.state_label(int(mdp.source[arc])), mdp.action_label(arc)) for arc in range(mdp.n_arcs)]
    row_of = {arc: numbers[name] for arc, name in enumerate(names) if name in numbers}
    played = [tuple(row_of[arc] for arc in path if arc in row_of) for path in all_paths(mdp)]
    assert sorted(played) == sorted(naive_routes(rows, "n0"))
    assert mdp.horizon == max(map(len, played))
    passing = [arc for arc in range(mdp.n_arcs) if arc not in row_of]
    assert (np.flatnonzero(mdp.is_known) == passing).all()
    assert all(mdp.known is not None and mdp.known[arc] == 0 for arc in passing)


@given(mdps())
def test_rows_of_an_mdp_build_it_again(mdp: MDP) -> None:
    arcs = mdp.arcs
    goals = [None if node == mdp.n_nodes else int(mdp.node_state[node]) for node in mdp.target]
    rows = [(int(h), int(s), int(a), goal) for h, s, a, goal in zip(arcs.stage, arcs.state, arcs.action, goals)]
    assert MDP.from_edges(rows) == mdp
    assert MDP.from_edges(rows[::-1]) == mdp


def test_numbers_of_rows_reach_their_arcs() -> None:
    rows = [
        {"state": "a", "action": "x", "next_state": "b", "sigma": 0.2, "mean": 1.0},
        {"state": "a", "action": "y", "next_state": "b", "low": 0, "high": 3, "mean": 2.0},
        {"state": "b", "action": "toll", "known": 5},
        {"state": "b", "action": "free", "mean": -1},
    ]
    mdp, means = build(read_rows(rows), sigma=0.7)
    assert mdp.sigma is not None
    assert mdp.known is not None
    assert mdp.reward_range is not None
    assert means is not None
    order = [mdp.arc(*place) for place in ((0, "a", "x"), (0, "a", "y"), (1, "b", "toll"), (1, "b", "free"))]
    assert mdp.sigma[order].tolist() == [0.2, 0.7, 0.0, 0.7]
    assert mdp.known[order].tolist()[2] == 5.0
    assert mdp.is_known[order].tolist() == [False, False, True, False]
    assert mdp.reward_range[0][order].tolist() == [-np.inf, 0, -np.inf, -np.inf]
    assert means[order].tolist() == [1.0, 2.0, 5.0, -1.0]
    assert MDP.from_edges([("a", "x", None)]).sigma is None
    assert MDP.from_edges([{"state": "a", "action": "x", "low": 0, "high": 3}]).declared_sigma.tolist() == [1.5]


def test_frames_are_edge_tables() -> None:
    rows = [("h", "a", "w", 1.0), ("h", "b", None, 2.0), ("w", "c", None, None)]
    columns = ["state", "action", "next_state", "sigma"]
    plain = MDP.from_edges([dict(zip(columns, row)) for row in rows], sigma=3.0)
    assert plain.sigma is not None
    frame = pandas.DataFrame(rows, columns=columns)
    assert MDP.from_edges(frame, sigma=3.0) == plain
    assert MDP.from_edges(polars.DataFrame(rows, schema=columns, orient="row"), sigma=3.0) == plain  # type: ignore[arg-type]
    numbered = pandas.DataFrame(
        {"stage": [0, 0, 1], "state": [0, 0, 1], "action": [0, 1, 0], "next_state": [1, 1, None]}
    )
    assert numbered["next_state"].dtype.kind == "f"
    assert MDP.from_edges(numbered) == MDP.from_edges([(0, 0, 0, 1), (0, 0, 1, 1), (1, 1, 0, None)])


ROW = {"stage": 0, "state": "a", "action": "x"}
BAD: list[tuple[Any, dict[str, Any], str]] = [
    ([], {}, "the edge table is empty; a problem needs at least one edge"),
    (7, {}, "rows must be a list of edges, not int"),
    ([("a", "b")], {}, "row 1 must be (state, action, next_state), (stage, state, action, next_state) or a mapping"),
    ([{**ROW, "sigmaa": 1}], {}, "row 1 has an unknown column 'sigmaa' (did you mean \"sigma\"?)"),
    ([{"state": "a"}], {}, "row 1 has no action; every row names its state and its action"),
    ([(0, 0.5, "x", "b")], {}, "row 1: state must be text or a whole number, not 0.5"),
    ([{**ROW, "mean": float("nan")}], {}, "row 1: mean must be finite, not nan"),
    ([{**ROW, "sigma": -1}], {}, "row 1 (stage 0, state 'a', option 'x'): sigma must be 0 or more, not -1"),
    ([{**ROW, "known": 1, "sigma": 1}], {}, "a known score has no noise; leave sigma out or drop known"),
    ([{**ROW, "known": 1, "mean": 2}], {}, "the known score 1 and the mean 2 disagree"),
    ([{**ROW, "low": 0, "high": 1, "mean": 2}], {}, "the mean 2 lies outside [0, 1]"),
    ([ROW, {"state": "b", "action": "x"}], {}, "row 2 (state 'b', option 'x') has no `stage` while row 1 has one"),
    ([ROW, ROW], {}, "row 2 (stage 0, state 'a', option 'x') repeats row 1; an option leads to one place"),
    ([(1, "a", "x", "b")], {}, "stages are numbered from 0; the lowest here is 1"),
    ([(0, "a", "x", "b"), (2, "b", "x", "c")], {}, "no row has stage 1, but there is a stage 2; stages leave no gaps"),
    ([(0, "a", "x", None), (0, "b", "x", None)], {}, "stage 0 has 2 states ('a', 'b'); a plan starts in one"),
    ([(0, "a", "x", None)], {"target": "b"}, "target is for tables without `stage`"),
    (
        [(0, "a", "x", "b"), (0, "a", "y", "c"), (1, "b", "x", None)],
        {},
        "row 2 (stage 0, state 'a', option 'y') leads to state 'c', which has no option at stage 1; add its rows",
    ),
    (
        [(0, "a", "x", "b"), (0, "a", "y", "c"), (1, "b", "x", "c"), (2, "c", "x", None)],
        {},
        "row 2 (stage 0, state 'a', option 'y') leads to state 'c' at stage 1, where it has no option; it has some at "
        "stage 2, and edges join consecutive stages",
    ),
    (
        [("a", "x", "b"), ("b", "y", "c"), ("c", "z", "b")],
        {},
        "the edges form a cycle: 'b' -> 'c' -> 'b'; without `stage` the edges must form a DAG",
    ),
    ([("a", "x", "c"), ("b", "y", "c")], {}, "2 states could be the start ('a', 'b'); name one with source"),
    ([("home", "x", "c")], {"source": "hoem"}, "no row leaves the source 'hoem' (did you mean \"home\"?)"),
    (ROUTES, {"source": "park", "target": "home"}, "the source 'park' cannot reach the target 'home'"),
    (
        [{**ROW, "sigma": 1}, {**ROW, "action": "y"}],
        {},
        "has no sigma while other rows have; give it one, or a default",
    ),
    ([ROW], {"states": ["a", "a"]}, "the list of states names 'a' twice"),
]


@pytest.mark.parametrize(("rows", "options", "message"), BAD)
def test_bad_tables_are_refused_in_words(rows: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        build(read_rows(rows), **options)


def test_a_small_table_never_takes_gigabytes() -> None:
    """A hundred kilobytes of rows whose padding would be four million arcs: refused before one of them is made."""
    rows = [("n0", f"j{i}", f"n{i}") for i in range(2, 3000)]
    rows += [(f"n{i}", "on", f"n{i + 1}") for i in range(2999)]
    tracemalloc.start()
    try:
        with pytest.raises(ProblemError, match="5,997 rows would need 4,495,501 pass-through options, and at most 1,0"):
            MDP.from_edges(rows)
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()


def test_a_number_and_its_text_are_not_one_state() -> None:
    message = "row 2 has the state '1' where row 1 has 1; write a state's name the same way everywhere"
    with pytest.raises(ProblemError, match=re.escape(message)):
        MDP.from_edges([(0, 0, "x", 1), (1, "1", "x", None)])
    assert MDP.from_edges([(0, 0, "x", np.int64(1)), (1, 1, "x", None)]).n_arcs == 2
