"""Estimate how many trials a problem will take: random worlds like it, and runs in each."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import BoolArray, FloatArray, IntArray, check_sigma, real, seed_number, whole
from surepath.errors import SettingError
from surepath.learners.base import declared_sigma
from surepath.learners.challenger.noise import choose_noise, has_range
from surepath.learners.runs import Cancelled, cancelled_by
from surepath.model.mdp import MDP
from surepath.model.paths import best_path
from surepath.model.worlds import BETA, ArcLaws, Bounded, Gaussian, Instance, Law
from surepath.simulation.simulate import Results, simulate

# Worlds ---------------------------------------------------------------------------------------------------------------
# A world gives every arc a mean and Gaussian noise of the given sigma; where a range is declared and no sigma, so
# that a learner finds the noise out by itself, rewards follow a beta law in that range with the scatter to expect.
# Means come from the problem itself where it has them; else they are drawn evenly from a range, and where the user
# expects many arcs to be about as good as each other, a share of the arcs of each state has the mean of the best one
# there.

MIDDLING = 0.2  # scatter by default, as a share of the range


@dataclass(frozen=True, eq=False)
class Worlds:
    """Worlds by number; the same number gives the same world.

    Attributes:
        mdp: The layered graph.
        sigma: Noise of each arc that is declared, half the range where that is all, float [N].
        learns: Whether learners find out the noise of scores within their declared ranges.
        scatter: Standard deviation of each arc, float [N], where noise is learned and no law says it; else None.
        low, high: Range of each arc's means, float [N].
        ties: Share of the arcs of a state that are as good as its best one.
        instance: The problem's own world, when it has means: then every number gives this one.
        seed: World i draws from the child i of SeedSequence(seed).
    """

    mdp: MDP
    sigma: FloatArray
    learns: bool
    scatter: FloatArray | None
    low: FloatArray
    high: FloatArray
    ties: float
    instance: Instance | None
    seed: int

    def __getitem__(self, i: int) -> Instance:
        if self.instance is not None:
            return self.instance
        rng = np.random.default_rng(np.random.SeedSequence(entropy=self.seed, spawn_key=(i,)))
        means = rng.uniform(self.low, self.high)
        if self.ties > 0:
            tied = rng.random(self.mdp.n_arcs) < self.ties
            best = np.full(self.mdp.n_nodes, -np.inf)
            np.maximum.at(best, self.mdp.source, self.mdp.gains_of(slice(None), means))
            charge = 0.0 if self.mdp.charge is None else self.mdp.charge  # tied in worth, where costs count
            means = np.where(tied, self.mdp.sign * (best[self.mdp.source] + charge), means)
        if self.mdp.scored is not None:
            return Instance(self.mdp, _parts(self, means))
        law = Gaussian(means, self.sigma) if self.scatter is None else Within(means, self.sigma, self.scatter)
        return Instance(self.mdp, law)

    @property
    def worst(self) -> Worlds:
        """Return the same means with as much noise as was declared."""
        return replace(self, learns=False, scatter=None, instance=None)

    def in_words(self) -> str:
        """Say where the means come from."""
        if np.array_equal(self.low, self.high):
            return "the means of the problem itself"
        drawn = f"means drawn evenly from {self.low.min():g} to {self.high.max():g}"
        return drawn + (f", {self.ties:.0%} of the options of each state as good as its best one" if self.ties else "")


def _parts(worlds: Worlds, means: FloatArray) -> Law:
    """Return a law of each arc whose sums over what a score covers have its noise, inside its range."""
    mdp = worlds.mdp
    share = _stages_covered(mdp)
    if worlds.scatter is None or mdp.reward_range is None:
        return Gaussian(means, worlds.sigma / np.sqrt(share))
    low, high = (end / share for end in mdp.reward_range)
    ratio = float(np.min((high - low) * np.sqrt(share) / worlds.scatter))
    return Bounded(low, high, np.clip(means, low, high), concentration=max(ratio**2 / 4 - 1, 0.5))


def _stages_covered(mdp: MDP) -> FloatArray:
    """Return how many stages the score of each arc covers, float [N]."""
    first = np.array([-1, *mdp.score_stages])
    return np.diff(first)[np.searchsorted(first[1:], mdp.arcs.stage)].astype(np.float64)


def worlds_of(
    mdp: MDP,
    sigma: ArrayLike | None,
    spread: tuple[float, float] | None,
    ties: float,
    instance: Instance | None,
    seed: int,
    scatter: float | None = None,
) -> Worlds:
    """Check what is asked for; `instance` counts only where neither spread nor ties is given."""
    if not isinstance(mdp, MDP):
        raise SettingError(f"an estimate needs an MDP, not {type(mdp).__name__}; take instance.mdp of an Instance")
    share = real("ties", ties)
    if not 0 <= share <= 1:
        raise SettingError(f"ties is a share of the options, from 0 to 1, not {share:g}")
    if instance is not None and instance.mdp != mdp:
        same_size = repr(instance.mdp) == repr(mdp)
        differ = "other arcs, names, noise or costs" if same_size else f"{instance.mdp!r}, not {mdp!r}"
        raise SettingError(f"the instance has another MDP ({differ}); pass instance.mdp as the MDP to estimate")
    own = instance if spread is None and share == 0 else None
    low, high = (own.means, own.means) if own is not None else _range(mdp, spread)
    within = _scatter(mdp, scatter, sigma is None)
    learns = within is not None
    if own is not None and scatter is None:
        within = None  # its own law says how its scores scatter
    elif learns:
        own = None  # its means alone
    if sigma is None:
        sigma = instance.sigma if instance is not None else declared_sigma(mdp, "an estimate")
        if instance is not None and learns:  # a law may scatter less than its range allows; the worst case is declared
            sigma = np.where(np.isnan(mdp.declared_sigma), sigma, mdp.declared_sigma)
    return Worlds(mdp, check_sigma(sigma, mdp.n_arcs), learns, within, low, high, share, own, seed_number(seed))


class Within(Law):
    """Scores with a beta law inside their declared range where a scatter is given (not NaN), else Gaussian ones."""

    def __init__(self, means: FloatArray, sigma: FloatArray, scatter: FloatArray) -> None:
        self.means, self.sigma, self.scatter = means, sigma, scatter

    def bind(self, mdp: MDP) -> ArcLaws:
        """Lay the law on the arcs; a mean so close to an end that the scatter does not fit gets less of it."""
        laws = Gaussian(self.means, self.sigma).bind(mdp)
        inside = np.isfinite(self.scatter)
        assert mdp.reward_range is not None
        low, high = (end[inside] for end in mdp.reward_range)
        share = np.clip((self.means[inside] - low) / (high - low), 0.001, 0.999)
        total = np.maximum(share * (1 - share) * ((high - low) / self.scatter[inside]) ** 2 - 1, 0.5)
        laws.kind[inside], laws.mean[inside] = BETA, low + share * (high - low)
        laws.a[inside], laws.b[inside] = share * total, (1 - share) * total
        laws.low[inside], laws.high[inside] = low, high
        return laws


def _scatter(mdp: MDP, scatter: float | None, undeclared: bool) -> FloatArray | None:
    """List the standard deviation of arcs whose noise would be learned, NaN elsewhere; None where there are none."""
    if not undeclared or choose_noise(mdp, None, False) == "sigma":
        if scatter is not None:
            raise SettingError(
                "scatter is what to expect of scores in a declared range whose noise is learned; here the noise is "
                "declared, or no range is"
            )
        return None
    assert mdp.reward_range is not None
    inside = has_range(mdp) if mdp.sigma is None else has_range(mdp) & np.isnan(mdp.sigma)
    span = np.where(inside, mdp.reward_range[1] - mdp.reward_range[0], np.nan)
    if scatter is None:
        return np.asarray(MIDDLING * span)
    size = real("scatter", scatter)
    most = float(np.nanmin(span)) / 2
    if not 0 < size <= most:
        raise SettingError(f"scatter must be above 0 and at most half the narrowest range, {most:g}; got {size:g}")
    return np.where(inside, size, np.nan)


def _range(mdp: MDP, spread: tuple[float, float] | None) -> tuple[FloatArray, FloatArray]:
    """Find the least and largest mean of every arc."""
    if spread is not None:
        least, most = real("spread", spread[0]), real("spread", spread[1])
        if not least < most:
            raise SettingError(f"spread goes from the least mean to the largest, not from {least:g} to {most:g}")
        return np.full(mdp.n_arcs, least), np.full(mdp.n_arcs, most)
    low, high = np.zeros(mdp.n_arcs), np.ones(mdp.n_arcs)
    if mdp.reward_range is not None:
        bounded = np.isfinite(mdp.reward_range[0]) & np.isfinite(mdp.reward_range[1])
        share = _stages_covered(mdp)[bounded]
        low[bounded], high[bounded] = mdp.reward_range[0][bounded] / share, mdp.reward_range[1][bounded] / share
    return low, high


# Estimate -------------------------------------------------------------------------------------------------------------
# Real problems are not drawn like that, so this is a guess; what it is sure of is the arithmetic. Worlds with many
# nearly best plans need more trials when epsilon is small, worlds with one outstanding plan fewer. Two questions are
# answered by one curve: how many trials an epsilon takes, and which epsilon a number of trials buys.

WORST_NOISE = "Challenger, worst noise"  # as much as a declared range allows
CURVE_POINTS = 8


@dataclass(frozen=True, eq=False)
class Estimate:
    """Trials to stop in each simulated world.

    Attributes:
        trials: Of the learner, and of Challenger with the worst noise, int [worlds played]; where `censored`, how many
            it was seen to take at least. What had no time for any world is left out.
        censored: Bool of the same shape: the budget or the time ended the run.
        worlds: The worlds it was simulated in.
        curve: (epsilon, median, 10 %, 90 % of the learner's trials), the largest epsilon first.
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
    dependence: str = "any",
    instance: Instance | None = None,
    worlds: int = 20,
    seed: int = 0,
    budget: int = 2_000_000,
    seconds: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Estimate:
    """Simulate Challenger once in each of several worlds, for larger and smaller epsilons too.

    Where scores cover several steps it is Rounds, and means are those of the effects.

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
        dependence: That of Challenger, as a study has it: "any" or "independent".
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
        >>> guess.quantile("Challenger", 0.1) <= guess.quantile("Challenger", 0.5)
        True
    """
    drawn = worlds_of(mdp, sigma, spread, ties, instance, seed, scatter)
    worlds, seed, noise = whole("worlds", worlds, low=1, high=1_000_000), drawn.seed, drawn.sigma
    budget = whole("budget", budget, low=1)
    learns, scored = drawn.learns, mdp.scored is not None
    leader = "Rounds" if scored else "Challenger"
    spec: dict[str, Any] = {"name": leader} if scored else {"name": leader, "dependence": dependence}
    players = {leader: drawn} if scored or not learns else {leader: drawn, WORST_NOISE: drawn.worst}
    trials: dict[str, list[int]] = {name: [] for name in players}
    censored: dict[str, list[bool]] = {name: [] for name in players}

    def play(name: str, i: int, aim: float, most: int) -> Results:
        given = {} if scored else {"sigma": None if learns and name != WORST_NOISE else noise}
        how: dict[str, Any] = {"workers": 1, "budget": most, "first_run": i}
        return simulate({**spec, "delta": delta, **given}, players[name][i], 1, seed, [aim], **how)

    if seconds is not None:  # compiled before the clock starts
        seconds = real("seconds", seconds)
        for name in players:
            play(name, 0, epsilon, 3 * mdp.n_effects + 1 if scored else 1)
    halt = threading.Event()
    with _time_limit(halt, seconds):
        for i in range(worlds):
            for name in players:
                if halt.is_set() and trials[leader]:
                    break
                tau, cut = _trials_seen(partial(play, name, i, epsilon), budget if seconds is None else 1, budget)
                trials[name].append(tau)
                censored[name].append(cut)
            if halt.is_set():
                break
            if progress is not None:
                progress(i + 1, worlds)
        points: dict[float, list[float]] = {}
        for aim in curve_epsilons(drawn, epsilon):
            if aim == epsilon:  # the runs above
                seen = zip(trials[leader], censored[leader])
                points[aim] = [np.inf if cut else tau for tau, cut in seen]
                continue
            taus: list[float] = []
            for i in range(worlds):  # the same ones for every epsilon: medians of others would not compare
                if halt.is_set():
                    break
                tau, cut = _trials_seen(partial(play, leader, i, aim), budget, budget)
                taus.append(np.inf if cut else tau)
            if not halt.is_set():
                points[aim] = taus
    curve = [(aim, *np.quantile(taus, (0.5, 0.1, 0.9), method="higher").tolist()) for aim, taus in points.items()]
    about = {
        "epsilon": float(epsilon),
        "delta": float(delta),
        "sigma": [float(noise[~mdp.is_known].min(initial=np.inf)), float(noise[~mdp.is_known].max(initial=0.0))],
        "learned": learns,
        "own_law": drawn.instance is not None,
        "scatter": None if drawn.scatter is None else [float(end(drawn.scatter)) for end in (np.nanmin, np.nanmax)],
        "scatter_given": scatter is not None,
        "worlds": worlds,
        "seed": seed,
        "budget": budget,
        "seconds": seconds,
        "out_of_time": halt.is_set(),
        "learner": spec,
    }
    played = [name for name in players if trials[name]]
    return Estimate(
        {name: np.array(trials[name], dtype=np.int64) for name in played},
        {name: np.array(censored[name], dtype=np.bool_) for name in played},
        drawn,
        curve,
        about,
    )


def curve_epsilons(drawn: Worlds, epsilon: float) -> list[float]:
    """Choose the epsilons of the curve: from half the spread of the first world's returns down to half of epsilon."""
    mdp, gains = drawn.mdp, drawn[0].gains
    best, worst = (float(gains[best_path(mdp, sign * gains)].sum()) for sign in (1.0, -1.0))
    wide = 0.5 * (best - worst)
    least = epsilon / 2 if epsilon > 0 else wide / 64
    if not wide > least > 0:
        return [epsilon] if epsilon > 0 else []
    aims = {float(aim) for aim in np.geomspace(least, wide, CURVE_POINTS - 1)} | ({epsilon} if epsilon > 0 else set())
    return sorted(aims, reverse=True)


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
