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
from surepath.learners.challenger.noise.learned import BERNSTEIN, BETTING
from surepath.learners.challenger.ties import FLOWS, OF_TIES, ties_entry
from surepath.model.mdp import MDP

KINDS = {
    "half-normal": at.HALF_NORMAL,
    "shifted": at.SHIFTED,
    "bernstein": BERNSTEIN,
    "betting": BETTING,
}
ENTRY_PRIORS = {
    "uniform": at.UNIFORM_PRIOR,
    "detour": at.DETOUR,
    "excursion": at.EXCURSION,
    "stages": at.BY_STAGE,
}
# The setting `prior`: "auto" is "excursion" for epsilon 0 and "detour" above.
PRIORS = {
    "auto": ("detour",),
    "detour": ("detour",),
    "excursion": ("excursion",),
    "uniform": ("uniform",),
    "both": ("detour", "uniform"),
    "stages": ("stages",),
}
DEPENDENCES = ("any", "independent")

DIVISORS = (20.0, 2500.0)
WEIGHTS: tuple[float, ...] = (0.8, 0.12, 0.08)
SMALLEST = 100.0  # the last of the scales is never above this
EXACT_SCALES = (16384.0, 512.0, 16.0)
EXACT_WEIGHTS: tuple[float, ...] = (0.2, 0.4, 0.4)
LEARNED_SCALES = (64.0, 6.0, 0.5)  # c counts squares of rewards in [0, 1]
LEARNED_WEIGHTS: tuple[float, ...] = (0.1, 0.5, 0.4)
BESIDE = {"betting": 0.1, "bernstein": 0.5}  # the part of the entries that take half the range for sigma beside these
OPEN_SCALES = (4096.0, 256.0, 24.0, 2.5)  # where sigma is unknown, nothing says how long a run will be
OPEN_WEIGHTS: tuple[float, ...] = (0.15, 0.25, 0.35, 0.25)
SIZE_PART = 0.1  # the part of delta that bounds an unknown sigma
LEAST_C, LEAST_LEARNED_C, MOST_C = 1.0, 0.25, 1e15
RHO, RATIO, STAGES_RATIO = 0.4, 1.2, 1.6
STAGES_WEIGHTS: tuple[float, ...] = (0.6, 0.25, 0.15)
TIES_WEIGHT, STEADINESS = 0.05, 8.0


def default_bound(
    mdp: MDP, sigma: FloatArray, epsilon: float, delta: float, prior: str, noise: str, unknown: bool
) -> dict[str, Any]:
    """Choose every number of the bound; `prior.py` says why these."""
    if epsilon > 0 and not unknown:
        noisy = sigma[sigma > 0]
        spread = float(np.sqrt((noisy**2).mean())) if noisy.size else 1.0
        size = min(max(spread / epsilon, 1e-6), 1e9)  # beyond, c meets its own limits
        need, weights = 6 * mdp.horizon * size**2 * (np.log(2 / delta) + mdp.log_paths), WEIGHTS
        if prior == "stages":
            need, weights = 3 * mdp.horizon**2 * size**2 * np.log(mdp.n_arcs / delta), STAGES_WEIGHTS
        high, low = (need / d for d in DIVISORS)
        scales = np.geomspace(high, min(low, SMALLEST), len(weights)).tolist()
    else:
        scales, weights = (list(OPEN_SCALES), OPEN_WEIGHTS) if unknown else (list(EXACT_SCALES), EXACT_WEIGHTS)
    priors = PRIORS["excursion" if prior == "auto" and epsilon == 0 else prior]
    part = (1 - SIZE_PART if unknown else 1.0) if noise == "sigma" else BESIDE[noise]
    chosen = [("half-normal", scale, part * weight) for scale, weight in zip(scales, weights)]
    if noise != "sigma":
        chosen = [
            (noise, scale, (1 - part) * weight) for scale, weight in zip(LEARNED_SCALES, LEARNED_WEIGHTS)
        ] + chosen
    entries: list[dict[str, Any]] = [
        {"kind": what, "prior": one, "weight": weight / len(priors), "scale": float(scale)}
        for what, scale, weight in chosen
        for one in priors
    ]
    declared = noise == "sigma" and not unknown and bool((sigma > 0).any())
    whole_plans = priors[0] not in ("excursion", "stages")  # their entries are not mixed with others
    if epsilon > 0 and mdp.log_paths > 0 and declared and whole_plans:
        for entry in entries:
            entry["weight"] *= 1 - TIES_WEIGHT
        entries.append(ties_entry(mdp, sigma, epsilon, delta, TIES_WEIGHT, STEADINESS))
    even = {"factor": 1.0, "power": 1.0}
    own = {"factor": float(np.sqrt(mdp.n_arcs / mdp.horizon)), "power": 0.5}
    return {
        "entries": entries,
        "rival": even,
        "incumbent": own,
        "least": LEAST_C if noise == "sigma" else LEAST_LEARNED_C,
        "most": MOST_C,
        "rho": RHO,
        "ratio": STAGES_RATIO if prior == "stages" else RATIO,
    }


def checked_bound(given: Any) -> dict[str, Any]:
    """Check a bound that was given, number by number; return a copy with plain numbers."""
    keys = ("entries", "rival", "incumbent", "least", "most", "rho", "ratio")
    bound = _with_keys("bound", given, keys)
    entries = bound["entries"]
    if isinstance(entries, (str, Mapping)) or not isinstance(entries, Sequence) or not entries:
        raise SettingError("the entries of a bound are a list of at least one")
    bound["entries"] = [_entry(entry) for entry in entries]
    if len({entry["prior"] == "excursion" for entry in bound["entries"]}) > 1:
        raise SettingError('either all entries of a bound have the prior "excursion" or none has')
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


def _entry(given: Any) -> dict[str, Any]:
    shifted = isinstance(given, Mapping) and given.get("kind") == "shifted"
    entry = _with_keys("entry of the bound", given, ("kind", "prior", "weight", *(OF_TIES if shifted else ("scale",))))
    kind = one_of("kind of entry", entry["kind"], KINDS)
    prior = one_of("prior of an entry", entry["prior"], ENTRY_PRIORS)
    checked = {"kind": kind, "prior": prior, "weight": _above("weight of an entry", entry["weight"])}
    if not shifted:
        return {**checked, "scale": _above("scale of an entry", entry["scale"])}
    numbers = {name: _above(f"{name} of an entry", entry[name]) for name in OF_TIES if name != "flow"}
    return {**checked, **numbers, "flow": one_of("flow of an entry", entry["flow"], FLOWS)}


def _with_keys(what: str, given: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    """Copy a dict that has exactly these keys."""
    if not isinstance(given, Mapping):
        raise SettingError(f"{what} must be a dict with {', '.join(keys)}, not {given!r}")
    if set(given) != set(keys):
        wrong = sorted(map(str, set(given) ^ set(keys)))
        raise SettingError(f"{what} must have exactly the keys {', '.join(keys)}; check {', '.join(wrong)}")
    return {key: given[key] for key in keys}


def _above(what: str, value: Any) -> float:
    number = real(what, value)
    if not number > 0:
        raise SettingError(f"the {what} must be above 0, not {number:g}")
    return number
