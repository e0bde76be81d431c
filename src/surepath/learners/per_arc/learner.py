"""A learner made of rules: the shared ask/tell machinery of EPRL, BPI-UCRL and the uniform baseline.

A subclass turns its settings into a `Rules` of numbers; kernels do the rest, one episode at a time here and whole runs
in `_run`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from math import log
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from surepath._types import BoolArray, FloatArray, IntArray
from surepath.kernels.arrays import NO_REALITY, Reality, layers_of
from surepath.kernels.streams import Children, Source, open_source, single_source
from surepath.kernels.widths import ARC_WIDTHS, EMPIRICAL, LARGEST_TABLE, MIXTURE, new_table, table_of
from surepath.learners import tasks
from surepath.learners.base import Learner
from surepath.learners.cancellation import raise_if_cancelled
from surepath.learners.own_rules import (
    EliminationRule,
    StoppingRule,
    View,
    checked_mask,
    chosen_path,
    refuse_saving,
)
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.between_episodes import perform
from surepath.learners.per_arc.run import is_lean, play
from surepath.learners.per_arc.sampling import STATIC_MAX_COVERAGE
from surepath.learners.per_arc.state import Rules, State, copies, new_state, restore
from surepath.learners.range_noise.declared_noise import learned_arcs, ranges_of
from surepath.learners.range_noise.intervals import interval_table, most_sums
from surepath.learners.runs import GAP, GO_ON, RunRecord, reordered
from surepath.model.mdp import MDP
from surepath.model.paths import on_open_paths

# About this much work (arcs times episodes) is done between two tests for cancellation.
_CHUNK = 50_000_000
_LEAST = 16  # episodes, however many arcs there are

# State of the sampling, the schedules and the stopping rule: the places of the tally that a snapshot keeps.
_SAVED = (at.EPISODES, at.PERIOD, at.NEXT_TIME, at.CHECKED, at.COVER_LEFT, at.COVER_STALE)

# Steps take their rewards from outside: nothing is drawn.
_IDLE = single_source(np.random.default_rng(0))


class RuleLearner(Learner):
    """Ask and tell over the compiled rules.

    Attributes:
        rules: The settings as the kernels read them.
    """

    draws_rules: bool = False  # whether each simulated run has rules of its own
    elimination_rule: EliminationRule | None = None
    stopping_rule: StoppingRule | None = None

    def __init__(self, mdp: MDP, epsilon: float, delta: float, sigma: ArrayLike | None) -> None:
        super().__init__(mdp, epsilon, delta, sigma)
        self.compiled = not (self.sampling_rule or self.elimination_rule or self.stopping_rule)
        self.layers = layers_of(mdp)
        self.rules = self._rules()
        self._table = table_of(self.rules, 1024)
        self._state = self._new_state()
        self._imagined: State | None = None  # the state with the plays under way told, within one ask(n)
        self._no_record = RunRecord.empty(1, mdp.horizon)
        self._epsilons = np.array([self.epsilon])
        self._serve(tasks.SET_UP)
        self._connect()

    def _connect(self) -> None:
        if not len(self._table):  # after a copy or an unpickling
            self._table = table_of(self.rules, max(1024, self.episodes + 1))
            self._state = self._state._replace(table=self._table)
        self._visits = self._state.number[at.VISITS]
        self._sums = self._state.arc[at.SUMS]
        self._origin = self._state.arc[at.ORIGIN]

    @abstractmethod
    def _rules(self) -> Rules:
        """Turn the settings of the learner into numbers that kernels dispatch on."""

    # Arrays ----------------------------------------------------------------------------------------------------

    def _table_for(self, episodes: int) -> FloatArray:
        """Find a width table for this many visits, or the largest one; shared by all runs of this learner."""
        table = self._table
        if len(table) <= episodes and len(table) < LARGEST_TABLE:
            table = table_of(self.rules, max(2 * len(table), episodes + 1))
            self._table = table
        return table

    def _new_state(self) -> State:
        mdp = self.mdp
        ranges = ranges_of(mdp, "bernstein" if self.rules.learns else "sigma")
        most = interval_table(log(2.0 * self.rules.arcs / self.delta)) if self.rules.learns else None
        return new_state(self.layers, mdp.horizon, self.sigma, mdp.is_known, self.known_gain, ranges, self._table, most)

    def _full(self, betas: bool = False) -> int | None:
        """Return 1 if these rules need all of `play`, else None: it is compiled for each of the two by itself."""
        return None if is_lean(self.rules, betas) else 1

    @property
    def _player(self) -> Callable[..., float]:
        if self.rules.sampling == STATIC_MAX_COVERAGE:
            from surepath.learners.per_arc.run_with_covers import play_covered

            return partial(play_covered, self.graph)
        return play

    def _serve(self, task: int, state: State | None = None) -> float:
        state = self._state if state is None else state
        args = (self.layers, self.rules, state, NO_REALITY, _IDLE, task, 0, self._epsilons, self._no_record)
        return self._player(*args, self._full())

    # The contract ----------------------------------------------------------------------------------------------

    def _active(self) -> BoolArray:
        """Return which arcs may still be on a best path, bool [N]."""
        return cast(BoolArray, self._state.flag[at.ACTIVE].copy())

    def _recommend(self) -> IntArray:
        """Find the path that is recommended now, int [H]."""
        self._serve(tasks.ADVISE)
        return cast(IntArray, self._state.path[at.ADVICE].copy())

    def _gap(self) -> float:
        """Bound, with a proof valid at all times at once, how far `recommend()` is from the best.

        The largest upper value over active policies minus the lower value of the recommended path; 0 once the
        learner has stopped because a single path is left. Infinite while that cannot be said yet. With the
        `empirical` widths it is a figure without a proof.
        """
        return self._serve(tasks.ADVISE)

    def widths_now(self) -> FloatArray:
        """Compute half the confidence interval of each arc, infinite where unvisited, float [N]."""
        rules, known = self.rules, self.mdp.is_known
        table = self._table_for(int(self._visits.max()))
        with np.errstate(invalid="ignore"):  # 0 times infinity on known arcs
            width = np.minimum(self.sigma * table[np.minimum(self._visits, len(table) - 1)], rules.cap)
        for arc in np.flatnonzero(self._visits >= len(table)).tolist():
            width[arc] = min(self.sigma[arc] * new_table(rules, 1, int(self._visits[arc]))[0], rules.cap)
        if (most := self._state.most) is not None:
            row, n = self._state.arc, np.maximum(1, self._visits)
            bound = row[at.SPAN] * np.minimum(1.0, most_sums(most, n, row[at.SQUARES]) / n)
            width = np.where(row[at.SPAN] > 0, np.minimum(width, bound), width)
        width[(self._visits == 0) & ~known] = rules.cap
        width[known] = 0.0
        return cast(FloatArray, width)

    def noise_now(self) -> FloatArray:
        """Compute sigma of each arc, or how far its rewards scatter where noise is learned, float [N]; no bound."""
        span, n = self._state.arc[at.SPAN], self._visits
        seen = np.sqrt((self._state.arc[at.SQUARES] + 0.25) / (n + 1.0))
        return np.asarray(np.where((span > 0) & (n > 0), span * seen, self.sigma))

    def passable_now(self) -> BoolArray:
        """Return which arcs lie on a path of some active policy, bool [N]."""
        return cast(BoolArray, self._state.flag[at.PASSABLE].copy())

    def _choose(self) -> IntArray:
        if self.sampling_rule is not None:
            return chosen_path(self.sampling_rule, self)
        self._serve(tasks.ASK)
        return cast(IntArray, self._state.path[at.PATH])

    def _choose_beside(self, index: int) -> IntArray:
        """Choose a path on a copy of the state in which the plays under way are told, with the means seen so far."""
        if self.sampling_rule is not None:
            return self._choose()
        if index == 0 or self._imagined is None:
            self._imagined = copies(self._state._replace(table=self._table_for(self.episodes + 1)))
            for path in self._under_way:
                self._imagined.path[at.PATH] = path
                perform(self.layers, self.rules, self._imagined, tasks.PRETEND, self._full())
        self._serve(tasks.ASK, self._imagined)
        return cast(IntArray, self._imagined.path[at.PATH])

    def _add_under_way(self, paths: IntArray) -> None:
        if self._imagined is not None:
            for path in paths:
                self._imagined.path[at.PATH] = path
                perform(self.layers, self.rules, self._imagined, tasks.PRETEND, self._full())

    def _remove_under_way(self, path: IntArray) -> None:
        self._imagined = None

    def _hold(self) -> None:
        self._imagined = None

    def _put_back(self, kept: Any) -> None:
        self._imagined = None

    def _absorb(self, path: IntArray, gains: FloatArray) -> None:
        self._state = self._state._replace(table=self._table_for(self.episodes + 1))
        before = None if self.compiled else copies(self._state)
        self._imagined = None
        self._state.path[at.PATH] = path
        self._state.stage[at.GAIN, : len(gains)] = gains
        self._state.tally[at.PLAYED] = len(gains)
        reason = int(self._serve(tasks.TELL))
        self.episodes += 1
        if before is not None:
            try:
                reason = self._own_rules(reason)
            except BaseException:
                self.episodes -= 1
                restore(self._state, before)
                raise
        self._stop(reason)

    def _own_rules(self, reason: int) -> int:
        """Apply the user's elimination and stopping rules after the statistics; return the verdict."""
        if self.elimination_rule is not None:
            rule = self.elimination_rule
            self._state.flag[at.MARKED] = checked_mask(rule.eliminate(View(self)), rule, self.mdp.n_arcs)
            self._serve(tasks.DROP)
            reason = int(self._serve(tasks.TEST))
        if self.stopping_rule is not None:
            return GAP if bool(self.stopping_rule.stop(View(self))) else GO_ON
        return reason

    # What changes besides the evidence -------------------------------------------------------------------------

    def _epsilon_changed(self) -> None:
        self._epsilons[0] = self.epsilon
        reason = int(self._serve(tasks.TEST))
        self._stop(reason if self.compiled else self._own_rules(reason))

    def _excluded_changed(self) -> None:
        self._imagined = None
        self._state.flag[at.CLOSED] = ~on_open_paths(self.mdp, ~self._excluded)
        perform(self.layers, self.rules, self._state, tasks.REVIVE, self._full())
        reason = int(self._serve(tasks.TEST))
        self._stop(reason if self.compiled else self._own_rules(reason))

    def _evidence(self) -> dict[str, Any]:
        """Collect what was seen, what was decided from it, and the state of the sampling."""
        refuse_saving(self)
        state = self._state
        squares = {"squares": state.arc[at.SQUARES].copy()} if self.rules.learns else {}
        return {
            "visits": state.number[at.VISITS].copy(),
            "sums": state.arc[at.SUMS].copy(),
            "origin": state.arc[at.ORIGIN].copy(),
            "base": state.arc[at.BASE].copy(),
            "reference": state.stage[at.REFERENCE].copy(),
            "active": state.flag[at.ACTIVE].copy(),
            "started": state.flag[at.STARTED].copy(),
            "cover": state.number[at.FLOW_LEFT].copy(),
            "tally": state.tally[list(_SAVED)],
            "seed": int(self.rules.seed),
            **squares,
        }

    def _load(self, evidence: Mapping[str, Any]) -> None:
        state, self._imagined = self._new_state(), None
        state.number[at.VISITS], state.number[at.FLOW_LEFT] = evidence["visits"], evidence["cover"]
        state.arc[at.SUMS], state.arc[at.ORIGIN] = evidence["sums"], evidence["origin"]
        state.arc[at.BASE] = evidence["base"]
        if self.rules.learns:
            state.arc[at.SQUARES] = evidence["squares"]
        learned = (state.number[at.VISITS] > 0) & ~self.mdp.is_known
        state.arc[at.CENTRE, learned] = state.arc[at.ORIGIN, learned]
        state.stage[at.REFERENCE] = evidence["reference"]
        state.flag[at.ACTIVE], state.flag[at.STARTED] = evidence["active"], evidence["started"]
        state.flag[at.CLOSED] = ~on_open_paths(self.mdp, ~self._excluded)
        state.tally[list(_SAVED)] = evidence["tally"]
        state.tally[at.PLAYED] = self.mdp.horizon
        self.rules = self.rules._replace(seed=int(evidence["seed"]))
        self._epsilons[0] = self.epsilon
        self._state = state._replace(table=self._table_for(self.episodes + 1))
        perform(self.layers, self.rules, self._state, tasks.REFRESH, self._full())
        self._connect()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the table of widths, which can be large and is computed again."""
        state = super().__getstate__()
        state["_table"], state["_imagined"] = np.zeros(0), None
        state["_state"] = state["_state"]._replace(table=np.zeros(0))
        return state

    def _run(self, reality: Reality, rng: np.random.Generator, budget: int, epsilons: FloatArray) -> RunRecord:
        return self._runs(reality, single_source(rng), self._rules_for(rng), budget, epsilons)

    def _run_many(self, reality: Reality, children: Children, budget: int, epsilons: FloatArray) -> RunRecord:
        alone = self.draws_rules or children.number == 1
        source = None if alone else open_source(children)
        if source is None:
            return super()._run_many(reality, children, budget, epsilons)
        return self._runs(reality, source, self.rules, budget, epsilons)

    def _runs(self, reality: Reality, source: Source, rules: Rules, budget: int, epsilons: FloatArray) -> RunRecord:
        """Play the runs of a source; one entry into compiled code for as many of them as are short."""
        runs, size = max(1, len(source.states)), len(epsilons)
        order = np.argsort(-epsilons, kind="stable")
        falling = np.ascontiguousarray(epsilons[order])
        graph, state, player = self.layers, self._new_state(), self._player
        record = RunRecord.empty(runs * size, self.mdp.horizon)
        step, full = max(_LEAST, _CHUNK // self.mdp.n_arcs), self._full(reality.beta is not None)
        limit = min(budget, step, max(1000, len(self._table) - 1))  # as far as a table is filled
        while True:
            state = state._replace(table=self._table_for(limit))
            state.tally[at.WORK] = step
            task = tasks.FINISH if limit == budget else tasks.RUN
            player(graph, rules, state, reality, source, task, limit, falling, record, full)
            if state.tally[at.RUN_NUMBER] == runs:
                break
            raise_if_cancelled()
            if state.tally[at.EPISODES] >= limit:
                limit = min(budget, int(state.tally[at.EPISODES]) + min(step, limit))
        if size == 1:
            return record
        back = (size * np.arange(runs)[:, None] + np.argsort(order)).reshape(-1)
        return reordered(record, back)

    def _rules_for(self, rng: np.random.Generator) -> Rules:
        """Return the rules of one simulated run."""
        return self.rules

    def _width_settings(self, widths: str, prior: float) -> dict[str, Any]:
        """Turn the widths into numbers; each process of an arc, one or with learned noise two, has delta / arcs."""
        learns = widths == "bernstein"
        kind = MIXTURE if learns else ARC_WIDTHS.index(widths)
        processes = int((~self.mdp.is_known).sum())
        if learns:
            processes += int(learned_arcs(self.mdp).sum())
        return {
            "widths": kind,
            "arcs": float(max(1, processes) if kind == MIXTURE else self.mdp.n_arcs),
            "delta": self.delta,
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
