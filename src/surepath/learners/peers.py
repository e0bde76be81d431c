"""Peers from the literature on the same problems: CLUCB, CombGame and a top-two Thompson sampler.

At its end a reader knows what the field does where a trial shows the reward of each arc. Each method has an incumbent,
the path of largest empirical sum, and stops once a bound on its distance from the best,

    gap_t = max over paths q of  mean_t(q) - mean_t(incumbent) + reach_t(q),

is at most epsilon. All means and sums are over the arcs in which q and the incumbent differ, D. The methods differ in
what they play and in the reach. A reach that holds for all q and t at once with probability 1 - delta makes the answer
right, whatever was played.

clucb     Chen, Lin, King, Lyu, Chen (2014), Combinatorial Pure Exploration of Multi-Armed Bandits, with their radius:
          reach = sum over D of sigma_e sqrt(2 log(4 N t^3 / delta) / n_e), N arcs to learn. A union over arcs, times
          and visits (n_e <= t) makes it hold, also where steps share their luck. Let q* attain the maximum. They
          sample the arc of D that has the largest radius; where one plays whole paths, that is the one of q* and the
          incumbent that it lies on.
combgame  The stop of Jourdan, Mutny, Kirschner, Krause (2021), Efficient Pure Exploration for Combinatorial Bandits
          with Semi-Bandit Feedback, by the likelihood ratio. Their game for the choice is left out: of the
          incumbent and the path that attains the maximum, this plays the one with the noisiest arc of D.
top-two   A Thompson draw of all means gives the leader, and the path that is cheapest to mistake for it, of least
          (mean(leader) - mean(q) + epsilon)^2 / noise of D, the rival; a coin decides between them: T3C of Shang,
          de Heide, Menard, Kaufmann, Valko (2020) with paths for arms, and with the epsilon of Jourdan, Degenne,
          Kaufmann (2023), An epsilon-Best-Arm Identification Algorithm.

The stop of the last two: the likelihood ratio of q against the incumbent exceeds a threshold. With S_e the sum of
the noises of arc e over sigma_e, the product over arcs of sqrt(c / (n_e + c)) exp(S_e^2 / (2 (n_e + c))) is a
supermartingale begun at 1 if the noises of a trial are independent given the past, so that by Ville's inequality

    sum over e of S_e^2 / (2 (n_e + c))  <=  beta_t = log(1 / delta) + sum over e of log(1 + n_e / c) / 2

at all times with probability 1 - delta. By Cauchy and Schwarz reach = sqrt(2 beta_t noise of D), the noise of an arc
being sigma_e^2 (n_e + c) / n_e^2, then holds for all paths. A rival by sigma_e^2 / n_e, which this stop does not
compare, made top-two take 1.8 to 6 times the trials. The experiments of Jourdan et al. take log((1 + log t) / delta)
for beta and 1 / n_e for the fraction, which nobody has proven; Kaufmann and Koolen (2021) prove
2 sum log(4 + log n_e) + N C(log(1 / delta) / N), which is larger at all sizes that one can simulate.

Both list all paths. Until every arc has a visit, each method plays a path with most unvisited ones. Nothing here allows
for rounding: these learners are for comparison.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import BoolArray, FloatArray, IntArray, one_of, positive, whole
from surepath.kernels.jit import bare_kernel, inner_kernel
from surepath.kernels.sweeps import NO_REALITY, Graph, Reality, draw, heaviest, mix
from surepath.learners.base import Learner
from surepath.learners.runs import ASK, GAP, GO_ON, RUN, TELL, list_plans, raise_if_cancelled
from surepath.model.mdp import MDP
from surepath.model.paths import best_path

METHODS = ("clucb", "combgame", "top-two")
CLUCB, _, TOP_TWO = range(3)

# Rows of Field.arc, float [6, N]. SUMS: of gains less ORIGIN. MEAN: 0 where unvisited. WEIGHT, NOISE: scratch.
ORIGIN, SUMS, MEAN, VARIANCE, WEIGHT, NOISE = range(6)
# Rows of Field.flag, bool [5, N]. MARKED: on the path at hand; scratch.
KNOWN, PASSABLE, ON_BEST, ON_LEADER, MARKED = range(5)
# Rows of Field.path, int [4, H].
NEXT, BEST, RIVAL, LEADER = range(4)
# Places in Field.tally.
EPISODES, UNSEEN = range(2)


class Field(NamedTuple):
    """Hold the arrays of one run and its settings; rows and places are named above."""

    method: int
    epsilon: float
    delta: float
    prior: float  # c
    learned: float  # number of arcs to learn
    seed: int
    plans: IntArray  # [P, H] all paths; none for CLUCB
    visits: IntArray  # [N]
    arc: FloatArray  # [6, N]
    flag: BoolArray  # [5, N]
    path: IntArray  # [4, H]
    gain: FloatArray  # [H] of the episode at hand
    value: FloatArray  # [n_nodes + 1] scratch
    tally: IntArray  # [2]
    gap: FloatArray  # [1] of the incumbent


@inner_kernel
def take_in(field: Field) -> None:
    """Count the row NEXT as played with the gains in Field.gain."""
    arc, tally = field.arc, field.tally
    tally[EPISODES] += 1
    for h in range(len(field.gain)):
        e = field.path[NEXT, h]
        field.visits[e] += 1
        if field.flag[KNOWN, e]:
            continue
        if field.visits[e] == 1:
            tally[UNSEEN] -= 1
            arc[ORIGIN, e] = field.gain[h]
        arc[SUMS, e] += field.gain[h] - arc[ORIGIN, e]
        arc[MEAN, e] = arc[ORIGIN, e] + arc[SUMS, e] / field.visits[e]


@inner_kernel
def write(path: IntArray, out: IntArray) -> None:
    """Copy a path; slices would allocate."""
    for h in range(len(path)):
        out[h] = path[h]


@inner_kernel
def mark(flag: BoolArray, path: IntArray) -> None:
    """Set the flags of the arcs of a path and no others."""
    for e in range(len(flag)):
        flag[e] = False
    for h in range(len(path)):
        flag[path[h]] = True


@inner_kernel
def compare(field: Field, plan: IntArray, base: IntArray, on_base: BoolArray, noise: FloatArray) -> tuple[float, float]:
    """Return the mean of a plan less that of the base, and the sum of the noise where they differ."""
    lead, total, marked = 0.0, 0.0, field.flag[MARKED]
    for h in range(len(plan)):
        marked[plan[h]] = True
    for h in range(len(plan)):
        if not on_base[plan[h]]:
            lead += field.arc[MEAN, plan[h]]
            total += noise[plan[h]]
        if not marked[base[h]]:
            lead -= field.arc[MEAN, base[h]]
            total += noise[base[h]]
    for h in range(len(plan)):
        marked[plan[h]] = False
    return lead, total


@inner_kernel
def radius(field: Field, e: int) -> float:
    """Return the confidence radius of CLUCB; 0 where the reward is known."""
    if field.flag[KNOWN, e]:
        return 0.0
    log = math.log(4.0 * field.learned / field.delta) + 3.0 * math.log(field.tally[EPISODES])
    return math.sqrt(2.0 * field.arc[VARIANCE, e] * log / field.visits[e])


@inner_kernel
def measure_by_arcs(graph: Graph, field: Field) -> float:
    """Return the gap of CLUCB; write the path that attains it into RIVAL."""
    weight, noise, on_best = field.arc[WEIGHT], field.arc[NOISE], field.flag[ON_BEST]
    for e in range(len(weight)):
        noise[e] = radius(field, e)
        weight[e] = field.arc[MEAN, e] + (-noise[e] if on_best[e] else noise[e])
    heaviest(graph, weight, field.flag[PASSABLE], field.value, field.path[RIVAL])
    least = 0.0
    for h in range(len(field.gain) - 1, -1, -1):  # in the order of the sweep: equal paths are equal to the last bit
        least = weight[field.path[BEST, h]] + least
    return float(field.value[0] - least)


@inner_kernel
def measure_by_ratio(field: Field) -> float:
    """Return the gap by the likelihood ratio of every path against the incumbent; write that path into RIVAL."""
    noise, beta = field.arc[NOISE], math.log(1.0 / field.delta)
    for e in range(len(noise)):
        n, variance = float(field.visits[e]), field.arc[VARIANCE, e]
        noise[e] = 0.0
        if variance > 0.0:
            beta += 0.5 * math.log(1.0 + n / field.prior)
            noise[e] = variance * (n + field.prior) / (n * n)
    gap, rival = 0.0, -1
    for i in range(len(field.plans)):
        lead, total = compare(field, field.plans[i], field.path[BEST], field.flag[ON_BEST], noise)
        if lead + math.sqrt(2.0 * beta * total) > gap:
            gap, rival = lead + math.sqrt(2.0 * beta * total), i
    write(field.plans[rival] if rival >= 0 else field.path[BEST], field.path[RIVAL])
    return gap


@inner_kernel
def cheapest(field: Field, base: IntArray, on_base: BoolArray, noise: FloatArray) -> int:
    """Return the plan of least squared distance over noise from a base path, the lowest of equals; -1: none.

    A plan whose mean is larger by epsilon costs nothing.
    """
    least, found = np.inf, -1
    for i in range(len(field.plans)):
        lead, total = compare(field, field.plans[i], base, on_base, noise)
        if total > 0.0:
            cost = max(field.epsilon - lead, 0.0) ** 2 / total
            if cost < least:
                least, found = cost, i
    return found


@inner_kernel
def think(graph: Graph, field: Field) -> None:
    """Find the incumbent and its gap after an episode."""
    heaviest(graph, field.arc[MEAN], field.flag[PASSABLE], field.value, field.path[BEST])
    mark(field.flag[ON_BEST], field.path[BEST])
    if field.tally[UNSEEN] == 0:
        field.gap[0] = measure_by_arcs(graph, field) if field.method == CLUCB else measure_by_ratio(field)


@inner_kernel
def choose(graph: Graph, field: Field) -> None:
    """Write the path to play into the row NEXT."""
    arc, path, weight = field.arc, field.path, field.arc[WEIGHT]
    chosen = path[NEXT]
    if field.tally[UNSEEN] > 0:
        for e in range(len(weight)):
            weight[e] = 1.0 if field.visits[e] == 0 and not field.flag[KNOWN, e] else 0.0
        heaviest(graph, weight, field.flag[PASSABLE], field.value, chosen)
    elif field.method != TOP_TWO:
        widest, row = -1.0, BEST
        for h in range(path.shape[1]):
            for i in range(BEST, RIVAL + 1):
                other = path[RIVAL if i == BEST else BEST, h]
                if path[i, h] != other and arc[NOISE, path[i, h]] > widest:
                    widest, row = arc[NOISE, path[i, h]], i
        write(path[row], chosen)
    else:
        for e in range(len(weight)):
            weight[e] = arc[MEAN, e]
            if arc[VARIANCE, e] > 0.0:
                weight[e] += math.sqrt(arc[VARIANCE, e] / field.visits[e]) * hashed_normal(field, e)
        heaviest(graph, weight, field.flag[PASSABLE], field.value, path[LEADER])
        write(path[LEADER], chosen)
        if hashed(field, len(weight)) < 0.5:
            on_leader = field.flag[ON_LEADER]
            mark(on_leader, path[LEADER])
            rival = cheapest(field, path[LEADER], on_leader, arc[NOISE])
            if rival >= 0:
                write(field.plans[rival], chosen)


@inner_kernel
def hashed(field: Field, number: int) -> float:
    """Return a number in (0, 1) that belongs to (seed, episode, number): asking twice gives the same path."""
    key = mix(np.int64(field.seed)) ^ mix(field.tally[EPISODES] + 1)
    bits = mix(np.int64(key >> np.uint64(1)) + np.int64(number) * 7919)
    return (float(bits >> np.uint64(12)) + 0.5) * 2.0**-52


@inner_kernel
def hashed_normal(field: Field, e: int) -> float:
    """Return a standard normal number of (seed, episode, arc), by Box and Muller."""
    n = field.arc.shape[1]
    turn = 2.0 * math.pi * hashed(field, n + 1 + 2 * e)
    return math.sqrt(-2.0 * math.log(hashed(field, n + 2 + 2 * e))) * math.cos(turn)


@bare_kernel
def play_field(graph: Graph, field: Field, reality: Reality, rng: np.random.Generator, task: int, limit: int) -> float:
    """Play one step, ASK or TELL, or RUN: until the stop or for `limit` episodes. Return the gap of the incumbent."""
    tally, path = field.tally, field.path
    if task == ASK:
        choose(graph, field)
    elif task == TELL:
        take_in(field)
        think(graph, field)
    while task == RUN and tally[EPISODES] < limit and not field.gap[0] <= field.epsilon:
        choose(graph, field)
        for h in range(path.shape[1]):
            field.gain[h] = draw(reality, np.uint64(path[NEXT, h]), rng)
        take_in(field)
        think(graph, field)
    return float(field.gap[0])


_IDLE_RNG = np.random.default_rng(0)


class Peer(Learner):
    """Find the best path by a method of the literature; for simulation and comparison.

    Args:
        mdp, epsilon, delta, sigma: As in `Learner`.
        method: "clucb", "combgame" or "top-two". The last two need rewards that are independent within a trial, and
            list all paths.
        prior: The constant c of the last two; 60 to 120 takes the fewest trials on `paper_random`.
        seed: Of the draws of "top-two"; a simulated run has its own.
    """

    name: ClassVar[str] = "Peer"

    def __init__(
        self,
        mdp: MDP,
        epsilon: float,
        delta: float,
        sigma: ArrayLike | None = None,
        *,
        method: str = "clucb",
        prior: float = 60.0,
        seed: int = 0,
    ) -> None:
        super().__init__(mdp, epsilon, delta, sigma)
        self.method = one_of("method", method, METHODS)
        self.prior = positive("prior", prior)
        self.seed = whole("seed", seed, low=0)
        nothing = np.zeros((0, mdp.horizon), dtype=np.int64)
        self._plans = nothing if method == "clucb" else list_plans(mdp, f'Peer(method="{method}")')
        self._field = self._new_field()
        self._connect()

    def _connect(self) -> None:
        self._visits = self._field.visits
        self._origin, self._sums = self._field.arc[ORIGIN], self._field.arc[SUMS]

    def _new_field(self) -> Field:
        n, horizon = self.mdp.n_arcs, self.mdp.horizon
        field = Field(
            method=METHODS.index(self.method),
            epsilon=self.epsilon,
            delta=self.delta,
            prior=self.prior,
            learned=float((~self.mdp.is_known).sum()),
            seed=self.seed % (1 << 62),
            plans=self._plans,
            visits=np.zeros(n, dtype=np.int64),
            arc=np.zeros((6, n)),
            flag=np.zeros((5, n), dtype=np.bool_),
            path=np.zeros((4, horizon), dtype=np.int64),
            gain=np.zeros(horizon),
            value=np.zeros(self.mdp.n_nodes + 1),
            tally=np.zeros(2, dtype=np.int64),
            gap=np.full(1, np.inf),
        )
        field.arc[VARIANCE] = self.sigma**2
        field.arc[MEAN] = np.where(self.mdp.is_known, self.known_gain, 0.0)
        field.flag[KNOWN], field.flag[PASSABLE] = self.mdp.is_known, True
        field.tally[UNSEEN] = int((~self.mdp.is_known).sum())
        return field

    def _step(self, task: int) -> float:
        return play_field(self.graph, self._field, NO_REALITY, _IDLE_RNG, task, 0)

    def _begin(self, rng: np.random.Generator) -> None:
        self._field = self._field._replace(seed=int(rng.integers(1 << 62)))

    def _recommend(self) -> IntArray:
        """Return the incumbent, the path of largest empirical sum; unvisited arcs count 0."""
        return best_path(self.mdp, self._field.arc[MEAN])

    def _gap(self) -> float:
        return float(self._field.gap[0])

    def _choose(self) -> IntArray:
        self._step(ASK)
        return cast(IntArray, self._field.path[NEXT])

    def _absorb(self, path: IntArray, gains: FloatArray) -> None:
        self.episodes += 1
        self._field.path[NEXT], self._field.gain[:] = path, gains
        if self._step(TELL) <= self.epsilon:
            self._stop(GAP)

    def _play(self, reality: Reality, rng: np.random.Generator, budget: int) -> None:
        gap = np.inf
        while gap > self.epsilon and self.episodes < budget:
            raise_if_cancelled()
            gap = play_field(self.graph, self._field, reality, rng, RUN, min(budget, self.episodes + 100_000))
            self.episodes = int(self._field.tally[EPISODES])
        self._stop(GAP if gap <= self.epsilon else GO_ON)
