"""Which rewards have a range, and what is known of their noise: the choice of a process.

NOISES: "sigma" takes the declared sigma, or half the range where only a range is declared; "bernstein" and "betting"
learn the noise of the arcs that declare a range and no sigma. Where all of them declare a sigma too, both count.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._checks import one_of
from surepath._text import word
from surepath._types import BoolArray, FloatArray
from surepath.errors import SettingError
from surepath.model.mdp import MDP

NOISES = ("sigma", "bernstein", "betting")
MOST_BETS = 200  # arcs with betting tables, 82 kB each in a snapshot


class Ranges(NamedTuple):
    """The ranges of gains, rewards turned so that larger is better."""

    learns: BoolArray  # [N] the noise of this arc is learned
    low: FloatArray  # [N] least gain, 0 where nothing is learned
    span: FloatArray  # [N] width of the range, 1 where nothing is learned


def declared_sigma(mdp: MDP, who: str) -> FloatArray:
    """Find the noise that a problem declares: its sigma, or half of its range (Hoeffding's lemma), float [N].

    An arc to learn that declares neither is refused: nothing can be proven of rewards whose noise has no bound.
    """
    missing = mdp.noise_missing(who)
    if missing is not None:
        raise SettingError(missing)
    return mdp.declared_sigma


def has_range(mdp: MDP) -> BoolArray:
    """Return which arcs to learn declare a range that is finite and wider than one value."""
    if mdp.reward_range is None:
        return np.zeros(mdp.n_arcs, dtype=np.bool_)
    low, high = mdp.reward_range
    return np.isfinite(low) & np.isfinite(high) & (high > low) & ~mdp.is_known


def learned_arcs(mdp: MDP) -> BoolArray:
    """Return whose noise can be learned: arcs with a range and no sigma, or all with a range if there are none."""
    ranged = has_range(mdp)
    bare = ranged if mdp.sigma is None else ranged & np.isnan(mdp.sigma)
    return bare if bare.any() else ranged


def choose_noise(mdp: MDP, given: str | None, declared: bool) -> str:
    """Return the setting `noise` as given, or by default: betting where a range and no sigma is declared.

    Args:
        mdp: The problem.
        given: What the user wants, or None.
        declared: Whether the learner was given a sigma.
    """
    ranged = has_range(mdp)
    if given is not None:
        if one_of("noise", given, NOISES) != "sigma" and not ranged.any():
            raise SettingError(f'noise="{given}" learns {_no_range()}')
        return given
    bare = ranged if mdp.sigma is None else ranged & np.isnan(mdp.sigma)
    if declared or not bare.any():
        return "sigma"
    return "betting" if int(bare.sum()) <= MOST_BETS else "bernstein"


def _no_range() -> str:
    """Say that ranges are lacking from which the noise could be learned."""
    rewards, arc, how = (
        word("rewards", "scores"),
        word("arc", "option"),
        word("reward_range=(low, high)", "low and high"),
    )
    return f"the noise of {rewards} in a range, and no {arc} to learn declares a range: give the problem {how}"


def ranges_of(mdp: MDP, noise: str) -> Ranges:
    """Return the ranges that a learner with this noise uses."""
    learns = np.zeros(mdp.n_arcs, dtype=np.bool_) if noise == "sigma" else learned_arcs(mdp)
    low, span = np.zeros(mdp.n_arcs), np.ones(mdp.n_arcs)
    if mdp.gain_range is not None:
        least, most = mdp.gain_range
        low[learns], span[learns] = least[learns], (most - least)[learns]
    return Ranges(learns, low, span)
