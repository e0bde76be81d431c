"""The picture of a graph: positions are plain numbers, drawings are complete, bad requests are refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from surepath import MDP, families
from surepath.errors import ProblemError
from surepath.experiments.drawing import OTHER, OUT, PLAN, picture_bytes
from surepath.plots import draw_graph, graph_layout, save


def test_visits_and_ruled_out_arcs_are_shown() -> None:
    mdp = MDP.from_steps({"a": ["x", "y"], "b": ["u", "v"]}, depends="none", sigma=1.0)
    visits, active = np.array([8, 2, 4, 6]), np.array([True, False, True, True])
    layout = graph_layout(mdp, [0, 3], visits, active)
    assert layout.share.tolist() == [1.0, 0.25, 0.5, 0.75]
    assert layout.open.tolist() == active.tolist()
    pytest.importorskip("matplotlib")
    from matplotlib.colors import to_hex

    lines = draw_graph(mdp, [0, 3], visits, active).axes[0].collections[0]
    assert [to_hex(colour) for colour in lines.get_colors()] == [c.lower() for c in (OUT, OTHER, PLAN, PLAN)]
    widths = lines.get_linewidths()
    assert widths[0] < widths[1] < widths[2] < widths[3]


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")])
def test_a_graph_is_drawn_into_every_format(name: str, start: bytes, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    save(draw_graph(families.chain(3, 2, seed=1).mdp, best=[0]), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


def test_names_are_in_the_picture_and_are_escaped() -> None:
    pytest.importorskip("matplotlib")
    mdp = MDP.from_steps({"$x^2$": ["$\\frac{", "y"], "b": ["<i>", "v"]}, depends="none", sigma=1.0)
    figure = draw_graph(mdp)
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert {"$x^2$", "b", "$\\frac{", "y", "<i>", "v"} <= texts
    assert b"<svg" in picture_bytes(figure, "svg")


def test_what_cannot_be_drawn_is_refused() -> None:
    wide = MDP.from_arrays([[[0] * 3001]])
    with pytest.raises(
        ProblemError, match=re.escape("a picture of 3,001 options shows nothing; up to 3,000 are drawn")
    ):
        draw_graph(wide)
