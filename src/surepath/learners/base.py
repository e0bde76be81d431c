"""The contract of learners: ask, tell, stopped, recommend, certified_gap; and learners by name."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import (
    LARGEST,
    BoolArray,
    FloatArray,
    IntArray,
    NotNumbersError,
    check_delta,
    check_epsilon,
    check_sigma,
    one_of,
    read_numbers,
    shortened,
    suggest,
)
from surepath._text import many
from surepath.errors import RewardError, SettingError, StoppedError, SurepathError
from surepath.kernels.sweeps import Graph, Reality, graph_of
from surepath.learners.runs import BUDGET, GO_ON, STOP_REASONS, RunRecord, joined, raise_if_cancelled
from surepath.model.mdp import MDP
from surepath.model.paths import best_path, step_and_key, step_in_words, step_number

if TYPE_CHECKING:
    from surepath.learners.own_rules import OwnRule


# Base -----------------------------------------------------------------------------------------------------------------
# The guarantee of a learner never depends on which paths were played, so `tell` takes any path, asked for or not.
# Inside, everything maximises: rewards are multiplied by the MDP's sign when they come in and results are turned
# back when they go out. Ground truth never enters here. Every public method takes the learner's own lock, so one
# learner may be shared by the threads of one process; other processes have a copy of their own.

Rewards = ArrayLike | Mapping[Any, Any]

P = ParamSpec("P")
R = TypeVar("R")
L = TypeVar("L", bound="Learner")

MOST_ASKED = 100_000  # paths in one ask(n) of Challenger


def locked(method: Callable[Concatenate[L, P], R]) -> Callable[Concatenate[L, P], R]:
    """Run a method with the learner's lock held."""

    @wraps(method)
    def call(self: L, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock:
            return method(self, *args, **kwargs)

    return call


class Learner(ABC):
    """Sampling, elimination, stopping and recommendation behind ask and tell.

    Args:
        mdp: The layered graph to search.
        epsilon: How far from the best the answer may be; 0 asks for the best itself.
        delta: Allowed probability of a wrong answer.
        sigma: Sub-Gaussian factor of the rewards, one number or one per arc; by default what the MDP declares (a
            sigma, or half of a declared range). Arcs with a known reward count as sigma 0 whatever is given.

    Attributes:
        episodes: How many episodes have been told.
        stopped: Whether the answer is proven.
        stop_reason: One of STOP_REASONS once stopped.
    """

    name: ClassVar[str]
    compiled: bool = True  # whether `_run` plays whole runs in compiled code
    stop_reason: str | None = None
    sampling_rule: OwnRule | None = None  # of the user's own
    _is_default = False  # whether the setting `bound` is the default one for epsilon
    rule_seed: int = 0  # of the stream that a sampling rule of the user's own may draw from

    def __init__(self, mdp: MDP, epsilon: float, delta: float, sigma: ArrayLike | None = None) -> None:
        if not isinstance(mdp, MDP):
            raise SettingError(f"a learner needs an MDP, not {type(mdp).__name__}; take instance.mdp of an Instance")
        if mdp.scored is not None and self.name != "Rounds":
            raise SettingError(
                f"{self.name} needs a score of every step, and this problem has scores that cover several; Rounds is "
                f'the learner for structure="additive"'
            )
        self._lock = threading.RLock()
        self.mdp = mdp
        self._epsilon = self._first_epsilon = check_epsilon(epsilon)
        self.delta = check_delta(delta)
        if isinstance(sigma, str):
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
        self._largest = float(np.abs(self.known_gain[mdp.is_known]).max(initial=0.0))  # size of a gain so far
        check_decidable(mdp, self._largest, self._epsilon, SettingError)
        self.episodes = 0
        self.stopped = False
        self._answer: tuple[IntArray, float] | None = None  # once stopped: the path and its proven gap
        self._answered_at = 0  # episodes when the answer was last compared with what is known

    # What a learner implements: called with the lock held and input that was checked -----------------------------

    def _active(self) -> BoolArray:
        """Return which arcs may still be on a best path, a fresh bool [N]: all, where nothing is ever ruled out."""
        return np.ones(self.mdp.n_arcs, dtype=np.bool_)

    @abstractmethod
    def _choose(self) -> IntArray:
        """Return the path to play next."""

    @abstractmethod
    def _absorb(self, path: IntArray, gains: FloatArray) -> None:
        """Take in a play of the path, eliminate, decide whether to stop; after the stop only take in what was seen."""

    @abstractmethod
    def _recommend(self) -> IntArray:
        """Return the path to recommend by the present statistics."""

    @abstractmethod
    def _gap(self) -> float:
        """Return the certified gap of `_recommend()` by the present statistics."""

    def _play(self, reality: Reality, rng: np.random.Generator, budget: int) -> None:
        """Play until the stop, or until the budget does not allow more; for learners with the `_run` below."""
        raise NotImplementedError

    def _run(self, reality: Reality, rng: np.random.Generator, budget: int, epsilons: FloatArray) -> RunRecord:
        """Play a whole run from scratch in compiled code (the state of this object is not touched)."""
        return self._run_each(rng, budget, epsilons, lambda own: own._play(reality, rng, budget))

    def _run_each(
        self, rng: np.random.Generator, budget: int, epsilons: FloatArray, play: Callable[[Learner], None]
    ) -> RunRecord:
        """Play a run of its own for every epsilon, each by a fresh learner and from the same seed."""
        record, start = RunRecord.empty(len(epsilons), self.mdp.horizon), rng.bit_generator.state
        for at, epsilon in enumerate(epsilons.tolist()):
            raise_if_cancelled()
            rng.bit_generator.state = start
            own = self.fresh(epsilon)
            own._begin(rng)
            play(own)
            record.tau[at] = own.episodes if own.stopped else budget
            record.reason[at] = STOP_REASONS.index(own.stop_reason or STOP_REASONS[BUDGET])
            record.path[at] = own.recommend()
            record.eliminated[at] = int((~own.active).sum())
            record.gap[at] = own.certified_gap()
        return record

    def _run_many(
        self, reality: Reality, streams: Iterable[np.random.Generator], budget: int, epsilons: FloatArray
    ) -> RunRecord:
        """Play a run with each stream; the entries of all runs in order."""
        return joined([self._run(reality, rng, budget, epsilons) for rng in streams])

    def _begin(self, rng: np.random.Generator) -> None:
        """Draw what this learner draws for itself, before a simulated run that is played step by step.

        The seed of a rule that draws comes from the stream of the run, without using up any of it.
        """
        if self.sampling_rule is not None:
            self.rule_seed = int.from_bytes(hashlib.sha256(repr(rng.bit_generator.state).encode()).digest()[:8])

    def _as_told(self, rewards: list[float]) -> Rewards:
        """Return what `tell` takes of the rewards drawn for a path, stage by stage."""
        return rewards

    def _connect(self) -> None:  # noqa: B027 (most need nothing)
        """Point _visits, _origin and _sums at the arrays that kernels write, where they are not those."""

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

    # What is known ---------------------------------------------------------------------------------------------

    @property
    def epsilon(self) -> float:
        """Return how far from the best the answer may be."""
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

    @property
    @locked
    def active(self) -> BoolArray:
        """Return which arcs may still be on a best path, bool [N]."""
        return self._active()

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
        """Return the path to play next, int [H] of arcs; asking again before telling gives the same path."""
        if n is not None:
            raise SettingError(
                f"{self.name} gives one plan at a time: only Challenger has ask(n), for parallel "
                f"workers; compare learners with simulate"
            )
        self._refuse_after_stop()
        return self._choose().copy()

    @locked
    def tell(self, path: Rewards, rewards: Rewards) -> None:
        """Take in one episode; nothing changes when the input is refused.

        Also after the stop: results still in flight can only improve the answer.

        Args:
            path: The H arcs that were played, or the same path by names, as `MDP.plan` gives it.
            rewards: The H rewards seen, in the user's direction, or a mapping from the names or numbers of stages.
                Values at known arcs are ignored.
        """
        arcs = self._arcs_of(path)
        gains = self._gains_of(arcs, rewards)
        if len(gains) < len(arcs):
            raise RewardError(
                f"{self.name} takes whole trials, {len(arcs)} scores, not "
                f"{len(gains)}: only Challenger takes what a failed trial has shown"
            )
        self._absorb(arcs, gains)
        self._note_size(gains)
        self._note_stop()

    def _arcs_of(self, path: Rewards) -> IntArray:
        return self.mdp.path(path) if isinstance(path, Mapping) else self.mdp.check_path(path)

    def _gains_of(self, arcs: IntArray, rewards: Rewards) -> FloatArray:
        """Read the rewards of a play as gains, none of them too large."""
        seen = read_rewards(self.mdp, arcs, rewards)
        gains = self.mdp.gains_of(arcs[: len(seen)], seen)
        check_decidable(self.mdp, float(np.abs(gains).max(initial=self._largest)), self._epsilon)
        return gains

    def _note_size(self, gains: FloatArray) -> None:
        self._largest = float(np.abs(gains).max(initial=self._largest))

    def _refuse_after_stop(self) -> None:
        if self.stopped:
            raise StoppedError(
                f"{self.name} stopped after {many(self.episodes, 'trial')}; "
                f"recommend() has its answer" + (", tighten() goes on" if hasattr(self, "tighten") else "")
            )

    # The answer ------------------------------------------------------------------------------------------------

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

    # Settings --------------------------------------------------------------------------------------------------

    def fresh(self, epsilon: float) -> Learner:
        """Return a learner like this one that has seen nothing, with another epsilon and what suits it by default.

        A bound that was given, and is not the default one, stays as it is: it holds for every epsilon.
        """
        settings = {**self.settings(), "epsilon": epsilon}
        del settings["name"]
        if self._is_default and epsilon != self._first_epsilon:
            del settings["bound"]
        functions = {name: getattr(self, name) for name in settings if hasattr(getattr(self, name), "reference")}
        return type(self)(self.mdp, **(settings | functions))

    def settings(self) -> dict[str, Any]:
        """Return all that rebuilds this learner on the same MDP: name, epsilon as built, delta, sigma, rules.

        A setting is kept in the attribute of its name, checked and with defaults filled in; what stayed None is left
        out. Two differ from their attributes: epsilon is the one the learner was built with, and sigma is what
        `sigma_setting` makes of the array.
        """
        settings: dict[str, Any] = {"name": self.name}
        for name in setting_parameters(type(self)):
            if name == "epsilon":
                settings[name] = self._first_epsilon
            elif name == "sigma":
                settings[name] = self.sigma_setting()
            elif getattr(self, name) is not None:
                value = getattr(self, name)
                # Numbers belong to the learner; a function is named by its module where it can be.
                settings[name] = getattr(value, "reference", None) or deepcopy(value)
        return settings

    def sigma_setting(self) -> float | list[float]:
        """Return sigma, as one number where all arcs to learn agree."""
        values = np.unique(self.sigma[~self.mdp.is_known])
        if len(values) <= 1:
            return float(values[0]) if len(values) else 1.0
        return [float(x) for x in self.sigma]

    def __repr__(self) -> str:
        state = "stopped" if self.stopped else "running"
        return f"{self.name}(epsilon={self.epsilon:g}, delta={self.delta:g}; {many(self.episodes, 'trial')}, {state})"


@cache
def setting_parameters(learner: type[Learner]) -> dict[str, inspect.Parameter]:
    """List the parameters of a learner's constructor in their order, without the MDP."""
    return dict(list(inspect.signature(learner).parameters.items())[1:])


def own_arrays(value: Any) -> Any:
    """Copy a value, so that every array in it and in the tuples, dicts and learners in it is writable and its own.

    Pickles may contain read-only views of a shared buffer, which kernels can neither write nor take as they are.
    """
    if isinstance(value, np.ndarray):
        return value if value.flags.writeable and value.flags.owndata else value.copy()
    if isinstance(value, tuple):
        items = [own_arrays(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, dict):
        return {key: item if isinstance(item, (int, float)) else own_arrays(item) for key, item in value.items()}
    if type(value).__module__.startswith("surepath.learners.") and hasattr(value, "__dict__"):
        value.__dict__.update(own_arrays(value.__dict__))
    return value


# Rewards as people give them ------------------------------------------------------------------------------------------


def read_rewards(mdp: MDP, path: IntArray, rewards: Rewards, *, ranged: bool = True) -> FloatArray:
    """Return the rewards of a play of `path` as float64 [k], k <= H, or raise an error that names the stage.

    Args:
        mdp: The graph.
        path: The arcs that were played, int [H], already checked.
        rewards: One number per stage, fewer when the episode failed on the way, or {stage: reward} with stages by
            name or by number. Values on arcs whose reward is known, or part of a later one (which then count 0), are
            ignored, may be NaN, and may be left out of a mapping; where a reward covers several stages a list may hold
            such rewards alone, and one that covers all may be one number.
        ranged: Whether they must lie in their declared ranges.

    Example:
        >>> mdp = MDP.from_arrays([[[0, 0]], [[0, 0]]])
        >>> read_rewards(mdp, np.array([0, 2]), {0: 0.5, 1: True}).tolist()
        [0.5, 1.0]
    """
    if isinstance(rewards, Mapping):
        array = _numbers(mdp, _in_order(mdp, path, rewards))
    else:
        array = _numbers(mdp, _spread(mdp, rewards))
    arcs = path[: len(array)]
    free = mdp.unscored[arcs]
    if free.any():
        array[free] = 0.0 if mdp.known is None else mdp.known[arcs][free]
    for h in np.flatnonzero(~(np.abs(array) <= LARGEST))[:1].tolist():  # true for NaN too
        if not np.isfinite(array[h]):
            raise RewardError(
                f"{_at(mdp, h)} is {array[h]}; scores must be finite. A failed step is not a score: report a failed "
                "trial, with the scores before it"
            )
        raise RewardError(f"{_at(mdp, h)} is {array[h]:g}; scores must lie within {LARGEST:g} of 0")
    if ranged and mdp.reward_range is not None:
        low, high = (side[arcs] for side in mdp.reward_range)
        outside = (array < low) | (array > high)
        for h in np.flatnonzero(outside & ~free).tolist():
            raise RewardError(
                f"the score {float(array[h])!r} of {step_in_words(mdp, h)} lies outside the declared range "
                f"[{low[h]:g}, {high[h]:g}] of option {mdp.action_label(int(arcs[h]))!r}"
            )
    return array


def check_baselines(mdp: MDP) -> None:
    """Refuse problems in which a baseline would count for some options of a step and not for others."""
    if mdp.scored is not None:
        raise SettingError("a baseline is subtracted from the score of every step, and here a score covers several")
    known = np.add.reduceat(mdp.is_known.astype(np.int64), mdp.stage_arc[:-1])
    mixed = np.flatnonzero((known > 0) & (known < np.diff(mdp.stage_arc)))
    if mixed.size:
        raise SettingError(
            f"a baseline moves the scores of all options of a step alike, but {step_in_words(mdp, int(mixed[0]))} has "
            "options whose score is known; leave baselines out, or let all options of that step be scored"
        )


def less_baseline(mdp: MDP, path: IntArray, rewards: Rewards, baseline: Any) -> tuple[FloatArray, FloatArray]:
    """Return the rewards of a play minus its baseline, and the baseline, both float64 [k].

    A baseline is one number, or one per stage that has a reward. Known rewards stay as they are. The declared ranges
    are those of the differences.
    """
    check_baselines(mdp)
    raw, less = read_rewards(mdp, path, rewards, ranged=False), read_numbers(baseline)
    if less.shape not in ((), raw.shape) or not np.isfinite(less).all():
        raise RewardError(
            f"a baseline is one finite number, or one for each of the {len(raw)} scores told, not {shortened(baseline)}"
        )
    less = np.where(mdp.is_known[path[: len(raw)]], 0.0, less)
    try:
        return read_rewards(mdp, path, raw - less), less
    except RewardError as error:
        raise RewardError(f"less its baseline, {error}; with baselines, declare the range of the difference") from None


def _spread(mdp: MDP, rewards: Any) -> Any:
    """Put rewards that cover several stages into their places; anything else is returned unchanged."""
    if mdp.scored is None or isinstance(rewards, (str, bytes)):
        return rewards
    given = [rewards] if np.ndim(rewards) == 0 else list(rewards)
    if not 0 < len(given) <= len(mdp.scored) or len(given) == mdp.horizon:
        return rewards
    places: list[Any] = [np.nan] * (mdp.scored[len(given) - 1] + 1)
    for stage, value in zip(mdp.scored, given):
        places[stage] = value
    return places


def _at(mdp: MDP, stage: int) -> str:
    """Name the reward of a stage: "the score of step 'answer'"."""
    return f"the score of {step_in_words(mdp, stage)}"


def _numbers(mdp: MDP, rewards: Any) -> FloatArray:
    horizon = mdp.horizon
    wanted = "one number" if horizon == 1 else f"{horizon} numbers"
    if horizon == 1 and np.ndim(rewards) == 0:
        rewards = [rewards]
    try:
        array = read_numbers(rewards, booleans=True)
    except NotNumbersError as cause:
        if cause.place is not None and cause.place < horizon:
            at = _at(mdp, cause.place)
            raise RewardError(f"{at} must be a number, not {cause}; got {shortened(rewards)}") from None
        raise RewardError(f"scores must be {wanted}, not {cause}; got {shortened(rewards)}") from None
    if array.ndim == 0:
        raise RewardError(
            f"scores must be {wanted}, one per step; got the one number {float(array):g}. Where a plan has one score, "
            f'build the problem with MDP.from_steps(..., scores="end")'
        )
    if array.ndim != 1:
        raise RewardError(f"scores must be {wanted}, one per step; got shape {array.shape}")
    if len(array) > horizon:
        raise RewardError(f"scores must be {wanted}, one per step, or fewer; got {len(array)}")
    return array


def _in_order(mdp: MDP, path: IntArray, rewards: Mapping[Any, Any]) -> list[Any]:
    """List the values of a mapping stage by stage, with NaN at known arcs that it leaves out."""
    given: dict[int, Any] = {}
    for key, value in rewards.items():
        stage = step_number(mdp, key, RewardError)
        if stage in given:
            raise RewardError(f"the scores name {step_and_key(mdp, stage)} twice")
        if isinstance(value, (list, tuple, Mapping)) or np.ndim(value):
            raise RewardError(f"{_at(mdp, stage)} must be one number, not {shortened(value)}")
        given[stage] = value
    last = max(given, default=-1)
    if given and mdp.unscored[path[last + 1 :]].all():
        last = mdp.horizon - 1  # nothing is left to see
    for stage in range(last + 1):
        if stage not in given and not mdp.unscored[path[stage]]:
            raise RewardError(
                f"the scores name {step_in_words(mdp, last)} but not {step_and_key(mdp, stage)}; "
                f"tell every step up to the one where the trial failed"
            )
    return [given.get(stage, np.nan) for stage in range(last + 1)]


# Precision ------------------------------------------------------------------------------------------------------------


def check_decidable(mdp: MDP, largest: float, epsilon: float, error: type[SurepathError] = RewardError) -> None:
    """Refuse rewards so large that double precision cannot hold what epsilon asks for of a difference of two paths.

    Each reward is off by a few units of its size, and a difference of two paths by H times that. What else rounding
    does to sums is allowed for where something is decided.
    """
    rounding = 2.0**-49 * mdp.horizon * largest
    if epsilon > 0 and rounding > epsilon:
        raise error(
            f"scores of size {largest:g} make the total scores of plans uncertain by {rounding:.1g} in double "
            f"precision, too coarse for epsilon {epsilon:g}; subtract the same amount from all scores of a step, or "
            f"ask for a larger epsilon"
        )


# Noise and ranges -----------------------------------------------------------------------------------------------------


def declared_sigma(mdp: MDP, who: str) -> FloatArray:
    """Find the noise that a problem declares: its sigma, or half of its range (Hoeffding's lemma), float [N].

    An arc to learn that declares neither is refused: nothing can be proven of rewards whose noise has no bound.
    """
    missing = mdp.noise_missing(who)
    if missing is not None:
        raise SettingError(missing)
    return mdp.declared_sigma


def proven_gap(learner: Learner) -> float:
    """Return a learner's certified gap; infinite while the declared ranges alone say as much.

    Example:
        >>> from surepath import MDP, Challenger
        >>> learner = Challenger(MDP.from_steps({"a": ["x", "y"], "b": ["u", "v"]}, reward_range=(0, 1)), 0.1, 0.1)
        >>> for _ in range(4):
        ...     learner.tell(learner.ask(), [0.5, 0.5])
        >>> learner.certified_gap() > 2, proven_gap(learner)
        (True, inf)
    """
    gap = float(learner.certified_gap())
    if learner.stopped or not np.isfinite(gap) or gap < range_gap(learner.mdp, learner.recommend()):
        return gap
    return float("inf")


def range_gap(mdp: MDP, path: IntArray) -> float:
    """Return how far a path can be from the best by the declared ranges alone; infinite where some arc has none."""
    if mdp.gain_range is None:
        return float("inf")
    low, high = (np.where(mdp.is_known, mdp.known_gain, end) for end in mdp.gain_range)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return float("inf")
    if mdp.scored is not None:
        return float(sum(high[path[stage]] - low[path[stage]] for stage in mdp.scored))
    high[path] = low[path]  # what two paths share cannot set them apart
    return float(high[best_path(mdp, high)].sum() - low[path].sum())


# Registry -------------------------------------------------------------------------------------------------------------
# Name of each learner and the module that holds it; modules are imported when asked for.
LEARNERS = {
    "EPRL": "surepath.learners.per_arc.eprl",
    "BPIUCRL": "surepath.learners.per_arc.eprl",
    "Challenger": "surepath.learners.challenger.learner",
    "Design": "surepath.learners.whole_plan",
    "Peer": "surepath.learners.peers",
    "Rounds": "surepath.learners.rounds.learner",
    "Uniform": "surepath.learners.per_arc.eprl",
    "WholePlan": "surepath.learners.whole_plan",
}


def learner_name(given: str) -> str:
    """Return the name of a learner that was written in any case, with or without dashes."""
    names = {name.lower(): name for name in LEARNERS}
    return names.get(given.lower().replace("-", "").replace("_", "")) or one_of("learner", given, LEARNERS)


def learner_class(name: str) -> type[Learner]:
    """Import and return the learner class of this name."""
    module = LEARNERS[one_of("learner", name, LEARNERS)]
    return cast("type[Learner]", getattr(importlib.import_module(module), name))


def setting_names(name: str) -> list[str]:
    """List the settings that a learner takes, in the order of its constructor."""
    return list(setting_parameters(learner_class(name)))


def build(spec: Mapping[str, Any], mdp: MDP) -> Learner:
    """Build a learner from its spec.

    Example:
        >>> from surepath import MDP
        >>> build({"name": "BPIUCRL", "epsilon": 0.1, "delta": 0.05, "sigma": 1.0}, MDP.from_arrays([[[0, 0]]])).name
        'BPIUCRL'
    """
    if not isinstance(spec, Mapping):
        raise SettingError(f'a learner spec is a dict such as {{"name": "EPRL", "epsilon": 0.1}}, not {spec!r}')
    settings = dict(spec)
    if "name" not in settings:
        raise SettingError("a learner spec needs a name, one of " + ", ".join(f'"{n}"' for n in LEARNERS))
    found = learner_class(settings.pop("name"))
    valid = setting_names(found.name)
    for key in settings:
        if key not in valid:
            raise SettingError(f"{found.name} has no setting {key!r}{suggest(str(key), valid)}")
    for key in ("epsilon", "delta"):
        if key not in settings:
            raise SettingError(f"the spec of {found.name} needs {key}")
    return found(mdp, **settings)
