"""The strongest challengers of the current plan, and where they differ from it, in words."""

from __future__ import annotations

from typing import Any

from surepath.model.mdp import MDP
from surepath.plots.challengers import differences
from surepath.web.plain import plain

MOST_STEPS_NAMED = 4  # differing steps named in a sentence


def explain_challengers(learner: Any, count: int) -> dict[str, Any]:
    """Return the strongest challengers of a learner's incumbent."""
    found = learner.explain(count)
    rivals = [_rival(learner, found.incumbent, rival) for rival in found.rivals]
    return {"rivals": plain(rivals), "remark": found.remark}


def _rival(learner: Any, incumbent: list[int], rival: Any) -> dict[str, Any]:
    mdp = learner.mdp
    differs = [one._asdict() for one in differences(mdp, learner.visits, incumbent, rival.path)]
    return {
        "path": rival.path,
        "bound": rival.bound,
        "estimate": rival.estimate,
        "differs": differs,
        "words": in_words(mdp, differs, rival.bound, rival.estimate),
    }


def in_words(mdp: MDP, differs: list[dict[str, Any]], bound: float, estimate: float) -> str:
    """Describe how a challenger differs from the current plan and how much better it may be."""
    changes = [
        f"{one['option']} in place of {one['instead_of']} at {one['step']}" for one in differs if not one["same_option"]
    ]
    moved = [f"{one['option']} at {one['step']} after another step before it" for one in differs if one["same_option"]]
    listed = changes + moved
    more = len(listed) - MOST_STEPS_NAMED
    text = ", ".join(listed[:MOST_STEPS_NAMED]) + (f" and {more} more" if more > 0 else "")
    estimated = "estimated as good" if abs(estimate) < 1e-9 else f"estimated {abs(estimate):.3g} worse"
    return f"{text}: {estimated}, may still be better by up to {bound:.3g}."
