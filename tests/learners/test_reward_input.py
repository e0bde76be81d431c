"""What `tell` takes for rewards, and what it refuses in words."""

from __future__ import annotations

import re
from collections import OrderedDict
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from surepath.errors import RewardError
from surepath.learners.base import read_rewards
from surepath.model.mdp import MDP
from tests.strategies import mdps

MDP_OF_3 = MDP.from_edges([(h, "s", a, "s") for h in range(3) for a in "xy"])
PATH = np.array([0, 2, 4])


@pytest.mark.parametrize(
    "rewards",
    [
        [1, 0, 1],
        [True, False, True],
        [Decimal(1), Fraction(0), 1],
        np.array([1, 0, 1], dtype=np.longdouble),
        np.array([1, 0, 1], dtype=">f8"),
        np.array([1, 0.0, True], dtype=object),
        np.ma.array([1.0, 0.0, 1.0]),  # a masked array that hides nothing
        pd.Series([1.0, 0.0, 1.0], index=[7, 8, 9]),
        pd.Series([1, 0, 1], dtype="Int64"),
        pl.Series([1.0, 0.0, 1.0]),
        {0: 1, 1: 0, 2: 1},
        {"2": 1, "1": 0, "0": 1},
        OrderedDict([(np.int64(2), Decimal(1)), (0, 1), (1, np.array(0.0))]),
    ],
    ids=lambda value: f"{type(value).__name__}",
)
def test_numbers_of_every_make_are_rewards(rewards: Any) -> None:
    taken = read_rewards(MDP_OF_3, PATH, rewards)
    assert taken.dtype == np.float64
    assert taken.tolist() == [1.0, 0.0, 1.0]


REFUSED: list[tuple[Any, str]] = [
    (np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]), "the score of step 2 must be a number, not values hidden"),  # type: ignore[arg-type]
    ([1.0, np.ma.masked, 3.0], "the score of step 2 must be a number, not values hidden by a mask"),
    (np.array(["NaT", 1, 2], dtype="m8[s]"), "scores must be 3 numbers, not durations"),
    (np.array(["2020-01-01"] * 3, dtype="M8[D]"), "scores must be 3 numbers, not dates"),
    (np.zeros(3, dtype=[("a", "f8")]), "scores must be 3 numbers, not records"),
    (np.array(["1.0", "2.0", "3.0"], dtype=object), "the score of step 1 must be a number, not the text '1.0'"),
    ([1.0, "2.0", 3.0], "scores must be 3 numbers, not text"),
    (np.array([1 + 0j, 2, 3]), "scores must be 3 numbers, not complex numbers"),
    ([1.0, None, 3.0], "the score of step 2 must be a number, not None"),
    (pd.Series([1, None, 3], dtype="Int64"), "the score of step 2 "),
    (pl.Series([1.0, None, 3.0]), "the score of step 2 is nan; scores must be finite"),
    ([1.0, 10**400, 3.0], "the score of step 2 must be a number"),
    ([1.0, np.nan, 3.0], "report a failed trial, with the scores before it"),
    ([1.0, 2.0, np.inf], "the score of step 3 is inf; scores must be finite"),
    ([1.0, 1e151, 3.0], "the score of step 2 is 1e+151; scores must lie within 1e+150 of 0"),
    ([1.0, [2.0, 3.0]], "scores must be 3 numbers, not [1.0, [2.0, 3.0]]"),
    (1.0, "scores must be 3 numbers, one per step; got the one number 1. Where a plan has one score, build the"),
    ([1.0] * 4, "scores must be 3 numbers, one per step, or fewer; got 4"),
    ("high", "scores must be 3 numbers, not text; got 'high'"),
    (None, "scores must be 3 numbers, not None"),
    ({1.0, 2.0, 3.0}, "scores must be 3 numbers, not {1.0, 2.0, 3.0}"),
    (
        {0: 1.0, 2: 1.0},
        "the scores name step 3 but not step 2 (its key is 1); tell every step up to the one where the trial",
    ),
    ({0: 1.0, 1: [2.0]}, "the score of step 2 must be one number, not [2.0]"),
    ({0: 1.0, "0": 2.0}, "the scores name step 1 (its key is 0) twice"),
    ({3: 1.0}, "no step has the key 3; steps without names have the keys 0..2"),
    ({0.0: 1.0}, "a plan names each step by text or by a whole number, not 0.0"),
]


