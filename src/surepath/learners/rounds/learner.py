"""Rounds: plans that have one score at the end, tried in rounds whose plans are fixed before their scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import (
    LARGEST,
    BoolArray,
    FloatArray,
    IntArray,
    NotNumbersError,
    one_of,
    read_numbers,
    real,
    shortened,
    whole,
)
from surepath.errors import PathError, RewardError, SettingError
from surepath.kernels.jit import kernel
from surepath.kernels.sweeps import Reality, draw_luck, draw_step
from surepath.learners.base import Learner, Rewards, locked
from surepath.learners.rounds.bound import (
    Bets,
    Entries,
    Evidence,
    checked_bound,
    default_bound,
    evidence_of,
    gaussian_table,
    pair_bounds,
    prior_of,
    scale_of,
)
from surepath.learners.rounds.check import Additive, Verdict, judge, refuse_long_list
from surepath.learners.rounds.design import (
    Blocks,
    Fit,
    Round,
    blocks_of,
    coordinates,
    fit_round,
    fitted,
    plan_round,
    rows_of,
    stages_scored,
)
from surepath.learners.runs import CLEARED, STOP_REASONS, raise_if_cancelled
from surepath.learners.watch import REPORT_P, SURE, Finding, odds
from surepath.model.mdp import MDP
from surepath.model.paths import best_path, step_in_words, step_number

NOISES = ("sigma", "range", "gaussian")
FIRST, GROWTH = 3, 0.15  # trials of a round for each effect, and at least as a part of all trials before it
ROUNDING = 1e-10  # relative to the scatter of scores, for each step: more than rounding can do to a difference


@kernel
def draw_scores(blocks: Blocks, reality: Reality, paths: IntArray, rng: np.random.Generator) -> FloatArray:
    """Draw the scores of plays of the paths as gains, float [n, B]: sums over the stages of each block."""
    scores = np.zeros((len(paths), len(blocks.unit)))
    for t in range(len(paths)):
        common, own = 0.0, 0.0
        for h in range(paths.shape[1]):
            common, own = draw_luck(reality, rng, common, own, h)
            scores[t, blocks.of[h]] += draw_step(reality, np.uint64(paths[t, h]), rng, common, own)
    return scores


class Rounds(Learner):
    """Find the best plan from one score for each whole plan, where the effects of options add up.

    Plans are tried in rounds. All plans of a round are fixed before its first score, so scores may come in any order
    and from any number of workers; nothing is decided before the round is complete, and a lost plan is tried again.
    What all scores of a round have in common (a day, a machine, a batch) cancels. The theorem is in the docs ("End
    scores").

    Args:
        mdp: The layered graph; an option's effect may depend on the state. Where `mdp.scored` says so, a score covers
            the steps since the scored one before; else there is one at the end.
        epsilon: How far from the best the answer may be; 0 asks for the best itself, which must then be unique.
        delta: Allowed probability of a wrong answer.
        sigma: Sub-Gaussian factor of a score, or one for each; by default what the MDP declares.
        noise: "sigma" takes sigma, or half the range; "range" (the default where no sigma is declared) needs the range
            of scores alone and learns how far they scatter; "gaussian" is for Gaussian noise of one unknown sigma, and
            wrong for others.
        reward_range: Lowest and highest score; by default what the MDP declares.
        bound: Every number of the bound, as `settings()` gives it; by default chosen for the problem.
        seed: Of the draws from which plans are chosen.

    Example:
        >>> from surepath import MDP
        >>> learner = Rounds(MDP.from_arrays([[[0, 0]], [[0, 0]]]), epsilon=0.5, delta=0.1, sigma=0.1)
        >>> while not learner.stopped:
        ...     for path in learner.ask():
        ...         learner.tell(path, float(path[0] + path[1]))
        >>> learner.recommend().tolist(), learner.episodes
        ([1, 3], 10)
    """

    name = "Rounds"

    def __init__(
        self,
        mdp: MDP,
        epsilon: float,
        delta: float,
        sigma: ArrayLike | None = None,
        *,
        noise: str | None = None,
        reward_range: tuple[ArrayLike, ArrayLike] | None = None,
        bound: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(mdp, epsilon, delta, 1.0)
        if mdp.charge is not None:
            raise SettingError("Rounds has no place for costs in a plan's worth; leave out cost_weight")
        self._scored = stages_scored(mdp)
        self._last = mdp.stage_arc[list(self._scored)]  # an arc of each score
        self._limits = self._range_of(reward_range)
        self.reward_range = None if reward_range is None else [end.tolist() for end in self._limits or ()]
        self.noise, size = self._noise_of(noise, sigma)
        self._size = size
        self.seed = whole("seed", seed, low=0)
        unit = np.ones(len(self._scored)) if size is None else size
        if self.noise == "range":
            assert self._limits is not None
            unit = self._limits[1] - self._limits[0]
        self._blocks = blocks_of(mdp, unit)
        self._origin[:] = np.nan  # an option has no mean of its own: a score belongs to a whole plan
        self._incumbent = best_path(mdp, np.zeros(mdp.n_arcs))
        self._open: BoolArray = np.ones(mdp.n_arcs, dtype=np.bool_)
        if self.noise != "sigma":
            refuse_long_list(f'noise="{self.noise}"', self._blocks, self._open, self._incumbent)
        self.sigma = (np.full(len(unit), np.nan) if size is None else size)[self._blocks.of[mdp.arcs.stage]]
        chosen = default_bound(mdp, self._blocks, self.epsilon, self.delta, self.noise)
        self.bound = chosen if bound is None else checked_bound(bound, chosen)
        self._is_default = self.bound == chosen
        self._prior = prior_of(mdp, self.bound)
        self._scale = scale_of(mdp, self._blocks)
        self.kept: list[FloatArray] = []  # gains of each finished round in the order asked, [n, B]
        self._history: list[Round] = []
        self._fits: list[Fit] = []
        self._stacked: tuple[Entries, Evidence] | None = None
        self._bets = Bets(self._blocks, self.bound, self.delta) if self.noise == "range" else None
        self._fit_test = FitTest(mdp, self._blocks, 0.5 if self.noise == "range" else 1.0)
        self._verdict: Verdict | None = None
        self._effect: FloatArray = np.full((2, mdp.n_arcs), np.nan)  # D and G of the options
        self._proven: dict[bytes, float] = {}
        self._begin_round()

    # What is declared ------------------------------------------------------------------------------------------

    def _range_of(self, given: Any) -> tuple[FloatArray, FloatArray] | None:
        """Return lowest and highest gain of each score, two float [B]; None where no range is declared."""
        if given is None:
            declared = self.mdp.reward_range if self.mdp.scored is not None else None
            if declared is None or not all(np.isfinite(end[self._last]).all() for end in declared):
                return None
            low, high = (np.asarray(end)[self._last] for end in declared)
        elif isinstance(given, (tuple, list)) and len(given) == 2:
            low, high = (self._each("an end of reward_range", end) for end in given)
        else:
            raise SettingError(f"reward_range must be a pair (lowest score, highest score), not {given!r}")
        if not (low < high).all():
            raise SettingError("the lowest score must be below the highest; got " + shortened(given))
        return (low, high) if self.mdp.sign > 0 else (-high, -low)

    def _each(self, what: str, value: Any) -> FloatArray:
        """Return one finite number for each score of a plan."""
        found, count = [real(what, one) for one in np.atleast_1d(np.asarray(value, dtype=object))], len(self._scored)
        if len(found) not in (1, count):
            raise SettingError(f"{what} must be one number, or one for each of {count} scores; got {shortened(value)}")
        return np.full(count, found)

    def _noise_of(self, given: str | None, sigma: Any) -> tuple[str, FloatArray | None]:
        """Find the kind of noise and, where it counts, the sigma of each score."""
        size: FloatArray | None = None
        if sigma is not None:
            size = self._each("sigma", sigma)
        elif self.mdp.scored is not None and self.mdp.sigma is not None:
            size = self.mdp.sigma[self._last]
            size = None if np.isnan(size).any() else size
        if size is not None and not (size > 0).all():
            raise SettingError(f"sigma of a plan's score must be above 0, not {float(size.min()):g}")
        noise = one_of("noise", given or ("range" if size is None else "sigma"), NOISES)
        if noise == "gaussian":
            return noise, None
        if noise == "sigma" and size is not None:
            return noise, size
        if self._limits is None:
            raise SettingError(
                f"{self.name}: the noise of a plan's score is not declared, and without it nothing can be proven. Give "
                f"sigma=..., the noise of one score of a whole plan, or reward_range=(lowest, highest)"
            )
        return noise, (self._limits[1] - self._limits[0]) / 2 if noise == "sigma" else None

    def sigma_setting(self) -> Any:
        """Return sigma of a score, a list where there are several; None where it is learned."""
        if self._size is None:
            return None
        return float(self._size[0]) if len(self._size) == 1 else self._size.tolist()

    # The round -------------------------------------------------------------------------------------------------

    @property
    def round(self) -> int:
        """Return the number of the present round, from 1; once stopped, of the last one."""
        return len(self._history) + (0 if self.stopped else 1)

    @property
    @locked
    def plans(self) -> IntArray:
        """Return the plans of the present round in the order asked, int [n, H]; none once stopped."""
        return self._plans.copy()

    @property
    @locked
    def progress(self) -> tuple[int, int]:
        """Return how many plans of the present round have their score, and how many there are."""
        return int(self._told.sum()), len(self._plans)

    @property
    @locked
    def d(self) -> int:
        """Return the number of effects that are still to be told apart."""
        return int(coordinates(self._blocks, self._open)[1])

    def _begin_round(self) -> None:
        """Fix the plans of the next round."""
        horizon, scores = self.mdp.horizon, len(self._scored)
        if not self.stopped and int(self._open.sum()) == horizon:
            self._settle(0.0)
        if self.stopped:
            plans = np.zeros((0, horizon), dtype=np.int64)
        else:
            rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([self.seed, len(self._history)])))
            size = max(FIRST * self.d + 1, int(np.ceil(GROWTH * self.episodes)))
            aims = (None, None, None) if self._verdict is None else self._verdict.aims(self.mdp, self.epsilon)
            plans = plan_round(self._blocks, self._open, size, rng, *aims)
        self._plans = plans
        self._handed: BoolArray = np.zeros(len(plans), dtype=np.bool_)
        self._told: BoolArray = np.zeros(len(plans), dtype=np.bool_)
        self._scores: FloatArray = np.zeros((len(plans), scores))

    def _settle(self, gap: float) -> None:
        """Stop, with this gap proven for the incumbent."""
        self.stopped, self.stop_reason = True, STOP_REASONS[CLEARED]
        self._proven[self._incumbent.tobytes()] = min(gap, self._proven.get(self._incumbent.tobytes(), np.inf))
        self._note_stop()

    @locked
    def ask(self, n: int | None = None) -> IntArray:
        """Hand out the plans of the round that are not handed out yet, int [m, H], or the next n of them.

        There are none while the round waits for the scores of plans under way; `cancel` takes back one that was lost.
        """
        if n is not None:
            whole("n", n, low=1)
        self._refuse_after_stop()
        places = np.flatnonzero(~self._handed & ~self._told)[:n]
        self._handed[places] = True
        return self._plans[places].copy()

    @locked
    def cancel(self, path: Rewards) -> None:
        """Take back a plan that was handed out and has no score: it is asked for again, in its old place."""
        same = (self._plans == self._arcs_of(path)).all(axis=1)
        self._handed[np.flatnonzero(same & self._handed & ~self._told)[:1]] = False

    @locked
    def tell(self, path: Rewards, rewards: Rewards | float, *, place: int | None = None) -> None:
        """Take in the score of a plan of this round; the last one ends the round.

        Args:
            path: The H arcs that were played, or the same plan by names, as `MDP.plan` gives it.
            rewards: The score; where the problem has several, one number each, or a mapping from the scored steps.
            place: Where the plan stands in the round, from 0; needed where a plan is there twice and its scores are
                told in another order than asked.
        """
        arcs = self._arcs_of(path)
        self._refuse_after_stop()
        gains = self.mdp.sign * self._scores_of(rewards)
        at = self._open_place(arcs, place)
        self._refuse_outside(gains)
        self._scores[at] = gains
        self._count(self._plans[at : at + 1])
        self._told[at] = self._handed[at] = True
        if self._told.all():
            self._end_round()

    def _is_open(self, arcs: IntArray) -> BoolArray:
        """Mark the places of a plan that wait for a score."""
        return np.asarray((self._plans == arcs).all(axis=1) & ~self._told)

    def _open_place(self, arcs: IntArray, place: int | None) -> int:
        """Find the place of a score: the one named, or the first that was handed out, or the first."""
        fits = self._is_open(arcs)
        if place is not None:
            fits &= np.arange(len(fits)) == whole("place", place, low=0)
        if not fits.any():
            at = "" if place is None else f" at {place}"
            raise PathError(
                f"{self.mdp.plan(arcs)} is no open plan of round {self.round}{at}: the plans of a round are fixed "
                f"before its first score, and each takes as many scores as it was asked for; ask() gives them"
            )
        return int(np.argmax(fits & self._handed if (fits & self._handed).any() else fits))

    def _scores_of(self, given: Any) -> FloatArray:
        """Read the scores of a plan, float [B]; a mapping names the steps that have one."""
        if isinstance(given, Mapping):
            named = {step_number(self.mdp, key, RewardError): value for key, value in given.items()}
            given = [named[stage] for stage in self._scored] if set(named) == set(self._scored) else given
        try:
            array = np.atleast_1d(read_numbers(given, booleans=True))
        except NotNumbersError as cause:
            raise RewardError(f"the score of a plan must be a number, not {cause}") from None
        if array.shape != (len(self._scored),) or not (np.abs(array) <= LARGEST).all():
            steps = ", ".join(step_in_words(self.mdp, stage) for stage in self._scored)
            raise RewardError(
                f"a plan has one finite score here at each of {steps}; got {shortened(given)}. A lost plan has none: "
                f"cancel it, and it is asked for again"
            )
        return array

    def _refuse_outside(self, gains: FloatArray) -> None:
        """Refuse gains outside the declared range, of one plan or of several."""
        if self._limits is None:
            return
        low, high = self._limits
        outside = (gains < low) | (gains > high)
        if outside.any():
            b = int(np.argwhere(outside)[0][-1])
            ends = sorted((float(self.mdp.sign * low[b]), float(self.mdp.sign * high[b])))
            raise RewardError(
                f"the score {float(self.mdp.sign * gains[outside][0])!r} of a plan lies outside the declared range "
                f"[{ends[0]:g}, {ends[1]:g}]"
            )

    def _absorb(self, path: IntArray, gains: FloatArray) -> None:
        raise NotImplementedError  # `tell` is this learner's own

    def _count(self, paths: IntArray) -> None:
        self.episodes += len(paths)
        np.add.at(self._visits, paths, 1)

    def _end_round(self) -> None:
        """Fit what the round says, check the incumbent, and begin the next round or stop."""
        self._fold(self._plans, self._scores)
        self._begin_round()

    def _fold(self, plans: IntArray, gains: FloatArray) -> None:
        """Take in a finished round, and check the incumbent."""
        self.kept.append(gains.copy())
        low = self._limits[0] if self._limits is not None and self.noise == "range" else 0.0
        done = Round(plans, (gains - low) / self._blocks.unit, self._open.copy())
        self._history.append(done)
        self._fits.append(fit_round(self._blocks, done))
        self._stacked = None
        if self._bets is not None:
            self._bets.add(done, self._fits[-1])
        self._check()

    def _check(self) -> None:
        """Find the incumbent; eliminate, bound its gap, stop where that is proven."""
        pooled = np.sum([fit.n * fit.effect for fit in self._fits], axis=0)
        self._incumbent = best_path(self.mdp, np.where(self._open, pooled, -np.inf))
        self._verdict = judge(
            self.mdp,
            self._blocks,
            self._open,
            self._incumbent,
            self._bounds_of,
            self._prior,
            self.epsilon,
            self._slack(),
            self._additive if "additive_weight" in self.bound else None,
        )
        self._effect[:, self._open] = self._verdict.effect[:, self._open]
        self._open = self._verdict.active
        key = self._incumbent.tobytes()
        self._proven[key] = min(self._proven.get(key, np.inf), self._verdict.gap)
        if self._proven[key] <= self.epsilon:
            self._settle(self._proven[key])

    def _slack(self) -> float:
        """Bound what rounding can have done to a bound."""
        scatter = max(float(np.ptp(done.scores, axis=0).max()) for done in self._history)
        return ROUNDING * self.mdp.horizon * scatter * float(self._blocks.unit.max())

    def _additive(self, active: BoolArray) -> Additive:
        """Make the additive bound over these arcs."""
        numbers = self.bound, self.delta, self._fits, active, self._incumbent
        return Additive(self.mdp, self._blocks, self._prior, self._scale, *numbers)

    def _bounds_of(
        self, paths: IntArray, single: bool, incumbent: IntArray | None = None, rounds: int | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Compute D and G of paths against the incumbent, from the first rounds; with `single` of excursions."""
        incumbent = self._incumbent if incumbent is None else incumbent
        if self._bets is not None:
            return self._bets.bounds(self._prior, incumbent, paths, single, rounds)
        if self._stacked is None:
            table = np.zeros(0)
            if self.noise == "gaussian":
                table = gaussian_table(sum(fit.rss for fit in self._fits), sum(fit.free for fit in self._fits))
            weights = self.delta * np.array(self.bound["weights"])
            entries = Entries(self._scale, np.array(self.bound["trials"]), np.log(1 / weights), table)
            self._stacked = entries, evidence_of(self._fits)
        entries, seen = self._stacked
        some = Evidence(seen.effect[:rounds], seen.spread[:rounds])
        return pair_bounds(self._blocks, self._prior, entries, some, incumbent, paths, int(single))

    def _weights_of(self, z: FloatArray, j: int) -> tuple[FloatArray, FloatArray]:
        """Return the weight of round j for differences z, and the sum of its scores' absolute weights."""
        if self._bets is not None:
            return self._bets.weights_of(z, j)
        return absolute_weights(self._blocks, self._history[j], self._fits[j], z)

    # What is known ---------------------------------------------------------------------------------------------

    def _active(self) -> BoolArray:
        return self._open.copy()

    def _choose(self) -> IntArray:
        return np.asarray(self._plans[int(np.argmax(~self._told))])

    def _recommend(self) -> IntArray:
        return self._incumbent

    def _gap(self) -> float:
        return self._proven.get(self._incumbent.tobytes(), float("inf"))

    @locked
    def certified_gap(self, gamma: float = 0.0) -> float:
        """Return a proven bound on how far `recommend()` is from the best; it changes at the ends of rounds only.

        Args:
            gamma: How far any score of a plan may be from the sum of its options' effects.
        """
        return super().certified_gap() if gamma == 0 else gap_with_misfit(self, gamma)

    @locked
    def findings(self) -> list[Finding]:
        """Return what the scores say against effects that add up; a finding never changes the stop."""
        if self.noise != "gaussian":
            seen = self._fit_test.rounds
            for done, fit in zip(self._history[seen:], self._fits[seen:]):
                self._fit_test.add(done, fit)
        found = self._fit_test.finding()
        return [] if found is None else [found]

    @property
    @locked
    def means(self) -> FloatArray:
        """Return what each option would change in the plan recommended, float [N]; NaN where nothing is known.

        It is the strongest change through the option, as of the last complete round in which that was active.
        """
        return np.asarray(self.mdp.sign * self._effect[0])

    @locked
    def widths(self) -> FloatArray:
        """Return half the interval of each of `means`, float [N]: each end holds by itself with chance 1 - delta."""
        return np.asarray(self._effect[1] - self._effect[0])

    # Saving ----------------------------------------------------------------------------------------------------

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Save all scores and the round as plain arrays and numbers; `restore` continues from it."""
        names = ("plans", "handed", "told", "scores")
        return {
            "settings": self.settings(),
            "problem": self.mdp.content_hash,
            "rounds": [[done.paths.copy(), gains] for done, gains in zip(self._history, self.kept)],
            "round": {name: getattr(self, f"_{name}").copy() for name in names},
        }

    @locked
    def restore(self, snapshot: dict[str, Any]) -> Rounds:
        """Take over the state of a snapshot from a learner with the same settings on the same problem."""
        mine = self.settings()
        if not isinstance(snapshot, dict) or "round" not in snapshot:
            raise SettingError("a snapshot of Rounds is a dict made by learner.snapshot()")
        if snapshot["problem"] != self.mdp.content_hash or snapshot["settings"] != mine:
            raise SettingError("the snapshot was taken on another problem or with other settings")
        self.__init__(self.mdp, **{name: value for name, value in mine.items() if name != "name"})  # type: ignore[misc]
        for paths, gains in snapshot["rounds"]:
            self._count(paths)
            self._fold(paths, gains)
        for name, value in snapshot["round"].items():
            setattr(self, f"_{name}", value.copy())
        self._count(self._plans[self._told])
        return self

    # Simulation ------------------------------------------------------------------------------------------------

    def _begin(self, rng: np.random.Generator) -> None:
        """Draw the seed of a simulated run."""
        self.seed = int(rng.integers(2**62))
        self._begin_round()

    def _as_told(self, rewards: list[float]) -> Rewards:
        return np.add.reduceat(rewards, self._blocks.first[:-1])

    def _play_round(self, gains: FloatArray) -> None:
        """Take in all scores of the round at once, in the order asked."""
        self._refuse_outside(gains)
        self._scores[:] = gains
        self._count(self._plans)
        self._end_round()

    def _play(self, reality: Reality, rng: np.random.Generator, budget: int) -> None:
        while not self.stopped and self.episodes + len(self._plans) <= budget:
            raise_if_cancelled()
            self._play_round(draw_scores(self._blocks, reality, self._plans, rng))


# Lack of fit ----------------------------------------------------------------------------------------------------------
# Let every score of a plan be a sum of effects + b with |b| <= gamma, B scores a plan. D(z) is a weighed sum of scores,
# and l(z) the sum of its absolute weights: it is off by at most gamma l(z), and the value of a plan by gamma B. So
# G + gamma (2 B + l) bounds the difference of two plans; excursions pay it as well, each.
#
# Test: in a round let Q project off the additive model and Z hold the columns of the pairs of options of two steps. If
# effects add up, s = (QZ)^T y / sigma is noise alone, and with M = Z^T Q Z the mean over normal coefficients of
# variance k,
#
#     exp( s^T (M + 1/k)^-1 s / 2 ) / sqrt(det(1 + k M)),
#
# has expectation at most 1 given the rounds before; so has the product over rounds, and the mean over some k and over
# all pairs of steps. 1/E is then a p-value at any time (Ville).

SIZES = (0.06, 0.2, 0.6)  # of the interactions that are looked for, in sigmas
MOST_PAIRS, MOST_CELLS = 100, 200  # of steps, and of options of two steps, that are looked at


def gap_with_misfit(learner: Rounds, gamma: float) -> float:
    """Return the proven gap of the recommended plan if every score is additive up to gamma.

    Options that were eliminated as if effects added up count again, with the rounds in which they were played.
    """
    if not real("gamma", gamma) >= 0:
        raise SettingError(f"gamma says how far a score may be from additive: at least 0, not {gamma:g}")
    if learner.noise == "gaussian":
        raise SettingError('noise="gaussian" takes misfit for noise; certified_gap(gamma=...) needs a sigma or a range')
    mdp, blocks, incumbent = learner.mdp, learner._blocks, learner.recommend()
    if not learner._history:
        return float("inf")
    everything = np.ones(mdp.n_arcs, dtype=np.bool_)
    refuse_long_list("certified_gap(gamma=...)", blocks, everything, incumbent)

    def bounds(paths: IntArray, single: bool) -> tuple[FloatArray, FloatArray]:
        lead, bound = np.zeros(len(paths)), np.zeros(len(paths))
        last = np.sum([done.active[paths].all(axis=1) for done in learner._history], axis=0)  # rounds that can tell
        for rounds in np.unique(last):
            some = np.flatnonzero(last == rounds)
            z = np.zeros((len(some), mdp.n_arcs))
            np.add.at(z, (np.arange(len(some))[:, None], paths[some]), 1.0)
            z[:, incumbent] -= 1.0
            lead[some], bound[some] = learner._bounds_of(paths[some], single, incumbent, int(rounds))
            share, length = np.zeros((2, rounds, len(some)))
            for j in range(rounds):
                share[j], length[j] = learner._weights_of(z, j)
            bound[some] += gamma * (2 * len(blocks.unit) + (share / share.sum(axis=0) * length).sum(axis=0))
        return lead, bound

    numbers = learner._prior, learner.epsilon, learner._slack()
    return float(judge(mdp, blocks, everything, incumbent, bounds, *numbers, None).gap)


def absolute_weights(blocks: Blocks, done: Round, fit: Fit, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weight 1/tau of a round for differences z, float [m], and the sum of its scores' absolute weights."""
    g = z @ fit.spread @ rows_of(blocks, done.paths, z.shape[1]).reshape(-1, z.shape[1]).T
    return 1 / (g**2).sum(axis=1), np.abs(g / np.tile(blocks.unit, len(done.paths))).sum(axis=1)


class FitTest:
    """The e-process of the additive model: one product for each pair of steps and size.

    Of many pairs of steps the nearest are tested, of many pairs of options those that a round plays most.
    """

    def __init__(self, mdp: MDP, blocks: Blocks, sigma: float) -> None:
        self.mdp, self.blocks, self.sigma = mdp, blocks, sigma  # sigma in the units of the scores
        pairs = [(g, h) for h in range(mdp.horizon) for g in range(h) if blocks.of[g] == blocks.of[h]]
        self.pairs = sorted(pairs, key=lambda pair: pair[1] - pair[0])[:MOST_PAIRS]
        self.logs: FloatArray = np.zeros((len(self.pairs), len(SIZES)))
        self.rounds = 0

    def add(self, done: Round, fit: Fit) -> None:
        """Take in a finished round."""
        self.rounds += 1
        if fit.free <= 0:
            return
        blocks, k = self.blocks, np.array(SIZES)[:, None] ** 2
        noise = done.scores - done.scores.mean(axis=0) - fitted(blocks, fit.effect, done.paths)
        for i, (g, h) in enumerate(self.pairs):
            pair, b = done.paths[:, g] * self.mdp.n_arcs + done.paths[:, h], blocks.of[h]
            _, cell, plays = np.unique(pair, return_inverse=True, return_counts=True)
            most = np.argsort(-plays, kind="stable")[:MOST_CELLS]
            rank = np.full(len(plays), -1)
            rank[most] = np.arange(len(most))
            kept = np.flatnonzero(rank[cell] >= 0)
            cell = rank[cell[kept]]
            shared = np.zeros((self.mdp.n_arcs, len(most)))  # X^T Z
            for stage in range(blocks.first[b], blocks.first[b + 1]):
                np.add.at(shared, (done.paths[kept, stage], cell), 1 / blocks.unit[b])
            values, axes = np.linalg.eigh(np.diag(plays[most]) - shared.T @ (fit.spread @ shared))
            seen = np.bincount(cell, noise[kept, b], len(most)) / self.sigma
            along, values = (axes.T @ seen) ** 2, np.maximum(values, 0.0)
            self.logs[i] += 0.5 * (along * k / (1 + k * values) - np.log1p(k * values)).sum(axis=1)

    def finding(self) -> Finding | None:
        """Return what contradicts the additive model, if anything does."""
        if not self.pairs:
            return None
        each = np.logaddexp.reduce(self.logs, axis=1) - np.log(len(SIZES))
        p_value = float(np.exp(-max(np.logaddexp.reduce(each) - np.log(len(each)), 0.0)))
        if p_value > REPORT_P:
            return None
        first, second = (step_in_words(self.mdp, stage) for stage in self.pairs[int(np.argmax(each))])
        seen = SIZES[int(np.argmax(self.logs[int(np.argmax(each))]))] * self.sigma * float(self.blocks.unit.max())
        text = f"{first} and {second} interact: their effects do not add up (typically by {seen:.2g}, {odds(p_value)})"
        certain = "does" if p_value < SURE else "may"
        return Finding(
            "dependence",
            f"at {second}",
            0.0,
            seen,
            p_value,
            f"{text}, or the noise is larger than declared; declare what depends on what: the certificate {certain} "
            f"not hold",
        )
