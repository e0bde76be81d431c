"""Drawings: complete, one column wide, the same bytes every time; a missing matplotlib is named with its extra."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from surepath import families, plots
from surepath.errors import MissingExtraError, SettingError
from surepath.experiments.drawing import (
    AS_POINTS,
    AS_STRIP,
    COLUMN_WIDTH,
    Panel,
    Series,
    draw_panels,
    new_figure,
    picture_bytes,
    picture_file,
)

pytest.importorskip("matplotlib")


def test_a_missing_matplotlib_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    words = "this needs matplotlib, which is not installed: pip install 'surepath[plot]'"
    with pytest.raises(MissingExtraError, match=re.escape(words)):
        plots.draw_graph(families.chain(3, 2).mdp)


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=re.escape("a picture ends in .png, .svg, .pdf, not '.gif'")):
        plots.save(new_figure(1.0), tmp_path / "a.gif")
    with pytest.raises(SettingError, match="not 'nothing'"):
        picture_file("picture")
    assert not list(tmp_path.iterdir())


def test_a_figure_is_one_column_wide_and_the_same_every_time() -> None:
    mdp = families.chain(3, 2).mdp
    figure = plots.draw_graph(mdp)
    assert figure.get_figwidth() == COLUMN_WIDTH
    assert picture_bytes(figure) == picture_bytes(plots.draw_graph(mdp))
    assert picture_bytes(figure, "pdf") == picture_bytes(plots.draw_graph(mdp), "pdf")


def test_every_name_can_be_imported_and_an_unknown_one_is_refused() -> None:
    for name in plots.__all__:
        assert callable(getattr(plots, name))
    assert dir(plots) == plots.__all__
    with pytest.raises(AttributeError, match="no attribute 'draw_nothing'"):
        plots.draw_nothing


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_letters_that_the_font_lacks_are_said_once(tmp_path: Path, ending: str) -> None:
    figure = new_figure(1.0)
    figure.add_subplot().set_title("\U000f0000 \U000f0001 \U000f0000 plain")
    with pytest.warns(UserWarning, match="font") as found:
        plots.save(figure, tmp_path / f"p.{ending}")
    assert [str(one.message).partition(" (")[0] for one in found] == [
        "the font of pictures lacks letters of these names"
    ]


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
