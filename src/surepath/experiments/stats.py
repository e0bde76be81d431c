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

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtrc, betaincinv, ndtr, stdtrit

from surepath._checks import FloatArray, IntArray, real, whole
from surepath._optional import need
from surepath.errors import SettingError

if TYPE_CHECKING:
    import polars

EXACT_PAIRS = 14  # up to this many pairs all sign patterns are tried
_BLOCK = 4_000_000  # numbers drawn at a time, so that memory stays flat


class Interval(NamedTuple):
    """An estimate with a confidence interval."""

    value: float
    low: float
    high: float


def mean_interval(values: ArrayLike, *, level: float = 0.95, resamples: int = 5000, seed: int = 0) -> Interval:
    """Estimate a mean with its expanded percentile bootstrap interval; infinite for a single value.

    Example:
        >>> mean_interval([4.0, 4.0, 4.0])
        Interval(value=4.0, low=4.0, high=4.0)
    """
    data = _column(values)
    draws = np.concatenate([data[index].mean(axis=1) for index in _resample(len(data), resamples, seed)])
    return _interval(float(data.mean()), draws, len(data), level)


def ratio_interval(
    above: ArrayLike, below: ArrayLike, *, level: float = 0.95, resamples: int = 5000, seed: int = 0
) -> Interval:
    """Estimate the ratio of two means over paired runs, with a bootstrap that draws pairs.

    Example:
        >>> ratio_interval([2.0, 4.0], [1.0, 2.0])
        Interval(value=2.0, low=2.0, high=2.0)
    """
    top, bottom = _pairs(above, below)
    if (bottom <= 0).any():
        raise SettingError("a ratio of means needs positive numbers below the line")
    drawn = _resample(len(top), resamples, seed)
    draws = np.concatenate([top[index].mean(axis=1) / bottom[index].mean(axis=1) for index in drawn])
    return _interval(float(top.mean() / bottom.mean()), draws, len(top), level)


def permutation_test(one: ArrayLike, other: ArrayLike, *, draws: int = 20_000, seed: int = 0) -> float:
    """Return the probability of a mean difference at least this large if the two columns were exchangeable.

    Two-sided; all 2^n exchanges for up to 14 pairs, else `draws` random ones counted with the observed one, so that
    the p-value is valid and never 0.

    Example:
        >>> permutation_test([1, 2, 3, 4], [11, 12, 13, 14])
        0.125
    """
    first, second = _pairs(one, other)
    difference = first - second
    n, observed = len(difference), abs(float(difference.sum()))
    reach = observed - 1e-9 * float(np.abs(difference).sum())
    if n <= EXACT_PAIRS:
        signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return float((np.abs(signs @ difference) >= reach).mean())
    rng = np.random.default_rng(seed)
    rows, hits = max(1, _BLOCK // n), 0
    for start in range(0, draws, rows):
        size = min(rows, draws - start)
        signs = 1 - 2 * rng.integers(2, size=(size, n), dtype=np.int8)
        hits += int((np.abs(signs @ difference) >= reach).sum())
    return (hits + 1) / (draws + 1)


def compare(frame: polars.DataFrame, baseline: str | None = None, *, level: float = 0.95) -> polars.DataFrame:
    """Compare learners by (instance, delta, epsilon): mean episodes, interval, errors, and the ratio to a baseline.

    Args:
        frame: Rows of an experiment, as `results.read` gives them.
        baseline: Label of the learner to compare with; None for no comparison.
        level: Level of the intervals.

    Returns:
        Columns instance, delta, epsilon, epsilon_per_gap, learner, runs, mean, low, high, level, median, wrong (share
        of runs that stopped with a wrong answer, None where none stopped), censored (share of runs cut by the budget;
        the mean is then a lower bound and high infinite), and with a baseline ratio, ratio_is ("=", or "<=" or ">="
        where runs of one side were cut), ratio_low, ratio_high and p (permutation test over the paired runs).
    """
    pl = need("polars", "data")
    labels = frame["learner"].unique(maintain_order=True).to_list()
    if baseline is not None and baseline not in labels:
        from surepath._checks import suggest

        raise SettingError(f"no learner of this experiment is called {baseline!r}{suggest(baseline, labels)}")
    rows = []
    keys = ["instance", "delta", "epsilon"]
    for group in frame.partition_by(keys, maintain_order=True):
        parts = {part["learner"][0]: part.sort("run") for part in group.partition_by("learner", maintain_order=True)}
        for label, part in parts.items():
            tau = part["tau"].to_numpy().astype(float)
            mean = mean_interval(tau, level=level)
            row = {key: part[key][0] for key in (*keys, "epsilon_per_gap")}
            cut = float(part["censored"].mean())  # type: ignore[arg-type]
            high = mean.high if cut == 0 else np.inf
            row |= {"learner": label, "runs": len(part), "mean": mean.value, "low": mean.low, "high": high}
            row |= {"level": level, "median": float(np.median(tau))}
            wrong = float((~part["correct"] & ~part["censored"]).mean())  # type: ignore[arg-type]
            row |= {"wrong": wrong if cut < 1 else None, "censored": cut}
            if baseline is not None:
                row |= _against(part, parts.get(baseline), label == baseline, level)
            rows.append(row)
    found: polars.DataFrame = pl.DataFrame(rows, infer_schema_length=None)
    return found


_NOTHING: dict[str, Any] = dict.fromkeys(("ratio", "ratio_is", "ratio_low", "ratio_high", "p"))


def _against(part: polars.DataFrame, base: polars.DataFrame | None, same: bool, level: float) -> dict[str, Any]:
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
    ratio = ratio_interval(one, other, level=level)
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


def _resample(n: int, resamples: int, seed: int) -> Iterator[IntArray]:
    """Yield blocks of indices drawn with replacement, [rows, n]."""
    whole("resamples", resamples, low=1)
    rng = np.random.default_rng(seed)
    rows = max(1, _BLOCK // n)
    for start in range(0, resamples, rows):
        yield rng.integers(n, size=(min(rows, resamples - start), n))


def _interval(value: float, draws: FloatArray, n: int, level: float) -> Interval:
    if not 0 < real("level", level) < 1:
        raise SettingError(f"level must lie strictly between 0 and 1, not {level:g}; 0.95 is usual")
    if n == 1:
        return Interval(value, -np.inf, np.inf)
    tail = float(ndtr(np.sqrt(n / (n - 1)) * stdtrit(n - 1, (1 - level) / 2)))
    low, high = np.quantile(draws, [tail, 1 - tail])
    return Interval(value, min(float(low), value), max(float(high), value))


def rate_interval(wrong: int, runs: int, level: float = 0.95) -> Interval:
    """Estimate a probability from counts, with the interval of Clopper and Pearson.

    Example:
        >>> [round(x, 4) for x in rate_interval(0, 100)]
        [0.0, 0.0, 0.0362]
    """
    n = whole("runs", runs, low=1)
    k = whole("wrong", wrong, low=0, high=n)
    if not 0 < real("level", level) < 1:
        raise SettingError(f"level must lie strictly between 0 and 1, not {level:g}; 0.95 is usual")
    tail = (1 - level) / 2
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - tail))
    return Interval(k / n, low, high)


