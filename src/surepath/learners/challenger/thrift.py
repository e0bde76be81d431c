"""Sampling that spends less: among all paths, one that tells much for its price.

The separating rule plays the path with the largest sum of marks, which hold sigma^2 / n. Here the path that maximises

    (sum of marks over its arcs) / sqrt(price of the path)

is looked for. Two plans of prices p and q that share nothing are then played in the ratio sqrt(q) : sqrt(p): of all
ratios the one that brings sigma^2 / n + sigma^2 / m to a given size for the least money (minimise p n + q m). Arcs that
were ruled out may fill a path in: they tell nothing, and where one is cheaper than what is left, every play is.

With W the sum of marks and P the price of the path in hand, the root lies below its tangent there, so a path with

    marks - W / (2 P) * price > W / 2

has a larger ratio. The path of largest such sum is found by one pass; when it is no better, the search is over. The
ratio rises in every round. Where all paths have one price, the heaviest path is played, as without prices.
"""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray
from surepath.kernels.arrays import Graph
from surepath.kernels.jit import Whole, folded_kernel
from surepath.learners.challenger.bound import heaviest
from surepath.learners.challenger.state import Evidence, Pairs, Scratch
from surepath.model.mdp import MDP
from surepath.model.paths import best_path

SEARCH_ROUNDS = 30  # of the search, which needs about five
LEAST_PRICE = 0.01  # of the mean cost: what an arc counts for at least, so that free arcs do not crowd out the rest


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
    return np.asarray(mdp.cost + LEAST_PRICE * float(mdp.cost.mean()))


@folded_kernel
def choose(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch, thrifty: Whole) -> None:
    """Put the path to play into work.path: the heaviest by its marks, or one that has much of them for its price."""
    mark, weight, path, ahead, prices, open_arcs = work.mark, work.weight, work.path, work.ahead, pairs.price, seen.open
    heaviest(graph, seen.alive, mark, ahead, path)
    best = 0.0  # the largest ratio so far, squared
    for _ in range(SEARCH_ROUNDS if thrifty == 1 and len(prices) > 0 else 0):
        worth, price = 0.0, 0.0
        for h in range(len(path)):
            worth += mark[path[h]]
            price += prices[path[h]]
        if not worth * worth > best * price * (1.0 + 1e-12):
            break
        best = worth * worth / price
        for e in range(len(mark)):
            weight[e] = mark[e] - 0.5 * worth / price * prices[e]
        heaviest(graph, open_arcs, weight, ahead, path)
