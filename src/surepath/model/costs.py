"""Known costs of options: what a trial of a plan spends, and what a plan's worth loses by it where the user says so.

An arc may have a cost, money or time, known in advance. The price of a path is the sum of its arcs' costs. With a
weight w > 0 the worth of a step is its score minus w times its cost; where scores are to be minimised, it is the score
plus w times its cost, and less is better. Inside, where larger is better, both are one rule:

    gain = sign * score - w * cost.

A known shift of a reward changes neither its noise nor the width of its range, so every bound holds unchanged. What
is told and kept is the score alone; the shift is made where a learner takes it in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._checks import LARGEST, per_arc, real, suggest
from surepath._types import FloatArray
from surepath.errors import ProblemError, SurepathError

if TYPE_CHECKING:
    from surepath.model.mdp import MDP


def check_costs(costs: Any, n_arcs: int, error: type[SurepathError] = ProblemError) -> FloatArray | None:
    """Return the cost of each arc, float [N]; None where nothing costs anything."""
    if costs is None:
        return None
    array = np.asarray(per_arc("cost", costs, n_arcs, error=error), dtype=np.float64)
    bad = np.flatnonzero(~((array >= 0) & (array <= LARGEST)))
    if bad.size:
        raise error(f"a cost is a number of at least 0, not {array[bad[0]]:g}")
    return array.copy() if array.any() else None


def check_weight(weight: Any, cost: FloatArray | None, error: type[SurepathError] = ProblemError) -> float:
    """Return the weight of costs in a plan's worth: at least 0, and 0 where nothing costs anything."""
    number = real("cost_weight", weight, error=error)
    if not 0 <= number <= LARGEST:
        raise error(f"cost_weight says what one unit of cost takes from the score: at least 0, not {number:g}")
    if number > 0 and cost is None:
        raise error(f"cost_weight is {number:g}, but no option has a cost")
    if cost is not None and number * float(cost.max()) > LARGEST:
        raise error(f"cost_weight times a cost must lie within {LARGEST:g} of 0")
    return number


def step_costs(
    costs: Any, named: Mapping[str, tuple[str, ...]], error: type[SurepathError] = ProblemError
) -> dict[str, dict[str, float]]:
    """Read {step: {option: cost}} or {step: cost}; what is not named costs nothing."""
    if not isinstance(costs, Mapping):
        raise error(f"costs must be a mapping {{step: {{option: cost}}}}, not {costs!r}")
    found: dict[str, dict[str, float]] = {}
    for step, own in costs.items():
        if step not in named:
            raise error(f"costs names no step {step!r}{suggest(str(step), list(named))}")
        options = set(named[step])
        table = own if isinstance(own, Mapping) else dict.fromkeys(named[step], own)
        found[step] = {}
        for option, cost in table.items():
            if str(option) not in options:
                raise error(f"step {step!r} has no option {str(option)!r}{suggest(str(option), named[step])}")
            number = real(f"the cost of {step}={option}", cost, error=error)
            if not 0 <= number <= LARGEST:
                raise error(f"the cost of {step}={option} must be a number of at least 0, not {number:g}")
            found[step][str(option)] = number
    return found


def in_words(mdp: MDP) -> str:
    """Say how a plan's worth is made; nothing where it is the score."""
    if mdp.charge is None:
        return ""
    weight = "" if mdp.cost_weight == 1 else f"{mdp.cost_weight:g} x "
    return f"worth = score {'-' if mdp.sign > 0 else '+'} {weight}cost"
