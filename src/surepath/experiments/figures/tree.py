"""figure-tree: the refined bounds for trees, above and below what is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surepath import theory
from surepath.experiments.drawing import Panel, Series, points_over_epsilon, short_name
from surepath.experiments.figures import common
from surepath.experiments.figures.common import Claim, Found, Frames, Options
from surepath.experiments.spec import instance_of

if TYPE_CHECKING:
    import polars

TITLE = "Trees: refined bounds and measured episodes"
READING = (
    "One panel per tree, over epsilon / Delta_min. Points: mean episodes of the learners; hollow ones were cut by the "
    "budget. Black: lower bounds. Coloured lines: upper bounds of the two sampling rules. Solid and dashed: the "
    "theorems for trees; dotted: those for all MDPs. The points of the two sampling rules must lie between solid and "
    "dashed; the distance is the price of the proofs' constants."
)
TREES = ((2, 3, 4), (3, 3, 6), (2, 5, 6))
# Enough for the two sampling rules with either preset; BPI-UCRL is cut at the smallest epsilons.
TREE_BUDGET = 5_000_000
EPSILON_GRID = (0.1, 0.3, 1.0, 3.0, 10.0)


def make(options: Options) -> Found:
    """Play runs on full trees, and compute all four bounds of each."""
    import polars as pl

    noise = common.PRESET_SIGMA[options.preset]
    values = {
        "runs": options.runs or 10,
        "deltas": [common.DELTA],
        "epsilons_per_gap": list(EPSILON_GRID),
        "budget": TREE_BUDGET,
        "instances": [
            {"family": "tree", "actions": actions, "horizon": horizon, "seed": seed, "sigma": noise}
            for actions, horizon, seed in TREES
        ],
        "learners": common.learners(options.preset),
    }
    means, spec = common.play(options, "tree", values)
    bounds = []
    for source in spec.instances:
        instance = instance_of(source)
        for epsilon in means.filter(instance=source["id"])["epsilon"].unique(maintain_order=True).to_list():
            row = {"instance": source["id"], "epsilon": epsilon}
            row["lower"] = theory.lower_bound(instance, epsilon, common.DELTA).value
            row["tree_lower"] = theory.tree_lower_bound(instance, epsilon, common.DELTA)
            for label in (common.EPRL_COVERAGE, common.EPRL_DIAMETER):
                row[f"upper {label}"] = theory.upper_bound(instance, epsilon, common.DELTA, sampling=label).value
                row[f"tree_upper {label}"] = theory.tree_upper_bound(instance, epsilon, common.DELTA, sampling=label)
            bounds.append(row)
    limits = pl.DataFrame(bounds)
    data = means.join(limits, on=["instance", "epsilon"])
    judged = [*claims(data, limits, options.preset), *common.error_claims(means, options.preset)]
    return Found({"means": data}, judged, spec.to_dict())


def panels(frames: Frames) -> list[Panel]:
    """Return episodes and bounds over epsilon, a panel per tree."""
    found = []
    for unsorted in frames["means"].partition_by("instance", maintain_order=True):
        part = unsorted.sort("epsilon")
        series = []
        for label in common.labels_of(part):
            one = part.filter(learner=label)
            series.append(points_over_epsilon(label, one, "mean", hollow=(one["censored"] > 0).to_list()))
        one = part.unique("epsilon", maintain_order=True)
        x = one["epsilon_per_gap"].to_list()
        series.append(Series("lower bound, tree", x, one["tree_lower"].to_list()))
        series.append(Series("lower bound", x, one["lower"].to_list(), dash="dotted"))
        for label in (common.EPRL_COVERAGE, common.EPRL_DIAMETER):
            series.append(Series(f"upper bound, tree, {label}", x, one[f"tree_upper {label}"].to_list(), dash="dashed"))
            series.append(Series(f"upper bound, {label}", x, one[f"upper {label}"].to_list(), dash="dotted"))
        found.append(Panel(short_name(part["instance"][0]), "epsilon / Delta_min", "episodes", series))
    return found


def claims(data: polars.DataFrame, limits: polars.DataFrame, preset: str) -> list[Claim]:
    """Judge the means in `data` against the bounds, and the tree bounds in `limits` against the general ones."""
    rules = {label: data.filter(learner=label) for label in (common.EPRL_COVERAGE, common.EPRL_DIAMETER)}
    below = [common.ends(part["high"] / part[f"tree_upper {label}"])[1] for label, part in rules.items()]
    cut = any((part["censored"] > 0).any() for part in rules.values())
    sure = common.proven(data, preset)
    lowest = common.ends(sure["mean"] / sure["tree_lower"])[0]
    runs = int(data["runs"].min())  # type: ignore[arg-type]
    gain = common.ends(limits["tree_lower"] / limits["lower"])
    saved, other = (
        common.ends(limits[f"upper {label}"] / limits[f"tree_upper {label}"])
        for label in (common.EPRL_COVERAGE, common.EPRL_DIAMETER)
    )
    return [
        Claim(
            "in trees the lower bound gains a factor of up to H",
            f"tree bound over general bound: {gain[0]:.2f} to {gain[1]:.2f}",
            gain[0] >= 1,
        ),
        Claim(
            "every PAC algorithm needs at least the tree's lower bound",
            f"least mean over bound: {lowest:.1f}",
            common.settled(lowest >= 1, runs),
        ),
        Claim(
            "max-coverage and max-diameter stop before the tree theorems' bounds",
            f"largest run over bound: {below[0]:.2g} and {below[1]:.2g}" + (", runs were cut" if cut else ""),
            common.under(max(below), preset, cut),
        ),
        Claim(
            "the tree theorem improves on the general bound of max-coverage",
            f"general over tree bound: {saved[0]:.1f}x to {saved[1]:.1f}x (of max-diameter, whose tree theorem has "
            f"larger constants, {other[0]:.2f}x to {other[1]:.2f}x)",
            saved[0] >= 1,
        ),
    ]
