"""Simulated futures of a study: a copy of the learner goes on in each of several worlds, as far as work and time allow.

How far the worlds are played is counted in trials, not in seconds: the same log gives the same forecast, however busy
the machine is. The clock, of this thread's own work, is there for large graphs.
"""

from __future__ import annotations

from time import thread_time as clock
from typing import TYPE_CHECKING

import numpy as np

from surepath._checks import whole
from surepath.learners.challenger import Challenger
from surepath.learners.proven import proven_gap
from surepath.study.forecast.result import Forecast
from surepath.study.forecast.run import Run
from surepath.study.forecast.worlds import draw_world

if TYPE_CHECKING:
    from surepath.study.study import Study

SECONDS = 10.0  # of work; far more than SIMULATED_WORK takes on all but large graphs
SIMULATED_WORK = {"learned": 400_000, "compiled": 2_000_000}  # simulated trials times arcs
MOST_BYTES = 200_000_000  # of copies of the evidence
GROUP = 8  # worlds that are played to their end side by side


def forecast(study: Study, more: int = 50, draws: int = 32, seed: int = 0, seconds: float = SECONDS) -> Forecast:
    """Simulate how a study may go on, with at most about `seconds` of work."""
    more, draws = whole("more", more, low=1), whole("draws", draws, low=1)
    learner = study.learner
    gap = proven_gap(learner)
    trials = int(learner.episodes)
    if learner.stopped:
        return Forecast(True, trials, gap, more, (), (), (), False, draws)
    end, budget = clock() + seconds, _trial_budget(learner)
    size = sum(value.nbytes for value in learner._evidence().values() if isinstance(value, np.ndarray))
    children = np.random.SeedSequence([seed, int(study._fold.digest[:16], 16)]).spawn(
        min(draws, max(2, MOST_BYTES // max(1, 2 * size)))
    )
    runs: list[Run] = []
    gaps: list[float] = []
    for child in children:
        rng = np.random.default_rng(child)
        run = Run(learner, draw_world(study.mdp, learner, rng), rng)
        run.go(more, end)
        budget -= run.played
        if runs and clock() > end and run.played < more and not run.done:
            break  # the last world was not played far enough to count
        runs.append(run)
        gaps.append(run.gap())
        if clock() > end or budget <= 0:
            break
    left, played = _to_the_end(runs, more, end, budget)
    cut = len(runs) < draws or len(left) < len(runs) or bool(np.isinf(left).any())
    return Forecast(False, trials, gap, more, tuple(left), tuple(played), tuple(gaps), cut, draws)


def _to_the_end(runs: list[Run], more: int, end: float, budget: int) -> tuple[list[float], list[int]]:
    """Play worlds until they are done, a few side by side, and the next few when those are done and time is left."""
    left: list[float] = []
    played: list[int] = []
    for first in range(0, len(runs), GROUP):
        group, goal = runs[first : first + GROUP], 2 * more
        if first > 0 and (clock() > end or budget <= 0):
            break
        while clock() < end and not all(run.done for run in group):
            ahead = sum(goal - run.played for run in group if not run.done)
            if ahead > budget:  # all are cut after the same trials
                budget = 0
                break
            for run in group:
                before = run.played
                run.go(goal, end)
                budget -= run.played - before
            goal *= 2
        left += [float(run.played) if run.done else float("inf") for run in group]
        played += [run.played for run in group]
    return left, played


def _trial_budget(learner: Challenger) -> int:
    """Return how many trials are simulated in all worlds together."""
    kind = "compiled" if learner.pairs.learned is None else "learned"
    return max(1_000, SIMULATED_WORK[kind] // learner.mdp.n_arcs)
