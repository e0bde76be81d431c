"""Statistics of comparison against what can be counted by hand or simulated."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surepath.errors import SettingError
from surepath.experiments.report import frame_cells, markdown_table, overview_cells
from surepath.experiments.runner import read, run
from surepath.experiments.spec import Spec
from surepath.experiments.stats import (
    compare,
    failure_rates,
    mean_interval,
    permutation_test,
    ratio_interval,
    too_often,
)
from tests.experiments.specs import small

polars: Any = pytest.importorskip("polars")


@pytest.mark.parametrize(("runs", "least"), [(5, 0.90), pytest.param(60, 0.92, marks=pytest.mark.rare)])
def test_the_interval_covers_the_mean_as_often_as_it_says(runs: int, least: float) -> None:
    rng = np.random.default_rng(0)
    inside = 0
    for trial in range(1000):
        found = mean_interval(rng.normal(1.0, 0.5, size=runs), resamples=1000, seed=trial)
        assert found.low <= found.value <= found.high
        inside += found.low <= 1.0 <= found.high
    assert least <= inside / 1000 <= 0.975


def test_the_ratio_knows_that_runs_are_paired() -> None:
    rng = np.random.default_rng(1)
    base = rng.lognormal(sigma=1.0, size=50)
    paired = ratio_interval(2 * base * rng.uniform(0.95, 1.05, 50), base)
    shuffled = ratio_interval(2 * rng.permutation(base), base)
    assert paired.value == pytest.approx(2, rel=0.05)
    assert paired.high - paired.low < 0.2 < shuffled.high - shuffled.low


def naive_p(one: list[float], other: list[float]) -> float:
    """Exchange every subset of the pairs and count."""
    differences = [a - b for a, b in zip(one, other)]
    observed = abs(sum(differences))
    signs = itertools.product((1, -1), repeat=len(differences))
    sums = [abs(sum(s * d for s, d in zip(sign, differences))) for sign in signs]
    return sum(value >= observed - 1e-9 for value in sums) / len(sums)


@pytest.mark.parametrize("seed", range(2))
def test_the_permutation_test_counts_exchanges(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.integers(0, 9, 8).astype(float), rng.integers(2, 9, 8).astype(float)
    exact = naive_p(one.tolist(), other.tolist())
    assert permutation_test(one, other) == pytest.approx(exact)
    assert permutation_test(one[:1], other[:1]) == naive_p(one[:1].tolist(), other[:1].tolist()) == 1.0
    many = permutation_test(np.concatenate([one, np.zeros(8)]), np.concatenate([other, np.zeros(8)]))
    assert many == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_interval([]), "needs a column of at least one number"),
        (lambda: mean_interval([1.0, np.inf]), "needs finite numbers, not inf"),
        (lambda: permutation_test([np.nan, 1.0], [1.0, 2.0]), "needs finite numbers, not nan"),
        (lambda: ratio_interval([1.0], [1.0, 2.0]), "two columns of one length, not 1 and 2"),
        (lambda: ratio_interval([1.0], [0.0]), "needs positive numbers below the line"),
    ],
)
def test_what_cannot_be_compared_is_refused(call: object, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        call()  # type: ignore[operator]


def test_a_comparison_and_its_tables(tmp_path: Path) -> None:
    run(Spec.from_dict(small()), tmp_path, workers=2)
    frame = read(tmp_path)
    found = compare(frame, "BPIUCRL")
    assert found.height == 2 * 2 * 2
    part = frame.filter(instance="chain-v1/n3k2/seed7", learner="max-diameter", epsilon=2.0)
    base = frame.filter(instance="chain-v1/n3k2/seed7", learner="BPIUCRL", epsilon=2.0)
    row = found.row(by_predicate=(polars.col("instance") == "chain-v1/n3k2/seed7") & (polars.col("epsilon") == 2.0)
                    & (polars.col("learner") == "max-diameter"), named=True)  # fmt: skip
    assert row["mean"] == part["tau"].mean()
    assert row["ratio"] == pytest.approx(part["tau"].mean() / base["tau"].mean())  # type: ignore[operator]
    assert row["p"] == permutation_test(part["tau"].to_numpy(), base["tau"].to_numpy())
    assert row["wrong"] == row["censored"] == 0
    markdown = markdown_table(*frame_cells(found)).splitlines()
    assert len(markdown) == 2 + 8
    assert {line.count("|") for line in markdown} == {18}
    assert "ratio" not in compare(frame).columns
    with pytest.raises(
        SettingError, match=r"no learner of this experiment is called 'BPIUCL' \(did you mean \"BPIUCRL\"\?\)"
    ):
        compare(frame, "BPIUCL")


def rows(**columns: tuple[list[int], list[bool]]) -> Any:
    """An experiment of one cell per learner, each given as its stopping times and which of them were cut."""
    parts = [
        polars.DataFrame({"run": range(len(tau)), "tau": tau, "censored": cut}).with_columns(
            instance=polars.lit("world"), delta=0.1, epsilon=1.0, learner=polars.lit(name), correct=True,
            epsilon_per_gap=polars.lit(None, dtype=polars.Float64),
        )
        for name, (tau, cut) in columns.items()
    ]  # fmt: skip
    return polars.concat(parts)


def test_cut_runs_make_ratios_bounds() -> None:
    no, yes = [False] * 3, [False, True, True]
    frame = rows(base=([50, 60, 60], yes), quick=([10, 20, 30], no), also=([60, 60, 55], [True, True, False]))
    found = {row["learner"]: row for row in compare(frame, "base").iter_rows(named=True)}
    assert found["quick"]["ratio_is"] == "<="
    assert found["quick"]["ratio_low"] == 0.0
    assert found["quick"]["p"] == 0.25
    assert found["also"]["ratio"] is None
    assert found["also"]["high"] == np.inf
    turned = {row["learner"]: row for row in compare(frame, "quick").iter_rows(named=True)}
    assert (turned["base"]["ratio_is"], turned["base"]["ratio_high"]) == (">=", np.inf)
    text = markdown_table(*frame_cells(compare(frame, "base")))
    assert "| 0.3529 | <= | 0 | 0.5 | 0.25 |" in text
    assert "| 2.833 | >= | 2 | inf | 0.25 |" in markdown_table(*frame_cells(compare(frame, "quick")))


def test_the_overview_has_one_row_per_learner() -> None:
    rows = [
        ("a", "x", 10.0, 0.0, 0, None),
        ("b", "x", 40.0, 0.02, 0, 0.25),
        ("a", "y", 1000.0, 0.01, 0, None),
        ("b", "x", 90.0, None, 3, 0.5),  # another epsilon of the same runs
    ]
    names = ("learner", "instance", "mean", "wrong", "censored", "ratio")
    frame = polars.DataFrame([dict(zip(names, row), runs=10, delta=0.1) for row in rows], infer_schema_length=None)
    lines = markdown_table(*overview_cells(frame, "a")).splitlines()
    assert lines[0] == "| learner | cells | runs | mean trials (geometric) | wrong at most | ratio to a |"
    assert lines[2:] == ["| a | 2 | 20 | 100 | 1.00% |  |", "| b | 1 | 10 | >=60 | 2.00% | 0.354 |"]


def test_failure_rates_count_wrong_answers_of_runs_that_stopped() -> None:
    frame = rows(good=([5] * 20, [False] * 20), bad=([5] * 20, [False] * 15 + [True] * 5))
    frame = frame.with_columns(correct=(polars.col("learner") == "good") | (polars.col("run") >= 12))
    bad, good = failure_rates(frame).iter_rows(named=True)
    assert (good["wrong"], good["stopped"], good["low"], good["chance"]) == (0, 20, 0.0, 1.0)
    assert good["high"] == pytest.approx(1 - 0.025 ** (1 / 20))
    assert (bad["wrong"], bad["stopped"], bad["rate"]) == (12, 15, 0.6)
    assert too_often(failure_rates(frame)).to_list() == [True, False]
