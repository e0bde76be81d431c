"""Tables of widths, shared by all learners of one process whose widths are the same function of the visits.

A long run needs millions of entries, and an experiment builds a learner for every task; filling a table again
would take as long as a run.
"""

from __future__ import annotations

import threading

import numpy as np

from surepath._types import FloatArray
from surepath.kernels.widths import EMPIRICAL, LARGEST_TABLE, MIXTURE, UNCAPPED, fill_table
from surepath.learners.per_arc.state import Rules

# Only these many functions are remembered; a learner keeps its own table alive anyway.
_REMEMBERED = 2
_tables: dict[tuple[float, ...], FloatArray] = {}
_lock = threading.Lock()


def new_table(rules: Rules, size: int, start: int = 0) -> FloatArray:
    """Compute base widths after start, start + 1, ... visits."""
    table = np.zeros(size)
    fill_table(rules.widths, rules.arcs, rules.delta, rules.prior, start, table)
    return table


def table_of(rules: Rules, size: int) -> FloatArray:
    """Find a table with at least this many entries, or the largest one there is; nobody may write into it."""
    key = _key(rules)
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


def _key(rules: Rules) -> tuple[float, ...]:
    """Collect what the widths depend on."""
    arcs = 0.0 if rules.widths in (EMPIRICAL, UNCAPPED) else rules.arcs
    return float(rules.widths), arcs, rules.delta, rules.prior if rules.widths == MIXTURE else 0.0
