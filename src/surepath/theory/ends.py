"""One score at the end: the optimal design over all laws of plans, and the game behind T* with such scores.

For plans drawn by a Markov chain of flow w, the variance of the difference of two plans is the sum of 1/w over arcs in
exactly one of them, less that of 1/w over inner nodes in exactly one of them (docs, "End scores").
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log

import numpy as np
from scipy.optimize import linprog

from surepath._checks import BoolArray, FloatArray, IntArray, check_delta, check_epsilon, one_of, one_sigma
from surepath.errors import SettingError
from surepath.kernels.flow import FLOW_GAP, STEPS_OF_FLOW, optimal_flow
from surepath.kernels.sweeps import graph_of
from surepath.model.mdp import MDP
from surepath.model.paths import every_path
from surepath.theory.characteristic_time import Allocation, Question
from surepath.theory.gaps import Case

MOST_LISTED = 5_000  # plans of which all are looked at for a lower bound


def inner_nodes(mdp: MDP) -> BoolArray:
    """Mark the nodes between the first and the last stage, bool [n_nodes + 1]."""
    inside = np.zeros(mdp.n_nodes + 1, dtype=np.bool_)
    inside[mdp.stage_node[1] : mdp.n_nodes] = True
    return inside


@dataclass(frozen=True, eq=False)
class EndDesign:
    """The law of plans of least largest variance when each trial has one score, in units of the score's variance.

    Attributes:
        flow: Share of the trials that goes through each arc, float [N]; plans are drawn by its Markov chain.
        effects: Number of effects, the largest variance of a plan under this law.
        variance: Largest variance of the difference of two plans, at most 4 times as much.
        log_plans: Logarithm of the number of plans.
    """

    flow: FloatArray
    effects: int
    variance: float
    log_plans: float

    def trials(self, epsilon: float, delta: float, sigma: float = 1.0) -> int:
        """Count the trials after which one look proves epsilon, whatever the means."""
        if check_epsilon(epsilon) == 0:
            raise SettingError("a design needs an epsilon above 0: with epsilon 0 no fixed number of trials is enough")
        cost = self.log_plans - log(check_delta(delta))
        return ceil(2 * one_sigma(sigma) ** 2 * self.variance * cost / epsilon**2)


def design(mdp: MDP, *, scores: str = "end") -> EndDesign:
    """Find the optimal design for one score at the end: the flow with the largest sum log w(arc) - sum log w(node).

    No law of plans, Markov or not, has a smaller largest variance (Kiefer and Wolfowitz).

    Example:
        >>> free = design(MDP.from_arrays([[[0, 0]], [[0, 0]]]), scores="end")
        >>> free.effects, free.flow.round(3).tolist(), round(free.variance, 3)
        (3, [0.5, 0.5, 0.5, 0.5], 8.0)
    """
    one_of("scores", scores, ("end",))
    inside, everything = inner_nodes(mdp), np.ones(mdp.n_arcs, dtype=np.bool_)
    flow, node, _ = optimal_flow(graph_of(mdp), inside, everything, STEPS_OF_FLOW, FLOW_GAP)
    taken = np.where(inside, 1 / node, 0.0)
    value = np.zeros((mdp.n_nodes + 1, mdp.n_nodes + 1))  # largest variance from a pair of nodes on
    for h in range(mdp.horizon - 1, -1, -1):
        arcs = np.arange(mdp.stage_arc[h], mdp.stage_arc[h + 1])
        source, target = mdp.source[arcs], mdp.target[arcs]
        apart, split = ~np.eye(len(arcs), dtype=bool), source[:, None] != source[None, :]
        here = np.where(apart, 1 / flow[arcs] + 1 / flow[arcs][:, None], 0.0)
        here -= np.where(split, taken[source] + taken[source][:, None], 0.0)
        fresh = np.full_like(value, -np.inf)
        np.maximum.at(fresh, (source[:, None], source[None, :]), here + value[target[:, None], target[None, :]])
        value = fresh
    return EndDesign(flow, mdp.n_arcs - int(inside.sum()), float(value[0, 0]), mdp.log_paths)


class EndAllocation(Allocation):
    """The game of T* with one score at the end, over Markov laws of plans.

    f_q(w) = gap_q^2 / (2 v_q), v_q the variance of the difference from the best plan. Over all laws of plans f_q is
    concave, and its derivative by the share of a plan r is half gap_q^2 (u / v_q)^2 where u, what r says of the
    difference, is a sum over what it has in common with the two. Hence `above`: the largest over plans r of a mixture
    of these. The nearest rival alone has a variance of 4 at least, under any law.
    """

    def __init__(self, at: Case) -> None:
        super().__init__(at)
        if self.nothing_to_learn:
            return
        mdp = self.mdp
        self.variance = np.ones(mdp.n_arcs)
        self.items = np.concatenate([self.variance, -inner_nodes(mdp)[:-1].astype(np.float64)])
        self.above = 1 / 8
        self.signs: list[FloatArray] = []
        self.plans: FloatArray | None = None  # [P, N + n_nodes] what each plan goes through
        if mdp.n_paths <= MOST_LISTED:
            paths = every_path(mdp)
            self.plans = np.zeros((len(paths), len(self.items)))
            for arcs in (paths, mdp.n_arcs + mdp.source[paths]):
                np.put_along_axis(self.plans, arcs, 1.0, axis=1)

    def _noise(self, weight: FloatArray) -> FloatArray:
        """Return 1/w of arcs, and -1/w of inner nodes, float [N + n_nodes]."""
        node = np.bincount(self.mdp.source, weight, self.mdp.n_nodes)
        return np.asarray(self.items / np.maximum(np.concatenate([weight, node]), 1e-300))

    def _question(self, weight: FloatArray, grid: FloatArray) -> Question:
        noise, mdp = self._noise(weight), self.mdp
        own = noise[: mdp.n_arcs] + np.where(self.node_on[mdp.source], 0.0, noise[mdp.n_arcs + mdp.source])
        left = mdp.source[self.beside]
        beside = noise[self.beside] + np.where(self.node_on[mdp.source], 0.0, noise[mdp.n_arcs + left])
        return Question(self.node_on, self.leaves, self.cost, np.maximum(own + beside, 0.0), grid)

    def _keep(self, excursion: IntArray) -> None:
        arcs = excursion[excursion >= 0]
        if arcs.tobytes() in self._seen:
            return
        self._seen.add(arcs.tobytes())
        n, source = self.mdp.n_arcs, self.mdp.source
        theirs = np.concatenate([arcs, n + source[arcs[1:]]])
        ours = np.concatenate([self.beside[arcs], n + source[self.beside[arcs[1:]]]])
        self.rows.append(np.concatenate([ours, theirs]))
        self.signs.append(np.repeat([1.0, -1.0], len(arcs) * 2 - 1))
        self.gaps.append(float(self.cost[arcs].sum()))

    def _certify(self, weight: FloatArray) -> None:
        """Lower `above` by the best mixture of derivatives at the law of these weights, over all plans."""
        if self.plans is None:
            return
        noise, half = self._noise(weight), np.array(self.gaps) ** 2 / 2
        variance = np.maximum([noise[row].sum() for row in self.rows], 1e-300)
        close = np.flatnonzero(half / variance <= 1.25 * (half / variance).min())
        said = np.zeros((len(close), len(noise)))
        for at, q in enumerate(close):
            said[at, self.rows[q]] = self.signs[q] * noise[self.rows[q]]
        slopes = (self.plans @ said.T) ** 2 * (half / variance**2)[close]  # [P, close]
        if not np.isfinite(slopes).all():
            return
        scale = slopes.max()
        table = np.column_stack([slopes / scale, -np.ones(len(slopes))])
        cost, once = np.append(np.zeros(len(close)), 1.0), np.append(np.ones(len(close)), 0.0)
        answer = linprog(cost, table, np.zeros(len(slopes)), once[None, :], [1.0], method="highs")
        if answer.status == 0:
            mixture = np.maximum(answer.x[:-1], 0.0)
            self.above = min(self.above, float((slopes @ (mixture / mixture.sum())).max()))
