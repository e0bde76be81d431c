"""Settings of EPRL, BPI-UCRL and Uniform as the numbers that their kernels read."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepath.kernels.widths import ARC_WIDTHS, EMPIRICAL, MIXTURE
from surepath.learners.range_noise.declared_noise import learned_arcs
from surepath.model.mdp import MDP


def width_numbers(mdp: MDP, widths: str, delta: float, prior: float) -> dict[str, Any]:
    """Turn widths into fields of `Rules`; each process of an arc, one or with learned noise two, has delta / arcs."""
    learns = widths == "bernstein"
    kind = MIXTURE if learns else ARC_WIDTHS.index(widths)
    processes = int((~mdp.is_known).sum())
    if learns:
        processes += int(learned_arcs(mdp).sum())
    return {
        "widths": kind,
        "arcs": float(max(1, processes) if kind == MIXTURE else mdp.n_arcs),
        "delta": delta,
        "prior": prior,
        "learns": int(learns),
        "cap": 1.0 if kind == EMPIRICAL else np.inf,
    }


def states_times_actions(mdp: MDP) -> int:
    """Compute S * A of the paper: number of states times number of actions, as the table, names or numbers say."""
    if mdp.sizes is not None:
        return mdp.sizes[0] * mdp.sizes[1]
    states = len(mdp.state_labels) if mdp.state_labels is not None else int(mdp.node_state.max()) + 1
    actions = len(mdp.action_labels) if mdp.action_labels is not None else int(mdp.action.max()) + 1
    return states * actions
