"""What the page draws: the layered graph, and what is known of each arc."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepath._types import IntArray
from surepath.model.costs import in_words
from surepath.model.mdp import MDP
from surepath.plots.studies import half_width
from surepath.web.plain import rounded

MOST_ARCS_SENT = 2_000  # drawn at once; beyond it, the plan, its challengers and what was visited most
OPEN_ARC, RULED_OUT_ARC, EXCLUDED_ARC, KNOWN_ARC = range(4)
LONGEST_DRAWN_LABEL = 200


def arc_values(learner: Any, arcs: IntArray) -> dict[str, Any]:
    """Return what is known of some arcs, column by column."""
    mdp = learner.mdp
    state = np.where(learner.active, OPEN_ARC, RULED_OUT_ARC)
    state = np.where(mdp.is_known & learner.active, KNOWN_ARC, state)
    state = np.where(learner.excluded, EXCLUDED_ARC, state)
    width = half_width(learner.visits, learner.sigma, learner.delta)
    return {
        "arc": arcs.tolist(),
        "visits": learner.visits[arcs].tolist(),
        "mean": rounded(learner.means[arcs]),
        "width": rounded(width[arcs], 4),
        "state": state[arcs].tolist(),
        "failures": learner.failures[arcs].tolist(),
    }


def chosen_arcs(learner: Any, plans: list[list[int]], first: int, last: int) -> IntArray:
    """Choose the arcs to draw of stages first..last: all, or of each stage the plans' and those visited most."""
    mdp = learner.mdp
    low, high = int(mdp.stage_arc[first]), int(mdp.stage_arc[last + 1])
    if high - low <= MOST_ARCS_SENT:
        return np.arange(low, high)
    rank = learner.visits.astype(float) + np.where(learner.active, 0.5, 0.0)
    for plan in plans:
        rank[plan] = np.inf
    share = MOST_ARCS_SENT // (last - first + 1)
    kept = []
    for stage in range(first, last + 1):
        begin, end = int(mdp.stage_arc[stage]), int(mdp.stage_arc[stage + 1])
        kept.append(begin + np.argsort(-rank[begin:end], kind="stable")[: max(share, len(plans))])
    return np.sort(np.concatenate(kept))


def graph(mdp: MDP, arcs: IntArray) -> dict[str, Any]:
    """Return the nodes and names of the arcs to draw."""
    nodes = np.unique(np.concatenate([mdp.source[arcs], mdp.target[arcs]])).tolist()
    stage_of = np.searchsorted(mdp.stage_node, nodes, side="right") - 1
    return {
        "steps": [str(step) for step in mdp.step_labels or range(mdp.horizon)],
        "named_steps": mdp.step_labels is not None,
        "direction": mdp.direction,
        "unit": "worth" if in_words(mdp) else "score",
        "n_arcs": mdp.n_arcs,
        "nodes": {
            "node": nodes,
            "stage": stage_of.tolist(),
            "label": ["end" if node == mdp.n_nodes else mdp.state_label(node)[:LONGEST_DRAWN_LABEL] for node in nodes],
        },
        "source": mdp.source[arcs].tolist(),
        "target": mdp.target[arcs].tolist(),
        "label": [mdp.action_label(int(arc))[:LONGEST_DRAWN_LABEL] for arc in arcs],
    }
