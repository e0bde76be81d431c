"""figure-cases: every run is shown."""

from __future__ import annotations

import pytest

from surepath.experiments.figures import cases
from surepath.experiments.figures.panels import STRIP

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
        ([0.0, 0.0], [90.0, 80.0], STRIP),
        ([1.0, 1.0], [5.0, 7.0], STRIP),
    ]
