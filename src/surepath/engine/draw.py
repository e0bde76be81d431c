"""Drawing one reward inside a compiled run."""

from __future__ import annotations

import numpy as np

from surepath.engine._jit import hot_kernel
from surepath.engine.arrays import Reality
from surepath.model.rewards import BERNOULLI, BETA, GAUSSIAN, KNOWN, TABLE, UNIFORM


@hot_kernel
def draw(reality: Reality, e: int, rng: np.random.Generator) -> float:
    """A reward of arc e, turned so that larger is better."""
    kind = reality.kind[e]
    if kind == GAUSSIAN:
        x = reality.a[e] + reality.b[e] * rng.standard_normal()
    elif kind == KNOWN:
        x = reality.a[e]
    elif kind == BERNOULLI:
        x = 1.0 if rng.random() < reality.a[e] else 0.0
    elif kind == UNIFORM:
        x = reality.a[e] + (reality.b[e] - reality.a[e]) * rng.random()
    elif kind == BETA:
        if reality.a[e] <= 0.0:
            x = reality.low[e]
        elif reality.b[e] <= 0.0:
            x = reality.high[e]
        else:
            share = rng.beta(reality.a[e], reality.b[e])
            x = reality.low[e] + (reality.high[e] - reality.low[e]) * share
    elif kind == TABLE:
        low, high = reality.table_first[e], reality.table_first[e + 1]
        x = reality.table[low + int(rng.random() * (high - low))]
    else:
        x = np.nan  # a user's function cannot be drawn here; callers take the step-by-step driver instead
    return reality.sign * float(x)
