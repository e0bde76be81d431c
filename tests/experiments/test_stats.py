"""Statistics of comparison against what can be counted by hand or simulated."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from surepath.errors import SettingError
from surepath.experiments.results import read
from surepath.experiments.runner import run
from surepath.experiments.spec import Spec
from surepath.experiments.stats import compare, mean_interval, permutation_test, ratio_interval
from surepath.experiments.tables import table
from tests.experiments.specs import small

polars = pytest.importorskip("polars")


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    inside = 0
    for trial in range(400):
        found = mean_interval(rng.exponential(size=60), resamples=300, seed=trial)
        assert found.low <= found.value <= found.high
        inside += found.low <= 1.0 <= found.high
    assert 0.88 <= inside / 400 <= 0.98


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


@pytest.mark.parametrize("seed", range(5))
def test_the_permutation_test_counts_exchanges(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.integers(0, 9, 8).astype(float), rng.integers(2, 9, 8).astype(float)
    exact = naive_p(one.tolist(), other.tolist())
    assert permutation_test(one, other) == pytest.approx(exact)
    many = permutation_test(np.concatenate([one, np.zeros(8)]), np.concatenate([other, np.zeros(8)]))
    assert many == pytest.approx(exact, abs=0.02)


def test_equal_columns_are_not_told_apart() -> None:
    assert permutation_test([1, 2, 3], [1, 2, 3]) == 1.0
    rng = np.random.default_rng(2)
    values = [permutation_test(*rng.normal(size=(2, 20)), draws=500) for _ in range(200)]
    assert np.mean(np.array(values) <= 0.1) < 0.17
    assert min(values) >= 1 / 501


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_interval([]), "needs a column of at least one number"),
        (lambda: mean_interval([1.0], level=1.0), "level must lie strictly between 0 and 1, not 1"),
        (lambda: mean_interval([1.0], resamples=0), "resamples must be at least 1, not 0"),
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
    assert row["ratio"] == pytest.approx(part["tau"].mean() / base["tau"].mean())
    assert row["p"] == permutation_test(part["tau"].to_numpy(), base["tau"].to_numpy())
    assert row["wrong"] == row["censored"] == 0
    markdown = table(found)
    assert len(markdown.splitlines()) == 2 + 8
    assert {line.count("|") for line in markdown.splitlines()} == {11}
    latex = table(found, "latex")
    assert latex.startswith("\\begin{tabular}{lrrlrrrrrr}\n\\toprule\n")
    assert "paper\\_random-v1" in latex
    assert latex.count(r"\\") == 9
    assert "ratio" not in table(compare(frame))
    with pytest.raises(
        SettingError, match=r"no learner of this study is called 'BPIUCL' \(did you mean \"BPIUCRL\"\?\)"
    ):
        compare(frame, "BPIUCL")


def test_a_cut_run_shows_in_the_table(tmp_path: Path) -> None:
    run(Spec.from_dict(small(budget=40)), tmp_path, workers=1)
    assert "| >=40 |" in table(compare(read(tmp_path)))
