"""The entry for problems in which many paths are about equal: it expects every arc to have its planned visits.

When all paths tie, every pair of them must be measured to epsilon, and nothing can be eliminated. Then the number of
visits each arc will have at the stop is known in advance: those of the optimal design (`kernels/flow/design.py`), whose
flow w makes the sum of sigma^2 / w equal for all paths. Mix the tilt of an arc over a normal law that is not centred at
0 but at mu, the tilt that suits the planned visits n0, with precision c = steadiness * n0. The width has a closed form,

    w = k [ n y^2 / 2 + c (mu - y)^2 / 2 + 1/2 log(1 + n / c) ],      y = sigma / (k n),

the first term that of a test of fixed size, the second the price of visits other than planned, the third small. With L
what a pair pays in all, log(P - 1) + log(1/delta) + log(1/weight) + H log(1 + 1/steadiness), the best slope is
k = epsilon / (2 L) and T = 4 (sum of sigma^2) L / epsilon^2 episodes are planned, n0 = T w and mu = sigma / (k n0).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from surepath._types import FloatArray
from surepath.errors import SettingError
from surepath.kernels.arrays import graph_of
from surepath.kernels.flow.design import design_flow
from surepath.model.mdp import MDP
from surepath.model.paths import even_flow

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
