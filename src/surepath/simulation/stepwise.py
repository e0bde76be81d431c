"""Play one run step by step in Python: for reward laws given as a function, and for rules written in Python."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from surepath._types import FloatArray, IntArray
from surepath.learners.base import Learner
from surepath.learners.cancellation import raise_if_cancelled
from surepath.learners.runs import BUDGET, STOP_REASONS, RunRecord
from surepath.model.instance import Instance
from surepath.model.rewards import BERNOULLI, BETA, GAUSSIAN, KNOWN, TABLE, UNIFORM


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
        return _within(a + (b - a) * rng.random(), law.low[arc], law.high[arc])
    if kind == BETA:
        low, high = float(law.low[arc]), float(law.high[arc])
        if a <= 0 or b <= 0:
            return low if a <= 0 else high
        return _within(low + (high - low) * rng.beta(a, b), low, high)
    if kind == TABLE:
        low, high = int(law.table_first[arc]), int(law.table_first[arc + 1])
        return float(law.table[low + int(rng.random() * (high - low))])
    assert law.draw is not None
    return float(law.draw(arc, rng))


def draw_rewards(instance: Instance, path: IntArray, rng: np.random.Generator) -> list[float]:
    """Draw the rewards of one episode, in the user's direction."""
    law = instance.law
    if law.loading is None:
        return [draw_reward(instance, int(arc), rng) for arc in path]
    common, own, rewards = rng.standard_normal(), rng.standard_normal(), []
    for h, arc in enumerate(path.tolist()):
        if h > 0:
            own = law.carry * own + np.sqrt(1 - law.carry**2) * rng.standard_normal()
        kind, a, b = law.kind[arc], float(law.a[arc]), float(law.b[arc])
        z = law.loading[arc] * common + np.sqrt(1 - law.loading[arc] ** 2) * own
        chance = float(ndtr(z))
        if kind == GAUSSIAN:
            rewards.append(a + b * z)
        elif kind == BERNOULLI:
            rewards.append(1.0 if chance > 1 - a else 0.0)
        elif kind == UNIFORM:
            rewards.append(_within(a + (b - a) * chance, law.low[arc], law.high[arc]))
        elif kind == TABLE:
            values = law.table[law.table_first[arc] : law.table_first[arc + 1]]
            rewards.append(float(values[min(int(chance * len(values)), len(values) - 1)]))
        else:
            rewards.append(a)
    return rewards


def _within(x: float, low: float, high: float) -> float:
    """Clip x to a range that rounding may have left."""
    return float(min(max(x, low), high))


def drive(learner: Learner, instance: Instance, rng: np.random.Generator, budget: int, grid: FloatArray) -> RunRecord:
    """Ask, draw and tell until each epsilon is settled; every epsilon has a run of its own from the same seed."""
    size, horizon = len(grid), learner.mdp.horizon
    record = RunRecord.empty(size, horizon)
    start = rng.bit_generator.state
    for at, epsilon in enumerate(grid.tolist()):
        rng.bit_generator.state = start
        own = learner.fresh(epsilon)
        own._begin(rng)
        while not own.stopped and own.episodes < budget:
            raise_if_cancelled()
            path = own.ask()
            own.tell(path, draw_rewards(instance, path, rng))
        record.tau[at] = own.episodes
        record.reason[at] = STOP_REASONS.index(own.stop_reason) if own.stop_reason else BUDGET
        record.path[at] = own.recommend()
        record.eliminated[at] = int((~own.active).sum())
        record.gap[at] = own.certified_gap()
    return record
