"""Measured failure rates against delta."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest


def is_above(failed: int, runs: int, delta: float) -> bool:
    """Return whether an exact binomial test shows a failure rate above delta."""
    return bool(binomtest(failed, runs, delta, alternative="greater").pvalue < 1e-3)


DELTAS = [0.1, *(pytest.param(delta, marks=pytest.mark.rare) for delta in (0.5, 0.9))]
