"""Sampling that spends less: among all paths, the one that tells most per unit of its price.

A play of a path lowers sigma^2 / n of each of its arcs by about sigma^2 / n^2. So a path is worth the sum of its marks
(which hold sigma^2 / n) divided by n, and the path that maximises

    sum of mark / n over its arcs, divided by its price

is played. With this rule two plans of prices p and q that share nothing are played in the ratio sqrt(q) : sqrt(p),
which proves a difference between them for the least money. A ratio of two sums over a path is maximised by Dinkelbach's
iteration: find the path of largest (worth - rate * price), set the rate to that path's own ratio, and stop when no path
has more. The rate rises in every round and the number of rounds is small.

Where nothing costs anything, `price` is empty and the heaviest path is played, as ever.
"""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray
from surepath.kernels.arrays import Graph
from surepath.kernels.jit import Whole, inner_kernel
from surepath.learners.challenger.bound import heaviest
from surepath.learners.challenger.state import Evidence, Pairs, Scratch
from surepath.model.mdp import MDP
from surepath.model.paths import best_path

ROUNDS = 30  # of Dinkelbach's iteration, which needs about five
LEAST = 0.01  # of the mean cost: what an arc counts for at least, so that what is free does not crowd out the rest


def prices_differ(mdp: MDP) -> bool:
    """Tell whether two paths have different prices."""
    if mdp.cost is None:
        return False
    dear, cheap = best_path(mdp, mdp.cost), best_path(mdp, -mdp.cost)
    return mdp.price(dear) > mdp.price(cheap)


def prices_of(mdp: MDP, thrifty: bool) -> FloatArray:
    """Price of each arc for the sampling, float [N]; empty where it is not asked for."""
    if not thrifty or mdp.cost is None:
        return np.zeros(0)
    return np.asarray(mdp.cost + LEAST * float(mdp.cost.mean()))


A, B = 0.0, 0.5


@inner_kernel
def choose(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch, thrifty: Whole) -> None:
    """Put the path to play into work.path: the heaviest by its marks, or the one of most worth for its price."""
    heaviest(graph, seen, work.mark, work.ahead, work.path)
    rounds = ROUNDS if thrifty == 1 and len(pairs.price) > 0 else 0
    rate = 0.0
    for _ in range(rounds):
        worth, price = 0.0, 0.0
        for h in range(len(work.path)):
            e = work.path[h]
            worth += work.mark[e] / max(1, seen.visits[e] + seen.pending[e]) ** A
            price += pairs.price[e]
        if not worth > rate * price**B * (1.0 + 1e-12):
            break
        rate = worth / price**B
        for e in range(len(work.mark)):
            own = work.mark[e] / max(1, seen.visits[e] + seen.pending[e]) ** A
            work.weight[e] = own - rate * B * price ** (B - 1.0) * pairs.price[e]
        heaviest(graph, seen, work.weight, work.ahead, work.path)
