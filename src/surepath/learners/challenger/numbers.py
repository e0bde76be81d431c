"""The numbers of Challenger's bound: entries, weights, scales and the shares planned for ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from surepath._checks import FloatArray, one_of, real
from surepath.errors import SettingError
from surepath.kernels.flow import design_flow
from surepath.kernels.sweeps import graph_of
from surepath.learners.challenger import state as at
from surepath.learners.challenger.noise import BERNSTEIN, BETTING
from surepath.model.mdp import MDP
from surepath.model.paths import even_flow

# Ties -----------------------------------------------------------------------------------------------------------------
# The entry for problems in which many paths are about equal: it expects every arc to have its planned visits, those of
# the optimal design, whose flow w makes the sum of sigma^2 / w equal for all paths (docs, "Ties"). An arc's tilt is
# mixed over a normal law around mu, the tilt that suits the planned visits n0, with precision c = steadiness * n0:
#
#     w = k [ n y^2 / 2 + c (mu - y)^2 / 2 + 1/2 log(1 + n / c) ],      y = sigma / (k n).
#
# With L what a pair pays in all the best slope is k = epsilon / (2 L) and T = 4 (sum of sigma^2) L / epsilon^2 episodes
# are planned, n0 = T w and mu = sigma / (k n0).

OF_TIES = ("trials", "slope", "steadiness", "flow")
FLOWS = ("design", "even")
MOST_DESIGNED = 5000  # arcs; on larger graphs the optimal flow takes too long, and evenly picked actions must do
LEAST_VARIANCE = 1e-6  # of the largest variance: what an arc without noise counts for in the design
DIGITS = 9  # of the flow: what two machines agree on
CROWD = 4.0  # of L: the logarithms of a pair above which every episode is the guard's


def ties_entry(
    mdp: MDP, sigma: FloatArray, epsilon: float, delta: float, weight: float, steadiness: float
) -> dict[str, Any]:
    """Choose the numbers of the entry for ties, for an epsilon above 0."""
    need = pair_need(mdp, delta, weight, steadiness)
    ratio = float(np.clip(sigma.max() / epsilon, 1e-9, 1e9))
    return {
        "kind": "shifted",
        "prior": "uniform",
        "weight": weight,
        "trials": float(max(1.0, 4 * _variances(sigma).sum() * need * ratio**2)),
        "slope": float(epsilon / (2 * need)),
        "steadiness": steadiness,
        "flow": "design" if mdp.n_arcs <= MOST_DESIGNED else "even",
    }


def pair_need(mdp: MDP, delta: float, weight: float, steadiness: float) -> float:
    """Compute L, what a pair pays in all when every arc has its planned visits."""
    wrong = mdp.log_paths + np.log1p(-np.exp(-mdp.log_paths))
    return float(wrong + np.log(1 / delta) + np.log(1 / weight) + mdp.horizon * np.log1p(1 / steadiness))


def crowd_limits(mdp: MDP, entry: dict[str, Any], delta: float, flow: FloatArray) -> tuple[float, float]:
    """Return what 1/2 log(1 + n/c) may sum to along a path, and the episodes before which it cannot be more.

    Visits far beyond those planned make the logarithms of a pair large. While they are at most CROWD * L they cost no
    more than a constant factor of the episodes; above that the guard takes every episode. n is at most the episodes t,
    so each logarithm is at most log(1 + t / (steadiness * T * least share)).
    """
    limit = CROWD * pair_need(mdp, delta, entry["weight"], entry["steadiness"])
    least = entry["steadiness"] * entry["trials"] * float(flow.min())
    return limit / 2, float(least * np.expm1(min(limit / mdp.horizon, 600.0)))


def planned_shares(mdp: MDP, sigma: FloatArray, flow: str) -> FloatArray:
    """Return the part of the episodes that goes through each arc, float [N]."""
    return _shares(mdp, _variances(sigma).tobytes(), flow)


@lru_cache(maxsize=16)
def _shares(mdp: MDP, variances: bytes, flow: str) -> FloatArray:
    if flow == "design":
        shares = design_flow(graph_of(mdp), np.frombuffer(variances).copy())
    else:
        shares = even_flow(mdp)
    scale = 10.0 ** (DIGITS - 1 - np.floor(np.log10(shares)))
    return np.asarray(np.round(shares * scale) / scale)


def _variances(sigma: FloatArray) -> FloatArray:
    """Compute sigma^2 as parts of the largest, never 0."""
    return np.asarray(np.maximum((sigma / sigma.max()) ** 2, LEAST_VARIANCE))


def most_trials(mdp: MDP, entry: dict[str, Any], delta: float, sampled: float = 1.01) -> float:
    """Bound the episodes that "guarded" sampling takes on a problem with one sigma (docs, "Challenger: the theorem").

    Args:
        mdp: The problem; every arc is to be learned, and all have the same sigma.
        entry: Its entry for ties, as in the settings.
        delta: Allowed probability of a wrong answer.
        sampled: By which factor the episodes grow between two full checks.
    """
    if entry["flow"] != "design":
        raise SettingError("the number of episodes is bounded for the flow of the optimal design only")
    horizon, arcs, steady, planned = mdp.horizon, mdp.n_arcs, entry["steadiness"], entry["trials"]
    need = pair_need(mdp, delta, entry["weight"], steady)
    least = float(planned_shares(mdp, np.ones(arcs), entry["flow"]).min())
    mean = arcs / horizon  # of 1 / share along every path
    trials = 2.0 * planned
    for _ in range(200):
        unchecked = np.log1p(trials / planned * mean / steady)
        last, after = arcs * mean / (steady * planned), (trials + 2 * arcs * mean) / (steady * planned)
        checked = CROWD * need / horizon + np.log1p(last) + np.log1p(after)
        part = (steady + 1) / 2 + horizon / need * min(unchecked, checked)
        trials = 2 * (1 + part) * planned + 2 * arcs / least + arcs + 3
    return float(sampled * trials + 1)


# Bound numbers --------------------------------------------------------------------------------------------------------
# Every number of the bound, as a plain dict: what Challenger fills in when it is built, and takes back when given.
#
# A bound is fixed before the data, so it belongs to the settings: a learner rebuilt from its settings has the same
# bound even where a later version would choose other numbers. Its keys:
#
# entries     A list. Each entry has a `kind` (the mixture of tilts that an arc's evidence is weighed with), a `prior`
#             (over the wrong answers, given the right one), a `weight` (its part of delta; they sum to at most 1) and a
#             `scale` (the mean over arcs of c, the precision of the mixture).
# rival       c of an arc of a challenger is scale * factor * share ** power, share its part of the visits under evenly
#             picked actions, scaled to mean 1; for an arc of the incumbent with the numbers of `incumbent`. c lies
#             between `least` and `most`.
# rho         How likely the walk of the detour prior leaves at a choice.
# ratio       Of the grid of slopes.

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
    "plans": at.BY_PLAN,
}
PRIORS = ("auto", "detour", "excursion", "stages")  # the setting: "auto" is "excursion" for epsilon 0, "detour" above
DEPENDENCES = ("any", "independent")
MISSING = ("related", "unrelated")

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
TOTALS_WEIGHT = 0.9  # of the entries by totals of trials, where their noise is declared


def default_bound(
    mdp: MDP,
    sigma: FloatArray,
    epsilon: float,
    delta: float,
    prior: str,
    noise: str,
    unknown: bool,
    total: float | None = None,
) -> dict[str, Any]:
    """Choose every number of the bound; `sampling.py` says why these."""
    if epsilon > 0 and not unknown:
        noisy = sigma[sigma > 0]
        spread = float(np.sqrt((noisy**2).mean())) if noisy.size else 1.0
        size = min(max(spread / epsilon, 1e-6), 1e9)  # beyond, c meets its own limits
        need, weights = 6 * mdp.horizon * size**2 * (np.log(2 / delta) + mdp.log_paths), WEIGHTS
        if prior == "stages":
            need, weights = 3 * mdp.horizon**2 * size**2 * np.log(mdp.n_arcs / delta), STAGES_WEIGHTS
        scales = _scales(need, len(weights))
    else:
        scales, weights = (list(OPEN_SCALES), OPEN_WEIGHTS) if unknown else (list(EXACT_SCALES), EXACT_WEIGHTS)
    if prior == "auto":
        prior = "excursion" if epsilon == 0 else "detour"
    part = (1 - SIZE_PART if unknown else 1.0) if noise == "sigma" else BESIDE[noise]
    chosen = [("half-normal", scale, part * weight) for scale, weight in zip(scales, weights)]
    if noise != "sigma":
        chosen = [
            (noise, scale, (1 - part) * weight) for scale, weight in zip(LEARNED_SCALES, LEARNED_WEIGHTS)
        ] + chosen
    entries: list[dict[str, Any]] = [
        {"kind": what, "prior": prior, "weight": weight, "scale": float(scale)} for what, scale, weight in chosen
    ]
    declared = noise == "sigma" and not unknown and bool((sigma > 0).any())
    if epsilon > 0 and mdp.log_paths > 0 and declared and prior == "detour":  # others are not mixed with other priors
        for entry in entries:
            entry["weight"] *= 1 - TIES_WEIGHT
        entries.append(ties_entry(mdp, sigma, epsilon, delta, TIES_WEIGHT, STEADINESS))
    if total is not None:
        for entry in entries:
            entry["weight"] *= 1 - TOTALS_WEIGHT
        scales, weights = list(EXACT_SCALES), EXACT_WEIGHTS
        if epsilon > 0:
            need = 6 * min(max(total / epsilon, 1e-6), 1e9) ** 2 * (np.log(2 / delta) + mdp.log_paths)
            scales, weights = _scales(need, 3), WEIGHTS
        entries += [
            {"kind": "half-normal", "prior": "plans", "weight": TOTALS_WEIGHT * weight, "scale": float(scale)}
            for scale, weight in zip(scales, weights)
        ]
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


def _scales(need: float, count: int) -> list[float]:
    """Return scales for so many visits in all."""
    high, low = (need / d for d in DIVISORS)
    return list(np.geomspace(high, min(low, SMALLEST), count).tolist())


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
