"""Widths of confidence intervals from a declared sigma."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

from surepath._checks import FloatArray
from surepath.kernels.jit import bare_kernel, folded_kernel, hot_kernel

# A width is half the length of the interval. Each is sigma times a base that depends on n alone, so one table of
# bases by n serves all arcs and runs, shared by all learners of one process whose widths are the same function of n.
#
# paper      b(n) = sigma sqrt(2 log(4 n^2 N / delta) / n). The paper's equation for the bonus: Hoeffding's inequality
#            with a union over the N reachable arcs and over all n (sum of 1 / (2 n^2) is below 1).
# empirical  b(n) = min(sigma sqrt(2 log((n + 1) / delta) / n), 1), and 1 while n = 0. What the authors ran: no union
#            over arcs or times, hence NO guarantee.
# mixture    of whole plans: b(n) = sigma sqrt(2 (n + c) (log(N / delta) + log(1 + n / c) / 2)) / n, c = 20. With S_n
#            the sum of the first n noises over sigma, exp(l S_n - l^2 n / 2) mixed over l ~ Normal(0, 1 / c) is
#            sqrt(c / (n + c)) exp(S_n^2 / (2 (n + c))), a supermartingale started at 1. Ville's inequality at level
#            delta / N gives b(n), valid for all n at once.

ARC_WIDTHS = ("paper", "empirical", "mixture")
PAPER, EMPIRICAL, MIXTURE = range(3)
PRIOR = 20.0  # c of the mixture

# Beyond this many entries a table stops growing and bases are computed one by one.
LARGEST_TABLE = 1 << 23

UNIT = 2.0**-53  # half a unit in the last place of 1: rounding of one operation, relative to its result
NEAR = 64.0  # sigmas from 0 within which a sum counts from 0


@folded_kernel
def origin_of(gain: float, sigma: float) -> float:
    """Choose where the sum of an arc starts to count, by its first gain."""
    return 0.0 if abs(gain) <= NEAR * sigma else gain


@hot_kernel
def base_width(kind: int, n: float, arcs: float, delta: float) -> float:
    """Compute the width after n >= 1 visits for sigma = 1. The cap of "empirical" is the caller's."""
    if kind == PAPER:
        return math.sqrt(2.0 * math.log(4.0 * n * n * arcs / delta) / n)
    if kind == MIXTURE:
        return math.sqrt(2.0 * (n + PRIOR) * (math.log(arcs / delta) + 0.5 * math.log(1.0 + n / PRIOR))) / n
    return math.sqrt(2.0 * math.log((n + 1.0) / delta) / n)


@bare_kernel
def fill_table(kind: int, arcs: float, delta: float, start: int, table: FloatArray) -> None:
    """Fill table[i] with the base width after start + i visits; infinite after none."""
    for i in range(len(table)):
        n = start + i
        table[i] = base_width(kind, float(n), arcs, delta) if n > 0 else np.inf


# Only these many functions are remembered; a learner keeps its own table alive anyway.
_REMEMBERED = 2
_tables: dict[tuple[float, ...], FloatArray] = {}
_lock = threading.Lock()


def new_table(rules: Any, size: int, start: int = 0) -> FloatArray:
    """Compute base widths after start, start + 1, ... visits, by rules.authors, arcs and delta."""
    table = np.zeros(size)
    fill_table(rules.authors, rules.arcs, rules.delta, start, table)
    return table


def table_of(rules: Any, size: int) -> FloatArray:
    """Find a table with at least this many entries, or the largest one there is; nobody may write into it."""
    key = float(rules.authors), rules.arcs * (1 - rules.authors), rules.delta
    with _lock:
        table = _tables.pop(key, None)
        if table is None:
            table = new_table(rules, min(LARGEST_TABLE, size))
        elif len(table) < size and len(table) < LARGEST_TABLE:
            wanted = min(LARGEST_TABLE, max(size, 2 * len(table)))
            table = np.concatenate((table, new_table(rules, wanted - len(table), len(table))))
        _tables[key] = table  # now the youngest
        while len(_tables) > _REMEMBERED:
            del _tables[next(iter(_tables))]
        return table
