"""Draw a reward of each law in plain Python, in the user's direction."""

from __future__ import annotations

import numpy as np

from surepath.model.worlds import BERNOULLI, BETA, GAUSSIAN, KNOWN, TABLE, UNIFORM, Instance


def draw_reward(instance: Instance, arc: int, rng: np.random.Generator) -> float:
    """Draw one reward of an arc, in the user's direction."""
    law, kind = instance.law, int(instance.law.kind[arc])
    a, b = float(law.a[arc]), float(law.b[arc])
    if kind == KNOWN:
        return a
    if kind == GAUSSIAN:
        return a + b * rng.standard_normal()
    if kind == BERNOULLI:
        return 1.0 if rng.random() < a else 0.0
    if kind == UNIFORM:
        return clip(a + (b - a) * rng.random(), law.low[arc], law.high[arc])
    if kind == BETA:
        low, high = float(law.low[arc]), float(law.high[arc])
        if a <= 0 or b <= 0:
            return low if a <= 0 else high
        return clip(low + (high - low) * rng.beta(a, b), low, high)
    if kind == TABLE:
        low, high = int(law.table_first[arc]), int(law.table_first[arc + 1])
        return float(law.table[low + int(rng.random() * (high - low))])
    raise ValueError(f"no twin of law {kind}")


def clip(x: float, low: float, high: float) -> float:
    return float(min(max(x, low), high))
