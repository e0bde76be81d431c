"""What people write of their steps, checked: options, which steps are scored, what scores depend on, their noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import fsum, isfinite, prod
from typing import Any

import numpy as np

from surepath._checks import check_sigma, one_of, per_arc, repeated, suggest
from surepath._numbers import is_real
from surepath._types import FloatArray
from surepath.errors import ProblemError, SettingError
from surepath.model.plans import number_name, whole_label

MOST_PLANS = 20_000  # plans with one score at the end: each must be tried by itself
EVERY_STEP, AT_END = "every", "end"


def named_options(steps: Any) -> dict[str, tuple[str, ...]]:
    """Return the options of each step as text, each once."""
    if not isinstance(steps, Mapping) or not steps:
        raise ProblemError(f"steps must be a mapping {{step: options}} with at least one step, not {steps!r}")
    named = {}
    for name, options in steps.items():
        if not isinstance(name, str) or not name:
            raise ProblemError(f"the name of a step must be text and not empty, not {name!r}")
        if isinstance(options, (str, bytes)) or not isinstance(options, Sequence) or not len(options):
            raise ProblemError(f"step {name!r} needs a list of at least one option, not {options!r}")
        for option in options:
            if not is_real(option) and (not isinstance(option, str) or not option):
                raise ProblemError(f"an option of step {name!r} must be text or a number, not {option!r}")
            if is_real(option) and not isfinite(option):
                raise ProblemError(f"an option of step {name!r} must be finite, not {option!r}")
        texts = tuple(number_name(option) for option in options)
        twice = repeated(texts)
        if twice is not None:
            raise ProblemError(f"step {name!r} has the option {twice!r} twice")
        named[name] = texts
    return named


def whole_plans(named: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Name every plan, as "chunk=256, model=large"."""
    count = prod(len(options) for options in named.values())
    if count > MOST_PLANS:
        raise ProblemError(
            f"with one score at the end every plan is tried by itself, and these steps make {count:,} plans; at most "
            f"{MOST_PLANS:,} are taken. Score the steps one by one, or leave out options"
        )
    return tuple(whole_label(dict(zip(named, choice))) for choice in product(*named.values()))


def whole_costs(named: dict[str, tuple[str, ...]], prices: dict[str, dict[str, float]]) -> dict[str, float]:
    """Add up what the options of every plan cost."""
    return {
        whole_label(plan): fsum(prices.get(step, {}).get(option, 0.0) for step, option in plan.items())
        for choice in product(*named.values())
        for plan in [dict(zip(named, choice))]
    }


def one_sigma(sigma: Any) -> Any:
    """Refuse a sigma for each step where the whole plan has one score."""
    if isinstance(sigma, Mapping):
        raise SettingError("with one score at the end sigma is one number: the noise of that score")
    return sigma


def scored_steps(named: Mapping[str, Any], scores: Any) -> set[str]:
    """Read the list of steps that are scored."""
    if not isinstance(scores, (list, tuple, set, frozenset)) or not scores:
        raise SettingError(f'scores must be "{EVERY_STEP}", "{AT_END}" or a list of steps, not {scores!r}')
    for name in scores:
        if name not in named:
            raise SettingError(f"scores names no step {name!r}{suggest(str(name), list(named))}")
    return set(scores)


def needed_steps(names: list[str], depends: Any) -> list[set[int]]:
    """Return the earlier steps on which each step's score depends."""
    if not isinstance(depends, Mapping):
        kind = one_of("depends", depends, ("previous", "none"))
        return [{i - 1} if i and kind == "previous" else set() for i in range(len(names))]
    needs: list[set[int]] = [set() for _ in names]
    place = {name: i for i, name in enumerate(names)}
    for name, earlier in depends.items():
        if name not in place:
            raise SettingError(f"depends names no step {name!r}{suggest(str(name), names)}")
        at = place[name]
        if not isinstance(earlier, (str, list, tuple, set, frozenset)):
            raise SettingError(f"depends of step {name!r} must be a list of earlier steps, not {earlier!r}")
        for other in [earlier] if isinstance(earlier, str) else earlier:
            if other not in place:
                raise SettingError(f"step {name!r} depends on no step {other!r}{suggest(str(other), names)}")
            if place[other] >= at:
                raise SettingError(
                    f"step {name!r} cannot depend on {other!r}, which does not come before it; "
                    f"the order is {' > '.join(names)}"
                )
            needs[at].add(place[other])
    return needs


def noise_of_steps(sigma: Any, names: list[str], arcs_of: list[int]) -> FloatArray | None:
    """Return the declared sigma of each arc, float [N], or None; `arcs_of` counts the arcs of each step."""
    if sigma is None:
        return None
    if not isinstance(sigma, Mapping):
        return check_sigma(sigma, sum(arcs_of))
    for name in sigma:
        if name not in names:
            raise SettingError(f"sigma names no step {name!r}{suggest(str(name), names)}")
    lacking = next((name for name in names if name not in sigma), None)
    if lacking is not None:
        raise SettingError(f"sigma lacks step {lacking!r}; give every step one, or one number for all")
    own = [per_arc(f"sigma of step {name!r}", sigma[name], count) for name, count in zip(names, arcs_of)]
    return check_sigma(np.concatenate(own), sum(arcs_of))
