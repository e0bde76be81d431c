"""How many trials to expect before the first one: learners simulated in worlds on the problem's graph (`worlds.py`).

Real problems are not drawn like that, so this is a guess; what it is sure of is the arithmetic. Worlds with many nearly
best plans need more trials when epsilon is small, worlds with one outstanding plan fewer. Two questions are answered by
one curve: how many trials an epsilon takes, and which epsilon a number of trials buys.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import real, whole
from surepath._types import BoolArray, FloatArray, IntArray
from surepath.learners.cancellation import Cancelled, cancelled_by
from surepath.model.instance import Instance
from surepath.model.mdp import MDP
from surepath.model.paths import best_path
from surepath.simulation.results import Results
from surepath.simulation.simulate import simulate
from surepath.simulation.worlds import Worlds, worlds_of

SPECS: dict[str, dict[str, Any]] = {
    "Challenger": {"name": "Challenger"},
    "EPRL": {"name": "EPRL", "sampling": "max-diameter", "elimination": "both"},
}
WORST_NOISE = "Challenger, worst noise"  # as much as a declared range allows
CURVE_WORLDS = 10  # of the curve over epsilon, at most
CURVE_POINTS = 8


@dataclass(frozen=True, eq=False)
class Estimate:
    """Trials to stop in each simulated world.

    Attributes:
        trials: Of each learner, int [worlds played]; where `censored`, how many it was seen to take at least. A
            learner that had no time for any world is left out.
        censored: Of each learner, bool of the same shape: the budget or the time ended the run.
        worlds: The worlds it was simulated in.
        curve: (epsilon, median, 10 %, 90 % of Challenger's trials), the largest epsilon first.
        settings: Everything that makes the same estimate again.
    """

    trials: dict[str, IntArray]
    censored: dict[str, BoolArray]
    worlds: Worlds
    curve: list[tuple[float, float, float, float]]
    settings: dict[str, Any]

    def quantile(self, learner: str, share: float) -> float:
        """Return the trials that this share of the worlds does not exceed; infinite where a cut hides it."""
        found = np.where(self.censored[learner], np.inf, self.trials[learner].astype(np.float64))
        return float(np.quantile(found, share, method="higher"))

    def epsilon_for(self, trials: float) -> float | None:
        """Return the epsilon that half the worlds reach within so many trials; None where the curve does not say."""
        points = sorted((median, epsilon) for epsilon, median, _, _ in self.curve if np.isfinite(median) and median > 0)
        if len(points) < 2 or not points[0][0] <= trials:
            return None
        cost, epsilon = np.log(np.array(points)).T
        return float(np.exp(np.interp(np.log(trials), cost, epsilon)))

    def at_least(self, learner: str, share: float) -> int:
        """Return a lower bound on `quantile` where that is hidden."""
        return int(np.quantile(self.trials[learner], share, method="higher"))


def estimate(
    mdp: MDP,
    epsilon: float,
    delta: float,
    sigma: ArrayLike | None = None,
    *,
    spread: tuple[float, float] | None = None,
    ties: float = 0.0,
    scatter: float | None = None,
    instance: Instance | None = None,
    worlds: int = 20,
    seed: int = 0,
    budget: int = 2_000_000,
    seconds: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Estimate:
    """Simulate Challenger and EPRL once in each of several worlds, and Challenger for larger and smaller epsilons too.

    Challenger plays a path several times before planning again here, which is quicker and costs it a few per cent.

    Args:
        mdp: The layered graph.
        epsilon: How far from the best the answer may be.
        delta: Allowed probability of a wrong answer.
        sigma: Sub-Gaussian factor; by default what the MDP declares (half of a declared range), else 1.
        spread: Least and largest mean of an arc; by default the declared range of its rewards, else 0 to 1.
        ties: Share of the options of each state that are as good as its best one.
        scatter: Standard deviation of scores in a declared range without sigma, whose noise the learners then learn as
            in real trials; by default that of the instance's law, else a fifth of the range. The worst case, half the
            range and Gaussian, is played too.
        instance: A world of the problem's own, used in place of drawn ones unless spread or ties is given.
        worlds: How many worlds are drawn.
        seed: World i draws from the child i of SeedSequence(seed).
        budget: Trials after which a run is cut.
        seconds: Time after which no further world is played, compilation not counted, and the current one is cut; then
            the answer depends on the machine. By default there is no limit.
        progress: Called with (worlds done, worlds) after each.

    Example:
        >>> from surepath import families
        >>> guess = estimate(families.chain(3, 2).mdp, 0.3, 0.1, 0.1, worlds=5)
        >>> guess.quantile("Challenger", 0.5) < guess.quantile("EPRL", 0.5)
        True
    """
    drawn = worlds_of(mdp, sigma, spread, ties, instance, seed, scatter)
    worlds, seed, noise = whole("worlds", worlds, low=1, high=1_000_000), drawn.seed, drawn.sigma
    budget = whole("budget", budget, low=1)
    learns = drawn.learns
    players = {name: (spec, drawn) for name, spec in SPECS.items()}
    if learns:
        players[WORST_NOISE] = (SPECS["Challenger"], drawn.worst)
    trials: dict[str, list[int]] = {name: [] for name in players}
    censored: dict[str, list[bool]] = {name: [] for name in players}

    def play(name: str, i: int, aim: float, most: int) -> Results:
        spec, where = players[name]
        given = None if learns and name != WORST_NOISE else noise
        return simulate(
            {**spec, "delta": delta, "sigma": given}, where[i], 1, seed, [aim], workers=1, budget=most, first_run=i
        )

    if seconds is not None:
        seconds = real("seconds", seconds)
        for name in players:
            play(name, 0, epsilon, 1)  # compiled before the clock starts
    halt = threading.Event()
    with _time_limit(halt, seconds):
        for i in range(worlds):
            for name in players:
                if halt.is_set() and trials["Challenger"]:
                    break
                first = budget if seconds is None else 1
                tau, cut = _trials_seen(partial(play, name, i, epsilon), first, budget)
                trials[name].append(tau)
                censored[name].append(cut)
            if halt.is_set():
                break
            if progress is not None:
                progress(i + 1, worlds)
        points: dict[float, list[float]] = {}
        for aim in curve_epsilons(drawn, epsilon):
            if aim == epsilon:  # the runs above
                seen = zip(trials["Challenger"], censored["Challenger"])
                points[aim] = [np.inf if cut else tau for tau, cut in seen]
                continue
            for i in range(min(worlds, CURVE_WORLDS)):
                if halt.is_set():
                    break
                tau, cut = _trials_seen(partial(play, "Challenger", i, aim), budget, budget)
                if not halt.is_set():
                    points.setdefault(aim, []).append(np.inf if cut else tau)
    curve = [(aim, *np.quantile(taus, (0.5, 0.1, 0.9), method="higher").tolist()) for aim, taus in points.items()]
    about = {
        "epsilon": float(epsilon),
        "delta": float(delta),
        "sigma": [float(noise[~mdp.is_known].min(initial=np.inf)), float(noise[~mdp.is_known].max(initial=0.0))],
        "learned": learns,
        "own_law": drawn.instance is not None,
        "scatter": None if drawn.scatter is None else _ends(drawn.scatter),
        "scatter_given": scatter is not None,
        "worlds": worlds,
        "seed": seed,
        "budget": budget,
        "seconds": seconds,
        "out_of_time": halt.is_set(),
        "learners": SPECS,
    }
    played = [name for name in players if trials[name]]
    return Estimate(
        {name: np.array(trials[name], dtype=np.int64) for name in played},
        {name: np.array(censored[name], dtype=np.bool_) for name in played},
        drawn,
        curve,
        about,
    )


def _ends(values: FloatArray) -> list[float]:
    return [float(np.nanmin(values)), float(np.nanmax(values))]


def curve_epsilons(drawn: Worlds, epsilon: float) -> list[float]:
    """Choose the epsilons of the curve: from half the spread of the first world's returns down to half of epsilon."""
    first = drawn[0]
    values = first.gains
    worst = -float(largest_return(first.mdp, -values))
    wide = 0.5 * (float(largest_return(first.mdp, values)) - worst)
    least = epsilon / 2 if epsilon > 0 else wide / 64
    if not wide > least > 0:
        return [epsilon] if epsilon > 0 else []
    aims = {float(aim) for aim in np.geomspace(least, wide, CURVE_POINTS - 1)} | ({epsilon} if epsilon > 0 else set())
    return sorted(aims, reverse=True)


def largest_return(mdp: MDP, weight: FloatArray) -> float:
    """Return the largest sum of weights that a path has."""
    return float(weight[best_path(mdp, weight)].sum())


@contextlib.contextmanager
def _time_limit(halt: threading.Event, seconds: float | None) -> Iterator[None]:
    """Cancel what this thread simulates once the time is over."""
    if seconds is None:
        yield
        return
    timer = threading.Timer(max(0.0, seconds), halt.set)
    timer.daemon = True
    timer.start()
    try:
        with cancelled_by(halt):
            yield
    finally:
        timer.cancel()


def _trials_seen(play: Callable[[int], Results], most: int, budget: int) -> tuple[int, bool]:
    """Count the trials of a run, and return whether it was cut by the budget or cancelled.

    A run that is cancelled leaves no record, so where that may happen it starts with a single trial and is played
    again four times as far, and so on: what the last whole one saw is then known.
    """
    seen = 0
    with contextlib.suppress(Cancelled):
        while seen < budget:
            found = play(most)
            if not found.censored[0]:
                return int(found.tau[0]), False
            seen, most = most, min(4 * most, budget)
    return seen, True