def failure_rates(rows: polars.DataFrame, level: float = 0.95) -> polars.DataFrame:
    """Count wrong answers of each learner at each delta and epsilon, over all instances.

    If on every instance a wrong answer has probability at most delta, their number is at most what a coin with that
    probability would give, whatever the instances are; so the interval and the test may be made over all of them.

    Args:
        rows: Rows of an experiment, as `results.read` gives them.
        level: Level of the intervals.

    Returns:
        Columns learner, delta, epsilon (in units of Delta_min where the experiment's are), runs, stopped (runs that
        ended by themselves), wrong, rate (wrong over runs), low, high, and chance: the probability of at least so many
        wrong answers, were each as probable as delta. A small chance is evidence against the guarantee.
    """
    pl = need("polars", "data")
    column = "epsilon" if rows["epsilon_per_gap"].null_count() else "epsilon_per_gap"
    keys = ["learner", "delta", column]
    counted = rows.group_by(keys, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("runs"),
        (~pl.col("censored")).sum().cast(pl.Int64).alias("stopped"),
        (~pl.col("censored") & ~pl.col("correct")).sum().cast(pl.Int64).alias("wrong"),
    )
    made = []
    for row in counted.iter_rows(named=True):
        rate = rate_interval(row["wrong"], row["runs"], level)
        chance = 1.0 if row["wrong"] == 0 else float(bdtrc(row["wrong"] - 1.0, row["runs"], row["delta"]))
        made.append({"rate": rate.value, "low": rate.low, "high": rate.high, "chance": chance})
    shares = pl.DataFrame(made, schema=dict.fromkeys(("rate", "low", "high", "chance"), pl.Float64))
    found: polars.DataFrame = pl.concat([counted.rename({column: "epsilon"}), shares], how="horizontal")
    return found


def too_often(rates: polars.DataFrame) -> polars.Series:
    """Return for each row whether its wrong answers refute delta at 5 %, corrected for the number of rows."""
    found: polars.Series = rates["chance"] * rates.height < 0.05
    return found
