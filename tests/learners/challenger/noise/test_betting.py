"""Betting beside its definition: widths are never below the exact ones, every cell's process is a supermartingale."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from surepath.kernels.jit import bare_kernel
from surepath.learners.challenger import noise as at
from tests.naive.processes import log_wealth

CS = np.array([0.25, 2.0, 16.0, 4096.0])


@bare_kernel
def play(betting: at.Betting, bets: np.ndarray, rewards: np.ndarray) -> None:
    for i in range(len(rewards)):
        at.bet(betting, bets, 0, rewards[i], 1.0 - rewards[i])


@bare_kernel
def fill(betting: at.Betting, bets: np.ndarray, widths: at.BetWidths, side: int, which: int, mean: float) -> None:
    at.halve(bets, widths, 0, side)
    at.tabulate(betting, bets, widths, 0, side, which, which, mean)


@bare_kernel
def widths_at(
    betting: at.Betting, widths: at.BetWidths, side: int, which: int, slopes: np.ndarray, found: np.ndarray
) -> None:
    for i in range(len(slopes)):
        found[i] = at.bet_width(betting, widths, side, which, 0, slopes[i], np.log(slopes[i]))


def rewards_of(kind: str, count: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "zeros":
        return np.zeros(count)
    if kind == "ones":
        return np.ones(count)
    if kind == "coin":
        return (rng.random(count) < rng.random()).astype(float)
    spread = rng.choice([2.0, 30.0, 1000.0])
    return rng.beta(spread * 0.3, spread * 0.7, count)


@pytest.mark.parametrize("kind", ["zeros", "ones", "coin", "beta"])
def test_widths_are_never_below_the_exact_ones(kind: str) -> None:
    """2,400 random points of (rewards, side, prior, mean, slope); means 0 and 1 and the ends of cells among them."""
    rng = np.random.default_rng(len(kind))
    betting, slopes = at.betting_of(CS), np.exp(rng.uniform(np.log(1e-8), np.log(1e4), 40))
    excess = []
    for count in (1, 7, 120):
        rewards = rewards_of(kind, count, rng)
        bets, widths = at.new_bets(1), at.new_bet_widths(1, len(CS))
        play(betting, bets, rewards)
        for side, turned in enumerate((rewards, 1 - rewards)):
            which, mean, found = int(rng.integers(len(CS))), float(turned.mean()), np.zeros(40)
            fill(betting, bets, widths, side, which, mean)
            widths_at(betting, widths, side, which, slopes, found)
            largest = np.full(40, -np.inf)
            ends = rng.choice(betting.edge, 20)
            for r in np.concatenate([[0.0, 1e-9, 1.0 - 1e-9, 1.0], ends, rng.random(76)]).tolist():
                cell = min(int(np.searchsorted(betting.edge, r, side="right")) - 1, at.CELLS - 1)
                tilts, prior = betting.tilt[:, cell], betting.prior[which, :, cell]
                log_m = log_wealth(turned, r, tilts, prior, at.UNBET)
                exact = (r - mean) - slopes * log_m
                assert (found >= exact - 1e-12 * slopes).all(), (kind, count, side, r)
                largest = np.maximum(largest, exact)
            excess.append((found - largest) / (np.abs(largest) + slopes))
    assert np.median(excess) < 0.05  # and not far above


@pytest.mark.parametrize(("middle", "spread", "count"), [(0.94798, 0.001495, 18_345), (0.95283, 0.00352, 8_548)])
def test_widths_are_not_below_the_exact_ones_after_thousands_of_calm_rewards(
    middle: float, spread: float, count: int
) -> None:
    """M at the right end of a cell is then larger than what log M counts for."""
    betting = at.betting_of(CS)
    rewards = np.where(np.arange(count) % 2 == 0, middle - spread, middle + spread)
    bets, widths = at.new_bets(1), at.new_bet_widths(1, len(CS))
    play(betting, bets, rewards)
    slopes, found, mean = np.exp(np.linspace(np.log(3e-5), np.log(3e-3), 60)), np.zeros(60), float(rewards.mean())
    fill(betting, bets, widths, 0, 0, mean)
    widths_at(betting, widths, 0, 0, slopes, found)
    parts = np.bincount(np.arange(count) % 2)
    for r in np.linspace(mean, mean + 0.01, 800).tolist():
        cell = int(np.searchsorted(betting.edge, r, side="right")) - 1
        logs = np.log1p(betting.tilt[:, cell, None] * (r - rewards[:2])) @ parts
        log_m = np.logaddexp.reduce(np.append(np.log(betting.prior[0, :, cell]) + logs, np.log(at.UNBET)))
        assert (found >= (r - mean) - slopes * log_m - 1e-9).all(), r


def test_every_factor_is_positive_and_expects_one() -> None:
    """For every cell, tilt and mean in the cell, 0 and 1 included, under the law of largest spread."""
    betting = at.betting_of(CS)
    left, right = betting.edge[:-1], betting.edge[1:]
    assert left[0] == 0
    assert right[-1] == 1
    for share in (0.0, 0.3, 1.0):
        r = left + share * (right - left)
        with_one, with_zero = 1 + betting.tilt * (r - 1), 1 + betting.tilt * r
        assert with_one.min() > 0
        assert np.abs(r * with_one + (1 - r) * with_zero - 1).max() <= 1e-12
    assert np.allclose(betting.base[at.LEFT], 1 + betting.tilt * left)
    assert np.allclose(betting.base[at.RIGHT], 1 + betting.tilt * right)
    assert (betting.prior.sum(axis=1) + at.UNBET <= 1).all()
    assert (betting.prior.sum(axis=1) + at.UNBET > 1 - 1e-9).all()


def test_a_product_beyond_the_cap_stays_and_one_below_the_floor_is_zero() -> None:
    betting, bets = at.betting_of(CS), at.new_bets(1)
    play(betting, bets, np.zeros(5000))
    assert np.isfinite(bets).all()
    assert bets[0, 1, at.LEFT, -1, 0] == 0.0
    assert bets[0, 0, at.RIGHT, -1, -2] >= at.MOST_PRODUCT
    before = bets.copy()
    play(betting, bets, np.ones(1))
    stopped = before[:, :, at.RIGHT] >= at.MOST_PRODUCT
    for end in (at.LEFT, at.RIGHT):
        assert (bets[:, :, end][stopped] == before[:, :, end][stopped]).all()
    assert (bets[:, :, at.LEFT] <= bets[:, :, at.RIGHT]).all()


def test_wealth_seldom_grows_unless_tilts_go_beyond_their_limit() -> None:
    """Ville's inequality on rewards that are rarely 1 and else 0: how often M ever exceeds 1 / delta."""
    rng, runs, r = np.random.default_rng(3), 400, 0.15
    betting = at.betting_of(CS)
    cell = int(np.searchsorted(betting.edge, r, side="right")) - 1
    rewards = (rng.random((runs, 80)) < r).astype(float)
    for which in range(len(CS)):
        for delta, bold in ((0.1, 1.0), (0.5, 1.0), (0.9, 1.0), (0.1, 40.0), (0.5, 40.0)):
            tilt, prior = bold * betting.tilt[:, cell], betting.prior[which, :, cell]
            factors = np.maximum(1 + tilt * (r - rewards[:, :, None]), 0.0)  # a product below the least becomes 0
            wealth = at.UNBET + (np.cumprod(factors, axis=1) * prior).sum(axis=2)
            ever = int((wealth >= 1 / delta).any(axis=1).sum())
            above = binomtest(ever, runs, delta, alternative="greater").pvalue < 1e-3
            assert above == (bold > 1 and CS[which] < 100)  # the largest c bets too little to go beyond anything
