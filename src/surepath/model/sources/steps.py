"""A problem as people think of it: named steps, the options of each, and what a step's score depends on.

A state remembers only what later scores still need: before step i it is the tuple of those earlier choices on which the
score of step i, or of a later one, depends. So "previous" makes a chain, "none" a single state per step.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import one_of
from surepath._types import BoolArray, FloatArray, IntArray
from surepath.errors import ProblemError
from surepath.model.costs import step_costs
from surepath.model.mdp import MDP
from surepath.model.plans import WHOLE
from surepath.model.sources.dense import reward_limits
from surepath.model.sources.step_input import (
    AT_END,
    EVERY_STEP,
    named_options,
    needed_steps,
    noise_of_steps,
    one_sigma,
    scored_steps,
    whole_costs,
    whole_plans,
)

Depends = str | Mapping[str, str | Sequence[str]]

MANY = 100_000  # arcs from which on a warning asks whether this was meant
MOST_BUILT = 5_000_000  # arcs from which on nothing is built


class Step(NamedTuple):
    """One step: its name, its options, and the earlier steps that the state before it remembers."""

    name: str
    options: tuple[str, ...]
    remembers: tuple[int, ...]


def from_steps(
    steps: Mapping[str, Sequence[Any]],
    depends: Depends = "previous",
    *,
    direction: str = "maximize",
    reward_range: tuple[ArrayLike, ArrayLike] | None = None,
    sigma: ArrayLike | Mapping[str, float] | None = None,
    scores: str | Sequence[str] = EVERY_STEP,
    costs: Mapping[str, Any] | None = None,
    cost_weight: float = 0.0,
) -> MDP:
    """Build an MDP whose plans choose one option for each step.

    Args:
        steps: The options of each step, in the order the steps are taken: texts, or numbers, which are named
            by their text ("0.2").
        depends: Which earlier choices the score of a step depends on, besides its own option: "previous" (the step
            before), "none", or {step: [earlier steps]}, where steps that are not named depend on none.
        direction: "maximize" or "minimize".
        reward_range: Lowest and highest score, each one number or one per arc.
        sigma: Sub-Gaussian factor of the scores: one number, one per arc, or one per step {step: number}.
        scores: "every" step is scored, or only the steps of a list (the others count as known 0), or "end": one score
            for the whole plan. Then the graph has nothing to share between plans, and every plan is one option of a
            single step.
        costs: Known cost of options, {step: {option: cost}} or {step: cost}; what is not named costs nothing. A plan
            that is scored at the end costs what its options cost.
        cost_weight: What one unit of cost takes from a plan's worth; 0 keeps costs out of it.

    Example:
        >>> mdp = from_steps({"chunk": ["256", "512"], "retriever": ["bm25", "dense"]}, sigma=0.1)
        >>> mdp.n_paths, mdp.n_arcs, mdp.state_label(2)
        (4, 6, 'chunk=512')
        >>> mdp.plan(mdp.path({"chunk": "512", "retriever": "bm25"}))
        {'chunk': '512', 'retriever': 'bm25'}
    """
    named = named_options(steps)
    prices = step_costs(costs or {}, named)
    if isinstance(scores, str):
        if one_of("scores", scores, (EVERY_STEP, AT_END)) == AT_END:
            plans = whole_plans(named)  # refuses too many of them before their costs are added up
            prices = {WHOLE: whole_costs(named, prices)} if prices else {}
            named, depends, sigma = {WHOLE: plans}, "none", one_sigma(sigma)
        scored = set(named)
    else:
        scored = scored_steps(named, scores)
    rows = _remembering(named, needed_steps(list(named), depends))
    sizes = [prod(len(rows[j].options) for j in row.remembers) for row in rows]  # states before each step
    _refuse_blow_up(rows, sizes)
    labels, state_of = _states(rows)
    actions = {option: i for i, option in enumerate(dict.fromkeys(o for row in rows for o in row.options))}
    stage_node = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    degree, action, target, node_state, cost = [], [], [], [], []
    for i, row in enumerate(rows):
        order = np.argsort([actions[option] for option in row.options], kind="stable")  # arcs go by action number
        degree.append(np.full(sizes[i], len(order)))
        action.append(np.tile(np.array([actions[option] for option in row.options])[order], sizes[i]))
        own = prices.get(row.name, {})
        cost.append(np.tile(np.array([own.get(option, 0.0) for option in row.options])[order], sizes[i]))
        target.append(stage_node[i + 1] + _ahead(rows, i, sizes[i])[:, order].ravel())
        node_state.append(state_of[row.remembers] + np.arange(sizes[i]))
    first = np.concatenate([[0], np.cumsum(np.concatenate(degree))]).astype(np.int64)
    n_arcs, arcs_of = int(first[-1]), [size * len(row.options) for size, row in zip(sizes, rows)]
    limits = reward_limits(reward_range, n_arcs)
    silent = np.repeat([row.name not in scored for row in rows], arcs_of)
    return MDP(
        first=first,
        target=np.concatenate(target),
        stage_node=stage_node,
        node_state=np.concatenate(node_state),
        action=np.concatenate(action),
        sigma=_silenced(noise_of_steps(sigma, list(named), arcs_of), silent),
        reward_range=limits,
        known=np.where(silent, 0.0, np.nan) if silent.any() else None,
        state_labels=labels,
        action_labels=tuple(actions),
        direction=direction,
        step_labels=tuple(named),
        cost=np.concatenate(cost),
        cost_weight=cost_weight,
    )


def _remembering(named: dict[str, tuple[str, ...]], needs: list[set[int]]) -> list[Step]:
    """Find what the state before each step has to remember: what its own score or a later one needs."""
    rows: list[Step] = []
    ahead: set[int] = set()
    for i, (name, options) in reversed(list(enumerate(named.items()))):
        ahead = (ahead | needs[i]) - {i}
        rows.append(Step(name, options, tuple(sorted(ahead))))
    return rows[::-1]


def _refuse_blow_up(rows: list[Step], sizes: list[int]) -> None:
    """Refuse more arcs than can be built, and warn of many, before any is: memory of earlier choices multiplies."""
    arcs = [size * len(row.options) for size, row in zip(sizes, rows)]
    total, worst = sum(arcs), max(range(len(rows)), key=lambda i: arcs[i])
    if total <= MANY:
        return
    kept = ", ".join(rows[j].name for j in rows[worst].remembers) or "no earlier choice"
    message = (
        f"these steps make {total:,} options, counted in every state, {arcs[worst]:,} of them at step "
        f"{rows[worst].name!r}, which has to remember: {kept}"
    )
    if total > MOST_BUILT:
        raise ProblemError(f"{message}; at most {MOST_BUILT:,} are built. Let fewer steps depend on distant choices")
    warnings.warn(
        f"{message}. Every option is learned by trials, in every state; is every dependency needed?",
        UserWarning,
        stacklevel=4,
    )


def _states(rows: list[Step]) -> tuple[tuple[str, ...], dict[tuple[int, ...], int]]:
    """List the labels of all states, and the number of the first state of each set of remembered steps."""
    labels: list[str] = []
    first: dict[tuple[int, ...], int] = {}
    for row in rows:
        if row.remembers in first:
            continue
        first[row.remembers] = len(labels)
        own = [""]
        for j in row.remembers:
            parts = [f"{_plain(rows[j].name)}={_plain(option)}" for option in rows[j].options]
            own = [f"{head}, {part}" if head else part for head in own for part in parts]
        labels += own if row.remembers else ["start"]
    return tuple(labels), first


def _plain(name: str) -> str:
    """Return a name that cannot run into its neighbours in a label."""
    return name if not set(name) & set("=,'\"") else repr(name)


def _ahead(rows: list[Step], i: int, size: int) -> IntArray:
    """Compute the place within the next stage of each (state, option) of step i, int [states, options]."""
    options = len(rows[i].options)
    goal = np.zeros((size, options), dtype=np.int64)
    if i + 1 == len(rows):
        return goal
    node, stride = np.arange(size), 1
    digit = {}  # choice of each remembered step, the last one running fastest
    for j in reversed(rows[i].remembers):
        digit[j] = (node // stride) % len(rows[j].options)
        stride *= len(rows[j].options)
    stride = 1
    for j in reversed(rows[i + 1].remembers):
        goal += stride * (np.arange(options)[None, :] if j == i else digit[j][:, None])
        stride *= len(rows[j].options)
    return goal


def _silenced(sigma: FloatArray | None, silent: BoolArray) -> FloatArray | None:
    """Set sigma of known scores to 0, as a problem file does, so that the same problem is read back from one."""
    return None if sigma is None else np.where(silent, 0.0, sigma)
