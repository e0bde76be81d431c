"""The plans of a round: chosen before its first score, to tell apart what is still open.

For a law that draws paths by a Markov chain with flow w, the variance of a pair is a sum along the two paths: of 1/w
over arcs in exactly one of them, less 1/w over nodes inside a block in exactly one of them (docs, "End scores"). The
law of largest determinant over all laws of paths is Markov and maximises sum log w(arc) - sum log w(node).
"""

from __future__ import annotations

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath.kernels.flow import optimal_flow
from surepath.kernels.jit import inner_kernel, kernel
from surepath.learners.rounds.fit import Blocks, coordinates, is_estimable

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
