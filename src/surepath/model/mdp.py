"""MDP: the layered graph of a problem, held in CSR arrays, with labels, declared noise and costs.

A node is a reachable (stage, state); an arc is an available (stage, state, action). Nodes are numbered in
(stage, state) order and arcs in (stage, state, action) order, so the arcs that leave node i are
first[i] .. first[i + 1] - 1, every arc points to a node with a larger number, and one sweep over the nodes,
up or down, is a dynamic program. All arcs of the last stage lead to the sink, the node numbered n_nodes.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import (
    BoolArray,
    FloatArray,
    IntArray,
    frozen,
    is_whole,
    one_of,
    refuse_masks,
    suggest,
    ways_to_declare,
)
from surepath._text import many
from surepath.errors import PathError, ProblemError
from surepath.model.paths import (
    SHOWN,
    Plan,
    check_costs,
    check_step_labels,
    check_weight,
    chosen_number,
    log_number_of_paths,
    named_number,
    number_name,
    paths_from,
    stage_of,
    step_and_key,
    step_in_words,
    step_number,
)

if TYPE_CHECKING:
    from surepath.model.edges import EdgeRow

Direction = Literal["maximize", "minimize"]


class Arcs(NamedTuple):
    """Stage, state and action of each arc, three integer arrays of length N."""

    stage: IntArray
    state: IntArray
    action: IntArray


class MDP:
    """A deterministic finite-horizon MDP without its rewards: which arc leads where.

    Build one with `from_steps`, `from_arrays`, `from_edges`, `from_networkx`, `from_gymnasium` or `load`. An MDP never
    changes and is compared and hashed by content.

    Attributes:
        horizon: Number of stages H.
        n_arcs: Number N of reachable arcs.
        n_nodes: Number of reachable (stage, state) pairs.
        first: First arc of each node, int [n_nodes + 1].
        target: Node each arc leads to, int [N]; n_nodes is the sink.
        stage_node: First node of each stage, int [H + 1].
        node_state: State of each node, int [n_nodes].
        action: Action of each arc, int [N].
        known: Reward known in advance, float [N], NaN where it must be learned; None when nothing is known.
        sigma: Declared sub-Gaussian factor of each arc, float [N], or None.
        reward_range: Declared lowest and highest reward of each arc, two float [N], or None.
        state_labels, action_labels: Names of states and actions, or None when they are plain numbers.
        direction: "maximize" or "minimize"; which returns people want.
        sizes: Numbers of states and actions of the table it was built from, those out of reach included, or None.
        step_labels: Names of the stages, one per stage, or None when they are plain numbers.
        cost: Known cost of playing each arc, money or time, float [N], or None where nothing costs anything.
        cost_weight: What one unit of cost takes from a path's worth; 0 where worth is the reward alone.
        plans: The {step: option} behind each arc, where every plan is one arc of a single stage; else None.
        scored: Where effects add up and not every stage has a score of its own: the stages that have one, which is for
            all arcs since the scored stage before, as are sigma and range; else None.

    Example:
        >>> mdp = MDP.from_arrays([[[0, 1], [1, 1]], [[0, 0], [0, 0]]])
        >>> mdp.horizon, mdp.n_arcs, mdp.n_paths
        (2, 6, 4)
    """

    def __init__(
        self,
        *,
        first: IntArray,
        target: IntArray,
        stage_node: IntArray,
        node_state: IntArray,
        action: IntArray,
        known: FloatArray | None = None,
        sigma: FloatArray | None = None,
        reward_range: tuple[FloatArray, FloatArray] | None = None,
        state_labels: tuple[str, ...] | None = None,
        action_labels: tuple[str, ...] | None = None,
        direction: str = "maximize",
        sizes: tuple[int, int] | None = None,
        step_labels: Sequence[str] | None = None,
        cost: FloatArray | None = None,
        cost_weight: float = 0.0,
        plans: Sequence[Mapping[str, str]] | None = None,
        scored: Sequence[int] | None = None,
    ) -> None:
        """Take arrays that already obey the layout; the `from_...` constructors check their input."""
        self.first = cast(IntArray, frozen(np.ascontiguousarray(first, dtype=np.int64)))
        self.target = cast(IntArray, frozen(np.ascontiguousarray(target, dtype=np.int64)))
        self.stage_node = cast(IntArray, frozen(np.ascontiguousarray(stage_node, dtype=np.int64)))
        self.node_state = cast(IntArray, frozen(np.ascontiguousarray(node_state, dtype=np.int64)))
        self.action = cast(IntArray, frozen(np.ascontiguousarray(action, dtype=np.int32)))
        self.known = _frozen_floats(known)
        self.sigma = _frozen_floats(sigma)
        self.reward_range: tuple[FloatArray, FloatArray] | None = None
        if reward_range is not None:
            low, high = (cast(FloatArray, _frozen_floats(side)) for side in reward_range)
            self.reward_range = (low, high)
        self.state_labels = state_labels
        self.action_labels = action_labels
        self.direction: Direction = cast(Direction, one_of("direction", direction, ("maximize", "minimize")))
        self.sizes = sizes
        self.horizon = len(self.stage_node) - 1
        self.n_nodes = len(self.node_state)
        self.n_arcs = len(self.target)
        self.step_labels = check_step_labels(step_labels, self.horizon)
        self.cost = _frozen_floats(check_costs(cost, self.n_arcs))
        self.cost_weight = check_weight(cost_weight, self.cost)
        self.plans = None if plans is None else _checked_plans(plans, self.horizon, self.n_arcs)
        self.scored = None if scored is None else _checked_blocks(self, scored)
        self._sealed = True

    def __setattr__(self, name: str, value: Any) -> None:
        if "_sealed" in self.__dict__:
            raise AttributeError(f"an MDP never changes: {name!r} cannot be set; build another MDP")
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let copies and pickles go through the constructor, so that their arrays are read-only too."""
        return partial(MDP, **self._fields()), ()

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in signature(MDP).parameters}

    def _replaced(self, **fields: Any) -> MDP:
        """Build the same problem with other fields."""
        return MDP(**{**self._fields(), **fields})

    # Constructors ----------------------------------------------------------------------------------------------

    @classmethod
    def from_arrays(
        cls,
        next_state: ArrayLike,
        initial_state: int = 0,
        available: ArrayLike | None = None,
        *,
        direction: str = "maximize",
        reward_range: tuple[ArrayLike, ArrayLike] | None = None,
        sigma: ArrayLike | None = None,
    ) -> MDP:
        """Build an MDP from dense tables; `Instance.from_arrays` adds means, for a world to simulate.

        Args:
            next_state: int [H, S, A], the state that each action leads to; the last stage's entries are ignored.
            initial_state: The state of stage 0.
            available: bool [H, S, A], which actions exist; all of them by default.
            direction: "maximize" or "minimize".
            reward_range: Lowest and highest reward, each one number or one per arc; learners refuse what lies outside.
            sigma: Sub-Gaussian factor of the rewards: one number, one per arc, or float [H, S, A].

        Example:
            >>> MDP.from_arrays([[[0, 1], [1, 1]], [[0, 0], [0, 0]]]).n_arcs
            6
        """
        from surepath.model.steps import from_arrays

        return from_arrays(next_state, initial_state, available, direction, reward_range, sigma)

    @classmethod
    def from_steps(
        cls,
        steps: Mapping[str, Sequence[Any]],
        depends: str | Mapping[str, str | Sequence[str]] = "previous",
        *,
        direction: str = "maximize",
        reward_range: tuple[ArrayLike, ArrayLike] | None = None,
        sigma: ArrayLike | Mapping[str, float] | None = None,
        scores: str | Sequence[str] = "every",
        structure: str | None = None,
        costs: Mapping[str, Any] | None = None,
        cost_weight: float = 0.0,
    ) -> MDP:
        """Build an MDP from named steps, their options, and what each score depends on.

        Args:
            steps: The options of each step, in the order the steps are taken.
            depends: Which earlier choices the score of a step depends on, besides its own option: "previous" (the step
                before), "none", or {step: [earlier steps]}, where steps that are not named depend on none.
            direction: "maximize" or "minimize".
            reward_range: Lowest and highest score, each one number or one per arc.
            sigma: Sub-Gaussian factor of the scores: one number, one per arc, or one per scored step {step: number}.
            scores: "every" step is scored, or only the steps of a list (the others count as known 0), or "end": one
                score for the whole plan; then every plan is one option of a single step.
            structure: "additive" where a plan's score is the sum of an effect of each option, in the state that
                `depends` makes: then "end", or a list of steps, names scores that cover all steps since the scored one
                before, and trials come in rounds; sigma and reward_range are those of such a score.
            costs: Known cost of options, {step: {option: cost}} or {step: cost}; what is not named costs nothing.
            cost_weight: What one unit of cost takes from a plan's worth; 0 keeps costs out of it.

        Example:
            >>> MDP.from_steps({"chunk": ["256", "512"], "retriever": ["bm25", "dense"]}, sigma=0.1).n_arcs
            6
        """
        from surepath.model.steps import from_steps

        return from_steps(steps, depends, direction, reward_range, sigma, scores, structure, costs or {}, cost_weight)

    @classmethod
    def from_edges(
        cls,
        rows: Iterable[EdgeRow],
        *,
        source: str | int | None = None,
        target: str | int | None = None,
        sigma: float | None = None,
        direction: str = "maximize",
        cost_weight: float = 0.0,
    ) -> MDP:
        """Build an MDP from rows (stage, state, action, next_state, ...), or from a pandas or polars frame.

        Args:
            rows: Tuples (state, action, next_state) or (stage, state, action, next_state), mappings that may also hold
                known, sigma, low, high, mean and cost, or a frame with such columns.
            source: The first state; by default the only one it can be.
            target: Without stages: the state where paths end; by default every state without rows.
            sigma: Sub-Gaussian factor of the rows that give none of their own.
            direction: "maximize" or "minimize".
            cost_weight: What one unit of `cost` takes from a path's worth; 0 keeps costs out of it.
        """
        from surepath.model.edges import build, read_rows

        edges = read_rows(rows)
        return build(edges, source=source, target=target, sigma=sigma, direction=direction, cost_weight=cost_weight)[0]

    @classmethod
    def from_networkx(
        cls, graph: Any, source: Any, target: Any, *, sigma: float | None = None, direction: str = "maximize"
    ) -> MDP:
        """Build an MDP from a networkx graph without cycles: its paths lead from source to target.

        An edge's action is its attribute `action`, else its key in a multigraph when that is text, else the name of
        the node it leads to. The edge attributes `known`, `sigma`, `low`, `high` and `mean` are read where present.
        Paths of unequal length are padded with pass-through arcs of known reward 0.

        Args:
            graph: A networkx DiGraph or MultiDiGraph (the extra `graph`).
            source: The node where paths start.
            target: The node where paths end; only what lies between the two is kept.
            sigma: Sub-Gaussian factor of the edges that give none of their own.
            direction: "maximize" or "minimize".
        """
        from surepath.model.adapters import from_networkx

        return from_networkx(graph, source, target, sigma, direction)

    @classmethod
    def from_gymnasium(
        cls, env: Any, horizon: int, *, seed: int = 0, max_arcs: int = 1_000_000, direction: str = "maximize"
    ) -> MDP:
        """Discover the graph of a deterministic Gymnasium environment by replaying actions from a reset.

        What it checks and what it cannot see is said in `surepath.model.adapters`, whose `play` plays a
        path and compares every step with the graph.

        Args:
            env: A Gymnasium environment with a Discrete action space (the extra `gym`).
            horizon: Number of stages H.
            seed: Passed to every `reset`; it fixes the start.
            max_arcs: Stop with an error beyond this size.
            direction: "maximize" or "minimize".
        """
        from surepath.model.adapters import from_gymnasium

        return from_gymnasium(env, horizon, seed, max_arcs, direction)

    @classmethod
    def load(cls, path: str | Path) -> MDP:
        """Read a problem file: JSON, an edge table (.csv), or a sheet of steps (.csv, .xlsx)."""
        from surepath.model.files import load_problem

        return load_problem(path).mdp

    def save(self, path: str | Path) -> None:
        """Write a JSON problem file."""
        from surepath.model.files import save_problem

        save_problem(Path(path), self)

    def with_costs(self, cost: ArrayLike | None, cost_weight: float = 0.0) -> MDP:
        """Build the same problem with known costs: one number, or one per arc; None takes them away.

        Example:
            >>> mdp = MDP.from_arrays([[[0, 0]]]).with_costs([0.1, 2.0])
            >>> mdp.price([1])
            2.0
        """
        return self._replaced(cost=cost, cost_weight=cost_weight)

    # What it holds ---------------------------------------------------------------------------------------------

    @cached_property
    def source(self) -> IntArray:
        """Return the node that each arc leaves, int [N]."""
        return cast(IntArray, frozen(np.repeat(np.arange(self.n_nodes), np.diff(self.first))))

    @cached_property
    def stage_arc(self) -> IntArray:
        """Return the first arc of each stage, int [H + 1]."""
        return cast(IntArray, frozen(self.first[self.stage_node]))

    @property
    def arcs(self) -> Arcs:
        """Return stage, state and action of every arc."""
        stage = np.repeat(np.arange(self.horizon), np.diff(self.stage_arc))
        return Arcs(stage, self.node_state[self.source], self.action.astype(np.int64))

    def arc(self, stage: int, state: int | str, action: int | str) -> int:
        """Return the number of the arc (stage, state, action); states and actions by number or by label."""
        node = self.node(stage, state)
        wanted = self._number("option", action, self.action_labels)
        low, high = int(self.first[node]), int(self.first[node + 1])
        hits = np.flatnonzero(self.action[low:high] == wanted)
        if not hits.size:
            have = ", ".join(self.action_label(e) for e in range(low, min(high, low + SHOWN)))
            raise ProblemError(
                f"{step_in_words(self, stage)}, state {state!r} has no option {action!r}; it has: {have}"
            )
        return low + int(hits[0])

    def node(self, stage: int, state: int | str) -> int:
        """Return the number of the node (stage, state)."""
        if not is_whole(stage) or not 0 <= stage < self.horizon:
            raise ProblemError(f"a stage is a whole number 0..{self.horizon - 1}, not {stage!r}")
        low, high = int(self.stage_node[stage]), int(self.stage_node[stage + 1])
        wanted = self._number("state", state, self.state_labels)
        at = low + int(np.searchsorted(self.node_state[low:high], wanted))
        if at == high or self.node_state[at] != wanted:
            raise ProblemError(f"state {state!r} cannot be reached at {step_in_words(self, stage)}")
        return at

    @staticmethod
    def _number(kind: str, value: Any, labels: tuple[str, ...] | None) -> int:
        number = named_number(value, labels) if isinstance(value, str) else value
        if number is None:
            hint = "; they have numbers here" if labels is None else suggest(value, labels[:50])
            raise ProblemError(f"no {kind} is called {value!r}{hint}")
        if not is_whole(number):
            raise ProblemError(f"give the {kind} as a whole number or a name, not {value!r}")
        return int(number)

    def state_label(self, node: int) -> str:
        """Return the name of a node's state."""
        state = int(self.node_state[node])
        return self.state_labels[state] if self.state_labels is not None else str(state)

    def action_label(self, arc: int) -> str:
        """Return the name of an arc's action."""
        action = int(self.action[arc])
        return self.action_labels[action] if self.action_labels is not None else str(action)

    def describe_arc(self, arc: int) -> str:
        """Return an arc in the words of messages: "option 'x' of step 'route'", "option 2 of step 1 (state 0)"."""
        stage, node = stage_of(self, arc), int(self.source[arc])
        option = repr(self.action_label(arc)) if self.action_labels else self.action_label(arc)
        alone = self.step_labels is not None and self.stage_node[stage + 1] == self.stage_node[stage] + 1
        state = repr(self.state_label(node)) if self.state_labels else self.state_label(node)
        return f"option {option} of {step_in_words(self, stage)}{'' if alone else f' (state {state})'}"

    @property
    def sign(self) -> float:
        """Return +1 when returns are maximised, -1 when minimised; inside, everything maximises sign * reward."""
        return 1.0 if self.direction == "maximize" else -1.0

    @cached_property
    def charge(self) -> FloatArray | None:
        """Return what its cost takes from the gain of each arc, float [N]; None where worth is the reward alone."""
        if self.cost is None or self.cost_weight == 0:
            return None
        return cast(FloatArray, frozen(self.cost_weight * self.cost))

    def gains_of(self, arcs: Any, rewards: FloatArray) -> FloatArray:
        """Turn rewards of these arcs (any index of arcs) so that larger is better, and charge the arcs' costs."""
        gains = self.sign * rewards
        return gains if self.charge is None else np.asarray(gains - self.charge[arcs])

    @cached_property
    def gain_range(self) -> tuple[FloatArray, FloatArray] | None:
        """Return least and largest gain of each arc, two float [N]; None where no range is declared."""
        if self.reward_range is None:
            return None
        low, high = (self.gains_of(slice(None), end) for end in self.reward_range)
        return (low, high) if self.sign > 0 else (high, low)

    @cached_property
    def known_gain(self) -> FloatArray:
        """Return the gain of each arc whose reward is known in advance, float [N]; 0 elsewhere."""
        gain = np.zeros(self.n_arcs)
        if self.known is not None:
            arcs = np.flatnonzero(self.is_known)
            gain[arcs] = self.gains_of(arcs, self.known[arcs])
        return cast(FloatArray, frozen(gain))

    def price(self, path: Iterable[int]) -> float:
        """Add up the costs of some arcs: what an episode of this path spends; 0 where nothing costs anything."""
        return 0.0 if self.cost is None else math.fsum(self.cost[list(path)])

    @cached_property
    def is_known(self) -> BoolArray:
        """Return which arcs have a reward known in advance, bool [N]."""
        if self.known is None:
            return cast(BoolArray, frozen(np.zeros(self.n_arcs, dtype=bool)))
        return cast(BoolArray, frozen(~np.isnan(self.known)))

    @cached_property
    def score_stages(self) -> tuple[int, ...]:
        """Return the stages that have a score."""
        return self.scored if self.scored is not None else tuple(range(self.horizon))

    @cached_property
    def unscored(self) -> BoolArray:
        """Return which arcs have no score to report: it is known in advance, or part of a later one, bool [N]."""
        silent = ~np.isin(self.arcs.stage, self.score_stages)
        return cast(BoolArray, frozen(self.is_known | silent))

    @cached_property
    def n_effects(self) -> int:
        """Return the number d of effects that scores can tell apart: arcs less the nodes inside what one score covers.

        Example:
            >>> steps = {"a": ["x", "y"], "b": ["u", "v"], "c": ["s", "t"]}
            >>> MDP.from_steps(steps, "none", scores="end", structure="additive").n_effects
            4
        """
        inside = [h for h in range(1, self.horizon) if h - 1 not in self.score_stages]
        return self.n_arcs - sum(int(self.stage_node[h + 1] - self.stage_node[h]) for h in inside)

    @cached_property
    def declared_sigma(self) -> FloatArray:
        """Return the declared sub-Gaussian factors, float [N]: sigma, else half the range (Hoeffding's lemma).

        0 where the reward is known, NaN where nothing is declared; `noise_missing` has the words for that.
        """
        factor = np.full(self.n_arcs, np.nan) if self.sigma is None else self.sigma.copy()
        if self.reward_range is not None:
            half = (self.reward_range[1] - self.reward_range[0]) / 2
            factor = np.where(np.isnan(factor) & np.isfinite(half), half, factor)
        factor[self.is_known] = 0.0
        return cast(FloatArray, frozen(factor))

    def noise_missing(self, who: str) -> str | None:
        """Say why `who` needs the noise, and how to declare it; None if each arc declares it or has a known reward."""
        lacking = np.flatnonzero(np.isnan(self.declared_sigma))
        if not lacking.size:
            return None
        more = lacking.size - 1
        others = f" and {many(more, 'other option')} have" if more else " has"
        return (
            f"{who}: the noise of the scores is not declared ({self.describe_arc(int(lacking[0]))}{others} no sigma "
            f"and no range), and without it nothing can be proven. {ways_to_declare()}"
        )

    @cached_property
    def log_paths(self) -> float:
        """Return the natural logarithm of the number of paths."""
        return log_number_of_paths(self)

    @property
    def n_paths(self) -> int:
        """Return the exact number of paths (a big integer)."""
        return paths_from(self)[0]

    def check_path(self, path: ArrayLike) -> IntArray:
        """Return the path as int [H], or raise an error that says where it breaks."""
        try:
            refuse_masks(path)
            array = np.asarray(path)
        except ValueError as cause:
            raise PathError(f"a path is {self.horizon} arc numbers, one for each step; got {path!r}") from cause
        if array.shape != (self.horizon,) or array.dtype.kind not in "iu":
            found = f"shape {array.shape} of {array.dtype}"
            raise PathError(f"a path is {self.horizon} arc numbers, one for each step; got {found}")
        arcs = array.astype(np.int64)
        if arcs.min() < 0 or arcs.max() >= self.n_arcs:
            raise PathError(f"arc numbers run from 0 to {self.n_arcs - 1}; got {arcs.tolist()}")
        node = 0
        for h, arc in enumerate(arcs):
            if self.source[arc] != node:
                raise PathError(
                    f"not a path: {self.describe_arc(int(arc))} is at place {h + 1}, "
                    f"but the plan is then at {step_in_words(self, h)}, state {self.state_label(node)!r}"
                )
            node = int(self.target[arc])
        return arcs

    def path_labels(self, path: Iterable[int]) -> list[tuple[str, str]]:
        """List the (state, action) names along a path."""
        return [(self.state_label(int(self.source[e])), self.action_label(int(e))) for e in path]

    def plan(self, path: ArrayLike) -> Plan:
        """Return the path as {step: option}: names of steps and options, or their numbers where they have none.

        Example:
            >>> MDP.from_arrays([[[0, 1], [1, 1]], [[0, 0], [0, 0]]]).plan([1, 4])
            {0: 1, 1: 0}
        """
        arcs = self.check_path(path).tolist()
        if self.plans is not None:
            return {**self.plans[arcs[0]]}
        steps: Sequence[str | int] = self.step_labels or range(self.horizon)
        named = self.action_labels is not None
        return {step: self.action_label(e) if named else int(self.action[e]) for step, e in zip(steps, arcs)}

    def path(self, plan: Mapping[Any, Any]) -> IntArray:
        """Return the arcs int [H] of a plan {step: option}; the inverse of `plan`.

        Args:
            plan: An option for every step; steps by name or stage number, options by name or number.

        Example:
            >>> MDP.from_arrays([[[0, 1], [1, 1]], [[0, 0], [0, 0]]]).path({0: 1, 1: 0}).tolist()
            [1, 4]
        """
        if not isinstance(plan, Mapping):
            raise PathError(f"a plan is a mapping {{step: option}}, not {plan!r}")
        if self.plans is not None:
            return np.array([self._whole_plan(plan)])
        taken: dict[int, Any] = {}
        for key, option in plan.items():
            stage = step_number(self, key, PathError)
            if stage in taken:
                raise PathError(f"the plan names {step_and_key(self, stage)} twice")
            taken[stage] = option
        path, node = np.zeros(self.horizon, dtype=np.int64), 0
        for stage in range(self.horizon):
            if stage not in taken:
                raise PathError(f"the plan lacks {step_and_key(self, stage)}; it needs an option for every step")
            path[stage] = self._option(stage, node, taken[stage])
            node = int(self.target[path[stage]])
        return path

    def _whole_plan(self, plan: Mapping[Any, Any]) -> int:
        """Find the arc of a plan that is one option, scored at its end."""
        steps = list(cast(Any, self.plans)[0])
        given = {str(step): number_name(option) for step, option in plan.items()}
        if given.keys() != set(steps):
            raise PathError(f"a plan here has the steps {', '.join(map(repr, steps))}, not {plan!r}")
        arc = self._plan_index.get(tuple(given[step] for step in steps))
        if arc is not None:
            return arc
        for step in steps:
            options = list(dict.fromkeys(plan[step] for plan in self.plans or ()))
            if given[step] not in options:
                raise PathError(f"step {step!r} has no option {given[step]!r}{suggest(given[step], options[:SHOWN])}")
        raise PathError(f"no plan here is {plan!r}")

    @cached_property
    def _plan_index(self) -> dict[tuple[str, ...], int]:
        return {tuple(plan.values()): arc for arc, plan in enumerate(self.plans or ())}

    def _option(self, stage: int, node: int, option: Any) -> int:
        """Find the arc of an option in a state."""
        low, high = int(self.first[node]), int(self.first[node + 1])
        number = chosen_number(option, self.action_labels, "option", PathError)
        hits = np.flatnonzero(self.action[low:high] == number) if number is not None else np.zeros(0)
        if hits.size:
            return low + int(hits[0])
        have = [self.action_label(arc) for arc in range(low, min(high, low + SHOWN))]
        where = f"{step_in_words(self, stage)} has no option {option!r} in state {self.state_label(node)!r}"
        raise PathError(f"{where}{suggest(str(option), have)}")

    def step(self, name: str | int) -> int:
        """Return the stage of a step, by name or by number."""
        return step_number(self, name, ProblemError)

    # Identity --------------------------------------------------------------------------------------------------

    @cached_property
    def content_hash(self) -> str:
        """Return the SHA-256 of everything that makes this MDP what it is."""
        digest = hashlib.sha256(b"surepath-mdp-1")
        arrays = [self.first, self.target, self.stage_node, self.node_state, self.action, self.known, self.sigma]
        arrays += list(self.reward_range or (None, None))
        for array in arrays:
            digest.update(b"-" if array is None else str(array.shape).encode())
            if array is not None:
                digest.update(array.data)  # the buffer itself, not a copy of it
        digest.update(repr((self.state_labels, self.action_labels, self.direction)).encode())
        if self.step_labels is not None:
            digest.update(b"steps" + repr(self.step_labels).encode())
        if self.cost is not None:
            digest.update(b"costs" + repr(self.cost_weight).encode())
            digest.update(self.cost.data)
        if self.plans is not None:
            digest.update(b"plans" + repr(self.plans).encode())
        if self.scored is not None:
            digest.update(b"scored" + repr(self.scored).encode())
        return digest.hexdigest()

    def __hash__(self) -> int:
        return hash(self.content_hash)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MDP) and (self is other or self.content_hash == other.content_hash)

    def __repr__(self) -> str:
        return f"MDP(horizon={self.horizon}, n_nodes={self.n_nodes}, n_arcs={self.n_arcs}, {self.direction})"


