"""Wrong answers against delta: counts by hand, intervals against another implementation, coverage by enumeration."""

from __future__ import annotations

from typing import Any

import pytest
from scipy.stats import binom, binomtest

from surepath.errors import SettingError
from surepath.experiments.stats import failure_rates, rate_interval, too_often
from tests.plots.worlds import runs

pytest.importorskip("polars")


@pytest.mark.parametrize(("wrong", "trials"), [(0, 1), (1, 1), (0, 50), (3, 50), (50, 50), (7, 1000)])
def test_the_interval_is_that_of_clopper_and_pearson(wrong: int, trials: int) -> None:
    ours = rate_interval(wrong, trials, 0.9)
    theirs: Any = binomtest(wrong, trials).proportion_ci(0.9, method="exact")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert ours.value == wrong / trials


@pytest.mark.parametrize("truth", [0.01, 0.1, 0.5])
def test_the_interval_covers_the_truth_as_often_as_it_says(truth: float) -> None:
    inside = 0.0
    for wrong in range(41):
        found = rate_interval(wrong, 40)
        inside += binom.pmf(wrong, 40, truth) * (found.low <= truth <= found.high)
    assert inside >= 0.95


def test_only_runs_that_stopped_by_themselves_can_be_wrong() -> None:
    rows = runs(
        tau=[1, 2, 3, 4, 5],
        censored=[False, True, False, False, False],
        correct=[False, False, True, True, False],
        instance=["p", "p", "p", "q", "q"],
        epsilon=[1.0, 1.0, 1.0, 1.0, 2.0],
    )
    found = failure_rates(rows)
    counts = found.select("epsilon", "runs", "stopped", "wrong", "rate").rows()
    assert counts == [(1.0, 4, 3, 1, 0.25), (2.0, 1, 1, 1, 1.0)]
    assert found["chance"].to_list() == pytest.approx([1 - 0.9**4, 0.1])
    assert too_often(found).to_list() == [False, False]


def test_too_many_wrong_answers_are_found_out() -> None:
    wrong = failure_rates(runs(tau=[1] * 20, correct=[False] * 8 + [True] * 12))
    assert wrong["chance"][0] == pytest.approx(binom.sf(7, 20, 0.1))
    assert too_often(wrong).to_list() == [True]


def test_bad_counts_are_refused() -> None:
    with pytest.raises(SettingError):
        rate_interval(3, 2)
    with pytest.raises(SettingError, match="level must lie strictly between 0 and 1"):
        rate_interval(1, 2, 1.0)
