"""Drawings are complete, and the same bytes every time."""

from __future__ import annotations

import pytest

from surepath.experiments.drawing import AS_POINTS, AS_STRIP, Panel, Series, draw_panels, picture_bytes

pytest.importorskip("matplotlib")


def test_every_kind_of_series_is_drawn() -> None:
    series = [
        Series("max-coverage", [1.0, 2.0], [3.0, 4.0], low=[2.0, 3.0], high=[4.0, 5.0]),
        Series("Challenger", [1.0, 2.0], [2.0, 2.0], hollow=[True, False], kind=AS_POINTS),
        Series("lower bound", [1.0, 2.0], [1.0, 1.0], dash="dotted"),
    ]
    strip = [Series("max-diameter", [0.0, 0.0], [3.0, 5.0], kind=AS_STRIP), Series("one", [1.0], [4.0], kind=AS_STRIP)]
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
    assert picture_bytes(figure).startswith(b"\x89PNG")
    assert b"<svg" in picture_bytes(draw_panels(panels, "a title"), "svg")
    assert picture_bytes(draw_panels(panels, "a title"), "svg") == picture_bytes(draw_panels(panels, "a title"), "svg")


def test_many_panels_are_drawn_in_rows_of_three() -> None:
    panels = [Panel(f"{i}", "x", "y", [Series("lower bound", [1.0, 2.0], [1.0, 2.0])]) for i in range(5)]
    figure = draw_panels(panels, "a title")
    assert [axis.get_title() for axis in figure.axes] == ["0", "1", "2", "3", "4"]
    assert len({round(axis.get_position().y0, 3) for axis in figure.axes}) == 2
    assert len(draw_panels(panels[:4], "a title").axes) == 4
