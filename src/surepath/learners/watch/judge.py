"""Which places and kinds contradict what was declared: every e-value, weighed so that one union covers them all.

Noise, dependence, drift and luck have a quarter of the weight each. Within noise a third goes to all arcs together, a
third to the stages, a third to single arcs; within dependence and drift half to (pairs of) stages, half to single arcs.
Where one sigma is unknown, only equal noise is judged: half for stages, half for arcs. The weights sum to at most 1, so
1 / (weight x e-value) is a p-value that has the union in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from surepath._types import FloatArray, IntArray
from surepath.learners.watch.contexts import ANY, Cells, Contexts
from surepath.learners.watch.evalues import (
    calm_gain,
    larger_noise,
    larger_than,
    own_shifts,
    shared_luck,
    shared_shifts,
    sums,
)
from surepath.learners.watch.findings import DEPENDENCE, DRIFT, EXACT, LUCK, NOISE, REPORT_P, UNEQUAL

EXACT_TO = 2.0**-50  # rewards declared exact may differ by this much of their size
LARGEST_STAGE = 100  # a stage with more arcs and contexts than this is judged arc by arc only


class Counts(NamedTuple):
    """What a `Watch` has counted, on the arcs with noise that were played."""

    arc: IntArray  # [A]
    sigma: FloatArray  # [A]
    n: FloatArray  # [A] rewards
    spread: FloatArray  # [A] Q, the sum of squares of z about their mean


class Plans(NamedTuple):
    """The trials of each plan, by the sum of z over those of its steps that have noise and were told."""

    path: IntArray  # [P, H] arcs, ANY at the other steps
    trials: FloatArray  # [P]
    mean: FloatArray  # [P]
    spread: FloatArray  # [P] sum of squares about the mean


class Judged(NamedTuple):
    """One row for each place and kind judged."""

    kind: int
    log_p: FloatArray  # [R] above 0 where nothing contradicts what was declared
    stage: IntArray  # [R] or ANY
    arc: IntArray  # [R] or ANY
    earlier: IntArray  # [R] stage of the earlier choice, or ANY
    declared: FloatArray  # [R]
    seen: FloatArray  # [R]


def judge(contexts: Contexts, counts: Counts, choices: Cells, epochs: Cells, plans: Plans) -> Iterator[Judged]:
    """Judge every place and kind where there is noise.

    Where a shift is found, what it accounts for is taken out of the noise, and luck, which it can look like, is not
    judged: so one cause is not reported as two.
    """
    explained = np.zeros(len(counts.arc))
    for kind, cells in ((DEPENDENCE, choices), (DRIFT, epochs)):
        if len(cells.arc):
            yield from _shifts(kind, contexts, counts, cells, explained)
    if len(plans.trials) and not explained.any():
        variance = max(1.0, float(counts.spread.sum()) / max(1.0, float((counts.n - 1).sum())))
        log_e, seen = shared_luck(plans.path, plans.trials, plans.mean, plans.spread, variance)
        none = np.full(1, ANY)
        yield Judged(LUCK, np.log(4) - np.array([log_e]), none, none, none, np.zeros(1), np.array([seen]))
    if len(counts.arc):
        yield from _noise(contexts, counts._replace(spread=np.maximum(counts.spread - explained, 0)))


def differing(contexts: Contexts, counts: Counts, origin: FloatArray) -> Judged:
    """Find rewards declared exact that differ: impossible, so they need no e-value and no weight."""
    root = np.sqrt(counts.spread)
    size = np.abs(origin).max(initial=0.0) + root.max(initial=0.0)  # of the rewards that are compared
    bad = np.flatnonzero(root > EXACT_TO * np.sqrt(counts.n) * size)
    arc, seen = counts.arc[bad], root[bad] / np.sqrt(counts.n[bad] - 1)
    none = np.full(len(bad), ANY)
    return Judged(EXACT, np.full(len(bad), -np.inf), contexts.stage(arc), arc, none, 0 * seen, seen)


def unequal(contexts: Contexts, counts: Counts) -> Iterator[Judged]:
    """Judge whether the noise of a stage or an arc differs from that of all others, where one sigma is unknown."""
    arc, _, n, spread = counts
    stage, none = contexts.stage(arc), np.full(len(arc), ANY)
    columns = np.column_stack([n, spread, n - 1, calm_gain(n)])
    everything = columns.sum(axis=0)
    for union, group_of, at_arc in ((4 * (len(contexts.stage_arc) - 1), stage, none), (4 * contexts.n_arcs, arc, arc)):
        _, first, group = np.unique(group_of, return_index=True, return_inverse=True)
        own = sums(group, columns, len(first))
        others = everything - own
        size, elsewhere = (np.sqrt(np.maximum(x[:, 1], 0) / np.maximum(x[:, 2], 1)) for x in (own, others))
        for more, less in ((own, others), (others, own)):
            log_e = larger_than(more[:, 0], np.maximum(more[:, 1], 0), less[:, 3:], np.maximum(less[:, 1], 0))
            yield Judged(UNEQUAL, np.log(union) - log_e, stage[first], at_arc[first], none[first], elsewhere, size)


def _noise(contexts: Contexts, counts: Counts) -> Iterator[Judged]:
    """Judge whether noise is larger than declared; an arc played once adds nothing and costs its price."""
    arc, sigma, n, spread = counts
    stage, none = contexts.stage(arc), np.full(len(arc), ANY)
    columns = np.stack([n, spread, n - 1, n * sigma], axis=1)
    stages = len(contexts.stage_arc) - 1
    for union, group_of, at_stage, at_arc in (
        (12, none, none, none),
        (12 * stages, stage, stage, none),
        (12 * contexts.n_arcs, arc, stage, arc),
    ):
        _, first, group = np.unique(group_of, return_index=True, return_inverse=True)
        count, square, freedom, weighted = sums(group, columns, len(first)).T
        log_p = np.log(union) - larger_noise(count, square)
        declared = weighted / count
        seen = declared * np.sqrt(square / np.maximum(freedom, 1))
        yield Judged(NOISE, log_p, at_stage[first], at_arc[first], none[first], declared, seen)


def _shifts(kind: int, contexts: Contexts, counts: Counts, cells: Cells, explained: FloatArray) -> Iterator[Judged]:
    """Judge whether means differ by context, at the larger of the declared and the seen noise."""
    before = contexts.earlier_stage(cells.context)
    base = len(contexts.stage_arc) + 1
    _, first, family = np.unique(cells.arc * base + before, return_index=True, return_inverse=True)
    arc, earlier, later = cells.arc[first], before[first], contexts.stage(cells.arc[first])
    at = np.searchsorted(counts.arc, arc)
    sigma, n, spread = counts.sigma[at], counts.n[at], counts.spread[at]
    count, total, several = sums(
        family, np.stack([cells.rewards, cells.total, np.ones(len(family))], axis=1), len(arc)
    ).T
    apart = cells.rewards * (cells.total / cells.rewards - (total / count)[family]) ** 2
    between = np.bincount(family, apart)
    variance = np.maximum(1.0, spread / np.maximum(n - 1, 1))
    sizes = np.diff(contexts.stage_arc)
    pairs, arcs = (
        (len(contexts.later), sizes[contexts.later].sum()) if kind == DEPENDENCE else (len(sizes), sizes.sum())
    )

    log_p = np.log(8 * arcs) - own_shifts(family, cells.rewards, cells.total, variance)
    seen = sigma * np.sqrt(np.maximum(between - (several - 1) * variance, 0) / count)
    yield Judged(kind, log_p, later, arc, earlier, 0 * seen, seen)
    found = log_p < np.log(REPORT_P)

    _, head, pair = np.unique(later * base + earlier, return_index=True, return_inverse=True)
    log_p, seen = np.empty(len(head)), np.empty(len(head))
    for row, (own, mine) in enumerate(zip(_members(pair), _members(pair[family]))):  # arcs and cells of a pair
        freedom = max(1.0, float((n[own] - 1).sum()))
        noise = max(1.0, float(spread[own].sum()) / freedom)
        log_e, shift = _table(cells.arc[mine], cells.context[mine], cells.rewards[mine], cells.total[mine], noise)
        log_p[row] = np.log(8 * pairs) - log_e
        seen[row] = shift * np.average(sigma[own], weights=count[own])
        found[own] |= log_p[row] < np.log(REPORT_P)
    yield Judged(kind, log_p, later[head], np.full(len(head), ANY), earlier[head], 0 * seen, seen)
    np.maximum.at(explained, at[found], between[found])


def _table(arc: IntArray, context: IntArray, count: FloatArray, total: FloatArray, noise: float) -> tuple[float, float]:
    """Compute the log e-value of shifts shared by all arcs of a stage, and their typical size in units of sigma."""
    arcs, row = np.unique(arc, return_inverse=True)
    contexts, column = np.unique(context, return_inverse=True)
    if len(contexts) < 2 or len(arcs) + len(contexts) > LARGEST_STAGE:
        return -np.inf, 0.0
    counts, totals = np.zeros((2, len(arcs), len(contexts)))
    counts[row, column], totals[row, column] = count, total
    log_e, apart = shared_shifts(counts, totals, noise)
    return log_e, float(np.sqrt(max(0.0, apart - (len(contexts) - 1) * noise) / count.sum()))


def _members(group: IntArray) -> list[IntArray]:
    """List the positions of the members of each group 0, 1, ..., none of them empty."""
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
