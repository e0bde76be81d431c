"""Every bound of an instance in one list, each with a line on how to read it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from surepath.errors import SettingError
from surepath.model.worlds import GAUSSIAN, Instance
from surepath.theory.bounds import (
    SAMPLINGS,
    LowerBound,
    lower_bound,
    tree_lower_bound,
    tree_upper_bound,
    upper_bound,
    worst_case_lower_bound,
    worst_case_upper_bound,
)
from surepath.theory.characteristic_time import CharacteristicTime, characteristic_time
from surepath.theory.gaps import Case, checked_case, confidence, is_tree

TIMED_ARCS = 5_000  # up to this many arcs T* is computed unasked
TIME = "T* kl(delta, 1 - delta)"
UNASKED = f"not computed above {TIMED_ARCS:,} options unless asked for"
GAUSSIAN_ONLY = ("Theorem 1", "tree theorem", TIME)  # lower bounds whose proofs suppose Gaussian noise


@dataclass(frozen=True)
class Row:
    """One bound: its name, what kind of number it is, the number (None where it does not apply) and how to read it."""

    name: str
    kind: Literal["lower", "upper", "measure"]
    value: float | None
    reading: str


@dataclass(frozen=True, eq=False)
class Summary:
    """All bounds of an instance.

    Attributes:
        case: The instance, its gaps, epsilon, delta and sigma.
        rows: The bounds, lower ones first.
        lower: Theorem 1 in full: what each arc needs, the flow and the cut.
        time: T* with its certificate, or None when it was not computed.
        gaussian: Whether all rewards to learn are Gaussian, for which the lower bounds are proved.
    """

    case: Case
    rows: tuple[Row, ...]
    lower: LowerBound
    time: CharacteristicTime | None
    gaussian: bool = True


def summarize(
    instance: Instance, epsilon: float, delta: float, *, sigma: ArrayLike | None = None, time: bool | None = None
) -> Summary:
    """Return every bound of an instance.

    Args:
        instance: The problem with its true means.
        epsilon, delta: Accuracy and allowed probability of a wrong answer.
        sigma: Replaces the instance's own factors.
        time: Compute T*; by default only up to 5,000 arcs.
    """
    at = checked_case(instance, epsilon, delta, sigma)
    basic = lower_bound(instance, epsilon, delta, sigma=at.sigma)
    timed = time or (time is None and at.mdp.n_arcs <= TIMED_ARCS)
    limit = characteristic_time(instance, sigma=at.sigma) if timed else None
    rows = [
        Row("Theorem 1", "lower", basic.value, "no (epsilon, delta)-PAC learner needs fewer trials on average"),
        _limit(at, limit),
        _tree_lower(at),
        _worst_lower(at),
        *_upper(at),
    ]
    gaussian = bool((instance.law.kind[~at.mdp.is_known] == GAUSSIAN).all())
    if not gaussian:
        rows = [_supposed(row) for row in rows]
    return Summary(at, tuple(rows), basic, limit, gaussian)


def _supposed(row: Row) -> Row:
    """Say in the reading of a Gaussian lower bound that it supposes Gaussian noise, where the rewards have another."""
    if row.value is None or row.name not in GAUSSIAN_ONLY:
        return row
    return replace(row, reading=f"if the noise were Gaussian with this sigma: {row.reading}")


def _limit(at: Case, limit: CharacteristicTime | None) -> Row:
    if limit is None:
        return Row(TIME, "measure", None, UNASKED)
    note = f"to find the very best plan: T* = {limit.value:.4g} (certified to {100 * limit.gap:.2g} %)"
    if not limit.unique:
        note = "to find the very best plan: infinite, several plans are best"
    if at.epsilon > 0:
        note += "; no lower bound for an epsilon above 0"
    value = limit.bound(at.delta) if confidence(at.delta) > 0 else 0.0  # infinite times nothing is nothing
    return Row(TIME, "measure" if at.epsilon > 0 else "lower", value, note)


def _tree_lower(at: Case) -> Row:
    name = "tree theorem"
    if not is_tree(at.mdp):
        return Row(name, "lower", None, "holds for trees; here some state can be reached in two ways")
    value = tree_lower_bound(at.instance, at.epsilon, at.delta, sigma=at.sigma)
    return Row(name, "lower", value, "Theorem 1 times up to H: in a tree, options of a step share nothing below")


def _size_of(at: Case) -> tuple[int, int, int]:
    """Return S, A, H: distinct states, most actions of a state, stages."""
    mdp = at.mdp
    return len(np.unique(mdp.node_state)), int(np.diff(mdp.first).max()), mdp.horizon


def _worst_lower(at: Case) -> Row:
    name = "worst case of this size"
    try:
        value = worst_case_lower_bound(*_size_of(at), at.epsilon, at.delta, sigma=at.largest_sigma)
    except SettingError as error:
        return Row(name, "measure", None, str(error))
    words = "a lower bound on the hardest problem with as many states, options a state and steps, not on this one"
    return Row(name, "measure", value, words)


def _upper(at: Case) -> list[Row]:
    rows = []
    conditions = "EPRL with preset theory (any noise with these sigmas) stops before, with probability 1 - delta"
    for rule in SAMPLINGS:
        value = upper_bound(at.instance, at.epsilon, at.delta, sampling=rule, sigma=at.sigma).value
        reading = conditions + ("; epsilon above 0" if rule == "max-diameter" else "")
        if is_tree(at.mdp):
            other = tree_upper_bound(at.instance, at.epsilon, at.delta, sampling=rule, sigma=at.sigma)
            names = ("the theorem for trees", "the theorem for all graphs")
            winner, loser = names if other < value else names[::-1]
            reading += f". From {winner}; {loser} gives {max(value, other):,.0f}"
            value = min(value, other)
        rows.append(Row(f"EPRL {rule}", "upper", value, reading))
    for rule in ("max-coverage", "max-diameter"):
        value = worst_case_upper_bound(
            *_size_of(at), at.epsilon, at.delta, sampling=rule, sigma=at.largest_sigma, arcs=at.mdp.n_arcs
        )
        reading = "the same on any problem with as many steps and options, whatever the means; epsilon above 0"
        rows.append(Row(f"EPRL {rule}, worst case", "upper", value, reading))
    return rows
