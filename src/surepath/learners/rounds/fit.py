"""What a finished round says of every plan: least squares on the effects of arcs, round by round.

A score covers a block of stages: all of them (one score at the end), or those since the scored stage before. Its row
has a 1 at each arc of the path in the block, divided by the unit of the block's scores. Rows do not tell all arcs
apart: moving an amount from the arcs into a node to those out of it changes no score, unless a score is given right
there. So one outgoing arc of each such node is dropped and counts as 0, and d = arcs - nodes are left. Differences of
paths do not depend on what was dropped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
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
