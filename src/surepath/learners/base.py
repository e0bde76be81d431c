"""What every learner is: ask for a path, tell its rewards, until it has stopped.

The guarantee of a learner never depends on which paths were played, so `tell` takes any path, asked for or not.
Inside, everything maximises: rewards are multiplied by the MDP's sign when they come in and results are turned
back when they go out. Ground truth never enters here.

Threads: every public method takes the learner's own lock, so one learner may be shared by the threads of one process.
It knows nothing of other processes, each of which has a copy of its own.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import check_delta, check_epsilon, check_sigma, whole
from surepath._text import many, word
from surepath._types import BoolArray, FloatArray, IntArray
from surepath.errors import SettingError, StoppedError
from surepath.kernels.arrays import Graph, graph_of
from surepath.learners.hooks import Hooks
from surepath.learners.plays import Failures, UnderWay
from surepath.learners.precision import Sizes, check_decidable
from surepath.learners.range_noise.declared_noise import declared_sigma
from surepath.learners.reward_input import read_rewards
from surepath.learners.runs import GO_ON, STOP_REASONS
from surepath.learners.snapshots import (
    Snapshot,
    check_snapshot,
    current_settings,
    load_snapshot,
    own_arrays,
    take_snapshot,
)
from surepath.learners.watch import Finding, Watch
from surepath.model.mdp import MDP
from surepath.model.paths import best_path, on_open_paths
from surepath.model.plans import option_arcs

if TYPE_CHECKING:
    from surepath.learners.own_rules import SamplingRule

MOST_ASKED = 100_000  # paths in one ask(n)

P = ParamSpec("P")
R = TypeVar("R")
L = TypeVar("L", bound="Learner")


def locked(method: Callable[Concatenate[L, P], R]) -> Callable[Concatenate[L, P], R]:
    """Run a method with the learner's lock held."""

    @wraps(method)
    def call(self: L, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock:
            return method(self, *args, **kwargs)

    return call


class Learner(Hooks):
    """Sampling, elimination, stopping and recommendation behind ask and tell.

    Args:
        mdp: The layered graph to search.
        epsilon: How far from the best the answer may be; 0 asks for the best itself.
        delta: Allowed probability of a wrong answer.
        sigma: Sub-Gaussian factor of the rewards, one number or one per arc; by default what the MDP declares (a
            sigma, or half of a declared range). Arcs with a known reward count as sigma 0 whatever is given.

    Attributes:
        episodes: How many episodes have been told, those that failed included.
        stopped: Whether the answer is proven.
        stop_reason: One of STOP_REASONS once stopped.
        exclusions: What was excluded, when: [{"arcs": [...], "episodes": ...}, ...].
    """

    name: ClassVar[str]
    compiled: bool = True  # whether `_run` plays whole runs in compiled code
    stop_reason: str | None = None
    sampling_rule: SamplingRule | None = None  # of the user's own
    rule_seed: int = 0  # of the stream that a sampling rule of the user's own may draw from

    def __init__(self, mdp: MDP, epsilon: float, delta: float, sigma: ArrayLike | None = None) -> None:
        if not isinstance(mdp, MDP):
            raise SettingError(f"a learner needs an MDP, not {type(mdp).__name__}; take instance.mdp of an Instance")
        self._lock = threading.RLock()
        self.mdp = mdp
        self._epsilon = self._first_epsilon = check_epsilon(epsilon)
        self.delta = check_delta(delta)
        if isinstance(sigma, str) and sigma == "unknown":
            raise SettingError(f'{self.name} needs a number for sigma; only Challenger takes sigma="unknown"')
        if sigma is None:
            sigma = declared_sigma(mdp, self.name)
        self.sigma = check_sigma(sigma, mdp.n_arcs)
        self.sigma[mdp.is_known] = 0.0
        self.graph: Graph = graph_of(mdp)
        self._visits: IntArray = np.zeros(mdp.n_arcs, dtype=np.int64)
        # Gains are added up as differences from an origin, the first gain of the arc: sums of large numbers that
        # differ little would lose what matters.
        self._origin: FloatArray = np.zeros(mdp.n_arcs)
        self._sums: FloatArray = np.zeros(mdp.n_arcs)
        self.known_gain: FloatArray = mdp.known_gain.copy()
        self._sizes = Sizes(mdp)
        check_decidable(mdp, self._sizes.low, self._sizes.high, self._epsilon, SettingError)
        self.episodes = 0
        self.stopped = False
        self.exclusions: list[dict[str, Any]] = []
        self._excluded: BoolArray = np.zeros(mdp.n_arcs, dtype=np.bool_)
        self._under_way = UnderWay(mdp.horizon)
        self._failures = Failures(mdp.n_arcs)
        self._watch = Watch(mdp, self.sigma)
        self._answer: tuple[IntArray, float] | None = None  # once stopped: the path and its proven gap
        self._answered_at = 0  # episodes when the answer was last compared with what is known

    # Copies ----------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the lock, which belongs to this object."""
        with self._lock:
            return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the state from a copy or a pickle; arrays that are shared or read-only are copied."""
        self.__dict__.update(own_arrays(state))
        self._lock = threading.RLock()
        self._connect()

    def __copy__(self: L) -> L:
        """Copy the whole learner: two learners never share what they have seen."""
        return deepcopy(self)

    def _connect(self) -> None:
        """Point _visits, _origin and _sums at the arrays that kernels write, where they are not those."""

    # Rules of the user's own -------------------------------------------------------------------------------------

    def widths_now(self) -> FloatArray:
        """Compute half an interval of each arc for rules of the user's own, infinite where unvisited, float [N]."""
        n = np.maximum(self._visits, 1)
        width = self.sigma * np.sqrt(2 * np.log(4.0 * n * n * self.mdp.n_arcs / self.delta) / n)
        width[self._visits == 0] = np.inf
        width[self.mdp.is_known] = 0.0
        return np.asarray(width)

    def passable_now(self) -> BoolArray:
        """Return which arcs lie on a path that may still be best, bool [N]."""
        return self._active()

    def _begin(self, rng: np.random.Generator) -> None:
        """Derive the seed of a rule that draws from the stream of a simulated run, without using up any of it."""
        if self.sampling_rule is not None:
            self.rule_seed = int.from_bytes(hashlib.sha256(repr(rng.bit_generator.state).encode()).digest()[:8])

    # What is known ---------------------------------------------------------------------------------------------

    @property
    def epsilon(self) -> float:
        """Return how far from the best the answer may be; `tighten` makes it smaller."""
        return self._epsilon

    @property
    @locked
    def visits(self) -> IntArray:
        """Return how often each arc has been played, int [N]."""
        return self._visits.copy()

    @property
    @locked
    def sums(self) -> FloatArray:
        """Return the sum of rewards, or worths, of each arc in the user's direction, float [N]; 0 if known."""
        return np.asarray(self.mdp.sign * (self._sums + self._visits * self._origin))

    @property
    @locked
    def means(self) -> FloatArray:
        """Return the mean of each arc in the user's direction, float [N]: NaN where unvisited, or the known reward.

        Where costs count it is the mean worth: of reward minus weighted cost, or plus where less is better.
        """
        mean = np.where(self._visits > 0, self._origin + self._sums / np.maximum(self._visits, 1), np.nan)
        mean[self.mdp.is_known] = self.known_gain[self.mdp.is_known]
        return np.asarray(self.mdp.sign * mean)

    def noise_now(self) -> FloatArray:
        """Return sigma of each arc, or how far its rewards scatter where noise is learned, float [N]; no bound."""
        return self.sigma

    @property
    @locked
    def excluded(self) -> BoolArray:
        """Return which arcs were excluded as infeasible, bool [N]."""
        return self._excluded.copy()

    @property
    @locked
    def failures(self) -> IntArray:
        """Return how many episodes broke off at each arc, int [N]."""
        return self._failures.total.copy()

    @property
    @locked
    def active(self) -> BoolArray:
        """Return which arcs may still be on a best path, bool [N]."""
        return self._active()

    @locked
    def findings(self) -> list[Finding]:
        """Return what the rewards say against what was declared: larger noise, dependence on earlier choices, drift.

        A finding never changes the stop; it says that the certificate may not hold (docs, "noise watch").
        """
        return self._watch.findings()

    @locked
    def recommend(self) -> IntArray:
        """Return the path this learner recommends now, int [H]; once stopped, the one whose proof is best."""
        if self.stopped:
            self._renew_answer()
        return (self._recommend() if self._answer is None else self._answer[0]).copy()

    @locked
    def certified_gap(self) -> float:
        """Return a proven bound, valid at all times at once, on how far `recommend()` is from the best."""
        if self.stopped:
            self._renew_answer()
        return self._gap() if self._answer is None else self._answer[1]

    # Ask and tell ----------------------------------------------------------------------------------------------

    @locked
    def ask(self, n: int | None = None) -> IntArray:
        """Return the path to play next, int [H] of arcs; with n, that many paths for parallel workers, int [n, H].

        Asking again before telling gives the same path. Paths given with n count as under way until they are told or
        cancelled, so that workers spread. An arc that failed several times in a row is left alone for a while.
        """
        count = None if n is None else whole("n", n, low=1, high=MOST_ASKED)
        if self.stopped:
            raise StoppedError(
                f"{self.name} stopped after {many(self.episodes, word('episode', 'trial'))}; "
                f"recommend() has its answer, tighten() goes on"
            )
        if count is None:
            return self._around_failures(self._choose()).copy()
        paths = np.zeros((count, self.mdp.horizon), dtype=np.int64)
        for i in range(count):
            paths[i] = self._around_failures(self._choose_beside(i))
            self._under_way.add(paths[i])
            self._add_under_way(paths[i : i + 1])
        return paths

    @locked
    def ask_beside(self, plays: ArrayLike, n: int = 1) -> IntArray:
        """Choose n paths, int [n, H], beside plays that are under way elsewhere; nothing in this learner changes.

        The answer depends on what was told and on the plays alone, so whoever was told the same and knows of the same
        plays gets the same paths.

        Args:
            plays: Paths under way elsewhere, not told here yet, int [m, H]; paths given by ask(n) do not count.
            n: How many paths to choose.
        """
        paths = np.asarray(plays, dtype=np.int64).reshape(-1, self.mdp.horizon)
        kept, mine = self._hold(), self._under_way
        self._under_way = UnderWay(self.mdp.horizon)
        try:
            for path in paths:
                self._under_way.add(path)
            if len(paths):
                self._add_under_way(paths)
            return self.ask(n)
        finally:
            self._under_way = mine
            self._put_back(kept)

    @locked
    def cancel(self, path: ArrayLike | Mapping[Any, Any]) -> None:
        """Cancel a path from ask(n) that will never be told: it no longer counts as under way."""
        arcs = self.mdp.path(path) if isinstance(path, Mapping) else self.mdp.check_path(path)
        if self._under_way.remove(arcs):
            self._remove_under_way(arcs)

    @locked
    def tell(
        self,
        path: ArrayLike | Mapping[Any, Any],
        rewards: ArrayLike | Mapping[Any, Any],
        *,
        failed_at: int | None = None,
    ) -> None:
        """Take in one episode; nothing changes when the input is refused.

        Also after the stop: results still in flight can only improve the answer.

        Args:
            path: The H arcs that were played, or the same path by names, as `MDP.plan` gives it.
            rewards: The H rewards seen, in the user's direction; fewer when the episode failed after that many stages;
                or a mapping from the names or numbers of stages. Values at known arcs are ignored.
            failed_at: The stage at which the episode failed, where a reward is given in place of that of the stage.
        """
        arcs = self.mdp.path(path) if isinstance(path, Mapping) else self.mdp.check_path(path)
        seen = read_rewards(self.mdp, arcs, rewards)
        gains = self.mdp.gains_of(arcs[: len(seen)], seen)
        low, high = self._sizes.with_gains(gains)
        check_decidable(self.mdp, low, high, self._epsilon)
        played = len(gains) if failed_at is None else failed_at
        self._absorb(arcs, gains)
        self._failures.note(arcs, played, self.episodes)
        self._watch.observe(arcs, gains)
        self._sizes.low, self._sizes.high = low, high
        if self._under_way.remove(arcs):
            self._remove_under_way(arcs)
        self._note_stop()

    @locked
    def fail(self, path: ArrayLike | Mapping[Any, Any]) -> None:
        """Take in an episode of which nothing was seen, not even where it failed.

        It counts as a failure of the arc of the path that has been seen least, since an arc that never works has no
        visits; among equals, of the one that was blamed least.
        An episode that failed after some stages is told with `tell` and the rewards before the failure.
        """
        arcs = self.mdp.path(path) if isinstance(path, Mapping) else self.mdp.check_path(path)
        suspect = int(arcs[np.lexsort((self._failures.total[arcs], self._visits[arcs]))[0]])
        self._absorb(arcs, np.zeros(0))
        self._failures.blame(suspect, self.episodes)
        if self._under_way.remove(arcs):
            self._remove_under_way(arcs)
        self._note_stop()

    @locked
    def tighten(self, epsilon: float) -> None:
        """Continue to a smaller epsilon with all data kept.

        The guarantee is that of one event for all times and all epsilons, so asking for more later costs nothing: what
        the bound is made of was fixed when the learner was built and stays as it was.
        """
        wanted = check_epsilon(epsilon)
        if wanted >= self._epsilon:
            raise SettingError(f"tighten needs an epsilon below {self._epsilon:g}, not {wanted:g}")
        check_decidable(self.mdp, self._sizes.low, self._sizes.high, wanted, SettingError)
        if self.stopped:
            self._renew_answer()
        before = (self._answer, self.stop_reason)
        self._epsilon = wanted
        self._go_on()
        self._epsilon_changed()
        if before[0] is not None and before[0][1] <= wanted:  # proven already: no later result can unprove it
            self.stopped, (self._answer, self.stop_reason) = True, before
        self._note_stop()

    @locked
    def exclude(self, option: int | Mapping[Any, Any] | ArrayLike) -> None:
        """Mark arcs as infeasible: they leave the graph, and the guarantee is over the paths that are left.

        Which arcs are infeasible must be a fact of the world, not a verdict on their rewards: then the best path
        that is left is fixed in advance, and the guarantee holds for it. `exclusions` keeps the record.

        Args:
            option: An arc, several arcs, or a mapping from stages to actions, by name or number: the arcs of each of
                these actions, in every state of its stage.
        """
        arcs = option_arcs(self.mdp, option)
        excluded = self._excluded.copy()
        excluded[arcs] = True
        if not on_open_paths(self.mdp, ~excluded).any():
            what = option if isinstance(option, Mapping) else self.mdp.describe_arc(int(arcs[0]))
            raise SettingError(f"excluding {what} would leave no {word('path', 'plan')} at all")
        if np.array_equal(excluded, self._excluded):
            return
        self._excluded[:] = excluded
        self.exclusions.append({"arcs": arcs.tolist(), "episodes": self.episodes})
        self._go_on()  # what was proven was proven against a best path that may be infeasible: judge anew
        self._excluded_changed()
        self._note_stop()

    def _around_failures(self, path: IntArray) -> IntArray:
        """Return the path, or one around the arcs that rest after failures: through what has been seen least."""
        if not self._failures.resting(path, self.episodes):
            return path
        need = np.where(self._active() & ~self.mdp.is_known, self.sigma / (1.0 + self._visits), 0.0)
        scale = float(need.max()) or 1.0
        weight = np.where(self._failures.rested(self.episodes) & ~self._excluded, need / scale, -np.inf)
        other = best_path(self.mdp, weight)
        return path if np.isneginf(weight[other]).any() else other

    # The answer ------------------------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Clear the stop, its reason and its answer."""
        self.stopped, self.stop_reason, self._answer = False, None, None

    def _stop(self, reason: int) -> None:
        """Stop for this reason, an index of STOP_REASONS; GO_ON changes nothing, and a stop is final."""
        if reason != GO_ON and not self.stopped:
            self.stop_reason = STOP_REASONS[reason]
            self.stopped = True

    def _note_stop(self) -> None:
        """Keep the answer from the moment of the stop on."""
        if self.stopped and self._answer is None:
            self._answer = (self._recommend().copy(), self._gap())
            self._answered_at = self.episodes

    def _renew_answer(self) -> None:
        """Replace the answer by what is known now, where that is proven as well or better."""
        self._note_stop()
        assert self._answer is not None
        if self._answered_at < self.episodes:
            self._answered_at = self.episodes
            path, gap = self._recommend(), self._gap()
            if gap < self._answer[1] or np.array_equal(path, self._answer[0]):
                self._answer = (path.copy(), min(gap, self._answer[1]))

    # Saving ----------------------------------------------------------------------------------------------------

    @locked
    def snapshot(self) -> Snapshot:
        """Save everything that decides as plain arrays and numbers; `restore` continues from it bit for bit."""
        return take_snapshot(self)

    @locked
    def restore(self: L, snapshot: Snapshot) -> L:
        """Take over the state of a snapshot from a learner with the same settings on the same problem."""
        load_snapshot(self, snapshot)
        return self

    @staticmethod
    def from_snapshot(mdp: MDP, snapshot: Snapshot) -> Learner:
        """Build the learner that a snapshot was taken of."""
        from surepath.learners.registry import build

        check_snapshot(snapshot, mdp)
        return build(snapshot["settings"], mdp).restore(snapshot)

    def fresh(self, epsilon: float) -> Learner:
        """Return a learner like this one that has seen nothing, with another epsilon."""
        from surepath.learners.registry import build

        return build({**self.settings(), "epsilon": epsilon}, self.mdp)

    def settings(self) -> dict[str, Any]:
        """Return all that rebuilds this learner on the same MDP: name, epsilon as built, delta, sigma, rules."""
        return current_settings(self)

    def sigma_setting(self) -> float | list[float]:
        """Return sigma, as one number where all arcs to learn agree."""
        values = np.unique(self.sigma[~self.mdp.is_known])
        if len(values) <= 1:
            return float(values[0]) if len(values) else 1.0
        return [float(x) for x in self.sigma]

    def __repr__(self) -> str:
        state = "stopped" if self.stopped else "running"
        return f"{self.name}(epsilon={self.epsilon:g}, delta={self.delta:g}; {self.episodes} episodes, {state})"
