"""Nodes and arcs by the names people gave them, and arcs in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surepath._checks import suggest
from surepath._numbers import is_whole
from surepath._text import word
from surepath.errors import ProblemError
from surepath.model.paths import stage_of

if TYPE_CHECKING:
    from surepath.model.mdp import MDP


def find_arc(mdp: MDP, stage: int, state: int | str, action: int | str) -> int:
    """Return the number of the arc (stage, state, action); states and actions by number or by label."""
    node = find_node(mdp, stage, state)
    wanted = _number(mdp, "action", action, mdp.action_labels)
    low, high = int(mdp.first[node]), int(mdp.first[node + 1])
    hits = np.flatnonzero(mdp.action[low:high] == wanted)
    if not hits.size:
        have = ", ".join(mdp.action_label(e) for e in range(low, min(high, low + 20)))
        raise ProblemError(f"stage {stage}, state {state!r} has no action {action!r}; it has: {have}")
    return low + int(hits[0])


def find_node(mdp: MDP, stage: int, state: int | str) -> int:
    """Return the number of the node (stage, state)."""
    if not is_whole(stage) or not 0 <= stage < mdp.horizon:
        raise ProblemError(f"stage must be a whole number 0..{mdp.horizon - 1}, not {stage!r}")
    low, high = int(mdp.stage_node[stage]), int(mdp.stage_node[stage + 1])
    wanted = _number(mdp, "state", state, mdp.state_labels)
    at = low + int(np.searchsorted(mdp.node_state[low:high], wanted))
    if at == high or mdp.node_state[at] != wanted:
        raise ProblemError(f"state {state!r} cannot be reached at stage {stage}")
    return at


def _number(mdp: MDP, kind: str, value: int | str, labels: tuple[str, ...] | None) -> int:
    if isinstance(value, str):
        if labels is None:
            if value.isascii() and value.isdigit():
                return int(value)
            raise ProblemError(f"{kind}s have numbers here, no names; got {value!r}")
        index = mdp.label_index(kind).get(value)
        if index is None:
            raise ProblemError(f"no {kind} is called {value!r}{suggest(value, labels[:50])}")
        return index
    if not is_whole(value):
        article = "an" if kind == "action" else "a"
        raise ProblemError(f"{article} {kind} is a whole number or a name, not {value!r}")
    return int(value)


def describe_arc(mdp: MDP, arc: int) -> str:
    """Return an arc in words, for messages: "arc 17 (stage 2, state 'a', action 'x')"."""
    stage, node = stage_of(mdp, arc), int(mdp.source[arc])
    if word("arc", "option") == "option":
        name = stage if mdp.step_labels is None else repr(mdp.step_labels[stage])
        return f"option {mdp.action_label(arc)!r} of step {name} (state {mdp.state_label(node)!r})"
    return f"arc {arc} (stage {stage}, state {mdp.state_label(node)!r}, action {mdp.action_label(arc)!r})"
