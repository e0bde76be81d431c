"""Intervals by empirical Bernstein: the table beside exact integration, and the process as a supermartingale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from surepath.learners.range_noise import intervals as at

from tests.naive.processes import log_process, squares

pytestmark = pytest.mark.pure
most_sum = getattr(at.most_sum, "py_func", at.most_sum)
square_of = getattr(at.square_of, "py_func", at.square_of)


@pytest.mark.parametrize("budget", [1.4, 3.0, 6.3, 20.0, 300.0])
def test_the_table_never_lies_below_exact_integration_and_is_close(budget: float) -> None:
    """log M rises with S: it is at least the budget at S as tabulated, and below it at an S 0.2 % smaller."""
    rng = np.random.default_rng(int(budget))
    v = np.append(0.0, np.exp(rng.uniform(np.log(1e-3), np.log(1e6), 600)))
    found = np.array([most_sum(at.interval_table(budget), 1, one) for one in v.tolist()])
    assert log_process(found, v).min() >= budget
    assert log_process(0.998 * found, v).max() < budget


def test_arrays_and_the_kernel_agree_beyond_the_table_too() -> None:
    rng, table = np.random.default_rng(0), at.interval_table(5.0)
    n, v = rng.integers(1, 10**7, 300), np.append(np.exp(rng.uniform(-9, 23, 299)), 1e11)
    found = np.array([most_sum(table, int(a), float(b)) for a, b in zip(n, v)])
    assert at.most_sums(table, n, v).tolist() == found.tolist()
    assert found[-1] > np.sqrt(2 * 5.0 * 1e11)  # never below what a Gaussian sum of that variance needs


def test_squares_are_those_of_the_definition() -> None:
    rewards = np.random.default_rng(1).random(30)
    total = sum(square_of(x, n, rewards[:n].mean() if n else 0.0) for n, x in enumerate(rewards.tolist()))
    assert total == pytest.approx(squares(rewards))


@settings(max_examples=300, deadline=None)
@given(
    points=st.lists(st.floats(0, 1), min_size=3, max_size=3),
    chances=st.lists(st.floats(0.001, 1), min_size=3, max_size=3),
    s=st.floats(-20, 20),
    v=st.floats(0, 50),
    guess=st.floats(0, 1),
    side=st.sampled_from([1, -1]),
)
def test_one_more_reward_makes_the_process_no_larger_in_expectation(
    points: list[float], chances: list[float], s: float, v: float, guess: float, side: int
) -> None:
    x, p = np.array(points), np.array(chances) / sum(chances)
    after = log_process(s + side * (p @ x - x), v + (x - guess) ** 2)
    assert p @ np.exp(after - log_process(np.array([s]), np.array([v]))) <= 1 + 1e-9


@settings(max_examples=100, deadline=None)
@given(s=st.floats(-20, 20), v=st.floats(0, 50), sigma=st.floats(0.01, 3))
def test_neither_does_a_gaussian_one_that_adds_the_square_of_its_sigma(s: float, v: float, sigma: float) -> None:
    node, weight = np.polynomial.hermite_e.hermegauss(60)
    after = log_process(s + sigma * node, np.full(60, v + sigma**2))
    before = log_process(np.array([s]), np.array([v]))
    assert weight @ np.exp(after - before) / weight.sum() <= 1 + 1e-9
