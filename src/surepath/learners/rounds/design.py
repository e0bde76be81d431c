"""The plans of a round, chosen before its first score, and its fit: least squares on the effects of arcs.

A score covers a block of stages: all of them (one score at the end), or those since the scored stage before. Its row
has a 1 at each arc of the path in the block, divided by the unit of the block's scores. Rows do not tell all arcs
apart: moving an amount from the arcs into a node to those out of it changes no score, unless a score is given right
there. So one outgoing arc of each such node is dropped and counts as 0, and d = arcs - nodes are left. Differences of
paths do not depend on what was dropped.

For a law that draws paths by a Markov chain with flow w, the variance of a pair is a sum along the two paths: of 1/w
over arcs in exactly one of them, less 1/w over nodes inside a block in exactly one of them (docs, "End scores"). The
law of largest determinant over all laws of paths is Markov and maximises sum log w(arc) - sum log w(node).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath.kernels.flow import optimal_flow
from surepath.kernels.jit import inner_kernel, kernel
from surepath.kernels.sweeps import Graph, graph_of
from surepath.model.mdp import MDP


class Blocks(NamedTuple):
    """The graph, and which stages a score covers."""

    graph: Graph
    first: IntArray  # [B + 1] first stage of each block, and H
    of: IntArray  # [H] block of each stage
    inside: BoolArray  # [n_nodes + 1] nodes at which no score is given: neither start nor sink nor between blocks
    unit: FloatArray  # [B] in which the scores of a block count: sigma, width of the range, or 1


def blocks_of(mdp: MDP, unit: FloatArray) -> Blocks:
    """Read from a problem which stages a score covers: all of them where it does not say."""
    scored = stages_scored(mdp)
    first = np.array([0, *(stage + 1 for stage in scored)], dtype=np.int64)
    inside = np.zeros(mdp.n_nodes + 1, dtype=np.bool_)
    for h in range(1, mdp.horizon):
        inside[mdp.stage_node[h] : mdp.stage_node[h + 1]] = h not in first
    of = np.searchsorted(first, np.arange(mdp.horizon), side="right") - 1
    return Blocks(graph_of(mdp), first, of.astype(np.int64), inside, unit)


def stages_scored(mdp: MDP) -> tuple[int, ...]:
    """Return the stages after which there is a score; by default the last alone."""
    return (mdp.horizon - 1,) if mdp.scored is None else mdp.scored


def coordinates(blocks: Blocks, active: BoolArray) -> tuple[IntArray, int]:
    """Give each arc to estimate a number, int [N], and count them; -1: dropped, or not active."""
    kept, place = active.copy(), np.full(len(active), -1, dtype=np.int64)
    arcs = np.flatnonzero(active)
    nodes, firsts = np.unique(blocks.graph.source[arcs], return_index=True)
    kept[arcs[firsts[blocks.inside[nodes]]]] = False
    d = int(kept.sum())
    place[kept] = np.arange(d)
    return place, d


def rows_of(blocks: Blocks, paths: IntArray, arcs: int) -> FloatArray:
    """Return the rows of plays in their units, float [n, B, N]."""
    rows = np.zeros((len(paths), len(blocks.unit), arcs))
    for h, b in enumerate(blocks.of):
        rows[np.arange(len(paths)), b, paths[:, h]] = 1.0 / blocks.unit[b]
    return rows


def normal_matrix(blocks: Blocks, place: IntArray, d: int, paths: IntArray) -> FloatArray:
    """Add up x x^T over the rows of the paths, float [d, d]."""
    total, at = np.zeros((d + 1, d + 1)), place[paths]  # the last row and column take what is dropped
    for h, b in enumerate(blocks.of):
        for k in range(blocks.first[b], blocks.first[b + 1]):
            np.add.at(total, (at[:, h], at[:, k]), 1.0 / (blocks.unit[b] * blocks.unit[b]))
    return np.ascontiguousarray(total[:d, :d])


class Round(NamedTuple):
    """A finished round."""

    paths: IntArray  # [n, H] in the order asked
    scores: FloatArray  # [n, B] gains in their units
    active: BoolArray  # [N] arcs that were left when it began


class Fit(NamedTuple):
    """The least squares of a round; right for differences of paths that were active when it began."""

    n: int
    effect: FloatArray  # [N] 0 where dropped or not active
    spread: FloatArray  # [N, N] the inverse of the normal matrix, 0 where dropped or not active
    rss: float  # residual sum of squares
    free: int  # rows less effects


def fit_round(blocks: Blocks, done: Round) -> Fit:
    """Fit the effects of a round; scores count from their means, which changes no difference of paths."""
    place, d = coordinates(blocks, done.active)
    inverse = np.linalg.inv(normal_matrix(blocks, place, d, done.paths))
    inverse = (inverse + inverse.T) / 2
    centred = done.scores - done.scores.mean(axis=0)
    n_arcs, kept = len(place), np.flatnonzero(place >= 0)
    product = np.bincount(done.paths.ravel(), (centred / blocks.unit)[:, blocks.of].ravel(), n_arcs)  # X^T y
    solution = inverse @ product[kept]
    effect, spread = np.zeros(n_arcs), np.zeros((n_arcs, n_arcs))
    effect[kept] = solution[place[kept]]
    spread[np.ix_(kept, kept)] = inverse[np.ix_(place[kept], place[kept])]
    rss = float(((centred - fitted(blocks, effect, done.paths)) ** 2).sum())
    return Fit(len(done.paths), effect, spread, rss, done.scores.size - d)


def fitted(blocks: Blocks, effect: FloatArray, paths: IntArray) -> FloatArray:
    """Compute the fitted scores of paths in their units, float [n, B]."""
    return np.asarray(np.add.reduceat(effect[paths], blocks.first[:-1], axis=1) / blocks.unit)


def is_estimable(blocks: Blocks, active: BoolArray, paths: IntArray) -> bool:
    """Return whether the rows of these paths tell all effects apart, with a margin for rounding."""
    place, d = coordinates(blocks, active)
    matrix = normal_matrix(blocks, place, d, paths)
    scale = np.sqrt(np.diag(matrix))
    if not scale.all():
        return False
    try:
        low = np.linalg.cholesky(matrix / np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return False
    return bool(np.diag(low).min() > 1e-5)


# Designs --------------------------------------------------------------------------------------------------------------

POOL = 200  # random paths of which the best is taken
SMALL_POOL, MANY = 40, 300  # where there are more effects than MANY: fewer paths, no second pass
RIDGE = 1e-3  # added to the normal matrix while a design is built


@inner_kernel
def draw_path(blocks: Blocks, policy: FloatArray, rng: np.random.Generator, path: IntArray) -> None:
    """Draw a path; the policy gives weights of the arcs out of each node, 0 where an arc is closed."""
    first, target = blocks.graph.first, blocks.graph.target
    node = 0
    for h in range(len(path)):
        total = 0.0
        for e in range(first[node], first[node + 1]):
            total += policy[e]
        left, chosen = rng.random() * total, -1
        for e in range(first[node], first[node + 1]):
            if policy[e] > 0.0:
                chosen = e
                left -= policy[e]
                if left < 0.0:
                    break
        path[h] = chosen
        node = target[chosen]


@inner_kernel
def worth(blocks: Blocks, place: IntArray, spread: FloatArray, aim: FloatArray, path: IntArray) -> float:
    """Rate a further play of a path: what it takes from the variance of the aims, or adds to the determinant."""
    aimed, total, grown = len(aim) > 0, 0.0, 1.0
    for b in range(len(blocks.unit)):
        s, q = 0.0, 0.0
        for h in range(blocks.first[b], blocks.first[b + 1]):
            i = place[path[h]]
            if i < 0:
                continue
            s += spread[i, i]
            if aimed:
                q += aim[i, i]
            for k in range(blocks.first[b], h):
                j = place[path[k]]
                if j >= 0:
                    s += 2.0 * spread[i, j]
                    if aimed:
                        q += 2.0 * aim[i, j]
        weight = 1.0 / (blocks.unit[b] * blocks.unit[b])
        total += q * weight / (1.0 + s * weight)
        grown *= 1.0 + s * weight
    return total if aimed else grown


@inner_kernel
def add_path(
    blocks: Blocks,
    place: IntArray,
    spread: FloatArray,
    aim: FloatArray,
    path: IntArray,
    sign: float,
    u: FloatArray,
    v: FloatArray,
) -> None:
    """Add a play of a path to the inverse matrix and to what it makes of the aims; with sign -1 take it away."""
    d = len(spread)
    for b in range(len(blocks.unit)):
        root = 1.0 / blocks.unit[b]
        u[:] = 0.0
        v[:] = 0.0
        for h in range(blocks.first[b], blocks.first[b + 1]):
            j = place[path[h]]
            if j >= 0:
                for i in range(d):
                    u[i] += root * spread[j, i]
                if len(aim) > 0:
                    for i in range(d):
                        v[i] += root * aim[j, i]
        s, q = 0.0, 0.0
        for h in range(blocks.first[b], blocks.first[b + 1]):
            j = place[path[h]]
            if j >= 0:
                s += root * u[j]
                q += root * v[j]
        if 1.0 + sign * s < 1e-9:
            continue  # the only play that tells something: it stays
        k = sign / (1.0 + sign * s)
        for i in range(d):
            ki = k * u[i]
            if ki != 0.0:
                for j in range(d):
                    spread[i, j] -= ki * u[j]
        if len(aim) > 0:
            for i in range(d):
                x, y = k * u[i], k * v[i]
                z = q * k * x - y
                if x != 0.0 or z != 0.0:
                    for j in range(d):
                        aim[i, j] += z * u[j] - x * v[j]


@kernel
def greedy_plans(
    blocks: Blocks,
    place: IntArray,
    spread: FloatArray,
    aim: FloatArray,
    policies: FloatArray,
    n: int,
    pool: int,
    exchange: int,
    rng: np.random.Generator,
) -> IntArray:
    """Choose n paths one by one, each the best of a pool of random ones; then exchange each once for a better one.

    Args:
        blocks: The graph.
        place: Of each arc among the effects.
        spread: Inverse of the normal matrix of what is there already, float [d, d]; changed.
        aim: spread B spread, where B adds up b z z^T over the differences z to tell apart; empty: none. Changed.
        policies: Weights of arcs from which the pool is drawn, half by each row, float [2, N].
        n: How many.
        pool: Of how many each is the best.
        exchange: 1 for the second pass.
        rng: Draws the pools.
    """
    horizon, d = len(blocks.of), len(spread)
    paths = np.zeros((n, horizon), dtype=np.int64)
    path, best = np.zeros(horizon, dtype=np.int64), np.zeros(horizon, dtype=np.int64)
    u, v = np.zeros(d), np.zeros(d)
    for step in range(n * (1 + exchange)):
        t, top = step % n, -1.0
        if step >= n:
            add_path(blocks, place, spread, aim, paths[t], -1.0, u, v)
            best[:] = paths[t]
            top = worth(blocks, place, spread, aim, best)
        for i in range(pool):
            draw_path(blocks, policies[i % 2], rng, path)
            x = worth(blocks, place, spread, aim, path)
            if x > top * (1.0 + 1e-9):
                top = x
                best[:] = path
        paths[t] = best
        add_path(blocks, place, spread, aim, best, 1.0, u, v)
    return paths


def plan_round(
    blocks: Blocks,
    active: BoolArray,
    n: int,
    rng: np.random.Generator,
    differences: FloatArray | None = None,
    weights: FloatArray | None = None,
    policy: FloatArray | None = None,
) -> IntArray:
    """Choose at least n paths that tell all effects of active arcs apart, int [n, H], in random order.

    Args:
        blocks: The graph.
        active: Arcs that are left.
        n: How many.
        rng: Draws pools and the order.
        differences: Of paths to tell apart above all, float [m, N]; None: all alike.
        weights: How much each of them counts, float [m].
        policy: Weights of arcs for half of the pools.
    """
    place, d = coordinates(blocks, active)
    times = max(1, -(-n // (20 * d)))
    wanted = -(-n // times)
    flow = optimal_flow(blocks.graph, blocks.inside, active, 200, 1e-2)[0]
    policies = np.stack([flow, flow if policy is None else np.where(active, policy, 0.0)])
    large = d > MANY
    kept = np.flatnonzero(place >= 0)
    aims = np.zeros((0, 0))
    if differences is not None and weights is not None and not large:
        z = np.zeros((len(differences), d))
        z[:, place[kept]] = differences[:, kept]
        aims = (z.T * weights) @ z
    chosen = np.zeros((0, len(blocks.of)), dtype=np.int64)
    while True:
        scale = RIDGE / float((blocks.unit**2).min())
        start = np.eye(d) / scale
        aim = np.ascontiguousarray(aims / scale**2) if len(aims) else aims
        chosen = greedy_plans(
            blocks, place, start, aim, policies, wanted, SMALL_POOL if large else POOL, 0 if large else 1, rng
        )
        if is_estimable(blocks, active, chosen):
            break
        wanted, aims = wanted + -(-d // 4), np.zeros((0, 0))
    plans = np.tile(chosen, (times, 1))
    return np.ascontiguousarray(plans[rng.permutation(len(plans))])
