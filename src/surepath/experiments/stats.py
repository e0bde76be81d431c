"""Statistics to compare learners: means with bootstrap intervals, ratios over paired runs, a permutation test.

Runs with the same index on the same instance draw from the same seed whatever the learner, so they are pairs. Every
random choice here has a fixed seed: the same rows give the same numbers.

Intervals are percentiles of the bootstrap, expanded as Hesterberg ("What teachers should know about the bootstrap",
2015) advises: plain ones are too short for few runs, by the factor by which Student's t exceeds the normal quantile and
by sqrt(n / (n - 1)), and cover a mean of ten runs 90 times in 100 where they say 95. One run has no interval.

A run that the budget cut has a stopping time above what its row says. So the mean of such runs is a lower bound and has
no upper end, and a ratio is a bound as well, or nothing when both sides were cut. The permutation test compares the
times as cut, which is a valid test; where every run of both sides was cut there is nothing to test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import FloatArray, suggest
from surepath._optional import need
from surepath.errors import SettingError

if TYPE_CHECKING:
    import polars

LEVEL = 0.95  # of all intervals
_BATCH = 4_000_000  # numbers drawn at a time, so that memory stays flat


class Interval(NamedTuple):
    """An estimate with a confidence interval."""

    value: float
    low: float
    high: float


def mean_interval(values: ArrayLike, *, resamples: int = 5000, seed: int = 0) -> Interval:
    """Estimate a mean with its expanded percentile bootstrap interval; infinite for a single value.

    Example:
        >>> mean_interval([4.0, 4.0, 4.0])
        Interval(value=4.0, low=4.0, high=4.0)
    """
    return _bootstrap(lambda data, axis: data.mean(axis=axis), (_column(values),), resamples, seed)


def ratio_interval(above: ArrayLike, below: ArrayLike, *, resamples: int = 5000, seed: int = 0) -> Interval:
    """Estimate the ratio of two means over paired runs, with a bootstrap that draws pairs.

    Example:
        >>> ratio_interval([2.0, 4.0], [1.0, 2.0])
        Interval(value=2.0, low=2.0, high=2.0)
    """
    top, bottom = _pairs(above, below)
    if (bottom <= 0).any():
        raise SettingError("a ratio of means needs positive numbers below the line")
    ratio = lambda one, other, axis: one.mean(axis=axis) / other.mean(axis=axis)  # noqa: E731
    return _bootstrap(ratio, (top, bottom), resamples, seed)


def _bootstrap(statistic: Callable[..., Any], data: tuple[FloatArray, ...], resamples: int, seed: int) -> Interval:
    from scipy.special import ndtr, stdtrit
    from scipy.stats import bootstrap

    n, value = len(data[0]), float(statistic(*data, axis=0))
    if n == 1:
        return Interval(value, -np.inf, np.inf)
    level = 1 - 2 * float(ndtr(np.sqrt(n / (n - 1)) * stdtrit(n - 1, (1 - LEVEL) / 2)))
    how: dict[str, Any] = {"paired": True, "method": "percentile", "batch": max(1, _BATCH // n)}
    how |= {"n_resamples": resamples, "random_state": np.random.default_rng(seed)}
    low, high = bootstrap(data, statistic, confidence_level=level, **how).confidence_interval
    return Interval(value, min(float(low), value), max(float(high), value))


def permutation_test(one: ArrayLike, other: ArrayLike, *, draws: int = 20_000, seed: int = 0) -> float:
    """Return the probability of a mean difference at least this large if the two columns were exchangeable.

    Two-sided; all 2^n exchanges where these are at most `draws`, else as many random ones counted with the observed
    one, so that the p-value is valid and never 0.

    Example:
        >>> permutation_test([1, 2, 3, 4], [11, 12, 13, 14])
        0.125
    """
    from scipy.stats import permutation_test as exchange

    pairs = _pairs(one, other)
    if len(pairs[0]) == 1:
        return 1.0  # which SciPy refuses: an exchange of one pair gives the same difference
    how: dict[str, Any] = {"permutation_type": "samples", "batch": max(1, _BATCH // len(pairs[0]))}
    how |= {"n_resamples": draws, "random_state": np.random.default_rng(seed), "alternative": "greater"}
    found = exchange(pairs, lambda x, y, axis: abs((x - y).sum(axis=axis)), **how)
    return float(found.pvalue)


def epsilon_column(rows: polars.DataFrame) -> str:
    """Return the column of epsilons: in units of Delta_min where all rows have that."""
    return "epsilon" if rows["epsilon_per_gap"].null_count() else "epsilon_per_gap"


def compare(frame: polars.DataFrame, baseline: str | None = None) -> polars.DataFrame:
    """Compare learners by (instance, delta, epsilon): mean episodes, interval, errors, and the ratio to a baseline.

    Args:
        frame: Rows of an experiment, as `store.read` gives them.
        baseline: Label of the learner to compare with; None for no comparison.

    Returns:
        Columns instance, delta, epsilon, epsilon_per_gap, learner, runs, mean, low, high, median, wrong (share of runs
        that stopped with a wrong answer, None where none stopped), censored (share of runs cut by the budget; the mean
        is then a lower bound and high infinite), and with a baseline ratio, ratio_is ("=", or "<=" or ">=" where runs
        of one side were cut), ratio_low, ratio_high and p (permutation test over the paired runs).
    """
    pl = need("polars", "data")
    labels = frame["learner"].unique(maintain_order=True).to_list()
    if baseline is not None and baseline not in labels:
        raise SettingError(f"no learner of this experiment is called {baseline!r}{suggest(baseline, labels)}")
    rows = []
    keys = ["instance", "delta", "epsilon"]
    for group in frame.partition_by(keys, maintain_order=True):
        parts = {part["learner"][0]: part.sort("run") for part in group.partition_by("learner", maintain_order=True)}
        for label, part in parts.items():
            tau = part["tau"].to_numpy().astype(float)
            mean, cut = mean_interval(tau), float(part["censored"].mean())  # type: ignore[arg-type]
            row = {key: part[key][0] for key in (*keys, "epsilon_per_gap")}
            row |= {"learner": label, "runs": len(part), **mean._asdict(), "median": float(np.median(tau))}
            row["mean"], row["high"] = row.pop("value"), mean.high if cut == 0 else np.inf
            wrong = float((~part["correct"] & ~part["censored"]).mean())  # type: ignore[arg-type]
            row |= {"wrong": wrong if cut < 1 else None, "censored": cut}
            if baseline is not None:
                row |= _against(part, parts.get(baseline), label == baseline)
            rows.append(row)
    found: polars.DataFrame = pl.DataFrame(rows, infer_schema_length=None)
    return found


_NOTHING: dict[str, Any] = dict.fromkeys(("ratio", "ratio_is", "ratio_low", "ratio_high", "p"))


def _against(part: polars.DataFrame, base: polars.DataFrame | None, same: bool) -> dict[str, Any]:
    if same:
        return {**_NOTHING, "ratio": 1.0, "ratio_is": "="}
    if base is None:
        return _NOTHING
    columns = ("run", "tau", "censored")
    pairs = part.select(columns).join(base.select(columns), on="run", suffix="_base").sort("run")
    cut, base_cut = bool(pairs["censored"].any()), bool(pairs["censored_base"].any())
    if not len(pairs) or (pairs["censored"] & pairs["censored_base"]).all():
        return _NOTHING
    one, other = pairs["tau"].to_numpy(), pairs["tau_base"].to_numpy()
    found = {**_NOTHING, "p": permutation_test(one, other)}
    if (other <= 0).any() or (cut and base_cut):  # nothing was learned in some run, or the ratio could be anything
        return found
    ratio = ratio_interval(one, other)
    found |= {"ratio": ratio.value, "ratio_is": ">=" if cut else "<=" if base_cut else "="}
    found |= {"ratio_low": 0.0 if base_cut else ratio.low, "ratio_high": np.inf if cut else ratio.high}
    return found


def _column(values: ArrayLike) -> FloatArray:
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or not len(data):
        raise SettingError(f"an interval needs a column of at least one number, not shape {data.shape}")
    if not np.isfinite(data).all():
        raise SettingError(f"a comparison needs finite numbers, not {data[~np.isfinite(data)][0]}")
    return data


def _pairs(one: ArrayLike, other: ArrayLike) -> tuple[FloatArray, FloatArray]:
    first, second = _column(one), _column(other)
    if len(first) != len(second):
        raise SettingError(f"paired runs come in two columns of one length, not {len(first)} and {len(second)}")
    return first, second


def failure_rates(rows: polars.DataFrame | polars.LazyFrame, by: Sequence[str] = ()) -> polars.DataFrame:
    """Count wrong answers of each learner at each delta and epsilon, over all instances.

    If on every instance a wrong answer has probability at most delta, their number is at most what a coin with that
    probability would give, whatever the instances are; so the interval and the test may be made over all of them.

    Args:
        rows: Rows of an experiment, as `store.read` or `store.scan` gives them.
        by: Further columns that split the counts, such as the instance.

    Returns:
        Columns learner, delta, epsilon (in units of Delta_min where the experiment's are), runs, stopped (runs that
        ended by themselves), wrong, rate (wrong over runs), low and high (Clopper and Pearson), and chance: the
        probability of at least so many wrong answers, were each as probable as delta. A small chance is evidence
        against the guarantee.
    """
    from scipy.stats import binomtest

    pl = need("polars", "data")
    keys, stopped = ["learner", "delta", "epsilon"], ~pl.col("censored")
    counted = (
        rows.lazy()
        .with_columns(epsilon=pl.coalesce("epsilon_per_gap", "epsilon"))
        .group_by(*keys, *by)
        .agg(runs=pl.len(), stopped=stopped.sum(), wrong=(stopped & ~pl.col("correct")).sum())
        .sort(*keys, *by)
        .collect(engine="streaming")
    )
    found: dict[str, list[float]] = {"rate": [], "low": [], "high": [], "chance": []}
    for wrong, runs, delta in counted.select("wrong", "runs", "delta").iter_rows():
        low, high = binomtest(wrong, runs).proportion_ci(LEVEL, "exact")
        numbers = wrong / runs, low, high, binomtest(wrong, runs, delta, alternative="greater").pvalue
        for name, number in zip(found, numbers):
            found[name].append(float(number))
    made: polars.DataFrame = counted.with_columns(pl.Series(name, column, pl.Float64) for name, column in found.items())
    return made


def too_often(rates: polars.DataFrame) -> polars.Series:
    """Return for each row whether its wrong answers refute delta at 5 %, corrected for the number of rows."""
    found: polars.Series = rates["chance"] * rates.height < 0.05
    return found
