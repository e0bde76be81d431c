"""The theorem on ties as a number: how many episodes guarded Challenger takes at most."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepath.errors import SettingError
from surepath.learners.challenger.state import MOST_LOGS, pair_need, planned_shares
from surepath.model.mdp import MDP


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
    horizon, arcs, steady, planned = mdp.horizon, mdp.n_arcs, entry["per_visit"], entry["trials"]
    need = pair_need(mdp, delta, entry["weight"], steady)
    least = float(planned_shares(mdp, np.ones(arcs), entry["flow"]).min())
    mean = arcs / horizon  # of 1 / share along every path
    trials = 2.0 * planned
    for _ in range(200):
        unchecked = np.log1p(trials / planned * mean / steady)
        last, after = arcs * mean / (steady * planned), (trials + 2 * arcs * mean) / (steady * planned)
        checked = MOST_LOGS * need / horizon + np.log1p(last) + np.log1p(after)
        part = (steady + 1) / 2 + horizon / need * min(unchecked, checked)
        trials = 2 * (1 + part) * planned + 2 * arcs / least + arcs + 3
    return float(sampled * trials + 1)
