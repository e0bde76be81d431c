"""How many trials to expect before the first one: learners simulated in worlds drawn on the problem's graph.

A world gives every arc a mean drawn uniformly from a range, and Gaussian noise of the given sigma. Real problems are
not drawn like that, so this is a guess; what it is sure of is the arithmetic. Worlds with many nearly best plans need
more trials when epsilon is small, worlds with one outstanding plan fewer.
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

from surepath._checks import check_sigma, real, seed_number, whole
from surepath._types import BoolArray, FloatArray, IntArray
from surepath.errors import SettingError
from surepath.learners.cancellation import Cancelled, cancelled_by
from surepath.learners.noise import declared_sigma
from surepath.model.instance import Instance
from surepath.model.mdp import MDP
from surepath.model.rewards import Gaussian
from surepath.simulation.results import Results
from surepath.simulation.simulate import simulate

SPECS: dict[str, dict[str, Any]] = {
    "Challenger": {"name": "Challenger", "repeat": 0.1},
    "EPRL": {"name": "EPRL", "sampling": "max-diameter", "elimination": "both"},
}
EPRL_WORLDS = 5  # it plays a hundred times more trials, and its number of trials varies little


@dataclass(frozen=True, eq=False)
class Estimate:
    """Trials to stop in each simulated world.

    Attributes:
        trials: Of each learner, int [worlds played], of EPRL in the first few only; where `censored`, how many it
            was seen to take at least. A learner that had no time for any world is left out.
        censored: Of each learner, bool of the same shape: the budget or the time ended the run.
        low, high: Range of each arc's means, float [N].
        settings: Everything that makes the same estimate again.
    """

    trials: dict[str, IntArray]
    censored: dict[str, BoolArray]
    low: FloatArray
    high: FloatArray
    settings: dict[str, Any]

    def quantile(self, learner: str, share: float) -> float:
        """Trials that this share of the worlds does not exceed; infinite where a cut hides it."""
        found = np.where(self.censored[learner], np.inf, self.trials[learner].astype(np.float64))
        return float(np.quantile(found, share, method="higher"))

    def at_least(self, learner: str, share: float) -> int:
        """A lower bound on `quantile` where that is hidden."""
        return int(np.quantile(self.trials[learner], share, method="higher"))


def estimate(
    mdp: MDP,
    epsilon: float,
    delta: float,
    sigma: ArrayLike | None = None,
    *,
    spread: tuple[float, float] | None = None,
    worlds: int = 20,
    seed: int = 0,
    budget: int = 2_000_000,
    seconds: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Estimate:
    """Simulate Challenger once in each of several drawn worlds, and EPRL in the first few.

    Challenger plays a path several times before planning again here, which is quicker and costs it a few per cent.

    Args:
        mdp: The layered graph.
        epsilon: How far from the best the answer may be.
        delta: Allowed probability of a wrong answer.
        sigma: Sub-Gaussian factor; by default what the MDP declares (half of a declared range), else 1.
        spread: Least and largest mean of an arc; by default the declared range of its rewards, else 0 to 1.
        worlds: How many worlds are drawn.
        seed: World i draws from the child i of SeedSequence(seed).
        budget: Trials after which a run is cut.
        seconds: Time after which no further world is played, compilation not counted, and the one in hand is cut; then
            the answer depends on the machine. By default there is no limit.
        progress: Called with (worlds done, worlds) after each.

    Example:
        >>> from surepath import families
        >>> guess = estimate(families.chain(3, 2).mdp, 0.3, 0.1, 0.1, worlds=5)
        >>> guess.quantile("Challenger", 0.5) < guess.quantile("EPRL", 0.5)
        True
    """
    if not isinstance(mdp, MDP):
        raise SettingError(f"an estimate needs an MDP, not {type(mdp).__name__}; take instance.mdp of an Instance")
    worlds, seed = whole("worlds", worlds, low=1, high=1_000_000), seed_number(seed)
    low, high = _range(mdp, spread)
    if sigma is None:
        sigma = declared_sigma(mdp, "an estimate")
    noise = check_sigma(sigma, mdp.n_arcs)
    budget = whole("budget", budget, low=1)
    trials: dict[str, list[int]] = {name: [] for name in SPECS}
    censored: dict[str, list[bool]] = {name: [] for name in SPECS}

    def world(i: int) -> Instance:
        rng = np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=(i,)))
        return Instance(mdp, Gaussian(rng.uniform(low, high), noise))

    def play(name: str, where: Instance, i: int, most: int) -> Results:
        spec = {**SPECS[name], "delta": delta, "sigma": noise}
        return simulate(spec, where, 1, seed, [epsilon], workers=1, budget=most, first_run=i)

    if seconds is not None:
        seconds = real("seconds", seconds)
        for name in SPECS:
            play(name, world(0), 0, 1)  # compiled before the clock starts
    halt = threading.Event()
    with _time_limit(halt, seconds):
        for i in range(worlds):
            here = world(i)
            for name in SPECS if i < EPRL_WORLDS else ("Challenger",):
                if halt.is_set() and trials["Challenger"]:
                    break
                tau, cut = _by_and_by(partial(play, name, here, i), budget if seconds is None else 1, budget)
                trials[name].append(tau)
                censored[name].append(cut)
            if halt.is_set():
                break
            if progress is not None:
                progress(i + 1, worlds)
    about = {
        "epsilon": float(epsilon),
        "delta": float(delta),
        "sigma": [float(noise[~mdp.is_known].min(initial=np.inf)), float(noise[~mdp.is_known].max(initial=0.0))],
        "worlds": worlds,
        "seed": seed,
        "budget": budget,
        "seconds": seconds,
        "out_of_time": halt.is_set(),
        "learners": SPECS,
    }
    played = [name for name in SPECS if trials[name]]
    return Estimate(
        {name: np.array(trials[name], dtype=np.int64) for name in played},
        {name: np.array(censored[name], dtype=np.bool_) for name in played},
        low,
        high,
        about,
    )


@contextlib.contextmanager
def _time_limit(halt: threading.Event, seconds: float | None) -> Iterator[None]:
    """Call off what this thread simulates once the time is over."""
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


def _by_and_by(play: Callable[[int], Results], most: int, budget: int) -> tuple[int, bool]:
    """Trials of a run, and whether it was cut by the budget or called off.

    A run that is called off leaves no record, so where that may happen it starts with a single trial and is played
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


def _range(mdp: MDP, spread: tuple[float, float] | None) -> tuple[FloatArray, FloatArray]:
    """Least and largest mean of every arc."""
    if spread is not None:
        least, most = real("spread", spread[0]), real("spread", spread[1])
        if not least < most:
            raise SettingError(f"spread goes from the least mean to the largest, not from {least:g} to {most:g}")
        return np.full(mdp.n_arcs, least), np.full(mdp.n_arcs, most)
    low, high = np.zeros(mdp.n_arcs), np.ones(mdp.n_arcs)
    if mdp.reward_range is not None:
        bounded = np.isfinite(mdp.reward_range[0]) & np.isfinite(mdp.reward_range[1])
        low[bounded], high[bounded] = mdp.reward_range[0][bounded], mdp.reward_range[1][bounded]
    return low, high
