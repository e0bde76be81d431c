"""Names of states: readable, and never the same for two values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepath.model.adapters import state_name

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=6), st.binary(max_size=3)
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner),
        st.tuples(inner, inner),
        st.dictionaries(scalars, inner, max_size=2),
    ),
    max_leaves=5,
)


def typed(value: Any) -> Any:
    """The value with its types spelled out, so that 1, True and 1.0 differ."""
    if isinstance(value, (list, tuple)):
        return type(value).__name__, *map(typed, value)
    if isinstance(value, dict):
        return "dict", frozenset((typed(key), typed(item)) for key, item in value.items())
    return type(value).__name__, repr(value)


@given(values, values)
def test_names_are_the_same_only_for_the_same_value(one: Any, other: Any) -> None:
    assert (state_name(one) == state_name(other)) == (typed(one) == typed(other))


@given(st.text(max_size=12), values)
def test_text_never_reads_like_something_else(text: str, value: Any) -> None:
    assert state_name(text) != state_name(value) or text == value
    assert state_name(state_name(value)) != state_name(value) or isinstance(value, str)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (np.int64(3), "3"),
        ("start", "start"),
        ("3", "'3'"),
        ("(end)", "'(end)'"),
        (np.float64(0.5), "0.5"),
        ((1, "a"), "(1, 'a')"),
        ({"b": 1, "a": [2]}, "{'a': [2], 'b': 1}"),
        (np.array([1, 2]), "array([1, 2], int64)"),
        (np.zeros((0, 2)), "array([], shape (0, 2), float64)"),
    ],
)
def test_names_are_readable(value: Any, name: str) -> None:
    assert state_name(value) == name


def test_long_names_stay_short() -> None:
    assert len(state_name("x" * 1000)) < 90
    assert len(state_name(np.zeros((84, 84, 3), dtype=np.uint8))) < 90
    assert state_name(np.ma.array([1, 2], mask=[0, 1])) != state_name(np.array([1, 2]))  # type: ignore[arg-type]
