"""Pictures and reports of experiments."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surepath import families, plots, simulate
from surepath.errors import SettingError
from surepath.experiments.drawing import AS_POINTS, AS_STRIP, COLUMN_WIDTH, Panel, Series, draw_panels, picture_bytes
from surepath.experiments.report import write_report
from surepath.experiments.runner import run
from surepath.experiments.spec import Spec
from surepath.experiments.stats import compare
from tests.experiments.specs import MAX_DIAMETER, small
from tests.plots.worlds import runs

# Drawings: complete, one column wide, the same bytes every time; a missing matplotlib is named with its extra ---------

pytest.importorskip("matplotlib")
pytest.importorskip("polars")


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


# Pictures of simulated runs: distributions, means and ratios that can be counted by hand ------------------------------


def test_costs_are_means_with_the_interval_of_the_comparison() -> None:
    rows = runs(
        tau=[10, 20, 30, 1, 2, 3],
        epsilon=[1.0] * 3 + [2.0] * 3,
        run=[0, 1, 2] * 2,
        censored=[False, False, True, False, False, False],
    )
    data = plots.cost_data(rows)
    cells = data.select("epsilon", "mean", "censored", "runs").rows()
    assert cells == [(1.0, 20.0, pytest.approx(1 / 3), 3), (2.0, 2.0, 0.0, 3)]
    assert data["high"].to_list()[0] == np.inf
    table = compare(rows).sort("epsilon")
    assert data["low"].to_list() == table["low"].to_list()
    axis = plots.draw_cost(data).axes[0]
    assert axis.get_lines()[0].get_ydata().tolist() == [20.0, 2.0]
    assert axis.get_lines()[1].get_xdata().tolist() == [1.0]  # hollow: cut


def test_a_comparison_is_a_ratio_over_paired_runs() -> None:
    rows = runs(
        tau=[10, 20, 5, 10, 8, 8],
        learner=["a", "a", "b", "b", "c", "c"],
        run=[0, 1] * 3,
        censored=[False, False, False, False, False, True],
    )
    data = plots.comparison_data(rows)
    assert data.select("learner", "baseline", "ratio", "ratio_is").rows() == [
        ("b", "a", 0.5, "="), ("c", "a", pytest.approx(8 / 15), ">="),
    ]  # fmt: skip
    assert plots.comparison_data(rows, "b", learners=["a"])["ratio"].to_list() == [2.0]
    figure = plots.draw_comparison(data)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["b", "c"]
    with pytest.raises(SettingError, match="no learner of this experiment is called 'd'"):
        plots.comparison_data(rows, "d")
    (first, second), line = figure.axes[0].get_lines()[1:3], figure.axes[0].get_lines()[0]
    assert (first.get_ydata().tolist(), second.get_ydata().tolist()) == ([0.5], [pytest.approx(8 / 15)])
    assert list(line.get_ydata()) == [1.0, 1.0]
    with pytest.raises(SettingError, match="there is nothing to draw"):
        plots.draw_comparison(plots.comparison_data(rows, learners=["a"]))


def test_results_of_simulate_and_folders_are_read_alike(tmp_path: Path) -> None:
    instance = families.from_id("chain-v1/n3k2/seed7")
    found = simulate({"name": "BPIUCRL", "delta": 0.1}, instance, 5, 0, [2.0, 3.0])
    data = plots.cost_data({"BPIUCRL": found})
    assert data["mean"].to_list() == [found.mean_tau(2.0), found.mean_tau(3.0)]
    assert data["instance"].unique().to_list() == [instance.id]
    assert data["learner"].unique().to_list() == ["BPIUCRL"]
    run(Spec.from_dict(small()), tmp_path / "out", workers=1)
    rows = plots.rows_of(tmp_path / "out")
    assert plots.cost_data(tmp_path / "out").equals(plots.cost_data(rows))
    with pytest.raises(SettingError, match=re.escape("no run has instance chain-v1/n3k2/seed8 (did you mean")):
        plots.cost_data(rows, "chain-v1/n3k2/seed8")


# The report of one's own experiment: it needs no other file, names what it counts, and escapes what it shows ----------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    place: Path = tmp_path_factory.mktemp("report") / "out"
    learners = [MAX_DIAMETER, {"name": "BPIUCRL", "label": "<b>bpi</b>"}]
    run(Spec.from_dict(small(learners=learners, name="<i>own</i>")), place, workers=1)
    return place


def test_the_numbers_are_those_of_the_rows(folder: Path, tmp_path: Path) -> None:
    made = write_report(folder, tmp_path / "report.html", "max-diameter")
    assert made.rates["runs"].to_list() == [10] * 4
    assert made.comparison.filter(made.comparison["learner"] == "max-diameter")["ratio"].to_list() == [1.0] * 4
    assert "&quot;sampling&quot;: &quot;max-diameter&quot;" in made.html
    assert len(made.findings) == 2
    assert made.findings[1].startswith("max-diameter, delta 0.1: 0 wrong of 10 runs at worst (95 % interval 0.00% to")
    assert made.findings[1].endswith("within what delta allows")
