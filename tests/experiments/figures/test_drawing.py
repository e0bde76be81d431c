"""Panels are plain numbers; drawings come out whole; the report stands alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from surepath.experiments.figures import Claim, cases, hard, ratios
from surepath.experiments.figures.panels import POINTS, STRIP, Panel, Series

pl = pytest.importorskip("polars")
pytest.importorskip("matplotlib")

MEANS = {
    "instance": ["paper_random-v1/s2a2h3/sigma0.5/seed1"] * 4,
    "learner": ["BPI-UCRL", "Challenger", "max-coverage", "max-diameter"],
    "epsilon": [0.1] * 4,
    "epsilon_per_gap": [0.5] * 4,
    "mean": [100.0, 10.0, 50.0, 40.0],
    "ratio_to_bpi": [1.0, 0.1, 0.5, 0.4],
    "ratio_to_coverage": [2.0, 0.2, 1.0, 0.8],
    "bound": [True, True, True, True],
}


def test_ratios_leave_the_baseline_out_and_mark_bounds() -> None:
    left, right = ratios.panels({"means": pl.DataFrame(MEANS)})
    assert [series.label for series in left.series] == ["max-coverage", "max-diameter", "Challenger"]
    assert [series.y for series in left.series] == [[0.5], [0.4], [0.1]]
    assert all(series.hollow == [True] and series.kind == POINTS for series in left.series)
    assert [(series.label, series.y) for series in right.series] == [("max-diameter", [0.8])]
    assert left.line_at == right.line_at == 1.0


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


def test_hard_has_a_panel_per_size_with_its_bounds() -> None:
    rows = [
        {"axis": axis, "states": 4, "actions": 2, "horizon": 6, "size": size, "learner": "max-diameter",
         "mean": 10.0 * size, "low": 9, "high": 99, "censored": 0.0, "lower": 1.0 * size, "upper": 1e4 * size}
        for axis in ("states", "actions", "horizon")
        for size in (4, 2)
    ]  # fmt: skip
    panels = hard.panels({"sizes": pl.DataFrame(rows)})
    assert [(panel.title, panel.x_label) for panel in panels] == [
        ("A = 2, H = 6", "states"),
        ("S = 4, H = 6", "actions"),
        ("S = 4, A = 2", "horizon"),
    ]
    learner, lower, upper = panels[0].series
    assert (learner.x, learner.y, learner.low, learner.high) == ([2, 4], [20.0, 40.0], [9, 9], [99, 99])
    assert (lower.label, lower.y, upper.y, upper.dash) == ("lower bound", [2.0, 4.0], [2e4, 4e4], "dashed")


def test_every_kind_of_series_is_drawn(tmp_path: Path) -> None:
    from surepath.experiments.figures.drawing import draw_panels, png, svg

    series = [
        Series("max-coverage", [1.0, 2.0], [3.0, 4.0], low=[2.0, 3.0], high=[4.0, 5.0]),
        Series("Challenger", [1.0, 2.0], [2.0, 2.0], hollow=[True, False], kind=POINTS),
        Series("lower bound", [1.0, 2.0], [1.0, 1.0], dash="dotted"),
    ]
    strip = [Series("max-diameter", [0.0, 0.0], [3.0, 5.0], kind=STRIP), Series("one", [1.0], [4.0], kind=STRIP)]
    panels = [
        Panel("lines", "x", "y", series, line_at=1.0),
        Panel("falling", "delta", "y", series, x_falls=True),
        Panel("runs", "", "y", strip, x_log=False, categories=["max-diameter", "one"]),
    ]
    figure = draw_panels(panels, "a title")
    assert len(figure.axes) == 3
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["max-coverage", "Challenger", "lower bound"]
    assert figure.axes[1].xaxis_inverted()
    assert [tick.get_text() for tick in figure.axes[2].get_xticklabels()] == ["max-diameter", "one"]
    assert png(figure).startswith(b"\x89PNG")
    assert b"<svg" in svg(draw_panels(panels, "a title"))
    assert svg(draw_panels(panels, "a title")) == svg(draw_panels(panels, "a title"))


def test_the_report_stands_alone_and_escapes() -> None:
    from surepath.experiments.figures.report import Section, report

    claims = [Claim("a < b", "1 & 2", True), Claim("c", "d", False), Claim("e", "f", None)]
    section = Section("figure-x", "Title", "Look here.", b"\x89PNG", claims, {"runs": 3}, 1.5, "theory")
    page = report([section])
    assert "How to read this.</b> Look here." in page
    assert '<td>a &lt; b</td><td>1 &amp; 2</td><td class="yes">yes</td>' in page
    assert '<td class="no">no</td>' in page
    assert "<td>not settled</td>" in page
    assert "Preset <b>theory</b>: the text's settings" in page
    assert "experiment</b>" not in page
    assert not re.search(r"(src|href)=\"(?!data:|#figure-x)", page)
    assert "http" not in page


def test_a_section_is_kept_beside_its_picture(tmp_path: Path) -> None:
    from surepath.experiments.figures.report import Section

    section = Section("figure-x", "T", "R", b"\x89PNG", [Claim("a", "b", None)], {"runs": 3}, 1.5, "theory")
    section.save(tmp_path)
    assert Section.load(tmp_path, "figure-x") == section
    assert Section.load(tmp_path, "figure-y") is None
    (tmp_path / "figure-x.json").write_text("{")
    assert Section.load(tmp_path, "figure-x") is None
