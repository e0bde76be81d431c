"""Forecast how many more trials a study needs, by runs in worlds that its data allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from time import thread_time as clock
from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._checks import FloatArray, rounded_up, whole
from surepath.kernels.sweeps import reality_of
from surepath.learners.base import proven_gap
from surepath.learners.challenger.learner import Challenger, gap_now, play_on
from surepath.learners.rounds.design import fitted
from surepath.learners.rounds.learner import Rounds
from surepath.model.mdp import MDP
from surepath.model.worlds import Bounded, Gaussian, Instance
from surepath.study.fold import money
from surepath.study.rounds import StudyRounds

if TYPE_CHECKING:
    from surepath.study.study import Study


LOW, MIDDLE, HIGH = 0.1, 0.5, 0.9  # shares of the worlds


@dataclass(frozen=True)
class Forecast:
    """Trials until done and the gap after further ones, over simulated worlds; `str()` gives it in words."""

    done: bool  #: Whether the study is done already.
    trials: int  #: Trials so far, those that count.
    certified_gap: float  #: What is proven now.
    more: int  #: The further trials that `gaps` are about.
    left: tuple[float, ...]  #: In each world played to its end, trials until done; infinite where time ran out before.
    played: tuple[int, ...]  #: In each of them, how many trials were simulated.
    gaps: tuple[float, ...]  #: In each world, the certified gap after `more` trials, or at the stop if that is earlier.
    cut: bool  #: Whether time ran out before all worlds were done.
    price: float | None = None  #: What a trial has cost on average, as told or declared; None where nothing costs.

    def trials_left(self, share: float = MIDDLE) -> float:
        """Return the trials until done that this share of the worlds needs at most; infinite where a cut hides it."""
        found = _quantile(self.left, share)
        return found if found <= self._cut_after() else float("inf")

    def _cut_after(self) -> float:
        """Return the trials after which the first world was cut short; infinite where none was."""
        return float(min((n for n, left in zip(self.played, self.left) if np.isinf(left)), default=np.inf))

    def gap_after(self, share: float = MIDDLE) -> float:
        """Return the certified gap after `more` trials that this share of the worlds has at most."""
        return _quantile(self.gaps, share)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        shares = (("low", LOW), ("median", MIDDLE), ("high", HIGH))
        return {
            "done": self.done,
            "trials": self.trials,
            "certified_gap": self.certified_gap,
            "trials_left": {name: self.trials_left(share) for name, share in shares},
            "more": self.more,
            "gap_after_more": {name: self.gap_after(share) for name, share in shares},
            "cost_left": {} if self.price is None else {name: self.price * self.trials_left(q) for name, q in shares},
            "worlds": len(self.left),
            "cut": self.cut,
        }

    def __str__(self) -> str:
        if self.done:
            return f"the study is done after {self.trials} trials: nothing more is needed"
        if not self.left:
            return "no forecast: no round is complete, or there was no time to simulate a single world"
        words = [self._trials_in_words()]
        words += [self._gap_in_words()] if self.trials_left(HIGH) > self.more else []
        said = f"simulated from what is known now, in {len(self.gaps)} worlds"
        return "; ".join(words) + f"; {said}" + (", some cut short for time" if self.cut else "")

    def _trials_in_words(self) -> str:
        low, middle, high = (self.trials_left(share) for share in (LOW, MIDDLE, HIGH))
        if np.isinf(middle):
            return f"more than {self._cut_after():,.0f} further trials until done in most worlds"
        most = f"{high:,.0f}" if np.isfinite(high) else f"over {self._cut_after():,.0f}"
        words = f"about {middle:,.0f} more trials until done (in 8 worlds of 10: {low:,.0f} to {most})"
        if self.price is None:
            return words
        most = money(self.price * high) if np.isfinite(high) else f"over {money(self.price * self._cut_after())}"
        return f"{words}, which cost about {money(self.price * middle)} ({money(self.price * low)} to {most})"

    def _gap_in_words(self) -> str:
        low, middle, high = (self.gap_after(share) for share in (LOW, MIDDLE, HIGH))
        if np.isinf(middle):
            return f"{self.more} more trials would prove nothing yet in most worlds"
        before = f"from {rounded_up(self.certified_gap)}" if np.isfinite(self.certified_gap) else "from nothing"
        most = f"{high:.3g}" if np.isfinite(high) else "nothing"
        spread = f"{low:.3g} to {most}"
        return f"{self.more} more trials would bring the proven gap {before} to about {middle:.3g} ({spread})"


def _quantile(values: tuple[float, ...], share: float) -> float:
    if not values:
        return float("inf")
    return float(np.sort(values)[min(len(values) - 1, int(share * len(values)))])


# Worlds ---------------------------------------------------------------------------------------------------------------
# The mean of an arc that was seen n times is normal around its empirical mean with variance sigma^2 / n; means of arcs
# that were never seen are drawn widely around those that were.


def draw_world(mdp: MDP, learner: Challenger, rng: np.random.Generator) -> Instance:
    """Draw a world: means of all arcs, in the user's direction, and noise as declared."""
    visits, sigma = learner.visits, learner.noise_now()
    mean = np.where(np.isnan(learner.means), 0.0, learner.means)
    if mdp.charge is not None:  # from worths back to scores
        mean = np.where(np.isnan(learner.means), 0.0, learner.means + mdp.sign * mdp.charge)
    seen = (visits > 0) & ~mdp.is_known
    drawn = mean + np.where(seen, sigma / np.sqrt(np.maximum(visits, 1)), 0.0) * rng.standard_normal(mdp.n_arcs)
    unseen = ~seen & ~mdp.is_known
    if unseen.any():
        drawn[unseen] = _unseen(mdp, mean[seen], sigma, unseen, rng)
    if mdp.reward_range is None:
        return Instance(mdp, Gaussian(drawn, np.where(mdp.is_known, 1.0, sigma)))
    low, high = mdp.reward_range
    inside = np.where(mdp.is_known, mean, np.clip(drawn, low, high))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (inside - low) * (high - inside) / sigma**2 - 1.0
    steady = ratio[np.isfinite(ratio) & seen]
    concentration = float(np.clip(np.median(steady), 0.5, 1e4)) if steady.size else 4.0
    half = np.where(mdp.is_known, 0.0, sigma * np.sqrt(concentration + 1.0))  # where no range is declared: the beta
    low = np.where(np.isfinite(low), low, inside - half)  # law whose standard deviation is sigma
    high = np.where(np.isfinite(high), high, inside + half)
    return Instance(mdp, Bounded(low, high, inside, concentration=concentration))


