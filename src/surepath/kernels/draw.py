"""Draw rewards inside a compiled run."""

from __future__ import annotations

from math import erfc

import numpy as np

from surepath._checks import FloatArray, IntArray
from surepath.kernels.jit import bare_kernel, folded_kernel, hot_kernel, inner_kernel
from surepath.kernels.sweeps import Reality
from surepath.model.worlds import BERNOULLI, BETA, GAUSSIAN, KNOWN, TABLE, UNIFORM


@hot_kernel
def normal(rng: np.random.Generator) -> float:
    """Draw a standard normal number; one kernel, so that it is compiled once for all callers."""
    return float(rng.standard_normal())


@folded_kernel
def within(x: float, low: float, high: float) -> float:
    """Clip x to a range that rounding may have left."""
    return float(min(max(x, low), high))


@inner_kernel
def beta(a: float, b: float, rng: np.random.Generator) -> float:
    """Draw a beta number."""
    return float(rng.beta(a, b))


@inner_kernel
def draw(reality: Reality, e: np.uint64, rng: np.random.Generator) -> float:
    """Draw a reward of arc e, turned so that larger is better; compiled once for all learners."""
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
            share = beta(reality.a[e], reality.b[e], rng)
            x = within(reality.low[e] + (reality.high[e] - reality.low[e]) * share, reality.low[e], reality.high[e])
    elif kind == TABLE:
        low, high = reality.table_first[e], reality.table_first[e + 1]
        x = reality.table[low + int(rng.random() * (high - low))]
    else:
        x = np.nan  # a user's function cannot be drawn here; callers take the step-by-step driver instead
    return reality.sign * float(x)


@folded_kernel
def draw_luck(reality: Reality, rng: np.random.Generator, common: float, own: float, h: int) -> tuple[float, float]:
    """Draw the common effect of an episode at its first stage, and the own effect of each stage."""
    carry = reality.carry
    if len(reality.loading) == 0:
        return 0.0, 0.0
    if h == 0:
        return normal(rng), normal(rng)
    return common, carry * own + np.sqrt(1.0 - carry * carry) * normal(rng)


@inner_kernel
def draw_step(reality: Reality, e: np.uint64, rng: np.random.Generator, common: float, own: float) -> float:
    """Draw a reward of arc e: independently, or where luck is shared its quantile at the luck drawn."""
    if len(reality.loading) == 0:
        return draw(reality, e, rng)
    kind, a, b = reality.kind[e], reality.a[e], reality.b[e]
    part = reality.loading[e]
    z = part * common + np.sqrt(1.0 - part * part) * own
    chance = 0.5 * erfc(-z * np.sqrt(0.5))
    if kind == GAUSSIAN:
        x = a + b * z
    elif kind == BERNOULLI:
        x = reality.high[e] if chance > 1.0 - a else reality.low[e]
    elif kind == UNIFORM:
        x = within(a + (b - a) * chance, reality.low[e], reality.high[e])
    elif kind == TABLE:
        low, high = reality.table_first[e], reality.table_first[e + 1]
        x = reality.table[low + min(int(chance * (high - low)), high - low - 1)]
    else:
        x = a
    return reality.sign * float(x)


@bare_kernel
def draw_path(reality: Reality, path: IntArray, rng: np.random.Generator, out: FloatArray) -> None:
    """Draw the rewards of an episode into out [H]."""
    common, own = 0.0, 0.0
    for h in range(len(path)):
        common, own = draw_luck(reality, rng, common, own, h)
        out[h] = draw_step(reality, np.uint64(path[h]), rng, common, own)


@hot_kernel
def mix(key: np.int64) -> np.uint64:
    """Mix the bits of a key in the manner of splitmix64: every input bit moves every output bit."""
    z = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
