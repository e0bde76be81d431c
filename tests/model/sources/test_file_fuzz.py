"""Any text is a problem or a refusal: the loader only ever says yes or ProblemError."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepath.errors import ProblemError
from surepath.model.files import Problem, load_problem, parse_json_problem
from tests.model.sources.problem_texts import HEAD, HEADER

pytestmark = pytest.mark.pure


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.integers(),
    st.floats(),
    st.sampled_from(["a", "b", "x", "", "maximize", "beta", "bernoulli", "0", "\ud800", "\0", "#"]),
    st.text(max_size=4),
)
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)
edge_fields = ["stage", "state", "action", "next_state", "known", "sigma", "low", "high", "mean", "about"]
top_fields = ["format", "version", "name", "about", "direction", "source", "target", "sigma", "low", "high"]
top_fields += ["epsilon", "delta", "law", "concentration", "states", "actions"]
edges = st.fixed_dictionaries(
    {"state": st.sampled_from(["a", "b", "c", 0, 1]), "action": st.sampled_from(["x", "y", 0])},
    optional={key: scalars for key in edge_fields if key not in ("state", "action")},
)
plain_edges = st.fixed_dictionaries(
    {"state": st.sampled_from("abc"), "action": st.sampled_from("xy"), "next_state": st.sampled_from("bcd")},
    optional={"mean": st.floats(0, 1), "sigma": st.sampled_from([0, 0.5, 2]), "known": st.floats(-1, 1)},
)


def only_a_problem_or_a_refusal(text: str) -> Problem | None:
    try:
        loaded = parse_json_problem(text, "p")
    except ProblemError:
        return None
    assert loaded.mdp.n_paths >= 1
    assert np.isfinite(loaded.mdp.log_paths)
    if loaded.instance is not None:
        assert np.isfinite(loaded.instance.optimal_return)
    return loaded


@given(st.text() | json_values.map(json.dumps))
def test_any_text_is_a_problem_or_a_refusal(text: str) -> None:
    only_a_problem_or_a_refusal(text)


@given(st.dictionaries(st.sampled_from(top_fields), json_values), st.lists(edges | json_values, max_size=4))
def test_any_fields_are_a_problem_or_a_refusal(fields: dict[str, Any], rows: list[Any]) -> None:
    only_a_problem_or_a_refusal(json.dumps({**HEAD, **fields, "edges": rows}))


@given(st.lists(plain_edges, min_size=1, max_size=6), st.integers(0, 400), st.binary(max_size=3))
def test_near_misses_are_a_problem_or_a_refusal(rows: list[Any], at: int, junk: bytes) -> None:
    whole = json.dumps({**HEAD, "source": "a", "edges": rows})
    only_a_problem_or_a_refusal(whole)
    only_a_problem_or_a_refusal(whole[:at])
    only_a_problem_or_a_refusal(whole[:at] + junk.decode("latin-1") + whole[at + len(junk) :])


@given(
    st.binary(max_size=200) | st.text(alphabet='abx01,"\n#;', max_size=60).map(lambda t: HEADER.encode() + t.encode())
)
def test_any_csv_is_a_problem_or_a_refusal(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "fuzz.csv"
    file.write_bytes(data)
    with contextlib.suppress(ProblemError):
        assert load_problem(file).mdp.n_paths >= 1
