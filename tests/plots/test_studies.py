"""Pictures of studies and graphs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surepath import EPRL, MDP, Challenger, families, plots
from surepath.errors import ProblemError, SettingError
from surepath.experiments.drawing import OTHER, OUT, PLAN, picture_bytes
from surepath.plots import draw_graph, save
from tests.plots.worlds import GOOD, STEPS, told_study

# Pictures of a study: every number in them is one that the learner, the log or the certificate has --------------------

pytest.importorskip("matplotlib")


def small_learner(direction: str = "maximize") -> Challenger:
    """A learner with scores that can be added up by hand."""
    mdp = MDP.from_steps({"a": ["x", "y", "z"], "b": ["u", "v"]}, depends="none", sigma=0.1, direction=direction)
    learner = Challenger(mdp, epsilon=0.01, delta=0.1)
    for path, scores in (([0, 3], [0.2, 0.5]), ([1, 3], [0.9, 0.7]), ([1, 4], [0.7, 0.1])):
        learner.tell(path, scores)
    return learner


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_intervals_are_means_with_the_mixture_width_best_first(direction: str) -> None:
    learner = small_learner(direction)
    rows = plots.intervals_data(learner)
    first = [row for row in rows if row.step == "a"]
    assert [row.option for row in first] == (["y", "x", "z"] if direction == "maximize" else ["x", "y", "z"])
    plan = learner.mdp.plan(learner.recommend())
    assert [row.chosen for row in first] == [row.option == plan["a"] for row in first]
    own = next(row for row in first if row.option == "y")
    width = 0.1 * np.sqrt(3 * np.log(3 / 0.1**2)) / 2
    assert (own.mean, own.low, own.high) == pytest.approx((0.8, 0.8 - width, 0.8 + width))
    unseen = first[-1]
    assert unseen.visits == 0
    assert np.isnan(unseen.mean)
    figure = plots.draw_intervals(rows)
    assert [text.get_text() for text in figure.axes[0].texts] == ["no score yet"]
    assert {"a", "b", "x", "y", "z", "u", "v"} == {tick.get_text() for tick in figure.axes[0].get_yticklabels()}


def test_the_gap_is_what_was_proven_at_the_time() -> None:
    study, gaps = told_study(0), []
    rng = np.random.default_rng(1)
    while not study.done and len(study) < 25:
        trial = study.ask()
        study.tell(trial, [GOOD.get(str(option), 0.1) + 0.1 * rng.standard_normal() for option in trial.plan.values()])
        gaps.append(study.certified_gap)
    curve = plots.gap_data(study)
    assert len(gaps) > 5
    assert curve.trials.tolist() == list(range(1, len(gaps) + 1))
    assert curve.epsilon.tolist() == [0.05] * len(gaps)
    np.testing.assert_allclose(curve.gap, gaps, rtol=1e-9)
    line = plots.draw_gap(curve).axes[0].get_lines()[0]
    np.testing.assert_array_equal(line.get_ydata(), np.where(np.isfinite(curve.gap), curve.gap, np.nan))
    np.testing.assert_array_equal(line.get_xdata(), curve.trials)


def test_challengers_are_those_of_the_learner() -> None:
    study = told_study(12, sigma=0.5)
    said, data = study.learner.explain(4), plots.challengers_data(study, 4)
    assert [one.path for one in data.rivals] == [one.path for one in said.rivals]
    assert [one.bound for one in data.rivals] == [one.bound for one in said.rivals]
    assert (data.gap, data.epsilon) == (study.certified_gap, 0.05)
    assert len(data.rivals) > 1
    for rival in data.rivals:
        assert rival.estimate <= 0 <= rival.bound
        steps = [step for step, ours, theirs in zip(STEPS, said.incumbent, rival.path) if ours != theirs]
        assert [one.step for one in rival.differs] == steps
    axis = plots.draw_challengers(data).axes[0]
    assert sorted(text.get_text() for text in axis.texts) == sorted(one.options for one in data.rivals)


def test_what_a_source_lacks_is_said_in_words() -> None:
    study = told_study(5)
    with pytest.raises(SettingError, match="a Challenger knows one moment only"):
        plots.gap_data(study.learner)
    with pytest.raises(SettingError, match=re.escape("EPRL bounds each option by itself and has no challengers")):
        plots.challengers_data(EPRL(study.mdp, 0.5, 0.1, 0.1))
    with pytest.raises(SettingError, match="has no settled trial yet"):
        plots.gap_data(told_study(0))
    with pytest.raises(SettingError, match="a picture is made of a study or a learner, not of Certificate"):
        plots.intervals_data(study.certificate())


# The picture of a graph: every option has its name, every step its place, bad requests are refused --------------------


def test_plan_visits_and_ruled_out_arcs_are_shown() -> None:
    from matplotlib.colors import to_hex

    mdp = MDP.from_steps({"a": ["x", "y"], "b": ["u", "v"]}, depends="none", sigma=1.0)
    visits, active = np.array([8, 2, 4, 6]), np.array([True, False, True, True])
    lines = draw_graph(mdp, [0, 3], visits, active).axes[0].collections[0]
    assert [to_hex(colour) for colour in lines.get_colors()] == [c.lower() for c in (OUT, OTHER, PLAN, PLAN)]
    widths = lines.get_linewidths()
    assert widths[0] < widths[1] < widths[2] < widths[3]


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")])
def test_a_graph_is_drawn_into_every_format(name: str, start: bytes, tmp_path: Path) -> None:
    save(draw_graph(families.chain(3, 2, seed=1).mdp, best=[0]), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize("depends", ["none", "previous"])
def test_every_option_is_named_and_a_long_graph_goes_on_in_the_next_row(depends: Any) -> None:
    steps = {"$x^2$": ["$\\frac{", "y"], "b": ["<i>", "v"]} | {f"step {i}": ["one", "two"] for i in range(3, 11)}
    figure = draw_graph(MDP.from_steps(steps, depends=depends, sigma=1.0))
    assert figure.get_figwidth() == 3.3
    assert len(figure.axes) == 3
    texts = [{text.get_text() for text in axis.texts} for axis in figure.axes]
    assert {"$x^2$", "b", "$\\frac{", "y", "<i>", "v", "step 4"} <= texts[0]
    assert {"step 5", "step 8", "one", "two"} <= texts[1]
    assert {"step 9", "step 10", "one", "two"} <= texts[2]
    assert b"<svg" in picture_bytes(figure, "svg")


def test_what_cannot_be_drawn_is_refused() -> None:
    wide = MDP.from_arrays([[[0] * 3001]])
    with pytest.raises(ProblemError, match=r"a picture of 3,001 options shows nothing; up to 3,000 are drawn"):
        draw_graph(wide)
