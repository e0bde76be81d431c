"""The bound on an unknown sigma: above it in nearly all runs at all times, and close to it when much was seen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from surepath.learners.challenger import noise as at

pytestmark = pytest.mark.pure
bound = getattr(at.largest_sigma, "py_func", at.largest_sigma)


def test_it_is_hidden_at_first_and_close_later() -> None:
    size = at.size_of(0.01)
    assert bound(size, 0.0, 0.0) == at.HIDDEN
    assert bound(size, 4.0 * 30, 30.0) < 2 * 2.1
    assert 2.0 < bound(size, 4.0 * 1e4, 1e4) < 2 * 1.06
    assert bound(at.size_of(0.0), 4.0 * 30, 30.0) == 1.0


@pytest.mark.parametrize("alpha", [0.5, 0.1])
def test_it_holds_at_all_times_at_once(alpha: float) -> None:
    """Looked at after every reward; a lower count of the union over the tilts would show."""
    rng, runs, broken = np.random.default_rng(0), 600, 0
    size = at.size_of(alpha)
    for _ in range(runs):
        x = rng.normal(3.0, 0.7, 150)
        before = np.cumsum(x)[:-1] / np.arange(1, 150)
        rss, count = np.cumsum((x[1:] - before) ** 2), np.arange(1.0, 150.0)
        room = count[:, None] * size.half_log - size.cost
        with np.errstate(divide="ignore", invalid="ignore"):
            least = np.where(room > 0, at.SIZE_TILTS * rss[:, None] / room, np.inf).min(axis=1)
        assert bound(size, rss[-1], count[-1]) == pytest.approx(np.sqrt(least[-1]))
        broken += int((least < 0.7**2).any())
    assert binomtest(broken, runs, alpha, alternative="greater").pvalue > 1e-3
    assert broken > 0 or alpha < 0.5  # not so wide that nothing could break it
