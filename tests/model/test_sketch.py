"""Drawings: places against counting; for notebooks every arc once, the plan marked, names as text, no script."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np

from surepath import MDP, families
from surepath.model.paths import OPEN_COLOUR, OUT_COLOUR, PLAN_COLOUR, graph_html, graph_svg

SVG = "{http://www.w3.org/2000/svg}"


def paths(text: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(text).iter(f"{SVG}path"))


def test_every_arc_is_drawn_once_and_the_plan_on_top() -> None:
    instance = families.support_tickets()
    mdp, plan = instance.mdp, instance.best_path()
    active = np.ones(mdp.n_arcs, dtype=bool)
    active[[0, 5]] = False
    visits = np.arange(mdp.n_arcs)
    drawn = paths(graph_svg(mdp, plan, visits, active))
    assert len(drawn) == mdp.n_arcs
    colours = [path.get("stroke") for path in drawn]
    assert colours[-mdp.horizon :] == [PLAN_COLOUR] * mdp.horizon
    assert colours[:2] == [OUT_COLOUR, OUT_COLOUR]
    assert colours.count(OPEN_COLOUR) == mdp.n_arcs - mdp.horizon - 2
    titles = sorted(path[0].text or "" for path in drawn)
    assert titles == sorted(mdp.action_label(arc) for arc in range(mdp.n_arcs))
    widths = {path[0].text: float(path.get("stroke-width") or 0) for path in drawn[2 : -mdp.horizon]}
    assert max(widths.values()) <= 5.8


def test_names_are_text_and_there_is_no_script() -> None:
    mdp = MDP.from_steps({"<script>a</script>": ["<b>x</b>", "y"], "&amp;": ["<i>", "v"]}, sigma=1.0)
    html = mdp._repr_html_()
    assert html == graph_html(mdp)
    assert "<script" not in html
    assert "<b>" not in html
    assert "&lt;b&gt;x&lt;/b&gt;" in html
    assert "2 steps, 6 options, 4 plans; maximize" in html
    ElementTree.fromstring(html.replace("…", "..."))


def test_a_graph_too_large_is_said_in_words() -> None:
    mdp = MDP.from_arrays(np.zeros((30, 1, 100), dtype=int))
    assert graph_svg(mdp) == "<p>3,000 options are too many to draw.</p>"
    assert "about 10^60 plans" in graph_html(mdp)
