"""figure-2: the paper's main experiment, the whole grid of epsilons on ten instances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surepath.experiments.drawing import Panel, points_over_epsilon
from surepath.experiments.figures import common
from surepath.experiments.figures.common import Claim, Found, Frames, Options
from surepath.experiments.runner import scan

if TYPE_CHECKING:
    import polars

TITLE = "Figure 2: ratios of stopping times over epsilon / Delta_min"
READING = (
    "Left: mean episodes of a learner divided by those of BPI-UCRL, one point per instance and epsilon; below the line "
    "at 1 the learner is cheaper. Right: max-diameter against max-coverage; below 1 max-diameter is cheaper. Both axes "
    "are logarithmic. A hollow point is no exact ratio: runs were cut by the budget. Where only those of BPI-UCRL "
    "were, as at the smallest epsilons with the preset theory, the true ratio is lower still."
)
# The authors' grid: 28 values, in units of Delta_min.
EPSILON_GRID = tuple(sorted([10.0, 5.0, 2.5, *(round(0.05 + 0.1 * i, 2) for i in range(25))]))
LARGE_EPSILON = 2.45  # "large epsilon": from here on
# With the widths of Algorithm 1 BPI-UCRL needs some 100 million episodes at the smallest epsilons; 5 million settle all
# but the two or three smallest.
RATIO_BUDGETS = {"theory": 5_000_000, "experiment": 100_000_000}


def make(options: Options) -> Found:
    """Play ten runs on ten instances; one run at the smallest epsilon gives the stopping times of all."""
    values = {
        "runs": options.runs or 10,
        "deltas": [common.DELTA],
        "epsilons_per_gap": list(EPSILON_GRID),
        "budget": RATIO_BUDGETS[options.preset],
        "instances": [{"family": "paper_random", "seeds": "0..9", "sigma": common.PRESET_SIGMA[options.preset]}],
        "learners": common.learners(options.preset),
    }
    means, spec = common.play(options, "ratios", values)
    means, rows = with_ratios(means), scan(options.folder / "ratios")
    judged = [*claims(means, rows), *common.error_claims(rows, options.preset)]
    return Found({"means": means}, judged, spec.to_dict())


def with_ratios(means: polars.DataFrame) -> polars.DataFrame:
    """Divide each mean by those of BPI-UCRL and of max-coverage on the same (instance, epsilon), and mark cut runs."""
    import polars as pl

    keys = ["instance", "epsilon"]
    base = means.filter(learner=common.BPI).select(*keys, base="mean", base_censored="censored")
    coverage = means.filter(learner=common.EPRL_COVERAGE).select(*keys, coverage="mean")
    return (
        means.join(base, on=keys, how="left")
        .join(coverage, on=keys, how="left")
        .with_columns(
            ratio_to_bpi=pl.col("mean") / pl.col("base"),
            ratio_to_coverage=pl.col("mean") / pl.col("coverage"),
            bound=(pl.col("base_censored") > 0) | (pl.col("censored") > 0),
        )
        .drop("base", "coverage", "base_censored")
        .sort(*keys, "learner")
    )


def panels(frames: Frames) -> list[Panel]:
    """Return the ratio to BPI-UCRL of every other learner, and that of max-diameter to max-coverage."""
    means = frames["means"].sort("instance", "epsilon")
    left = []
    for label in common.labels_of(means):
        part = means.filter(learner=label)
        if label != common.BPI:
            left.append(points_over_epsilon(label, part, "ratio_to_bpi", hollow=part["bound"].to_list()))
    right = [points_over_epsilon(common.EPRL_DIAMETER, means.filter(learner=common.EPRL_DIAMETER), "ratio_to_coverage")]
    x = "epsilon / Delta_min"
    return [
        Panel("against BPI-UCRL", x, "mean episodes / those of BPI-UCRL", left, line_at=1.0),
        Panel("max-diameter against max-coverage", x, "mean episodes / those of max-coverage", right, line_at=1.0),
    ]


def claims(means: polars.DataFrame, rows: polars.DataFrame | polars.LazyFrame) -> list[Claim]:
    """Judge what the paper says of large and small epsilons, and where the learners' order changes.

    Means over too few runs settle nothing, and "cheaper" is judged over the paired runs of each instance.
    """
    import polars as pl

    found, runs = [], int(means["runs"].min())  # type: ignore[arg-type]
    large = means.filter(pl.col("epsilon_per_gap") > LARGE_EPSILON - 0.001)
    for label, most in ((common.EPRL_DIAMETER, 2.0), (common.EPRL_COVERAGE, 3.0)):
        low, high = common.ends(large.filter(learner=label)["ratio_to_bpi"])
        top = common.ends(means.filter(pl.col("epsilon_per_gap") > 9.99, learner=label)["ratio_to_bpi"])
        words = f"for large epsilon / Delta_min BPI-UCRL is cheaper than {label}, by at most {most:g}x"
        measured = f"from {LARGE_EPSILON:g} on: ratios {low:.2f} to {high:.2f}; at 10: {top[0]:.2f} to {top[1]:.2f}"
        found.append(Claim(words, measured, common.settled(high <= most and top[0] >= 1, runs)))
    for label in (common.EPRL_DIAMETER, common.EPRL_COVERAGE):
        part = means.filter(pl.col("epsilon_per_gap") < 0.051, learner=label)
        low, high = common.ends(part["ratio_to_bpi"])
        measured, holds = f"at 0.05: ratios {low:.2g} to {high:.2g}", high <= 1e-2
        words = f"for small epsilon / Delta_min {label} is better by several orders of magnitude"
        own_cut, cut = bool((part["censored"] > 0).any()), bool(part["bound"].any())
        if own_cut:
            measured += f", but runs of {label} were cut by the budget"
        elif cut:  # the true ratios are lower than these
            measured += ", at most: BPI-UCRL was cut by the budget"
        found.append(Claim(words, measured, None if own_cut or (cut and not holds) else common.settled(holds, runs)))
    starts = [_threshold(part) for part in means.filter(learner=common.EPRL_DIAMETER).partition_by("instance")]
    found.append(
        Claim(
            "where EPRL starts to win varies with the MDP",
            f"max-diameter is cheaper up to an epsilon / Delta_min of {min(starts):g} to {max(starts):g}",
            common.settled(max(starts) > min(starts), runs),
        )
    )
    better = common.compared(rows, common.EPRL_DIAMETER, common.EPRL_COVERAGE)
    sure = better.filter(pl.col("p") < common.SIGNIFICANCE)
    wins, losses = int((sure["factor"] > 1).sum()), int((sure["factor"] < 1).sum())
    found.append(
        Claim(
            "max-diameter often beats max-coverage (8 of 10 instances)",
            f"cheaper on {wins} of {better.height} instances, dearer on {losses}, no sure difference on "
            f"{better.height - wins - losses} (geometric mean over the grid, p < {common.SIGNIFICANCE:g})",
            None if 2 * wins <= better.height < 2 * (better.height - losses) else 2 * wins > better.height,
        )
    )
    mean, ours = pl.col("mean"), pl.col("learner") == common.CHALLENGER
    factor = (mean.filter(~ours).min() / mean.filter(ours).first()).alias("factor")
    best = means.group_by("instance", "epsilon").agg(factor)["factor"]
    low, high = common.ends(best)
    cheaper = common.cheaper_everywhere(
        [common.compared(rows, common.CHALLENGER, label) for label in common.OF_THE_PAPER]
    )
    found.append(
        Claim(
            "(ours) Challenger, always with its guarantee, needs fewer episodes than the best of the three",
            f"fewer by {low:.1f}x to {high:.1f}x, {float(np.median(best.to_numpy())):.1f}x in the median",
            None if cheaper and low <= 1 else cheaper,
        )
    )
    return found


def _threshold(part: polars.DataFrame) -> float:
    """Return the epsilon / Delta_min up to which the learner is cheaper than BPI-UCRL without exception."""
    start = 0.0
    for multiple, ratio in part.sort("epsilon").select("epsilon_per_gap", "ratio_to_bpi").iter_rows():
        if ratio >= 1:
            break
        start = multiple
    return round(start, 4)
