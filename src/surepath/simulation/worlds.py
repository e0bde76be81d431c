"""Worlds to rehearse a problem in, before the first real trial.

A world gives every arc a mean and Gaussian noise of the given sigma; where a range is declared and no sigma, so that a
learner finds the noise out by itself, rewards follow a beta law in that range with the scatter to expect. Means come
from the problem itself where it has them; else they are drawn evenly from a range, and where the user expects many
arcs to be about as good as each other, a share of the arcs of each state has the mean of the best one there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import check_sigma, real, seed_number
from surepath._types import FloatArray
from surepath.errors import SettingError
from surepath.learners.declared_noise import choose_noise, declared_sigma, has_range
from surepath.model.instance import Instance
from surepath.model.mdp import MDP
from surepath.model.rewards import BETA, ArcLaws, Gaussian, Law

MIDDLING = 0.2  # scatter by default, as a share of the range


@dataclass(frozen=True, eq=False)
class Worlds:
    """Worlds by number; the same number gives the same world.

    Attributes:
        mdp: The layered graph.
        sigma: Noise of each arc that is declared, half the range where that is all, float [N].
        learns: Whether learners find out the noise of scores within their declared ranges.
        scatter: Standard deviation of each arc, float [N], where noise is learned and no law says it; else None.
        low, high: Range of each arc's means, float [N].
        ties: Share of the arcs of a state that are as good as its best one.
        instance: The problem's own world, when it has means: then every number gives this one.
        seed: World i draws from the child i of SeedSequence(seed).
    """

    mdp: MDP
    sigma: FloatArray
    learns: bool
    scatter: FloatArray | None
    low: FloatArray
    high: FloatArray
    ties: float
    instance: Instance | None
    seed: int

    def __getitem__(self, i: int) -> Instance:
        if self.instance is not None:
            return self.instance
        rng = np.random.default_rng(np.random.SeedSequence(entropy=self.seed, spawn_key=(i,)))
        means = rng.uniform(self.low, self.high)
        if self.ties > 0:
            tied = rng.random(self.mdp.n_arcs) < self.ties
            best = np.full(self.mdp.n_nodes, -np.inf)
            np.maximum.at(best, self.mdp.source, self.mdp.gains_of(slice(None), means))
            charge = 0.0 if self.mdp.charge is None else self.mdp.charge  # tied in worth, where costs count
            means = np.where(tied, self.mdp.sign * (best[self.mdp.source] + charge), means)
        law = Gaussian(means, self.sigma) if self.scatter is None else Within(means, self.sigma, self.scatter)
        return Instance(self.mdp, law)

    @property
    def worst(self) -> Worlds:
        """Return the same means with as much noise as was declared."""
        return replace(self, learns=False, scatter=None, instance=None)

    def in_words(self) -> str:
        """Say where the means come from."""
        if np.array_equal(self.low, self.high):
            return "the means of the problem itself"
        drawn = f"means drawn evenly from {self.low.min():g} to {self.high.max():g}"
        return drawn + (f", {self.ties:.0%} of the options of each state as good as its best one" if self.ties else "")


def worlds_of(
    mdp: MDP,
    sigma: ArrayLike | None,
    spread: tuple[float, float] | None,
    ties: float,
    instance: Instance | None,
    seed: int,
    scatter: float | None = None,
) -> Worlds:
    """Check what is asked for; `instance` counts only where neither spread nor ties is given."""
    if not isinstance(mdp, MDP):
        raise SettingError(f"an estimate needs an MDP, not {type(mdp).__name__}; take instance.mdp of an Instance")
    share = real("ties", ties)
    if not 0 <= share <= 1:
        raise SettingError(f"ties is a share of the options, from 0 to 1, not {share:g}")
    if instance is not None and instance.mdp != mdp:
        same_size = repr(instance.mdp) == repr(mdp)
        differ = "other arcs, names, noise or costs" if same_size else f"{instance.mdp!r}, not {mdp!r}"
        raise SettingError(f"the instance has another MDP ({differ}); pass instance.mdp as the MDP to estimate")
    own = instance if spread is None and share == 0 else None
    low, high = (own.means, own.means) if own is not None else _range(mdp, spread)
    within = _scatter(mdp, scatter, sigma is None)
    learns = within is not None
    if own is not None and scatter is None:
        within = None  # its own law says how its scores scatter
    elif learns:
        own = None  # its means alone
    if sigma is None:
        sigma = instance.sigma if instance is not None else declared_sigma(mdp, "an estimate")
        if instance is not None and learns:  # a law may scatter less than its range allows; the worst case is declared
            sigma = np.where(np.isnan(mdp.declared_sigma), sigma, mdp.declared_sigma)
    return Worlds(mdp, check_sigma(sigma, mdp.n_arcs), learns, within, low, high, share, own, seed_number(seed))


class Within(Law):
    """Scores with a beta law inside their declared range where a scatter is given (not NaN), else Gaussian ones."""

    def __init__(self, means: FloatArray, sigma: FloatArray, scatter: FloatArray) -> None:
        self.means, self.sigma, self.scatter = means, sigma, scatter

    def bind(self, mdp: MDP) -> ArcLaws:
        """Lay the law on the arcs; a mean so close to an end that the scatter does not fit gets less of it."""
        laws = Gaussian(self.means, self.sigma).bind(mdp)
        inside = np.isfinite(self.scatter)
        assert mdp.reward_range is not None
        low, high = (end[inside] for end in mdp.reward_range)
        share = np.clip((self.means[inside] - low) / (high - low), 0.001, 0.999)
        total = np.maximum(share * (1 - share) * ((high - low) / self.scatter[inside]) ** 2 - 1, 0.5)
        laws.kind[inside], laws.mean[inside] = BETA, low + share * (high - low)
        laws.a[inside], laws.b[inside] = share * total, (1 - share) * total
        laws.low[inside], laws.high[inside] = low, high
        return laws


def _scatter(mdp: MDP, scatter: float | None, undeclared: bool) -> FloatArray | None:
    """List the standard deviation of arcs whose noise would be learned, NaN elsewhere; None where there are none."""
    if not undeclared or choose_noise(mdp, None, False) == "sigma":
        if scatter is not None:
            raise SettingError(
                "scatter is what to expect of scores in a declared range whose noise is learned; here the noise is "
                "declared, or no range is"
            )
        return None
    assert mdp.reward_range is not None
    inside = has_range(mdp) if mdp.sigma is None else has_range(mdp) & np.isnan(mdp.sigma)
    span = np.where(inside, mdp.reward_range[1] - mdp.reward_range[0], np.nan)
    if scatter is None:
        return np.asarray(MIDDLING * span)
    size = real("scatter", scatter)
    most = float(np.nanmin(span)) / 2
    if not 0 < size <= most:
        raise SettingError(f"scatter must be above 0 and at most half the narrowest range, {most:g}; got {size:g}")
    return np.where(inside, size, np.nan)


def _range(mdp: MDP, spread: tuple[float, float] | None) -> tuple[FloatArray, FloatArray]:
    """Find the least and largest mean of every arc."""
    if spread is not None:
        least, most = real("spread", spread[0]), real("spread", spread[1])
        if not least < most:
            raise SettingError(f"spread goes from the least mean to the largest, not from {least:g} to {most:g}")
        return np.full(mdp.n_arcs, least), np.full(mdp.n_arcs, most)
    low, high = np.zeros(mdp.n_arcs), np.ones(mdp.n_arcs)
    if mdp.reward_range is not None:
        bounded = np.isfinite(mdp.reward_range[0]) & np.isfinite(mdp.reward_range[1])
        low[bounded], high[bounded] = mdp.reward_range[0][bounded], mdp.reward_range[1][bounded]
    return low, high
