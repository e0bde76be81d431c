"""Every number of the bound, as a plain dict: what Challenger fills in when it is built, and takes back when given.

A bound is fixed before the data, so it belongs to the settings: a learner rebuilt from its settings has the same bound
even where a later version would choose other numbers. Its keys:

entries     A list. Each entry has a `kind` (the mixture of tilts that an arc's evidence is weighed with), a `prior`
            (over the wrong answers, given the right one), a `weight` (its part of delta; they sum to at most 1) and a
            `scale` (the mean over arcs of c, the precision of the mixture).
rival       c of an arc of a challenger is scale * factor * share ** power, where share is the arc's part of the visits
            under evenly picked actions, scaled to mean 1 ...
incumbent   ... and c of an arc of the incumbent likewise with these two numbers. c lies between `least` and `most`.
rho         How likely the walk of the detour prior leaves at a choice.
ratio       Of the grid of slopes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surepath._checks import one_of, real
from surepath._types import FloatArray
from surepath.errors import SettingError
from surepath.learners.challenger import state as at
from surepath.model.mdp import MDP

KINDS = {"half-normal": at.HALF_NORMAL, "normal": at.NORMAL, "interval": at.INTERVAL}
ENTRY_PRIORS = {"uniform": at.UNIFORM_PRIOR, "detour": at.DETOUR, "none": at.NO_PRIOR}
# The setting `widths` and the kinds of entries it stands for; the first is that of the default entries.
WIDTHS = {"one-sided": ("half-normal",), "two-sided": ("normal",), "per-arc": ("interval",)}
PRIORS = {"detour": ("detour",), "uniform": ("uniform",), "both": ("detour", "uniform")}

DIVISORS = (20.0, 2500.0)
WEIGHTS: tuple[float, ...] = (0.8, 0.12, 0.08)
EXACT = (25600.0, 1600.0, 100.0)
EXACT_WEIGHTS: tuple[float, ...] = (0.1, 0.35, 0.55)
LEAST, MOST_C = 1.0, 1e15
RHO, RATIO = 0.4, 1.2


def default_bound(mdp: MDP, sigma: FloatArray, epsilon: float, delta: float, widths: str, prior: str) -> dict[str, Any]:
    """Choose the numbers; why these, is told in `prior.py`."""
    if epsilon > 0:
        noisy = sigma[sigma > 0]
        spread = float(np.sqrt((noisy**2).mean())) if noisy.size else 1.0
        size = min(max(spread / epsilon, 1e-6), 1e9)  # beyond, c meets its own limits
        need = 6 * mdp.horizon * size**2 * (np.log(2 / delta) + mdp.log_paths)
        high, low = (need / d for d in DIVISORS)
        scales, weights = np.geomspace(high, min(low, EXACT[-1]), len(WEIGHTS)).tolist(), WEIGHTS
    else:
        scales, weights = list(EXACT), EXACT_WEIGHTS
    kind = WIDTHS[widths][0]
    priors = ("none",) if kind == "interval" else PRIORS[prior]  # intervals of arcs have no prior over plans
    entries = [
        {"kind": kind, "prior": one, "weight": weight / len(priors), "scale": float(scale)}
        for scale, weight in zip(scales, weights)
        for one in priors
    ]
    even = {"factor": 1.0, "power": 1.0}
    own = {"factor": float(np.sqrt(mdp.n_arcs / mdp.horizon)), "power": 0.5}
    return {
        "entries": entries,
        "rival": even,
        "incumbent": dict(even) if kind == "interval" else own,  # an interval for each arc knows no sides
        "least": LEAST,
        "most": MOST_C,
        "rho": RHO,
        "ratio": RATIO,
    }


def checked_bound(given: Any, widths: str) -> dict[str, Any]:
    """Check a bound that was given, number by number; returns a copy with plain numbers."""
    keys = ("entries", "rival", "incumbent", "least", "most", "rho", "ratio")
    bound = _with_keys("bound", given, keys)
    entries = bound["entries"]
    if isinstance(entries, (str, Mapping)) or not isinstance(entries, Sequence) or not entries:
        raise SettingError("the entries of a bound are a list of at least one")
    bound["entries"] = [_entry(entry, widths) for entry in entries]
    total = float(sum(entry["weight"] for entry in bound["entries"]))
    if total > 1 + 1e-12:
        raise SettingError(f"the weights of a bound must sum to at most 1, not {total:.15g}")
    for side in ("rival", "incumbent"):
        numbers = _with_keys(side, bound[side], ("factor", "power"))
        power = real(f"power of the {side}", numbers["power"])
        bound[side] = {"factor": _above(f"factor of the {side}", numbers["factor"]), "power": power}
    bound["least"], bound["most"] = _above("least c", bound["least"]), _above("most c", bound["most"])
    if bound["least"] > bound["most"]:
        raise SettingError(f"the least c must not exceed the most; got {bound['least']:g} and {bound['most']:g}")
    bound["rho"] = real("rho", bound["rho"])
    if not 0 < bound["rho"] < 1:
        raise SettingError(f"rho must lie strictly between 0 and 1, not {bound['rho']:g}")
    bound["ratio"] = real("ratio", bound["ratio"])
    if not 1.001 <= bound["ratio"] <= 100:
        raise SettingError(f"the ratio of the slopes must lie between 1.001 and 100, not {bound['ratio']:g}")
    return bound


def _entry(given: Any, widths: str) -> dict[str, Any]:
    entry = _with_keys("entry of the bound", given, ("kind", "prior", "weight", "scale"))
    kind = one_of("kind of entry", entry["kind"], KINDS)
    if kind not in WIDTHS[widths]:
        raise SettingError(f'an entry of kind "{kind}" does not belong to widths "{widths}"')
    prior = one_of("prior of an entry", entry["prior"], ENTRY_PRIORS)
    if (prior == "none") != (kind == "interval"):
        raise SettingError(f'an entry of kind "{kind}" cannot have the prior "{prior}"')
    weight = _above("weight of an entry", entry["weight"])
    return {"kind": kind, "prior": prior, "weight": weight, "scale": _above("scale of an entry", entry["scale"])}


def _with_keys(what: str, given: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    """Copy a dict that has exactly these keys."""
    if not isinstance(given, Mapping):
        raise SettingError(f"{what} must be a dict with {', '.join(keys)}, not {given!r}")
    if set(given) != set(keys):
        wrong = sorted(map(str, set(given) ^ set(keys)))
        raise SettingError(f"{what} must have exactly the keys {', '.join(keys)}; look at {', '.join(wrong)}")
    return {key: given[key] for key in keys}


def _above(what: str, value: Any) -> float:
    number = real(what, value)
    if not number > 0:
        raise SettingError(f"the {what} must be above 0, not {number:g}")
    return number
