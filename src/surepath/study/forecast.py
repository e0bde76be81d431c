"""What further trials would bring: a guess by simulation from what is known, never a promise.

Worlds are drawn from the evidence: the mean of an arc that was seen n times is normal around its empirical mean with
variance sigma^2 / n; means of arcs that were never seen are drawn widely around those that were. In every world a copy
of the learner goes on with simulated scores. Nothing of it touches the proof.

The worlds are drawn by the log's hash, and how far they are played is counted in trials, not in seconds: the same log
gives the same forecast, however busy the machine is. The clock, of this thread's own work, is there for large graphs.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import thread_time as clock
from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._checks import whole
from surepath._types import FloatArray
from surepath.learners.base import Learner
from surepath.learners.challenger import Challenger
from surepath.learners.challenger import state as at
from surepath.learners.per_arc.learner import RuleLearner
from surepath.learners.proven import proven_gap
from surepath.model.instance import Instance
from surepath.model.mdp import MDP
from surepath.model.rewards import Bounded, Gaussian
from surepath.study.forecast_run import Run, new_run

if TYPE_CHECKING:
    from surepath.study.study import Study

SECONDS = 10.0  # of work; far more than WORK takes on all but large graphs
WORK = {"step by step": 60_000, "learned": 400_000, "compiled": 2_000_000}  # simulated trials times arcs
MOST_BYTES = 200_000_000  # of copies of the evidence
GROUP = 8  # worlds that are played to their end side by side
LOW, MIDDLE, HIGH = 0.1, 0.5, 0.9


@dataclass(frozen=True)
class Forecast:
    """What may come; `str()` gives it in words.

    Attributes:
        done: Whether the study is done already.
        trials: Trials so far, those that count.
        certified_gap: What is proven now.
        more: The further trials that `gaps` are about.
        left: In each world played to its end, trials until done; infinite where time ran out before.
        played: In each of them, how many trials were simulated.
        gaps: In each world, the certified gap after `more` trials, or at the stop if that comes first.
        cut: Whether time ran out before all worlds were done.
        wanted: How many worlds were asked for.
    """

    done: bool
    trials: int
    certified_gap: float
    more: int
    left: tuple[float, ...]
    played: tuple[int, ...]
    gaps: tuple[float, ...]
    cut: bool
    wanted: int

    def trials_left(self, share: float = MIDDLE) -> float:
        """Trials until done that this share of the worlds needs at most; infinite where a cut hides it."""
        found = _quantile(self.left, share)
        return found if found <= self._cut_after() else float("inf")

    def _cut_after(self) -> float:
        """Return the trials after which the first world was cut short; infinite where none was."""
        return float(min((n for n, left in zip(self.played, self.left) if np.isinf(left)), default=np.inf))

    def gap_after(self, share: float = MIDDLE) -> float:
        """Certified gap after `more` trials that this share of the worlds has at most."""
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
            "worlds": len(self.left),
            "cut": self.cut,
        }

    def __str__(self) -> str:
        if self.done:
            return f"the study is done after {self.trials} trials: nothing more is needed"
        if not self.left:
            return "no forecast: there was no time to simulate a single world"
        words = [self._trials_in_words(), self._gap_in_words()]
        said = f"simulated from what is known now, in {len(self.gaps)} worlds"
        return "; ".join(words) + f"; {said}" + (", some cut short for time" if self.cut else "")

    def _trials_in_words(self) -> str:
        low, middle, high = (self.trials_left(share) for share in (LOW, MIDDLE, HIGH))
        if np.isinf(middle):
            return f"more than {self._cut_after():,.0f} further trials until done in most worlds"
        most = f"{high:,.0f}" if np.isfinite(high) else f"over {self._cut_after():,.0f}"
        return f"about {middle:,.0f} more trials until done (in 8 worlds of 10: {low:,.0f} to {most})"

    def _gap_in_words(self) -> str:
        low, middle, high = (self.gap_after(share) for share in (LOW, MIDDLE, HIGH))
        if np.isinf(middle):
            return f"{self.more} more trials would prove nothing yet in most worlds"
        before = f"from {self.certified_gap:.3g}" if np.isfinite(self.certified_gap) else "from nothing"
        most = f"{high:.3g}" if np.isfinite(high) else "nothing"
        spread = f"{low:.3g} to {most}"
        return f"{self.more} more trials would bring the certified gap {before} to about {middle:.3g} ({spread})"


def _quantile(values: tuple[float, ...], share: float) -> float:
    if not values:
        return float("inf")
    return float(np.sort(values)[min(len(values) - 1, int(share * len(values)))])


def forecast(study: Study, more: int = 50, draws: int = 32, seed: int = 0, seconds: float = SECONDS) -> Forecast:
    """Simulate how a study may go on, with at most about `seconds` of work."""
    more, draws = whole("more", more, low=1), whole("draws", draws, low=1)
    learner = study.learner
    gap = proven_gap(learner)
    trials = int(learner.episodes)
    if learner.stopped:
        return Forecast(True, trials, gap, more, (), (), (), False, draws)
    end, room = clock() + seconds, _room(learner)
    size = sum(value.nbytes for value in learner._evidence().values() if isinstance(value, np.ndarray))
    children = np.random.SeedSequence([seed, int(study._fold.digest[:16], 16)]).spawn(
        min(draws, max(2, MOST_BYTES // max(1, 2 * size)))
    )
    runs: list[Run] = []
    gaps: list[float] = []
    for child in children:
        rng = np.random.default_rng(child)
        run = new_run(learner, _world(study.mdp, learner, rng), rng)
        run.go(more, end)
        room -= run.played
        if runs and clock() > end and run.played < more and not run.done:
            break  # the last world has not come far enough to count
        runs.append(run)
        gaps.append(run.gap())
        if clock() > end or room <= 0:
            break
    left, played = _to_the_end(runs, more, end, room)
    cut = len(runs) < draws or len(left) < len(runs) or bool(np.isinf(left).any())
    return Forecast(False, trials, gap, more, tuple(left), tuple(played), tuple(gaps), cut, draws)


def _to_the_end(runs: list[Run], more: int, end: float, room: int) -> tuple[list[float], list[int]]:
    """Play worlds until they are done, a few side by side, and the next few when those are done and time is left."""
    left: list[float] = []
    played: list[int] = []
    for first in range(0, len(runs), GROUP):
        group, goal = runs[first : first + GROUP], 2 * more
        if first > 0 and (clock() > end or room <= 0):
            break
        while clock() < end and not all(run.done for run in group):
            ahead = sum(goal - run.played for run in group if not run.done)
            if ahead > room:  # all are cut after the same trials
                room = 0
                break
            for run in group:
                before = run.played
                run.go(goal, end)
                room -= run.played - before
            goal *= 2
        left += [float(run.played) if run.done else float("inf") for run in group]
        played += [run.played for run in group]
    return left, played


def _room(learner: Learner) -> int:
    """Return how many trials are simulated in all worlds together."""
    kind = "step by step"
    if type(learner) is Challenger:
        kind = "compiled" if learner.pairs.learned is None else "learned"
    return max(1_000, WORK[kind] // learner.mdp.n_arcs)


def _world(mdp: MDP, learner: Learner, rng: np.random.Generator) -> Instance:
    """Draw a world: means of all arcs, in the user's direction, and noise as declared."""
    visits, sigma = learner.visits, _noise(learner)
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
    return Instance(mdp, Bounded(low, high, inside, concentration=concentration))


