"""From layered arcs to CSR arrays: numbering of states, actions, nodes and arcs, and the columns of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import nan
from typing import NamedTuple

import numpy as np

from surepath._checks import suggest
from surepath._types import FloatArray
from surepath.errors import ProblemError
from surepath.model.mdp import MDP
from surepath.model.sources.edge_rows import Edge
from surepath.model.sources.layering import LayeredArc


class EdgeTable(NamedTuple):
    """An edge table laid out as an MDP."""

    mdp: MDP
    means: FloatArray | None  # [N] mean of each arc where the table gives them


class _Numbering:
    """Labels to numbers: as listed, as they are when all are plain whole numbers, or in the order they are met."""

    def __init__(self, what: str, given: Sequence[str] | None, used: Iterable[tuple[str, bool]]) -> None:
        """Take names in use, (name, whether it is ours): names of waiting nodes need not be listed."""
        names = dict(used)
        self.open = False
        self.labels: tuple[str, ...] | None = None
        if given is not None:
            self.ids = {name: i for i, name in enumerate(given)}
            if len(self.ids) < len(given):
                twice = next(name for i, name in enumerate(given) if self.ids[name] != i)
                raise ProblemError(f"the list of {what}s names {twice!r} twice")
            for name, ours in names.items():
                if name not in self.ids:
                    if not ours:
                        raise ProblemError(f"{what} {name!r} is not in the list of {what}s{suggest(name, given)}")
                    self.ids[name] = len(self.ids)
            self.labels = tuple(self.ids)
        elif all(_is_plain(name) for name in names):
            self.ids = {name: int(name) for name in names}
        else:
            self.ids = {}
            self.open = True

    def of(self, name: str) -> int:
        return self.ids.setdefault(name, len(self.ids)) if self.open else self.ids[name]

    def order(self, name: str) -> int:
        """Return where a name sorts: by number, those not met yet last."""
        return self.ids.get(name, 1 << 62)

    def finish(self) -> tuple[str, ...] | None:
        return tuple(self.ids) if self.open else self.labels


def _is_plain(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) < 10 and str(int(name)) == name


def assemble(
    edges: Sequence[Edge],
    arcs: Sequence[LayeredArc],
    start: str,
    sigma: float | None,
    fallback: float | None,
    direction: str,
    states: Sequence[str] | None,
    actions: Sequence[str] | None,
    step_names: Sequence[str] | None,
    cost_weight: float = 0.0,
) -> EdgeTable:
    """Give numbers to nodes and arcs stage by stage, and fill the arrays."""
    horizon = 1 + max(arc.stage for arc in arcs)
    state_ids = _Numbering("state", states, ((arc.state, arc.row < 0) for arc in arcs))
    action_ids = _Numbering("action", actions, ((arc.action, arc.row < 0) for arc in arcs))
    table: list[dict[str, list[LayeredArc]]] = [{} for _ in range(horizon)]
    for arc in arcs:
        table[arc.stage].setdefault(arc.state, []).append(arc)

    first, target, action, node_state, stage_node, row_of_arc = [0], [], [], [], [0], []
    here = [start]
    state_ids.of(start)
    for h in range(horizon):
        ahead: dict[str, None] = {}
        leaving: list[LayeredArc] = []
        for state in here:
            own = sorted(table[h][state], key=lambda arc: action_ids.order(arc.action))
            node_state.append(state_ids.of(state))
            first.append(first[-1] + len(own))
            for arc in own:
                action.append(action_ids.of(arc.action))
                row_of_arc.append(arc.row)
                if arc.next_state is not None and arc.next_state not in ahead:
                    ahead[arc.next_state] = None
                    state_ids.of(arc.next_state)
            leaving += own
        stage_node.append(len(node_state))
        here = sorted(ahead, key=state_ids.of)
        place = {state: len(node_state) + i for i, state in enumerate(here)}
        target += [len(node_state) if arc.next_state is None else place[arc.next_state] for arc in leaving]

    used = [edges[row] if row >= 0 else None for row in row_of_arc]
    known = _column([0.0 if edge is None else edge.known for edge in used])
    low = _column([nan if edge is None else edge.low for edge in used])
    high = _column([nan if edge is None else edge.high for edge in used])
    mdp = MDP(
        first=np.array(first, dtype=np.int64),
        target=np.array(target, dtype=np.int64),
        stage_node=np.array(stage_node, dtype=np.int64),
        node_state=np.array(node_state, dtype=np.int64),
        action=np.array(action, dtype=np.int32),
        known=known,
        sigma=_sigma(used, sigma, fallback),
        reward_range=None
        if low is None or high is None
        else (np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)),
        state_labels=state_ids.finish(),
        action_labels=action_ids.finish(),
        direction=direction,
        step_labels=step_names,
        cost=np.array([0.0 if edge is None or edge.cost != edge.cost else edge.cost for edge in used]),
        cost_weight=cost_weight,
    )
    return EdgeTable(mdp, _means(used))


def _column(values: list[float]) -> FloatArray | None:
    """Return the values as an array, or None when there are none."""
    array = np.array(values, dtype=np.float64)
    return None if np.isnan(array).all() else array


def _sigma(used: Sequence[Edge | None], default: float | None, fallback: float | None) -> FloatArray | None:
    """Return sigma of each arc: its own, else the default, else NaN if it has a range, else the fallback; 0 if known.

    None when no arc to learn has one: then the ranges, if any, are all that is declared.
    """
    values, lacking, declared = [], [], False
    for edge in used:
        if edge is None or edge.known == edge.known:
            values.append(0.0)
            continue
        own = edge.sigma if edge.sigma == edge.sigma else nan if default is None else default
        if own != own and edge.low != edge.low:
            own = nan if fallback is None else fallback
            lacking += [edge] if own != own else []
        declared = declared or own == own or edge.low == edge.low
        values.append(own)
    if lacking and declared:
        raise ProblemError(f"{lacking[0]} has no sigma while other rows have; give it one, or a default sigma for all")
    array = np.array(values)
    learned = np.array([edge is not None and edge.known != edge.known for edge in used])
    return None if learned.any() and np.isnan(array[learned]).all() else array


def _means(used: Sequence[Edge | None]) -> FloatArray | None:
    values = [0.0 if edge is None else edge.known if edge.known == edge.known else edge.mean for edge in used]
    lacking = [edge for edge, value in zip(used, values) if edge is not None and value != value]
    if not lacking:
        return np.array(values)
    if all(edge is None or edge.mean != edge.mean for edge in used):
        return None
    raise ProblemError(f"{lacking[0]} has no mean while other rows have; give every edge a mean or none")
