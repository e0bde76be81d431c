"""Which plans are assigned next: those that wait first, then what the learner chooses, as far as a budget goes."""

from __future__ import annotations

from surepath.study.fold import Fold
from surepath.study.spending import affordable
from surepath.study.storage import QueueRow, Writing
from surepath.study.trial import ASKED


def next_plans(log: Writing, fold: Fold, n: int, budget: float | None) -> list[QueueRow]:
    """Choose up to n plans; fewer where a budget ends before, and a BudgetError where not even one fits into it."""
    plans = _from_queue(log, fold, n)
    if len(plans) < n:
        for path in fold.choose(n - len(plans), [plan.path for plan in plans]).tolist():
            plans.append(QueueRow(0, tuple(path), ASKED))
    if budget is not None and fold.committed is not None:
        prices = [fold.mdp.price(plan.path) for plan in plans]
        kept = affordable(fold.committed, prices, budget)
        for plan in reversed(plans[kept:]):
            if plan.source != ASKED:
                log.add_to_queue(plan, front=True)
        plans = plans[:kept]
    return plans


def _from_queue(log: Writing, fold: Fold, n: int) -> list[QueueRow]:
    """Take up to n waiting plans from the front; those with an excluded option are dropped."""
    plans: list[QueueRow] = []
    while len(plans) < n and (waiting := log.queue(n - len(plans))):
        excluded = fold.learner.excluded
        for plan in waiting:
            log.take_from_queue(plan.number)
            if not excluded[list(plan.path)].any():
                plans.append(plan)
    return plans