def _unseen(mdp: MDP, known: FloatArray, sigma: FloatArray, unseen: Any, rng: np.random.Generator) -> FloatArray:
    """Draw means for arcs without any score: over the declared range, or widely around the others."""
    size = int(unseen.sum())
    low, high = (np.full(mdp.n_arcs, np.inf),) * 2 if mdp.reward_range is None else mdp.reward_range
    bounded = np.isfinite(low[unseen]) & np.isfinite(high[unseen])
    drawn = np.empty(size)
    low, high = low[unseen][bounded], high[unseen][bounded]
    drawn[bounded] = low + (high - low) * rng.random(low.size)
    if not bounded.all():
        centre, spread = (float(known.mean()), float(known.std())) if known.size else (0.0, 0.0)
        width = 2.0 * spread + float(sigma.max()) or 1.0
        drawn[~bounded] = centre + width * rng.standard_normal(size - low.size)
    return drawn


# One future: Challenger's compiled loop, continued from a copy of the evidence ---------------------------------------

CLOCK_STRETCH = 20_000  # arcs times trials between two readings of the clock


class Run:
    """A copy of a learner that goes on in a simulated world: `played` trials so far, until it is `done`."""

    def __init__(self, learner: Challenger, world: Instance, rng: np.random.Generator) -> None:
        self.learner = deepcopy(learner, {id(part): part for part in (learner.mdp, learner.graph)})
        self.world, self.reality, self.rng = world, reality_of(world), rng
        self.start, self.played, self.done = int(learner.episodes), 0, False

    def go(self, trials: int, over: Callable[[], bool]) -> None:
        """Play until there are so many trials, it is done, or the time is over."""
        own = self.learner
        while self.played < trials and not self.done and not over():
            goal = min(trials, self.played + max(1, CLOCK_STRETCH // own.mdp.n_arcs))
            episodes, self.done = play_on(own, self.reality, self.rng, self.start + goal)
            self.played = episodes - self.start
            if not self.done and self.played < goal:
                return

    def gap(self) -> float:
        """Return the certified gap now."""
        gap = gap_now(self.learner)
        return max(0.0, min(gap, self.learner.epsilon) if self.done else gap)


class RoundsRun:
    """A copy of a learner in rounds that goes on in a world drawn from what its rounds say; see `Run`."""

    def __init__(self, learner: StudyRounds, rng: np.random.Generator) -> None:
        self.learner, self.rng, self.played, self.done = deepcopy(learner), rng, 0, False
        fits, history = learner._fits, learner._history
        plays, last = sum(fit.n for fit in fits), fits[-1]
        self.scatter = 1.0
        if learner.noise != "sigma":
            self.scatter = float(np.sqrt(sum(fit.rss for fit in fits) / max(1, sum(fit.free for fit in fits))))
        value, vector = np.linalg.eigh(last.spread * last.n / plays)
        drawn = vector @ (np.sqrt(np.maximum(value, 0.0)) * rng.standard_normal(len(value)))
        self.effect = sum(fit.n * fit.effect for fit in fits) / plays + self.scatter * drawn
        self.level = np.concatenate([done.scores for done in history]).mean(axis=0)

    def go(self, trials: int, over: Callable[[], bool]) -> None:
        """Play until there are so many trials, it is done, or `over` says so."""
        own, unit = self.learner, self.learner._blocks.unit
        while self.played < trials and not self.done and not over():
            plans = own.left(())[: trials - self.played]
            scores = self.level + fitted(own._blocks, self.effect, plans)
            scores = scores + self.scatter * self.rng.standard_normal(scores.shape)
            if own.noise == "range" and own._limits is not None:
                scores = np.clip(scores, 0, 1) + own._limits[0] / unit
            for path, gains in zip(plans, np.clip(scores * unit, *(own._limits or (-np.inf, np.inf)))):
                Rounds.tell(own, path, own.mdp.sign * gains)
            self.played, self.done = self.played + len(plans), bool(own.stopped)

    def gap(self) -> float:
        """Return the certified gap now."""
        return float(self.learner.certified_gap())


# Futures --------------------------------------------------------------------------------------------------------------
# How far the worlds are played is counted in trials, not in seconds: the same log gives the same forecast, however
# busy the machine is. The clock, of this thread's own work, is there for large graphs.

SECONDS = 10.0  # of work; far more than SIMULATED_WORK takes on all but large graphs
SIMULATED_WORK = {"learned": 400_000, "compiled": 2_000_000}  # simulated trials times arcs
MOST_BYTES = 200_000_000  # of copies of the evidence
GROUP = 8  # worlds that are played to their end side by side


def forecast(
    study: Study,
    more: int = 50,
    draws: int = 32,
    seed: int = 0,
    seconds: float = SECONDS,
    ended: Callable[[], bool] = lambda: False,
) -> Forecast:
    """Simulate how a study may go on, with at most about `seconds` of work, or until nobody waits: `ended()`."""
    more, draws = whole("more", more, low=1), whole("draws", draws, low=1)
    learner = study.learner
    gap = proven_gap(learner)
    trials = int(learner.episodes)
    if learner.stopped:
        return Forecast(True, trials, gap, more, (), (), (), False)
    end = clock() + seconds
    slow = not isinstance(learner, Challenger) or learner.pairs.learned is not None
    budget = max(1_000, SIMULATED_WORK["learned" if slow else "compiled"] // study.mdp.n_arcs)  # in all worlds
    spent, settled = study.spent, study.evidence_trials
    price = spent / settled if spent is not None and settled else None

    def over() -> bool:
        return clock() > end or ended()

    size = sum(value.nbytes for value in learner._evidence().values() if isinstance(value, np.ndarray))
    children = np.random.SeedSequence([seed, int(study._fold.digest[:16], 16)]).spawn(
        min(draws, max(2, MOST_BYTES // max(1, 2 * size)))
    )
    runs: list[Run | RoundsRun] = []
    gaps: list[float] = []
    for child in children:
        rng = np.random.default_rng(child)
        if isinstance(learner, StudyRounds) and not learner.kept:
            break  # nothing is known before the end of a round
        run = (
            RoundsRun(learner, rng)
            if isinstance(learner, StudyRounds)
            else Run(learner, draw_world(study.mdp, learner, rng), rng)
        )
        run.go(more, over)
        budget -= run.played
        if runs and over() and run.played < more and not run.done:
            break  # the last world was not played far enough to count
        runs.append(run)
        gaps.append(run.gap())
        if over() or budget <= 0:
            break
    left, played = _to_the_end(runs, more, over, budget)
    cut = len(runs) < draws or len(left) < len(runs) or bool(np.isinf(left).any())
    return Forecast(False, trials, gap, more, tuple(left), tuple(played), tuple(gaps), cut, price)


def _to_the_end(
    runs: Sequence[Run | RoundsRun], more: int, over: Callable[[], bool], budget: int
) -> tuple[list[float], list[int]]:
    """Play worlds until they are done, a few side by side, and the next few when those are done and time is left."""
    left: list[float] = []
    played: list[int] = []
    for first in range(0, len(runs), GROUP):
        group, goal = runs[first : first + GROUP], 2 * more
        if first > 0 and (over() or budget <= 0):
            break
        while not over() and not all(run.done for run in group):
            ahead = sum(goal - run.played for run in group if not run.done)
            if ahead > budget:  # all are cut after the same trials
                budget = 0
                break
            for run in group:
                before = run.played
                run.go(goal, over)
                budget -= run.played - before
            goal *= 2
        left += [float(run.played) if run.done else float("inf") for run in group]
        played += [run.played for run in group]
    return left, played
