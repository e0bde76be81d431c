"""EPRL with its presets, BPI-UCRL and Uniform: the paper's learners as classes, over one machinery of ask and tell.

A class turns its settings into a `Rules` of numbers; kernels do the rest, one episode at a time here and whole runs in
`_run`. A preset fixes what the paper and its code call by one name; docs/learners.md has the table of how the two
differ.

theory      Algorithm 1 of the paper with the widths of its theorems. The only one with a guarantee.
experiment  What the authors' published code did: smaller widths, coverage in every episode, nothing eliminated before
            every active arc has a visit, the last action of a state kept, the value rule before the return rule, stops
            tested at eliminations and strictly, ties to the least played action, greedy answers on lower values.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import BoolArray, FloatArray, IntArray, one_of, whole
from surepath.errors import SettingError
from surepath.kernels.sweeps import NO_REALITY, Reality, layers_of
from surepath.learners import runs as tasks
from surepath.learners.base import Learner
from surepath.learners.own_rules import OwnRule, RuleView, chance, own_rule, view_of
from surepath.learners.per_arc import bounds as at
from surepath.learners.per_arc.bounds import (
    NO_PERIODS,
    PERIODS,
    PERIODS_AFTER_DROP,
    Rules,
    State,
    copies,
    new_state,
    restore,
)
from surepath.learners.per_arc.elimination import ELIMINATION, EVERY_EPISODE, EVERY_SA, SCHEDULES
from surepath.learners.per_arc.rules import (
    DIAMETER,
    OPTIMAL_GAP,
    OPTIMISTIC,
    SAMPLING_RULES,
    STATIC_MAX_COVERAGE,
    renew_cover,
)
from surepath.learners.per_arc.run import NEEDS_COVER, NOT_A_PATH, own_run, play
from surepath.learners.runs import GAP, GO_ON, RunRecord, raise_if_cancelled, reordered
from surepath.learners.widths import LARGEST_TABLE, new_table, table_of
from surepath.model.mdp import MDP

# About this much work (arcs times episodes) is done between two tests for cancellation.
_CHUNK = 50_000_000
_LEAST = 16  # episodes, however many arcs there are

# Steps take their rewards from outside: nothing is drawn.
_IDLE_RNG = np.random.default_rng(0)


class RuleLearner(Learner):
    """Ask and tell over the compiled rules.

    Attributes:
        rules: The settings as the kernels read them.
        preset: "theory" or "experiment".
    """

    preset: str
    elimination_rule: OwnRule | None = None
    stopping_rule: OwnRule | None = None

    def __init__(self, mdp: MDP, epsilon: float, delta: float, sigma: ArrayLike | None) -> None:
        if sigma is None and self.authors and isinstance(mdp, MDP) and mdp.noise_missing("") is not None:
            sigma = 0.5
        super().__init__(mdp, epsilon, delta, sigma)
        own = [rule for rule in (self.sampling_rule, self.elimination_rule, self.stopping_rule) if rule is not None]
        self.layers = layers_of(mdp)
        self.rules = self._rules()
        self._own = bool(own)
        functions = all(rule.compiled is not None for rule in own)
        self.compiled = functions and not (own and self.rules.sampling == STATIC_MAX_COVERAGE)
        self._table = table_of(self.rules, 1024)
        self._state = self._new_state()
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

    @property
    def authors(self) -> bool:
        """Return whether the habits of the authors' code are on."""
        return self.preset == "experiment"

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
        return new_state(self.layers, mdp.horizon, self.sigma, mdp.is_known, self.known_gain, self._table)

    def _steps(self, state: State, *rest: Any) -> float:
        """Call `play`, with a new cover as often as static max-coverage asks for one."""
        while (answer := play(self.layers, self.rules, state, *rest)) == NEEDS_COVER:
            renew_cover(self.graph, state)
        return answer

    def _serve(self, task: int) -> float:
        return self._steps(self._state, NO_REALITY, _IDLE_RNG, task, 0, self._epsilons, self._no_record)

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
        preset `experiment` it is a figure without a proof.
        """
        return self._serve(tasks.ADVISE)

    def widths_now(self) -> FloatArray:
        """Compute half the confidence interval of each arc, infinite where unvisited, float [N]."""
        base = np.array([new_table(self.rules, 1, int(max(n, 1)))[0] for n in self._visits])
        width = np.where(self._visits > 0, np.minimum(self.sigma * base, self.rules.cap), self.rules.cap)
        return np.where(self.mdp.is_known, 0.0, width)

    def passable_now(self) -> BoolArray:
        """Return which arcs lie on a path of some active policy, bool [N]."""
        return cast(BoolArray, self._state.flag[at.PASSABLE].copy())

    def _choose(self) -> IntArray:
        if self.sampling_rule is not None:
            return self.sampling_rule.path(self)
        self._serve(tasks.ASK)
        return cast(IntArray, self._state.path[at.PATH])

    def _absorb(self, path: IntArray, gains: FloatArray) -> None:
        self._state = self._state._replace(table=self._table_for(self.episodes + 1))
        before = copies(self._state) if self._own else None
        self._state.path[at.PATH] = path
        self._state.stage[at.GAIN] = gains
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
            self._state.flag[at.MARKED] = self.elimination_rule.answer(self)
            self._serve(tasks.DROP)
            reason = int(self._serve(tasks.TEST))
        if self.stopping_rule is not None:
            return GAP if self.stopping_rule.answer(self) else GO_ON
        return reason

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the table of widths, which can be large and is computed again."""
        state = super().__getstate__()
        state["_table"] = np.zeros(0)
        state["_state"] = state["_state"]._replace(table=np.zeros(0))
        return state

    def _run(self, reality: Reality, rng: np.random.Generator, budget: int, epsilons: FloatArray) -> RunRecord:
        return (
            super()._run(reality, rng, budget, epsilons)
            if self._own
            else self._run_many(reality, [rng], budget, epsilons)
        )

    def _run_many(
        self, reality: Reality, streams: Iterable[np.random.Generator], budget: int, epsilons: FloatArray
    ) -> RunRecord:
        """Play the runs one after the other with the same arrays, which `set_up` clears."""
        if self._own:
            return super()._run_many(reality, streams, budget, epsilons)
        generators, size = list(streams), len(epsilons)
        order = np.argsort(-epsilons, kind="stable")
        falling = np.ascontiguousarray(epsilons[order])
        state = self._new_state()
        record = RunRecord.empty(len(generators) * size, self.mdp.horizon)
        step = max(_LEAST, _CHUNK // self.mdp.n_arcs)
        for number, rng in enumerate(generators):
            raise_if_cancelled()
            tally = state.tally
            tally[at.RUN_NUMBER] = number
            tally[at.PERIOD] = tally[at.EPISODES] = tally[at.LEFT_AHEAD] = 0
            limit = min(budget, step, max(1000, len(self._table) - 1))  # as far as a table is filled
            while True:
                state = state._replace(table=self._table_for(limit))
                task = tasks.FINISH if limit == budget else tasks.RUN
                self._steps(state, reality, rng, task, limit, falling, record)
                if tally[at.SETTLED] == size:
                    break
                raise_if_cancelled()
                limit = min(budget, int(tally[at.EPISODES]) + min(step, limit))
        if size == 1:
            return record
        back = (size * np.arange(len(generators))[:, None] + np.argsort(order)).reshape(-1)
        return reordered(record, back)

    def _play(self, reality: Reality, rng: np.random.Generator, budget: int) -> None:
        """Play a run with functions of the user's own."""
        rules = (self.sampling_rule, self.elimination_rule, self.stopping_rule)
        run = own_run(*(None if rule is None else rule.compiled for rule in rules))
        state, n, reason = self._state, self.mdp.n_arcs, GO_ON
        rows = {"visits": state.number[at.VISITS], "active": state.flag[at.ACTIVE], "passable": state.flag[at.PASSABLE]}
        view, marks = view_of(self)._replace(**rows), np.zeros(n, dtype=np.bool_)
        while reason == GO_ON and self.episodes < budget:
            raise_if_cancelled()
            limit = min(budget, self.episodes + min(max(_LEAST, _CHUNK // n), max(1000, self.episodes)))
            self._state = state._replace(table=self._table_for(limit))
            args = (self.layers, self.rules, self._state, reality, rng, limit, self._epsilons, self._no_record)
            reason = int(run(*args, view, marks))
            self.episodes = int(state.tally[at.EPISODES])
        if reason == NOT_A_PATH:
            self.mdp.check_path(state.path[at.PATH])
        self._stop(reason)

    def _widths(self) -> dict[str, Any]:
        """Return the numbers that make the widths; each arc has delta / N."""
        arcs, cap = float(self.mdp.n_arcs), 1.0 if self.authors else np.inf
        return {"arcs": arcs, "delta": self.delta, "cap": cap, "authors": int(self.authors)}


def states_times_actions(mdp: MDP) -> int:
    """Compute S * A of the paper: number of states times number of actions, as the table, names or numbers say."""
    if mdp.sizes is not None:
        return mdp.sizes[0] * mdp.sizes[1]
    states = len(mdp.state_labels) if mdp.state_labels is not None else int(mdp.node_state.max()) + 1
    actions = len(mdp.action_labels) if mdp.action_labels is not None else int(mdp.action.max()) + 1
    return states * actions


# EPRL and BPI-UCRL ----------------------------------------------------------------------------------------------------

PRESETS = ("theory", "experiment")


class EPRL(RuleLearner):
    """Play, rule out arcs that no best path can use, stop when what is left is close enough or single: Algorithm 1.

    With the `theory` preset the answer is within epsilon of the best with probability at least 1 - delta, whatever the
    sampling rule.

    Args:
        mdp, epsilon, delta, sigma: As in `Learner`: epsilon 0 stops by elimination only.
        sampling: "max-coverage" (the paper's), "static-max-coverage", "max-diameter" or "coverage"; or a rule of your
            own, a function (see `surepath.learners.own_rules`).
        elimination: "return" (line 7), "value", "both" or "none"; or a rule of your own.
        schedule: When to eliminate: "every-episode", "every-sa" (every S * A episodes), "end-of-period", or
            "paper" (the appendix: end of period for the coverage rules, every S * A episodes for max-diameter).
        stopping: A rule of your own in place of line 9.
        preset: "theory" (Algorithm 1) or "experiment" (everything as the authors' code had it; no guarantee, and
            sigma 0.5 where nobody says one).
        seed: Of the stream that a sampling rule of your own draws from; a simulated run has its own.

    Example:
        >>> from surepath import MDP
        >>> learner = EPRL(MDP.from_arrays([[[0, 0]]]), epsilon=0.5, delta=0.1, sigma=0.1, sampling="max-diameter")
        >>> while not learner.stopped:
        ...     path = learner.ask()
        ...     learner.tell(path, [float(path[0])])
        >>> learner.recommend().tolist()
        [1]
    """

    name: ClassVar[str] = "EPRL"

    def __init__(
        self,
        mdp: MDP,
        epsilon: float,
        delta: float,
        sigma: ArrayLike | None = None,
        *,
        sampling: str | Callable[..., Any] = "max-coverage",
        elimination: str | Callable[..., Any] | None = None,
        schedule: str | None = None,
        stopping: Callable[..., Any] | None = None,
        preset: str = "theory",
        seed: int | None = None,
    ) -> None:
        self.preset = one_of("preset", preset, PRESETS)
        self.sampling_rule = own_rule("sampling", sampling)
        self.elimination_rule = own_rule("elimination", elimination)
        self.stopping_rule = own_rule("stopping", stopping)
        valid = ("max-coverage", "static-max-coverage", "max-diameter", "coverage")
        self.sampling: Any = self.sampling_rule or one_of("sampling", sampling, valid)
        known = elimination or ("both" if self.authors else "return")
        self.elimination: Any = self.elimination_rule or one_of("elimination", known, ELIMINATION)
        if stopping is not None and self.stopping_rule is None:
            raise SettingError(f"stopping must be a rule of your own, or None, not {stopping!r}")
        self.stopping = self.stopping_rule
        usual = "paper" if self.authors else "every-episode"
        self.schedule = one_of("schedule", schedule or usual, (*SCHEDULES, "paper"))
        self.seed = None if seed is None else whole("seed", seed, low=0)
        self.rule_seed = self.seed or 0
        super().__init__(mdp, epsilon, delta, sigma)

    def _rules(self) -> Rules:
        sampling = self.sampling if self.sampling_rule is None else "max-diameter"
        schedule = self.schedule
        if self.authors and sampling == "max-coverage":
            sampling = "coverage"  # the authors' code covers in every episode
        if schedule == "paper":
            schedule = "every-sa" if sampling == "max-diameter" else "end-of-period"
        periods = NO_PERIODS
        if sampling != "max-diameter" or schedule == "end-of-period":
            periods = PERIODS if self.elimination_rule is None else PERIODS_AFTER_DROP
        return Rules(
            sampling=SAMPLING_RULES.index(sampling),
            schedule=SCHEDULES.index(schedule),
            every=states_times_actions(self.mdp),
            stopping=DIAMETER,
            by_return=int(self.elimination in ("return", "both")),
            by_value=int(self.elimination in ("value", "both")),
            least_played=int(self.authors and sampling == "max-diameter"),
            periods=periods,
            **self._widths(),
        )


class BPIUCRL(RuleLearner):
    """Play the most optimistic path; stop when the upper and lower optimal values are within epsilon.

    BPI-UCRL and BPI-UCBVI differ only in how they bound unknown transition probabilities, so in deterministic MDPs
    they are the same algorithm: this one. With epsilon = 0 it never stops.

    Args:
        mdp, epsilon, delta, sigma: As in `Learner`.
        elimination: "none" or "value" (value-based eliminations; upper values are then over active policies).
        preset: As in `EPRL`: "theory" (the appendix with proven widths) or "experiment".
    """

    name: ClassVar[str] = "BPIUCRL"

    def __init__(
        self,
        mdp: MDP,
        epsilon: float,
        delta: float,
        sigma: ArrayLike | None = None,
        *,
        elimination: str | None = None,
        preset: str = "theory",
    ) -> None:
        self.preset = one_of("preset", preset, PRESETS)
        usual = "value" if self.authors else "none"
        self.elimination = one_of("elimination", elimination or usual, ("none", "value"))
        super().__init__(mdp, epsilon, delta, sigma)

    def _rules(self) -> Rules:
        return Rules(
            sampling=OPTIMISTIC,
            schedule=EVERY_SA if self.authors else EVERY_EPISODE,
            every=states_times_actions(self.mdp),
            stopping=OPTIMAL_GAP,
            by_value=int(self.elimination == "value"),
            least_played=int(self.authors),
            **self._widths(),
        )


def random_walk(view: RuleView, path: IntArray) -> None:
    """Take each action of a state with the same chance."""
    node = np.uint64(0)
    for h in range(len(path)):
        start, stop = np.uint64(view.first[node]), np.uint64(view.first[node + np.uint64(1)])
        path[h] = start + np.uint64((stop - start) * chance(view, h))
        node = np.uint64(view.target[np.uint64(path[h])])


class Uniform(BPIUCRL):
    """At every state play each action with the same chance; stop when the optimal value is known to within epsilon.

    Its stop, answer and guarantee are those of BPI-UCRL: only the choice of paths is blind.

    Args:
        mdp, epsilon, delta, sigma: As in `Learner`; with epsilon 0 it never stops.
        seed: Of the choices; a simulated run draws its own.
    """

    name: ClassVar[str] = "Uniform"

    def __init__(
        self, mdp: MDP, epsilon: float, delta: float, sigma: ArrayLike | None = None, *, seed: int = 0
    ) -> None:
        self.seed = self.rule_seed = whole("seed", seed, low=0)
        self.sampling_rule = own_rule("sampling", random_walk)
        super().__init__(mdp, epsilon, delta, sigma)
