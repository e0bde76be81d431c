"""The table of the empirical Bernstein process beside exact integration, and the inequality it stands on."""

from __future__ import annotations

import numpy as np
import pytest

from surepath.learners.challenger import noise as at
from tests.naive.processes import z_star

pytestmark = pytest.mark.pure
row_of = getattr(at.bernstein_row, "py_func", at.bernstein_row)
conjugate = getattr(at.bernstein_conjugate, "py_func", at.bernstein_conjugate)


def looked_up(y: np.ndarray, w: np.ndarray) -> np.ndarray:
    table = at.bernstein_table()
    values = []
    for one, size in zip(y.tolist(), w.tolist()):
        row = row_of(table, size)
        values.append(conjugate(table, row, size - table.w[row], one, np.log(one)))
    return np.array(values)


def test_the_table_never_lies_below_exact_integration() -> None:
    rng = np.random.default_rng(0)
    w = np.exp(rng.uniform(np.log(at.LEAST_W), np.log(1e6), 3000))
    log_y = rng.uniform(np.log(0.003 / np.sqrt(w)), np.log(np.minimum(0.99, 9 / np.sqrt(w))))
    y = np.where(rng.random(3000) < 0.3, rng.uniform(0.2, 0.99, 3000), np.exp(log_y))
    y = np.minimum(y, 12 / np.sqrt(w))  # the naive integral is exact where it is needed
    above = looked_up(y, w) - z_star(y, w)
    assert above.min() >= 0
    assert np.quantile(above, 0.95) < 0.06


def test_far_left_of_the_table_it_is_above_too() -> None:
    w = np.array([0.25, 1.0, 100.0, 3e5])
    y = np.array([1e-8, 1e-9, 1e-8, 3e-7])
    assert (looked_up(y, w) - z_star(y, w) >= 0).all()
    # Beyond the largest W, the tangent still lies above: twice as much V cannot make the width smaller.
    big = np.array([at.MOST_W, 4 * at.MOST_W])
    values = looked_up(np.full(2, 1e-4), big)
    assert values[1] > values[0]


def test_the_process_grows_in_expectation_by_nothing() -> None:
    """One more reward of any law on [0, 1], for any guess m: the expectation of exp(l s - psi v) is at most 1."""
    rng = np.random.default_rng(1)
    for _ in range(2000):
        x, p = rng.random(3) ** rng.choice([0.1, 1, 10], 3), rng.dirichlet(np.full(3, 0.3))
        x = np.where(rng.random(3) < 0.3, np.round(x), x)
        r, m, tilt = float(p @ x), rng.random(), rng.random()
        psi = -np.log1p(-tilt) - tilt
        for sign in (1, -1):
            assert p @ np.exp(tilt * sign * (x - r) - psi * (x - m) ** 2) <= 1 + 1e-12
