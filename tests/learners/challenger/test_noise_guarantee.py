"""The guarantee where noise is learned, on the laws that are hardest for it; builds that leave a part out break it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from surepath import MDP, Bernoulli, Bounded, Challenger, Gaussian, Instance, simulate

pytestmark = pytest.mark.guarantee
QUICK = {"repeat": 0.1, "patience": 0.3}


def options(stages: int, actions: int, ranged: bool = True) -> MDP:
    """One state, several actions at each stage."""
    shape = np.zeros((stages, 1, actions), dtype=int)
    return MDP.from_arrays(shape, reward_range=(0, 1) if ranged else None)


def tables(*rows: list[float]) -> Instance:
    return Instance(options(1, len(rows)), Bounded(0, 1, sampler="table", tables=rows))


# Every wrong path lies just outside epsilon: (instance, epsilon).
COINS = (Instance(options(1, 2), Bernoulli([0.5, 0.61])), 0.1)
CALM = (Instance(options(1, 2), Bounded(0, 1, [0.5, 0.55], concentration=24.0)), 0.04)
RARE_GAINS = (tables([0.1], [0.0] * 17 + [1.0] * 3), 0.04)
RARE_LOSSES = (tables([0.8], [1.0] * 17 + [0.0] * 3), 0.04)
SKEWED = (tables([0.3, 0.3, 0.3, 0.3, 0.8], [0.1, 0.35, 0.4, 0.5, 0.95]), 0.05)
STAGES = (Instance(options(3, 2), Bernoulli([0.9, 0.5, 0.2, 0.6, 0.5, 0.9])), 0.35)
CASES = {
    "coins": COINS,
    "calm": CALM,
    "rare gains": RARE_GAINS,
    "rare losses": RARE_LOSSES,
    "skewed": SKEWED,
    "stages": STAGES,
}


def wrong(instance: Instance, epsilon: float, delta: float, runs: int, **settings: Any) -> int:
    return wrong_of(Challenger(instance.mdp, epsilon, delta, **{**QUICK, **settings}), instance, runs)


def wrong_of(learner: Challenger, instance: Instance, runs: int) -> int:
    result = simulate(learner, instance, runs, seed=5, budget=100_000, workers=1)
    assert not result.censored.any()
    return int((~result.correct).sum())


def is_above(failed: int, runs: int, delta: float) -> bool:
    """Whether an exact binomial test shows a failure rate above delta."""
    return bool(binomtest(failed, runs, delta, alternative="greater").pvalue < 1e-3)


@pytest.mark.parametrize("delta", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(("noise", "runs"), [("bernstein", 300), ("betting", 120)])
def test_the_failure_rate_stays_below_delta(noise: str, runs: int, delta: float) -> None:
    failed = 0
    for name, (instance, epsilon) in CASES.items():
        own = wrong(instance, epsilon, delta, runs, noise=noise)
        assert not is_above(own, runs, delta), name
        failed += own
    assert binomtest(failed, runs * len(CASES), delta, alternative="less").pvalue < 1e-6


@pytest.mark.parametrize("delta", [0.1, 0.5, 0.9])
def test_it_stays_below_delta_with_a_sigma_that_is_unknown(delta: float) -> None:
    failed, runs = 0, 250
    for means, sigma, epsilon in (([0.0, 0.51], 1.0, 0.5), ([0.0, 0.3], 0.2, 0.0), ([0.0, 2.2, 2.2, 0.0], 3.0, 2.1)):
        instance = Instance(options(len(means) // 2, 2, ranged=False), Gaussian(means, sigma))
        own = wrong(instance, epsilon, delta, runs, sigma="unknown")
        assert not is_above(own, runs, delta), means
        failed += own
    assert binomtest(failed, 3 * runs, delta, alternative="less").pvalue < 1e-3


def test_without_v_it_fails() -> None:
    """The table as if V were always 0: what one reward can do is bounded, what a hundred can do is not."""
    delta, runs = 0.1, 200
    assert not is_above(wrong(*COINS, delta, runs, noise="bernstein"), runs, delta)
    instance = Instance(options(1, 2), Bernoulli([0.49, 0.51]))
    usual = Challenger(instance.mdp, 0.0, delta, noise="bernstein", **QUICK)  # type: ignore[arg-type]
    entry = {"kind": "bernstein", "prior": usual.bound["entries"][0]["prior"], "weight": 1.0, "scale": 1.0}
    bound = {**usual.bound, "entries": [entry]}
    learner = Challenger(instance.mdp, 0.0, delta, noise="bernstein", bound=bound, **QUICK)  # type: ignore[arg-type]
    learned = learner.pairs.learned
    assert learned is not None
    table = learned.bernstein
    assert table is not None
    row = int(np.argmin(np.abs(np.log(table.w))))  # c = 1
    blind = table._replace(value=np.tile(table.value[row], (len(table.w), 1)), slope=np.zeros_like(table.slope))
    learner.pairs = learner.pairs._replace(learned=learned._replace(bernstein=blind))
    assert is_above(wrong_of(learner, instance, runs), runs, delta)
