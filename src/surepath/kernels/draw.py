"""Draw rewards inside a compiled run."""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Reality
from surepath.kernels.jit import Whole, folded_kernel, hot_kernel, optional_kernel
from surepath.model.rewards import BERNOULLI, BETA, GAUSSIAN, KNOWN, TABLE, UNIFORM


@hot_kernel
def normal(rng: np.random.Generator) -> float:
    """Draw a standard normal number; one kernel, so that it is compiled once for all callers."""
    return float(rng.standard_normal())


@folded_kernel
def within(x: float, low: float, high: float) -> float:
    """Clip x to a range that rounding may have left."""
    return float(min(max(x, low), high))


@optional_kernel
def beta(a: float, b: float, rng: np.random.Generator, betas: Whole | None) -> float:
    """Draw a beta number; nothing is compiled where `betas` is None, in worlds that have no such law."""
    if betas is None:
        return np.nan
    return float(rng.beta(a, b))


@folded_kernel
def draw(reality: Reality, e: int | np.uint64, rng: np.random.Generator) -> float:
    """Draw a reward of arc e, turned so that larger is better."""
    return draw_law(reality, np.uint64(e), rng, reality.beta)


@hot_kernel
def draw_law(reality: Reality, e: np.uint64, rng: np.random.Generator, betas: Whole | None) -> float:
    """Draw a reward of arc e; `betas` may be None where no law is a beta law."""
    kind = reality.kind[e]
    if kind == GAUSSIAN:
        x = reality.a[e] + reality.b[e] * normal(rng)
    elif kind == KNOWN:
        x = reality.a[e]
    elif kind == BERNOULLI:
        x = reality.high[e] if rng.random() < reality.a[e] else reality.low[e]
    elif kind == UNIFORM:
        x = within(reality.a[e] + (reality.b[e] - reality.a[e]) * rng.random(), reality.low[e], reality.high[e])
    elif kind == BETA:
        if reality.a[e] <= 0.0:
            x = reality.low[e]
        elif reality.b[e] <= 0.0:
            x = reality.high[e]
        else:
            share = beta(reality.a[e], reality.b[e], rng, betas)
            x = within(reality.low[e] + (reality.high[e] - reality.low[e]) * share, reality.low[e], reality.high[e])
    elif kind == TABLE:
        low, high = reality.table_first[e], reality.table_first[e + 1]
        x = reality.table[low + int(rng.random() * (high - low))]
    else:
        x = np.nan  # a user's function cannot be drawn here; callers take the step-by-step driver instead
    return reality.sign * float(x)
