"""Pictures of simulated runs: distributions, means and ratios that can be counted by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surepath import families, plots, simulate
from surepath.errors import SettingError
from surepath.experiments.runner import run
from surepath.experiments.spec import Spec
from surepath.experiments.stats import compare
from tests.experiments.specs import small
from tests.plots.worlds import runs

polars: Any = pytest.importorskip("polars")
pytest.importorskip("matplotlib")


def test_stopping_times_are_a_distribution_function() -> None:
    rows = runs(tau=[30, 10, 10, 50], censored=[False, False, False, True])
    data = plots.stopping_data(rows)
    assert data["tau"].to_list() == [10, 30, 50]
    assert data["stopped"].to_list() == [0.5, 0.75, 0.75]
    assert data["runs"].to_list() == [4, 4, 4]
    line = plots.draw_stopping(data).axes[0].get_lines()[0]
    assert line.get_ydata().tolist() == [0.0, 0.5, 0.75, 0.75]


def test_each_learner_of_each_instance_has_its_own_distribution() -> None:
    rows = runs(
        tau=[5, 7, 1, 2, 9, 9],
        learner=["b", "b", "a", "a", "b", "a"],
        instance=["p", "p", "p", "p", "q", "q"],
        run=[0, 1, 0, 1, 0, 0],
    )
    data = plots.stopping_data(rows)
    assert data.select("instance", "learner", "tau", "stopped").rows() == [
        ("p", "b", 5, 0.5), ("p", "b", 7, 1.0), ("p", "a", 1, 0.5), ("p", "a", 2, 1.0), ("q", "b", 9, 1.0),
        ("q", "a", 9, 1.0),
    ]  # fmt: skip
    figure = plots.draw_stopping(data)
    assert [axis.get_title() for axis in figure.axes] == ["p", "q"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["b", "a"]


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
    assert plots.draw_comparison(plots.comparison_data(rows, learners=["a"])).axes[0].texts[0].get_text() == (
        "nothing to compare"
    )


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
    assert plots.stopping_data(str(tmp_path / "out"), "chain-v1/n3k2/seed7").equals(
        plots.stopping_data(rows.filter(polars.col("instance") == "chain-v1/n3k2/seed7"))
    )
    with pytest.raises(SettingError, match=re.escape("no run has instance chain-v1/n3k2/seed8 (did you mean")):
        plots.stopping_data(rows, "chain-v1/n3k2/seed8")
