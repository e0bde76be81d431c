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
