"""Judging claims: the guarantees by errors, theorems on what they are about, comparisons by paired runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surepath.experiments.figures.common import (
    LABELS,
    cheaper_everywhere,
    compared,
    error_claims,
    proven,
    settled,
    summary,
    under,
)
from tests.experiments.figures.frames import rows

pl = pytest.importorskip("polars")


def answers(delta: float, wrong: int, runs: int, cut: bool = False, instance: str = "i") -> Any:
    """Runs of Challenger on one instance, some of them wrong."""
    return pl.DataFrame(
        {"instance": instance, "learner": "Challenger", "delta": delta, "epsilon": 1.0, "epsilon_per_gap": 2.0,
         "run": range(runs), "tau": 5, "correct": [i >= wrong for i in range(runs)], "censored": cut}
    )  # fmt: skip


def test_too_many_errors_break_the_guarantee() -> None:
    paper, ours = error_claims(summary(rows({label: [5, 5] for label in LABELS}, runs=2)), "theory")
    assert (paper.measured, paper.holds) == ("0 wrong of 24 answers (0.00%)", True)
    assert (ours.measured, ours.holds) == ("0 wrong of 8 answers (0.00%)", True)
    many = answers(0.1, 20, 40)
    assert not error_claims(summary(many), "theory")[1].holds
    assert error_claims(summary(many), "theory")[0].measured == "no run stopped before the budget"
    at = "20 wrong of 40 answers (50.00%); at worst 20 of 40 for Challenger at delta 0.1"
    assert error_claims(summary(many), "theory")[1].measured == at
    assert error_claims(summary(answers(0.1, 6, 40)), "theory")[1].holds  # more than a tenth, but chance does that
    # Neither a large delta elsewhere, nor right answers on other instances, nor cut runs hide errors.
    assert not error_claims(summary(pl.concat([answers(0.1, 0, 180), answers(1e-12, 1, 20)])), "theory")[1].holds
    others = [answers(0.1, 0, 20, instance=f"j{i}") for i in range(9)]
    assert not error_claims(summary(pl.concat([*others, answers(0.1, 20, 20)])), "theory")[1].holds
    assert error_claims(summary(answers(0.1, 3, 20, cut=True)), "theory")[1].holds is None


def test_theorems_are_judged_on_what_they_are_about() -> None:
    frame = rows({label: [5, 5] for label in LABELS}, runs=2)
    assert set(proven(frame, "theory")["learner"]) == set(LABELS)
    assert set(proven(frame, "experiment")["learner"]) == {"Challenger"}
    assert under(0.5, "theory", cut=False) is True
    assert under(0.5, "theory", cut=True) is None
    assert under(0.5, "experiment", cut=False) is None
    assert under(1.5, "experiment", cut=True) is False


def test_factors_and_probabilities_are_those_of_the_pairs() -> None:
    found = compared(
        rows({"max-coverage": [90, 40], "max-diameter": [30, 40], "BPI-UCRL": [1, 1], "Challenger": [1, 1]}),
        "max-diameter",
        "max-coverage",
    )
    assert found["instance"].to_list() == ["i0", "i1"]
    assert found["runs"].to_list() == [8, 8]
    logs = [np.log(91 / 31) / 2, np.log(90 / 30) / 2]  # odd and even runs, over both epsilons
    assert found["factor"].to_list() == pytest.approx([np.exp(np.mean(logs))] * 2)
    assert found["p"].to_list() == [2 / 2**8] * 2  # all pairs differ the same way


def test_all_must_be_sure_and_one_sure_exception_refutes() -> None:
    def part(*tests: tuple[float, float]) -> Any:
        return pl.DataFrame([{"factor": factor, "p": p} for factor, p in tests])

    assert cheaper_everywhere([part((2.0, 0.01), (1.1, 0.04)), part((3.0, 0.001))]) is True
    assert cheaper_everywhere([part((2.0, 0.01), (1.1, 0.06))]) is None
    assert cheaper_everywhere([part((2.0, 0.01), (0.9, 0.03))]) is None  # one of two, by chance
    assert cheaper_everywhere([part((2.0, 0.01), (0.9, 0.02))]) is False


def test_five_runs_settle_nothing_and_six_may() -> None:
    assert [settled(True, 5), settled(True, 6), settled(False, 6)] == [None, True, False]
