"""figure-bounds (ours): how far every learner is from what is possible, as delta falls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from surepath import theory
from surepath.experiments.drawing import Panel, line_with_band
from surepath.experiments.figures import common
from surepath.experiments.figures.common import Claim, Found, Frames, Options
from surepath.experiments.spec import instance_of
from surepath.experiments.store import scan

if TYPE_CHECKING:
    import polars

TITLE = "Distance to the limits as delta falls"
READING = (
    "Left: mean episodes at epsilon = Delta_min / 2 divided by the paper's lower bound. Right: mean episodes at "
    "epsilon = 0 divided by T* kl(delta, 1 - delta), the sharper limit for finding the best path (BPI-UCRL never stops "
    "there). Geometric mean over the instances, the band spans them; 1 is perfect. A line that falls towards the right "
    "says that the learner wastes less as more confidence is asked for."
)
SEEDS = (0, 1, 4, 9)
DELTAS = (0.1, 1e-2, 1e-3, 1e-6, 1e-12)


def make(options: Options) -> Found:
    """Play runs at falling deltas, and divide their means by the two lower limits of each instance."""
    values: dict[str, Any] = {
        "runs": options.runs or 10,
        "deltas": list(DELTAS),
        "budget": 100_000_000,
        "instances": [{"family": "paper_random", "seeds": list(SEEDS), "sigma": common.PRESET_SIGMA[options.preset]}],
    }
    everybody = common.learners(options.preset)
    exact = [learner for learner in everybody if learner["label"] != common.BPI]
    near, spec = common.play(options, "bounds-half", {**values, "epsilons_per_gap": [0.5], "learners": everybody})
    best, _ = common.play(options, "bounds-exact", {**values, "epsilons": [0.0], "learners": exact})
    means = _over(near, "lower"), _over(best, "limit")
    spread = {name: _spread(frame) for name, frame in zip(("lower", "limit"), means)}
    rows = scan(options.folder / "bounds-exact")
    judged = [
        *claims(means, spread["limit"], options.preset, rows),
        *common.error_claims(near.vstack(best), options.preset),
    ]
    frames = {**spread, "means": means[0].vstack(means[1])}
    return Found(frames, judged, {**spec.to_dict(), "and_at_epsilon_0": [learner["label"] for learner in exact]})


def panels(frames: Frames) -> list[Panel]:
    """Return the distance to each of the two limits as delta falls."""
    found = []
    for name, title in (
        ("lower", "epsilon = Delta_min / 2: over the paper's lower bound"),
        ("limit", "epsilon = 0: over T* kl(delta, 1 - delta)"),
    ):
        data = frames[name].sort("delta")
        series = [
            line_with_band(label, data.filter(learner=label), "delta", "ratio") for label in common.labels_of(data)
        ]
        found.append(Panel(title, "delta", "mean episodes / limit", series, line_at=1.0, x_falls=True))
    return found


def claims(
    means: tuple[polars.DataFrame, polars.DataFrame],
    spread: polars.DataFrame,
    preset: str,
    rows: polars.DataFrame | polars.LazyFrame,
) -> list[Claim]:
    """Judge the proven learners against both limits, and Challenger's distance to the second against the others'.

    Args:
        means: Means over the lower bound, and over the sharper limit at epsilon = 0.
        spread: The latter, as `_spread` aggregates it over the instances.
        preset: "theory", "text" or "experiment".
        rows: The runs at epsilon = 0; learners are compared over their pairs.
    """
    import polars as pl

    runs = min(int(frame["runs"].min()) for frame in means)  # type: ignore[arg-type]
    cheaper = common.cheaper_everywhere(
        [common.compared(rows, common.CHALLENGER, label) for label in (common.EPRL_COVERAGE, common.EPRL_DIAMETER)]
    )
    least = [common.ends(common.proven(frame, preset)["ratio"])[0] for frame in means]
    ours = spread.filter(learner=common.CHALLENGER).sort("delta")
    theirs = spread.filter(pl.col("learner") != common.CHALLENGER).join(ours.select("delta", ours="ratio"), on="delta")
    nearer = common.ends(theirs["ratio"] / theirs["ours"])
    falls = [f"{label} {_ends(spread, label)}" for label in common.labels_of(spread)]
    return [
        Claim(
            "no PAC algorithm stops before the lower bound of Theorem 1, on average",
            f"least mean over bound: {least[0]:.1f}",
            common.settled(least[0] >= 1, runs),
        ),
        Claim(
            "(ours) nor, at epsilon = 0, before T* kl(delta, 1 - delta)",
            f"least mean over limit: {least[1]:.2f}",
            common.settled(least[1] >= 1, runs),
        ),
        Claim(
            f"(ours) Challenger comes within a factor of 3 of T* kl at delta {DELTAS[-1]:g}",
            f"mean over limit, delta {DELTAS[0]:g} -> {DELTAS[-1]:g}: {'; '.join(falls)}",
            common.settled(float(ours["ratio"][0]) < 3, runs),
        ),
        Claim(
            "(ours) and is nearer to it than the others at every delta",
            f"their means over those of Challenger: {nearer[0]:.1f}x to {nearer[1]:.1f}x",
            None if cheaper and nearer[0] <= 1 else cheaper,
        ),
    ]


def _over(means: polars.DataFrame, kind: str) -> polars.DataFrame:
    """Join mean episodes with the limit of their instance and delta, and divide them by it."""
    import polars as pl

    limits = []
    for instance, epsilon in means.select("instance", "epsilon").unique(maintain_order=True).iter_rows():
        world = instance_of({"id": instance})
        time = theory.characteristic_time(world) if kind == "limit" else None
        for delta in DELTAS:
            value = theory.lower_bound(world, epsilon, delta).value if time is None else time.bound(delta)
            limits.append({"instance": instance, "delta": delta, "limit_of": kind, "limit": value})
    found = means.join(pl.DataFrame(limits), on=["instance", "delta"])
    return found.with_columns(ratio=pl.col("mean") / pl.col("limit"))


def _spread(means: polars.DataFrame) -> polars.DataFrame:
    """Aggregate the ratio over the instances, by learner and delta: geometric mean and ends."""
    import polars as pl

    ratio = pl.col("ratio")
    return (
        means.group_by("learner", "delta", maintain_order=True)
        .agg(ratio.log().mean().exp().alias("ratio"), ratio.min().alias("low"), ratio.max().alias("high"))
        .sort("learner", "delta")
    )


def _ends(spread: polars.DataFrame, label: str) -> str:
    """Write the ratio at the largest delta and at the smallest as '12 -> 3'."""
    values = spread.filter(learner=label).sort("delta", descending=True)["ratio"].to_list()
    return f"{values[0]:.3g} -> {values[-1]:.3g}"
