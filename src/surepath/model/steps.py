"""Build an MDP from named steps and options, or from dense arrays [stage, state, action]."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import fsum, isfinite, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import (
    SMALLEST_SIGMA,
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    NotNumbersError,
    check_sigma,
    is_real,
    is_whole,
    one_of,
    per_arc,
    refuse_masks,
    repeated,
    suggest,
)
from surepath.errors import ProblemError, SettingError
from surepath.model.mdp import MDP
from surepath.model.paths import number_name, step_costs, step_names


def from_arrays(
    next_state: ArrayLike,
    initial_state: int,
    available: ArrayLike | None,
    direction: str,
    reward_range: tuple[ArrayLike, ArrayLike] | None,
    sigma: ArrayLike | None,
) -> MDP:
    """Keep what can be reached from the initial state, stage by stage; O(H S A), no Python loop over states."""
    table = _table(next_state)
    horizon, n_states, n_actions = table.shape
    mask = _mask(available, table.shape)
    if not is_whole(initial_state):
        raise ProblemError(f"initial_state must be a whole number, not {initial_state!r}")
    if not 0 <= initial_state < n_states:
        raise ProblemError(f"initial_state must be a state 0..{n_states - 1}, not {initial_state}")

    states = np.array([initial_state], dtype=np.int64)
    node_states, degrees, actions, targets, stage_node = [], [], [], [], [0]
    for h in range(horizon):
        here = mask[h, states]  # bool [reachable, A]
        degree = here.sum(axis=1).astype(np.int64)
        action = np.nonzero(here)[1].astype(np.int32)
        ahead = table[h, states][here]
        if not degree.all():
            state = int(states[np.flatnonzero(degree == 0)[0]])
            raise ProblemError(f"step {h + 1}, state {state} can be reached but has no available option")
        node_states.append(states)
        degrees.append(degree)
        actions.append(action)
        stage_node.append(stage_node[-1] + len(states))
        if h == horizon - 1:
            targets.append(np.full(len(action), stage_node[-1], dtype=np.int64))
            break
        bad = np.flatnonzero((ahead < 0) | (ahead >= n_states))
        if bad.size:
            at = int(bad[0])
            state = int(np.repeat(states, degree)[at])
            raise ProblemError(
                f"step {h + 1}, state {state}, option {int(action[at])} leads to state {int(ahead[at])}; "
                f"states are 0..{n_states - 1}"
            )
        reached = np.zeros(n_states, dtype=bool)
        reached[ahead] = True
        place = np.cumsum(reached, dtype=np.int64) + (stage_node[-1] - 1)
        targets.append(place[ahead])
        states = np.flatnonzero(reached)

    degree = np.concatenate(degrees)
    first = np.zeros(len(degree) + 1, dtype=np.int64)
    np.cumsum(degree, out=first[1:])
    limits = reward_limits(reward_range, int(first[-1]))
    if sigma is not None and np.ndim(sigma) == 3:
        if np.shape(sigma) != table.shape:
            raise ProblemError(f"sigma as [H, S, A] must have shape {table.shape}; got {np.shape(sigma)}")
        stage = np.repeat(np.arange(horizon), [len(part) for part in actions])
        sigma = np.asarray(sigma)[stage, np.repeat(np.concatenate(node_states), degree), np.concatenate(actions)]
    return MDP(
        first=first,
        target=np.concatenate(targets),
        stage_node=np.array(stage_node, dtype=np.int64),
        node_state=np.concatenate(node_states),
        action=np.concatenate(actions),
        sigma=None if sigma is None else check_sigma(sigma, int(first[-1])),
        reward_range=limits,
        direction=direction,
        sizes=(n_states, n_actions),
    )


def _table(next_state: ArrayLike) -> AnyArray:
    _refuse_hidden("next_state", next_state)
    try:
        table = np.asarray(next_state)
    except ValueError as cause:
        raise ProblemError("next_state must be a full table of shape [H, S, A]; its rows differ in length") from cause
    if table.ndim != 3:
        raise ProblemError(f"next_state must have shape [H, S, A]; got shape {table.shape}")
    if table.dtype.kind not in "iu":
        raise ProblemError(f"next_state must hold whole numbers; got {table.dtype}")
    if 0 in table.shape:
        raise ProblemError(f"next_state needs at least one stage, state and action; got shape {table.shape}")
    return table


def reward_limits(given: tuple[ArrayLike, ArrayLike] | None, n_arcs: int) -> tuple[FloatArray, FloatArray] | None:
    """Check the lowest and highest reward of each arc, and return them as two float [N]."""
    if given is None:
        return None
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise ProblemError(f"reward_range must be a pair (lowest score, highest score), not {given!r}")
    low = per_arc("the lowest score", given[0], n_arcs, error=ProblemError)
    high = per_arc("the highest score", given[1], n_arcs, error=ProblemError)
    bad = np.flatnonzero(low > high)
    if bad.size:
        raise ProblemError(f"the lowest score must not exceed the highest, but {low[bad[0]]:g} > {high[bad[0]]:g}")
    if ((low < high) & (high - low < 2 * SMALLEST_SIGMA)).any():
        raise ProblemError(f"the lowest and highest score must be equal or differ by {2 * SMALLEST_SIGMA:g} or more")
    return low, high


def _refuse_hidden(what: str, table: object) -> None:
    try:
        refuse_masks(table)
    except NotNumbersError as cause:
        raise ProblemError(f"{what} holds {cause}; a table must be full") from None


def _mask(available: ArrayLike | None, shape: tuple[int, ...]) -> BoolArray:
    if available is None:
        return np.broadcast_to(np.True_, shape)
    _refuse_hidden("available", available)
    mask = np.asarray(available)
    if mask.dtype != np.bool_ or mask.shape != shape:
        raise ProblemError(f"available must be bool {list(shape)}; got {mask.dtype} {list(mask.shape)}")
    return mask


# Steps ----------------------------------------------------------------------------------------------------------------
# A state remembers only what later scores still need: before step i it is the tuple of those earlier choices on which
# the score of step i, or of a later one, depends. So "previous" makes a chain, "none" a single state per step.

Depends = str | Mapping[str, str | Sequence[str]]

MANY = 100_000  # arcs from which on a warning asks whether this was meant
MOST_BUILT = 5_000_000  # arcs from which on nothing is built
MOST_PLANS = 20_000  # plans with one score at the end: each must be tried by itself
EVERY_STEP, AT_END = "every", "end"
ADDITIVE = "additive"  # the one structure there is
WHOLE = "whole plan"  # the one step of a problem in which every plan is one option: it is scored at the end


class Step(NamedTuple):
    """One step: its name, its options, and the earlier steps that the state before it remembers."""

    name: str
    options: tuple[str, ...]
    remembers: tuple[int, ...]


def from_steps(
    steps: Mapping[str, Sequence[Any]],
    depends: Depends,
    direction: str,
    reward_range: tuple[ArrayLike, ArrayLike] | None,
    sigma: ArrayLike | Mapping[str, float] | None,
    scores: str | Sequence[str],
    structure: str | None,
    costs: Mapping[str, Any],
    cost_weight: float,
) -> MDP:
    """Build an MDP whose plans choose one option for each step; see `MDP.from_steps`."""
    named = _named_options(steps)
    prices = step_costs(costs, named)
    plans: tuple[dict[str, str], ...] | None = None
    blocks = None if structure is None else _blocks(named, scores, structure)
    if blocks is not None:
        scored = set(named)
    elif isinstance(scores, str):
        if one_of("scores", scores, (EVERY_STEP, AT_END)) == AT_END:
            if isinstance(sigma, Mapping):
                raise SettingError('with scores="end" sigma is one number: the noise of the one score of a plan')
            plans = _whole_plans(named)
            labels = tuple(_label(plan.items()) for plan in plans)
            sums = (fsum(prices.get(step, {}).get(option, 0.0) for step, option in plan.items()) for plan in plans)
            prices = {WHOLE: dict(zip(labels, sums))}
            named, depends = {WHOLE: labels}, "none"
        scored = set(named)
    else:
        scored = _scored_steps(named, scores)
    rows = _remembering(named, _needed_steps(list(named), depends))
    sizes = [prod(len(rows[j].options) for j in row.remembers) for row in rows]  # states before each step
    _refuse_blow_up(rows, sizes)
    state_labels, state_of = _states(rows)
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
    covering = list(named) if blocks is None else [list(named)[stage] for stage in blocks]
    noise = _noise_of_steps(sigma, dict(zip(named, arcs_of)), covering)
    return MDP(
        first=first,
        target=np.concatenate(target),
        stage_node=stage_node,
        node_state=np.concatenate(node_state),
        action=np.concatenate(action),
        sigma=None if noise is None else np.where(silent, 0.0, noise),  # as it is read back from a file
        reward_range=limits,
        known=np.where(silent, 0.0, np.nan) if silent.any() else None,
        state_labels=state_labels,
        action_labels=tuple(actions),
        direction=direction,
        step_labels=tuple(named),
        cost=np.concatenate(cost),
        cost_weight=cost_weight,
        plans=plans,
        scored=blocks,
    )


def _named_options(steps: Any) -> dict[str, tuple[str, ...]]:
    """Return the options of each step as text, each once."""
    if not isinstance(steps, Mapping) or not steps:
        raise ProblemError(f"steps must be a mapping {{step: options}} with at least one step, not {steps!r}")
    named = {}
    for name, options in steps.items():
        if not isinstance(name, str) or not name:
            raise ProblemError(f"the name of a step must be text and not empty, not {name!r}")
        if isinstance(options, (str, bytes)) or not isinstance(options, Sequence) or not len(options):
            raise ProblemError(f"step {name!r} needs a list of at least one option, not {options!r}")
        for option in options:
            if not is_real(option) and (not isinstance(option, str) or not option):
                raise ProblemError(f"an option of step {name!r} must be text or a number, not {option!r}")
            if is_real(option) and not isfinite(option):
                raise ProblemError(f"an option of step {name!r} must be finite, not {option!r}")
        texts = tuple(number_name(option) for option in options)
        twice = repeated(texts)
        if twice is not None:
            raise ProblemError(f"step {name!r} has the option {twice!r} twice")
        named[name] = texts
    return named


def _whole_plans(named: dict[str, tuple[str, ...]]) -> tuple[dict[str, str], ...]:
    """List every plan."""
    count = prod(map(len, named.values()))
    if count > MOST_PLANS:
        raise ProblemError(
            f"with one score at the end every plan is tried by itself, and these steps make {count:,} plans; at most "
            f"{MOST_PLANS:,} are taken. Where a plan's score is a sum of effects of its options, say "
            f'structure="additive"; or score the steps one by one, or leave out options'
        )
    return tuple(dict(zip(named, choice)) for choice in product(*named.values()))


def _scored_steps(named: Mapping[str, Any], scores: Any) -> set[str]:
    """Read the list of steps that are scored."""
    if not isinstance(scores, (list, tuple, set, frozenset)) or not scores:
        raise SettingError(f'scores must be "{EVERY_STEP}", "{AT_END}" or a list of steps, not {scores!r}')
    for name in scores:
        if name not in named:
            raise SettingError(f"scores names no step {name!r}{suggest(str(name), list(named))}")
    return set(scores)


def _blocks(named: Mapping[str, Any], scores: Any, structure: Any) -> tuple[int, ...]:
    """Return the stages that are scored, each for all since the one before."""
    one_of("structure", structure, (ADDITIVE,))
    last = list(named)[-1]
    scored = {last} if scores == AT_END else set() if scores == EVERY_STEP else _scored_steps(named, scores)
    if not scored or (len(scored) == len(named) and scores != AT_END):
        raise SettingError(
            f'structure="{ADDITIVE}" is for scores="{AT_END}" or a list of some steps; where every step has a score of '
            f"its own, leave it out"
        )
    return tuple(i for i, name in enumerate(named) if name in scored)


def _needed_steps(names: list[str], depends: Any) -> list[set[int]]:
    """Return the earlier steps on which each step's score depends."""
    if not isinstance(depends, Mapping):
        kind = one_of("depends", depends, ("previous", "none"))
        return [{i - 1} if i and kind == "previous" else set() for i in range(len(names))]
    needs: list[set[int]] = [set() for _ in names]
    place = {name: i for i, name in enumerate(names)}
    for name, earlier in depends.items():
        if name not in place:
            raise SettingError(f"depends names no step {name!r}{suggest(str(name), names)}")
        at = place[name]
        if not isinstance(earlier, (str, list, tuple, set, frozenset)):
            raise SettingError(f"depends of step {name!r} must be a list of earlier steps, not {earlier!r}")
        for other in [earlier] if isinstance(earlier, str) else earlier:
            if other not in place:
                raise SettingError(f"step {name!r} depends on no step {other!r}{suggest(str(other), names)}")
            if place[other] >= at:
                raise SettingError(
                    f"step {name!r} cannot depend on {other!r}, which does not come before it; "
                    f"the order is {' > '.join(names)}"
                )
            needs[at].add(place[other])
    return needs


