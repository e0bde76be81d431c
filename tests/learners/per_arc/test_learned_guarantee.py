"""The guarantee of intervals that learn the noise, on the laws that are hardest for it; without V it breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from surepath.learners.range_noise.intervals import interval_table, most_sums

from surepath import EPRL, Bernoulli, Instance, simulate
from surepath.learners.per_arc import learner as rule_learner
from surepath.learners.whole_plan import state as plan_state
from tests.learners.challenger.test_noise_guarantee import CASES, options
from tests.learners.rates import is_above

pytestmark = pytest.mark.guarantee
RUNS, WALKS, LENGTH = 200, 300, 400
LEARNERS: dict[str, dict[str, Any]] = {
    "EPRL": {"sampling": "max-diameter", "elimination": "both"},
    "BPIUCRL": {},
    "Uniform": {},
    "WholePlan": {},
}
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
# The mean of a law and rewards drawn from it: fair coins, calm scores, scores that are nearly always 0 and rarely 1.
LAWS: dict[str, tuple[float, Draw]] = {
    "coins": (0.5, lambda rng, shape: (rng.random(shape) < 0.5).astype(float)),
    "calm": (0.5, lambda rng, shape: rng.beta(12, 12, shape)),
    "rare": (0.05, lambda rng, shape: (rng.random(shape) < 0.05).astype(float)),
}


def wrong(name: str, instance: Instance, epsilon: float, delta: float) -> int:
    spec = {"name": name, "epsilon": epsilon, "delta": delta, **LEARNERS[name]}
    result = simulate(spec, instance, RUNS, seed=5, budget=100_000, workers=1)
    assert result.settings["learner"]["widths"] == "bernstein"
    assert not result.censored.any()
    return int((~result.correct).sum())


def blind_table(table: np.ndarray) -> np.ndarray:
    """The table as if V were always 0."""
    return np.stack([table[0], np.full_like(table[1], table[1, 0]), np.zeros_like(table[2])])


def crossings(law: str, delta: float, blind: bool = False) -> int:
    """In how many walks does a mean of 4 arcs ever leave its interval, by Bernstein alone."""
    table = EPRL(options(2, 2), 0.0, delta)._state.most
    assert table is not None
    mean, drawn = LAWS[law]
    x = drawn(np.random.default_rng(7), (WALKS, 4, LENGTH))
    n, sums = np.arange(1, LENGTH + 1), np.cumsum(x, axis=2)
    v = np.cumsum((x - (0.5 + sums - x) / n) ** 2, axis=2)
    most = most_sums(blind_table(table) if blind else table, n, v)
    return int((np.abs(sums - n * mean) > most).any(axis=(1, 2)).sum())


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("delta", [0.1, 0.5])
def test_the_failure_rate_stays_below_delta(name: str, delta: float) -> None:
    for case, (instance, epsilon) in CASES.items():
        assert not is_above(wrong(name, instance, epsilon, delta), RUNS, delta), case


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("delta", [0.1, 0.5])
def test_intervals_hold_at_all_times_at_once(law: str, delta: float) -> None:
    assert not is_above(crossings(law, delta), WALKS, delta)


def test_intervals_do_not_hold_without_v() -> None:
    assert is_above(crossings("coins", 0.5, blind=True), WALKS, 0.5)


@pytest.mark.parametrize("name", ["EPRL", "WholePlan"])
def test_without_v_it_fails(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = Instance(options(1, 2), Bernoulli([0.49, 0.51]))
    for module in (rule_learner, plan_state):
        monkeypatch.setattr(module, "interval_table", lambda budget: blind_table(interval_table(budget)))
    assert is_above(wrong(name, instance, 0.0, 0.1), RUNS, 0.1)
