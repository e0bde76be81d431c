"""Drawing rewards inside a compiled run.

Where all laws are Gaussian, standard normal numbers are drawn ahead, many in a tight loop, and used in the order of the
stream: the rewards are the same numbers as drawn one by one, for a third of the time.
"""

from __future__ import annotations

import numpy as np

from surepath.engine._jit import hot_kernel, inner_kernel
from surepath.engine.arrays import Reality
from surepath.engine.state import LEFT_AHEAD, State
from surepath.model.rewards import BERNOULLI, BETA, GAUSSIAN, KNOWN, TABLE, UNIFORM


@hot_kernel
def normal(rng: np.random.Generator) -> float:
    """A standard normal number; one kernel, so that the drawing is compiled once for all who draw."""
    return float(rng.standard_normal())


@hot_kernel
def within(x: float, low: float, high: float) -> float:
    """x, put back into a range that rounding may have left by a hair."""
    return float(min(max(x, low), high))


@hot_kernel
def draw(reality: Reality, e: int | np.uint64, rng: np.random.Generator) -> float:
    """A reward of arc e, turned so that larger is better."""
    kind = reality.kind[e]
    if kind == GAUSSIAN:
        x = reality.a[e] + reality.b[e] * normal(rng)
    elif kind == KNOWN:
        x = reality.a[e]
    elif kind == BERNOULLI:
        x = 1.0 if rng.random() < reality.a[e] else 0.0
    elif kind == UNIFORM:
        x = within(reality.a[e] + (reality.b[e] - reality.a[e]) * rng.random(), reality.low[e], reality.high[e])
    elif kind == BETA:
        if reality.a[e] <= 0.0:
            x = reality.low[e]
        elif reality.b[e] <= 0.0:
            x = reality.high[e]
        else:
            share = rng.beta(reality.a[e], reality.b[e])
            x = within(reality.low[e] + (reality.high[e] - reality.low[e]) * share, reality.low[e], reality.high[e])
    elif kind == TABLE:
        low, high = reality.table_first[e], reality.table_first[e + 1]
        x = reality.table[low + int(rng.random() * (high - low))]
    else:
        x = np.nan  # a user's function cannot be drawn here; callers take the step-by-step driver instead
    return reality.sign * float(x)


@inner_kernel
def draw_slowly(reality: Reality, e: np.uint64, rng: np.random.Generator) -> float:
    """`draw`, compiled once for the learners made of rules."""
    return draw(reality, e, rng)


@inner_kernel
def draw_more(state: State, rng: np.random.Generator) -> None:
    """Fill the numbers drawn ahead: what is left moves to the front, new ones follow."""
    ahead, left = state.ahead, state.tally[LEFT_AHEAD]
    for i in range(left):
        ahead[i] = ahead[len(ahead) - left + i]
    for i in range(left, len(ahead)):
        ahead[i] = normal(rng)
    state.tally[LEFT_AHEAD] = len(ahead)
