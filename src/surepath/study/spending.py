"""What trials have cost: the sum of their known costs, step by step, as far as each trial came.

A trial counts for the steps that were run: all of them when it is complete, the steps that were scored and the one that
failed when it failed on the way (the first step alone when nothing was scored). A trial that expired counts in full,
since nobody knows how far it came, until a late result says so. A cancelled trial was not run, and an imported one was
paid for elsewhere: they count nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from surepath._checks import real
from surepath._types import FloatArray
from surepath.errors import BudgetError, SettingError
from surepath.model.mdp import MDP
from surepath.study.storage import TrialRow
from surepath.study.trial import CANCELLED, COMPLETE, EXPIRED, IMPORTED, LATE


def money(amount: float) -> str:
    """Write an amount: two decimals, or as many figures as a small one needs.

    Example:
        >>> money(12.5), money(1234.0), money(0.0042), money(0)
        ('12.50', '1,234.00', '0.0042', '0.00')
    """
    return f"{amount:.2g}" if 0 < abs(amount) < 0.01 else f"{amount:,.2f}"


class Spending:
    """What settled trials have cost, in the order of the log.

    Attributes:
        total: The sum.
        unreported: Numbers of expired trials that count in full so far.
    """

    def __init__(self, cost: FloatArray) -> None:
        self._cost = cost
        self.total = 0.0
        self.unreported: set[int] = set()

    def count(self, row: TrialRow) -> None:
        """Count one settled trial."""
        if row.state == CANCELLED or row.source == IMPORTED:
            return
        if row.source == LATE and row.of in self.unreported:
            self.unreported.discard(row.of)
            self.total -= self.price(row.path)
        if row.state == EXPIRED:
            self.unreported.add(row.number)
        whole = row.state in (COMPLETE, EXPIRED)
        self.total += self.price(row.path if whole else row.path[: len(row.rewards) + 1])

    def price(self, arcs: Iterable[int]) -> float:
        """Return the sum of the costs of some arcs."""
        return math.fsum(self._cost[list(arcs)])

    def with_rows(self, rows: Iterable[TrialRow]) -> Spending:
        """Return the spending with these rows counted too, those that still run as if complete."""
        later = Spending(self._cost)
        later.total, later.unreported = self.total, set(self.unreported)
        for row in sorted(rows):
            later.count(row if row.settled or row.state == EXPIRED else row._replace(state=COMPLETE))
        return later

    def as_tree(self) -> dict[str, Any]:
        """Return everything as numbers and arrays."""
        return {"spent": self.total, "unreported": np.array(sorted(self.unreported), dtype=np.int64)}

    def load(self, tree: dict[str, Any]) -> None:
        """Load what `as_tree` returned."""
        self.total = float(tree["spent"])
        self.unreported = set(np.asarray(tree["unreported"]).tolist())


def checked_budget(mdp: MDP, budget: float | None) -> float | None:
    """Check what a study may spend in all, in the unit of the problem's costs; None where nothing limits it."""
    if budget is None:
        return None
    if mdp.cost is None:
        raise SettingError("a budget is in the unit of the problem's costs, and no option of this one has a cost")
    limit = real("budget", budget)
    if limit <= 0:
        raise SettingError(f"a budget is a positive amount, not {limit:g}")
    return limit


def affordable(spent: float, prices: Iterable[float], budget: float) -> int:
    """Count the next trials that fit into the budget, or raise an error that says why none does."""
    count = 0
    for price in prices:
        if spent + price > budget * (1 + 1e-12):
            if count == 0:
                raise BudgetError(
                    f"the budget of {money(budget)} is spent: {money(spent)} are spent or under way, and the next "
                    f"trial costs {money(price)}; no trial was assigned"
                )
            break
        spent, count = spent + price, count + 1
    return count
