"""How often learners were wrong, against the delta they were allowed, with an exact interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scipy.special import bdtrc, betaincinv

from surepath._checks import real, whole
from surepath._optional import need
from surepath.errors import SettingError

if TYPE_CHECKING:
    import polars


class Rate(NamedTuple):
    """A share with an interval that holds at its level whatever the truth is."""

    value: float
    low: float
    high: float


def rate_interval(wrong: int, runs: int, level: float = 0.95) -> Rate:
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
    return Rate(k / n, low, high)


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