def _noise(learner: Learner) -> FloatArray:
    """Return the noise to simulate: as declared, or as it looks where the learner finds it out by itself."""
    if isinstance(learner, Challenger) and learner.settings()["sigma"] == "unknown":
        squares, count = learner._seen.memo[at.RSS], learner._seen.memo[at.SQUARES]
        return np.asarray(learner.sigma * np.sqrt(squares / count if count > 0 else 1.0))
    if isinstance(learner, Challenger) and learner.pairs.learned is not None:
        seen = learner.pairs.learned.learns & (learner.visits > 0)
        return np.asarray(np.where(seen, np.sqrt(learner._work.variance), learner.sigma))
    return learner.noise_now() if isinstance(learner, RuleLearner) else learner.sigma


def _unseen(mdp: MDP, known: FloatArray, sigma: FloatArray, unseen: Any, rng: np.random.Generator) -> FloatArray:
    """Draw means for arcs without any score: over the declared range, or widely around the others."""
    size = int(unseen.sum())
    if mdp.reward_range is not None:
        low, high = (bound[unseen] for bound in mdp.reward_range)
        return np.asarray(low + (high - low) * rng.random(size))
    centre, spread = (float(known.mean()), float(known.std())) if known.size else (0.0, 0.0)
    return np.asarray(centre + (2.0 * spread + float(sigma.max()) or 1.0) * rng.standard_normal(size))
