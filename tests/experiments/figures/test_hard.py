"""figure-hard: a panel per size, one for delta, and one where the published bound crosses the design."""

from __future__ import annotations

from typing import Any

import pytest

from surepath.experiments.figures import hard

pl = pytest.importorskip("polars")

CROSSING = pl.DataFrame({"delta": [1e-150, 0.1], "lower": [9.0, 1.0], "published": [80.0, 3.0], "design": [50.0, 40.0]})


def frames() -> dict[str, Any]:
    """Two sizes of each axis, and two deltas."""
    rows = [
        {"axis": axis, "states": 4, "actions": 2, "horizon": 6, "delta": 0.1, "size": size, "learner": "max-coverage",
         "mean": 10.0 * size, "low": 9, "high": 99, "censored": 0.0, "runs": 6, "lower": 1.0 * size,
         "upper": 1e4 * size, "published": 3.0 * size, "design": 5.0 * size, "full": 1.0}
        for axis in ("states", "actions", "horizon", "delta")
        for size in (4.0, 2.0)
    ]  # fmt: skip
    return {"sizes": pl.DataFrame(rows), "crossing": CROSSING}


def test_hard_has_a_panel_per_size_with_its_bounds() -> None:
    panels = hard.panels(frames())
    assert [(panel.title, panel.x_label, panel.x_falls) for panel in panels] == [
        ("A = 2, H = 6", "states", False),
        ("S = 4, H = 6", "actions", False),
        ("S = 4, A = 2", "horizon", False),
        ("S = 4, A = 2, H = 6", "delta", True),
        ("S = 2, A = 2, H = 576, epsilon = 6", "delta", True),
    ]
    learner, lower, published, design, upper = panels[0].series
    assert (published.label, published.y) == ("published bound (refuted)", [6.0, 12.0])
    assert (design.label, design.y) == ("design, fixed in advance", [10.0, 20.0])
    assert (learner.x, learner.y, learner.low, learner.high) == ([2, 4], [20.0, 40.0], [9, 9], [99, 99])
    assert (lower.label, lower.y, upper.y, upper.dash) == ("lower bound", [2.0, 4.0], [2e4, 4e4], "dashed")
    assert [series.y for series in panels[4].series] == [[9.0, 1.0], [80.0, 3.0], [50.0, 40.0]]


def test_claims_name_the_refutation_and_need_enough_runs() -> None:
    claims = hard.claims(frames(), "theory")
    assert [claim.holds for claim in claims] == [False, True, True, True]
    assert "above it at 1 of the 2 deltas shown" in claims[0].measured
    few = {**frames(), "sizes": frames()["sizes"].with_columns(runs=5)}
    assert [claim.holds for claim in hard.claims(few, "theory")] == [False, None, None, True]


def test_the_published_bound_crosses_the_design_as_delta_falls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hard, "CROSSING", (2, 2, 576, 6.0, (1e-75, 1e-100)))
    found = hard.crossing()
    assert (found["published"] > found["design"]).to_list() == [False, True]
    assert (found["lower"] < found["design"]).all()