@pytest.mark.parametrize(("rewards", "message"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_what_is_no_reward_is_refused_in_words(rewards: Any, message: str) -> None:
    with pytest.raises(RewardError, match=re.escape(message)):
        read_rewards(MDP_OF_3, PATH, rewards)


def test_a_prefix_says_that_the_trial_failed_there() -> None:
    assert read_rewards(MDP_OF_3, PATH, []).shape == (0,)
    assert read_rewards(MDP_OF_3, PATH, [0.5]).tolist() == [0.5]
    assert read_rewards(MDP_OF_3, PATH, {}).shape == (0,)
    assert read_rewards(MDP_OF_3, PATH, {1: 0.25, 0: 0.5}).tolist() == [0.5, 0.25]


def test_a_declared_range_is_kept() -> None:
    mdp = MDP.from_arrays(np.zeros((3, 1, 2), dtype=int), reward_range=(0.0, 1.0))
    assert read_rewards(mdp, PATH, [0.0, 1.0]).tolist() == [0.0, 1.0]
    with pytest.raises(RewardError, match=re.escape("the score 1.5 of step 2 lies outside the declared range")):
        read_rewards(mdp, PATH, [0.0, 1.5, 1.0])


@given(
    hnp.arrays(
        dtype=st.one_of(
            hnp.scalar_dtypes(), hnp.byte_string_dtypes(), hnp.unicode_string_dtypes(), st.just(np.dtype(object))
        ),
        shape=hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=4),
    )
)
def test_an_array_of_any_kind_is_read_exactly_or_refused(array: np.ndarray) -> None:
    try:
        taken = read_rewards(MDP_OF_3, PATH, array)
    except RewardError:
        real = array.dtype.kind in "fiub" and array.ndim == 1 and len(array) <= 3
        assert not real or not np.isfinite(array).all() or (np.abs(array.astype(float)) > 1e150).any()
    else:
        assert array.dtype.kind in "fiubO"
        assert array.ndim == 1
        assert [float(x) for x in array] == taken.tolist()
        assert not np.shares_memory(taken, array)


@given(mdps(), st.data())
def test_a_mapping_and_a_list_tell_the_same(mdp: MDP, data: st.DataObject) -> None:
    path, node = [], 0
    for _ in range(mdp.horizon):
        path.append(data.draw(st.integers(int(mdp.first[node]), int(mdp.first[node + 1]) - 1)))
        node = int(mdp.target[path[-1]])
    rewards = data.draw(st.lists(st.floats(-10, 10), max_size=mdp.horizon))
    mapping = dict(data.draw(st.permutations(list(enumerate(rewards)))))
    arcs = np.array(path)
    assert read_rewards(mdp, arcs, mapping).tolist() == read_rewards(mdp, arcs, rewards).tolist() == rewards


def named(known: float | None = None) -> MDP:
    rows: list[dict[str, Any]] = [
        {"stage": h, "state": "s", "action": a, "next_state": "s"} for h in range(3) for a in "xy"
    ]
    if known is not None:
        rows[2] |= {"known": known}
    return MDP.from_edges(rows)._replaced(step_labels=("chunk", "retrieve", "answer"))


def test_known_rewards_overrule_what_is_told() -> None:
    mdp = named(known=0.25)
    for rewards in ([1, np.nan, 3], [1, np.inf, 3], [1, 7, 3], {"chunk": 1, "answer": 3}):
        assert read_rewards(mdp, PATH, rewards).tolist() == [1, 0.25, 3]
    last = MDP.from_edges(
        [
            {"stage": 0, "state": "s", "action": "x", "next_state": "s"},
            {"stage": 1, "state": "s", "action": "x", "known": 2.0},
        ]
    )
    assert read_rewards(last, np.array([0, 1]), {0: 1.0}).tolist() == [1.0, 2.0]  # nothing was left to see
    assert read_rewards(last, np.array([0, 1]), [1.0]).tolist() == [1.0]
    assert read_rewards(last, np.array([0, 1]), {}).tolist() == []
