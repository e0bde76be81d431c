"""figure-hard: a panel per size."""

from __future__ import annotations

import pytest

from surepath.experiments.figures import hard

pl = pytest.importorskip("polars")


def test_hard_has_a_panel_per_size_with_its_bounds() -> None:
    rows = [
        {"axis": axis, "states": 4, "actions": 2, "horizon": 6, "size": size, "learner": "max-diameter",
         "mean": 10.0 * size, "low": 9, "high": 99, "censored": 0.0, "lower": 1.0 * size, "upper": 1e4 * size,
         "published": 3.0 * size, "design": 5.0 * size}
        for axis in ("states", "actions", "horizon")
        for size in (4, 2)
    ]  # fmt: skip
    panels = hard.panels({"sizes": pl.DataFrame(rows)})
    assert [(panel.title, panel.x_label) for panel in panels] == [
        ("A = 2, H = 6", "states"),
        ("S = 4, H = 6", "actions"),
        ("S = 4, A = 2", "horizon"),
    ]
    learner, lower, published, design, upper = panels[0].series
    assert (published.label, published.y) == ("published bound (refuted)", [6.0, 12.0])
    assert (design.label, design.y) == ("design, fixed in advance", [10.0, 20.0])
    assert (learner.x, learner.y, learner.low, learner.high) == ([2, 4], [20.0, 40.0], [9, 9], [99, 99])
    assert (lower.label, lower.y, upper.y, upper.dash) == ("lower bound", [2.0, 4.0], [2e4, 4e4], "dashed")
