"""The test behind every claim that compares two learners."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surepath.experiments.figures.common import cheaper_everywhere, compared, settled
from tests.experiments.figures.frames import rows

pl = pytest.importorskip("polars")


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
