"""figure-cases: every run is shown, and a difference counts when it is sure."""

from __future__ import annotations

import pytest

from surepath.experiments.drawing import AS_STRIP
from surepath.experiments.figures import cases
from surepath.experiments.figures.common import summary

pl = pytest.importorskip("polars")


def test_cases_show_every_run() -> None:
    runs = pl.DataFrame(
        {
            "instance": ["paper_random-v1/s2a2h3/sigma0.5/seed25"] * 4,
            "learner": ["Challenger", "Challenger", "max-coverage", "max-coverage"],
            "run": [1, 0, 0, 1],
            "tau": [7, 5, 90, 80],
            "epsilon": [0.25] * 4,
        }
    )
    (panel,) = cases.panels({"runs": runs})
    assert panel.title == "paper_random s2a2h3, seed 25: epsilon = 0.250"
    assert panel.categories == ["max-coverage", "Challenger"]
    assert [(series.x, series.y, series.kind) for series in panel.series] == [
        ([0.0, 0.0], [90.0, 80.0], AS_STRIP),
        ([1.0, 1.0], [5.0, 7.0], AS_STRIP),
    ]


@pytest.mark.parametrize(("runs", "differs", "ours"), [(10, True, True), (3, None, None)])
def test_claims_need_enough_runs(runs: int, differs: bool | None, ours: bool | None) -> None:
    tau = {"i0": {"max-coverage": 90, "max-diameter": 70, "BPI-UCRL": 99, "Challenger": 9},
           "i1": {"max-coverage": 90, "max-diameter": 80, "BPI-UCRL": 60, "Challenger": 9}}  # fmt: skip
    frame = pl.DataFrame(
        [
            {"instance": i, "learner": label, "delta": 0.1, "epsilon": 1.0, "epsilon_per_gap": 1.5, "run": run,
             "tau": t + run % 2, "correct": True, "censored": False}
            for i, by_learner in tau.items() for label, t in by_learner.items() for run in range(runs)
        ]
    )  # fmt: skip
    first, second = cases.claims(frame, summary(frame), ["i0", "i1"])
    assert (first.holds, second.holds) == (differs, ours)