def _noise_of_steps(sigma: Any, arcs_of: dict[str, int], scored: list[str]) -> FloatArray | None:
    """Return the declared sigma of each arc, float [N], or None.

    Args:
        sigma: One number, one per arc, or one for each of `scored`.
        arcs_of: How many arcs each step has.
        scored: The steps that have a score, each for those since the one before as well.
    """
    if sigma is None or not isinstance(sigma, Mapping):
        return None if sigma is None else check_sigma(sigma, sum(arcs_of.values()))
    for name in sigma:
        if name not in scored:
            raise SettingError(f"sigma is that of a score, and {name!r} has none{suggest(str(name), scored)}")
    lacking = next((name for name in scored if name not in sigma), None)
    if lacking is not None:
        raise SettingError(f"sigma lacks step {lacking!r}; give every scored step one, or one number for all")
    own, covering = [], iter(scored)
    covered = next(covering)
    for name, count in arcs_of.items():
        own.append(per_arc(f"sigma of step {covered!r}", sigma[covered], count))
        covered = next(covering, covered) if name == covered else covered
    return check_sigma(np.concatenate(own), sum(arcs_of.values()))


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
        parts = ([_label([(rows[j].name, option)]) for option in rows[j].options] for j in row.remembers)
        labels += [", ".join(choice) for choice in product(*parts)] if row.remembers else ["start"]
    return tuple(labels), first


def _label(choices: Iterable[tuple[str, str]]) -> str:
    """Name some choices: "chunk=256, model=large"; no two differ and share a name."""
    return ", ".join(f"{_plain(step)}={_plain(option)}" for step, option in choices)


def state_names(mdp: MDP) -> list[str]:
    """Name all states as drawings do: by its option alone one that is called after it and its step, "step=option".

    Example:
        >>> state_names(MDP.from_steps({"top, k": ["1", "2, 3"], "model": ["small"]}, sigma=0.1))
        ['start', '1', '2, 3']
    """
    names = [mdp.state_label(node) for node in range(mdp.n_nodes)]
    for step, first, end in zip(step_names(mdp), mdp.stage_arc[:-2].tolist(), mdp.stage_arc[1:-1].tolist()):
        nodes, arcs = np.unique(mdp.target[first:end], return_index=True)
        for node, arc in zip(nodes.tolist(), (first + arcs).tolist()):
            option = mdp.action_label(arc)
            names[node] = option if names[node] == _label([(step, option)]) else names[node]
    return names


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
