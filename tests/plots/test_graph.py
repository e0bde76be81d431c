"""The picture of a graph: positions are plain numbers, drawings are complete, bad requests are refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from surepath import MDP, families
from surepath.errors import ProblemError
from surepath.plots.graph import draw_graph, graph_layout


def test_stages_go_right_and_states_are_centred() -> None:
    mdp = families.paper_random(3, 2, 3, seed=1).mdp
    layout = graph_layout(mdp)
    assert layout.x[-1] == mdp.horizon
    assert (layout.x[layout.target] == layout.x[layout.source] + 1).all()
    for stage in range(mdp.horizon):
        assert layout.y[layout.x == stage].sum() == pytest.approx(0)


def test_parallel_arcs_are_bent_apart_and_the_best_plan_is_marked() -> None:
    layout = graph_layout(MDP.from_arrays([[[0, 0, 0]], [[0, 0, 0]]]), best=[1, 5])
    assert layout.bend.tolist() == [-1.0, 0.0, 1.0] * 2
    assert layout.chosen.nonzero()[0].tolist() == [1, 5]


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")])
def test_a_graph_is_drawn_into_every_format(name: str, start: bytes, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw_graph(families.chain(3, 2, seed=1).mdp, tmp_path / name, best=[0])
    assert (tmp_path / name).read_bytes().startswith(start)


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    mdp = families.chain(3, 2, seed=1).mdp
    with pytest.raises(ProblemError, match=re.escape("a picture ends in .png, .svg, .pdf, not '.gif'")):
        draw_graph(mdp, tmp_path / "a.gif")
    wide = MDP.from_arrays([[[0] * 3001]])
    with pytest.raises(ProblemError, match=re.escape("a picture of 3,001 arcs shows nothing; up to 3,000 are drawn")):
        draw_graph(wide, tmp_path / "a.png")
    assert not list(tmp_path.iterdir())