def _frozen_floats(array: FloatArray | None) -> FloatArray | None:
    if array is None:
        return None
    return cast(FloatArray, frozen(np.ascontiguousarray(array, dtype=np.float64).copy()))


def _checked_plans(plans: Sequence[Mapping[str, str]], horizon: int, n_arcs: int) -> tuple[dict[str, str], ...]:
    """Check the plans that are options: one per arc of a single stage, with the same steps, no two alike."""
    if horizon != 1 or len(plans) != n_arcs:
        raise ProblemError(f"plans names {len(plans):,} plans; it needs one for each of {n_arcs:,} options of one step")
    steps = plans[0].keys()
    other = next((plan for plan in plans if plan.keys() != steps), None)
    if other is not None:
        raise ProblemError(f"every one of plans has the steps {', '.join(map(repr, steps))}, not {dict(other)!r}")
    ordered = tuple({step: plan[step] for step in steps} for plan in plans)
    if len({tuple(plan.values()) for plan in ordered}) < len(ordered):
        raise ProblemError("plans names one plan twice")
    return ordered


def _checked_blocks(mdp: MDP, scored: Sequence[int]) -> tuple[int, ...]:
    """Check the stages that have a score, each for all arcs since the one before: one noise for them, none known."""
    stages = tuple(int(stage) for stage in scored)
    if not stages or list(stages) != sorted(set(stages)) or stages[0] < 0 or stages[-1] != mdp.horizon - 1:
        raise ProblemError(
            f'with structure "additive" a score covers all steps since the scored one before, so the last step, '
            f"{step_in_words(mdp, mdp.horizon - 1)}, must be scored"
        )
    if mdp.known is not None:
        raise ProblemError('with structure "additive" the effect of every option is learned; none can be known')
    if mdp.charge is not None:
        raise ProblemError('with structure "additive" worth is the score alone so far; leave out cost_weight')
    first = [0, *(stage + 1 for stage in stages[:-1])]
    for numbers in (mdp.sigma, *(mdp.reward_range or ())):
        for low, high in zip(first, stages):
            own = (
                () if numbers is None else numbers[mdp.first[mdp.stage_node[low]] : mdp.first[mdp.stage_node[high + 1]]]
            )
            if len(np.unique(own)) > 1:
                raise ProblemError(
                    f'with structure "additive" sigma and range are those of a score, one for all options it covers; '
                    f"the score of {step_in_words(mdp, high)} has several"
                )
    return stages
