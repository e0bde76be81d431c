"""What trials cost: counted by how far each came, never above the budget, kept in the log, shown and certified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import MDP, Study
from surepath.errors import BudgetError, SettingError
from surepath.study.certificate import verify
from surepath.study.fold import Tally, money
from surepath.study.trial import Trial, TrialRow
from tests.learners.functions import widest
from tests.study.worlds import STEPS

COSTS = {"model": {"small": 0.25, "large": 2.0}, "prompt": {"long": 0.5}}
SCORES = {"small": 0.4, "large": 1.0, "short": 0.1, "long": 0.7}


def priced(**options: Any) -> MDP:
    return MDP.from_steps(STEPS, sigma=0.1, costs=COSTS, **options)


def new(mdp: MDP | None = None, storage: Any = "memory", **options: Any) -> Study:
    return Study.create(priced() if mdp is None else mdp, storage, "s", epsilon=0.3, delta=0.1, **options)


def play(plan: Any) -> list[float]:
    return [SCORES[option] for option in plan.values()]


rows = st.lists(
    st.tuples(
        st.sampled_from(["complete", "partial", "failed", "expired", "cancelled"]),
        st.sampled_from(["asked", "late", "imported"]),
        st.integers(0, 3),
        st.integers(0, 20),
        st.sampled_from([None, None, 0.0, 7.0]),
    ),
    max_size=12,
)


@given(rows)
def test_every_trial_counts_for_the_steps_that_were_run(drawn: Any) -> None:
    cost = [1.0, 10.0, 100.0, 1000.0]
    tally, log = Tally(np.array(cost)), list[TrialRow]()
    for number, (state, source, which, of, paid) in enumerate(drawn, start=1):
        path = (which % 2, 2 + which // 2)
        late = source == "late"
        told = {"complete": (0.1, 0.2), "partial": (0.1,)}.get(state, ())
        if late and (state not in ("complete", "partial") or of >= number or not of):
            source, late = "asked", False
        if late:
            path = log[of - 1].path
        log.append(
            TrialRow(number, state, path, source, of if late else None, told, cost=None if state == "expired" else paid)
        )
        tally.count(log[-1])
    total = 0.0
    for row in log:
        reported = next((r for r in log if r.source == "late" and r.of == row.number), None)
        if row.source == "imported" or row.state == "cancelled":
            continue
        if row.state == "expired" and reported is not None:
            continue  # what its late result says counts in its place
        run = 2 if row.state in ("complete", "expired") else len(row.rewards) + 1
        total += sum(cost[arc] for arc in row.path[:run]) if row.cost is None else row.cost
    assert tally.spent == total
    copy = Tally(tally._cost)
    copy.load(json.loads(json.dumps(tally.as_tree())))
    assert copy.__dict__ == tally.__dict__


def test_what_was_told_counts_in_place_of_what_was_declared(tmp_path: Path) -> None:
    study = new(storage=f"sqlite:///{tmp_path / 's.db'}")
    first, second = study.ask(2)
    study.tell(first, play(first.plan), cost=2 * study.mdp.price(first.path))
    assert study.spent == 2 * study.mdp.price(first.path)
    left = 2 * study.mdp.price(second.path) + 0.49  # twice what is declared is expected, 0.50 for the cheapest plan
    with pytest.raises(BudgetError, match="are spent or under way"):
        study.ask(budget=study.spent + left)
    study.fail(second, note="why", cost=0.125)
    assert study.spent == 2 * study.mdp.price(first.path) + 0.125
    while not study.done:
        trial = study.ask()
        study.tell(trial, play(trial.plan), cost=0.5)
    assert verify(study.certificate(), study.storage.url).answer == "yes"
    with pytest.raises(SettingError, match="the cost of trial 1 must be at least 0, not -1"):
        study.tell(first, play(first.plan), cost=-1)


def test_a_budget_by_told_costs_alone() -> None:
    study = new(MDP.from_steps(STEPS, sigma=0.1))
    for _ in range(3):
        study.tell(study.ask(budget=1.0), [0.1, 0.2], cost=0.3)
    with pytest.raises(BudgetError, match=r"0\.90 are spent or under way, and the next trial costs 0\.30"):
        study.ask(budget=1.0)
    assert len(study.ask(9, budget=2.0)) == 3


@settings(max_examples=15, deadline=None)
@given(st.floats(0.3, 30.0), st.lists(st.sampled_from(["tell", "fail", "ask"]), max_size=30), st.integers(1, 3))
def test_nothing_is_assigned_beyond_the_budget(budget: float, moves: list[str], n: int) -> None:
    study, running = new(), list[Trial]()
    for move in moves:
        if move == "ask" or not running:
            if study.done:
                break
            try:
                running += study.ask(n, budget=budget)
            except BudgetError:
                continue
        elif move == "tell":
            trial = running.pop()
            study.tell(trial, play(trial.plan))
        else:
            study.fail(running.pop())
        most = (study.spent or 0.0) + sum(study.mdp.price(trial.path) for trial in running)
        assert most <= budget * (1 + 1e-9)


def test_a_spent_budget_is_reported_in_words_and_waiting_plans_stay() -> None:
    study = new()
    dear, cheap = {"model": "large", "prompt": "long"}, {"model": "small", "prompt": "short"}
    for plan in (dear, cheap):
        study.enqueue(plan)
    words = r"the budget of 2\.00 is spent: 0\.00 are spent or under way, and the next trial costs 2\.50; no trial was"
    with pytest.raises(BudgetError, match=words):
        study.ask(budget=2.0)
    assert [trial.plan for trial in study.ask(2, budget=2.6)] == [dear]
    assert study.ask(budget=2.75).plan == cheap


def test_budgets_that_make_no_sense_are_refused() -> None:
    free = new(MDP.from_steps(STEPS, sigma=0.1))
    free.tell(free.ask(budget=3.0), [0.5, 0.5])
    with pytest.raises(
        SettingError, match="a budget needs costs, and neither does an option have one nor was one told"
    ):
        free.ask(budget=3.0)
    with pytest.raises(SettingError, match="a budget is a positive amount, not -1"):
        new().optimize(play, budget=-1)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_optimize_stops_within_its_budget(n_jobs: int, capsys: pytest.CaptureFixture[str]) -> None:
    study = new()
    study.optimize(play, budget=5.0, n_jobs=n_jobs, progress=True)
    assert study.spent is not None
    assert 2.5 < study.spent <= 5.0
    assert not study.done
    shown = capsys.readouterr().err
    assert f"{money(study.spent)} spent of 5.00" in shown
    assert "the budget is spent" in shown
    again = study.spent
    study.optimize(play, budget=5.0, progress=False)  # what was spent before counts
    assert study.spent == again or study.spent <= 5.0
    study.optimize(play, progress=False)
    assert study.done


def test_status_explanation_and_certificate_say_what_was_spent_and_what_counts() -> None:
    study = new(priced(cost_weight=0.1))
    study.optimize(play, n_trials=4, progress=False)
    now = study.status()
    assert now.spent == study.spent
    assert now.worth == "worth = score - 0.1 x cost"
    assert f"spent {money(now.spent or 0)}" in study.explain()
    assert "counted: worth = score - 0.1 x cost" in study.explain()
    plain = new(MDP.from_steps(STEPS, sigma=0.1)).status().as_dict()
    assert (plain["spent"], plain["worth"]) == (None, "")
    assert "worth = score - 0.1 x cost" in study._repr_html_()
    study.optimize(play, progress=False)
    assert "by score minus 0.1 times the cost" in str(study.certificate())
    assert verify(study.certificate(), storage=study.storage).holds


def test_a_rule_of_ones_own_is_refused_by_a_study() -> None:
    with pytest.raises(SettingError, match="sampling=widest is a rule of your own"):
        new(learner={"name": "challenger", "sampling": widest})
