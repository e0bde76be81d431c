"""figure-bounds (ours): how far every learner is from what is possible, as delta falls."""

from __future__ import annotations

from surepath import theory
from surepath.experiments.paper.common import (
    BPI,
    CHALLENGER,
    COVERAGE,
    DIAMETER,
    NOISE,
    Claim,
    Found,
    Options,
    ends,
    error_claim,
    learners,
    mean_episodes,
    play,
)
from surepath.experiments.sources import instance_of

TITLE = "Distance to the limits as delta falls"
READING = (
    "Mean episodes divided by the paper's lower bound (left) and by T* kl(delta, 1 - delta), the sharper limit for "
    "finding the best path (right); geometric mean over the instances, the band spans them. 1 is perfect. A line that "
    "falls towards the right says that the learner wastes less as more confidence is asked for. epsilon is half of "
    "Delta_min, so that only the best path will do."
)
SEEDS = (0, 1, 4, 9)
DELTAS = (0.1, 1e-2, 1e-3, 1e-6, 1e-12)


def make(options: Options) -> Found:
    """Runs at falling deltas, over the two lower limits of each instance."""
    import polars as pl

    values = {
        "runs": options.runs or 10,
        "deltas": list(DELTAS),
        "epsilons_per_gap": [0.5],
        "budget": 100_000_000,
        "instances": [{"family": "paper_random", "seeds": list(SEEDS), "sigma": NOISE[options.preset]}],
        "learners": learners(options.preset),
    }
    rows, spec = play(options, "bounds", values)
    limits = []
    for source in spec.instances:
        instance = instance_of(source)
        time = theory.characteristic_time(instance)
        epsilon = float(rows.filter(instance=source["id"])["epsilon"][0])
        for delta in DELTAS:
            lower = theory.lower_bound(instance, epsilon, delta).value
            limits.append({"instance": source["id"], "delta": delta, "lower": lower, "limit": time.bound(delta)})
    data = mean_episodes(rows).join(pl.DataFrame(limits), on=["instance", "delta"])
    data = data.with_columns(over_lower=pl.col("mean") / pl.col("lower"), over_limit=pl.col("mean") / pl.col("limit"))
    spread = data.group_by("learner", "delta", maintain_order=True).agg(
        *(
            expression
            for name in ("over_lower", "over_limit")
            for expression in (
                pl.col(name).log().mean().exp().alias(name),
                pl.col(name).min().alias(f"{name}_low"),
                pl.col(name).max().alias(f"{name}_high"),
            )
        )
    )
    least = {name: ends(data[name])[0] for name in ("over_lower", "over_limit")}
    falls = {label: _ends(spread.filter(learner=label)["over_limit"].to_list()) for label in _labels()}
    claims = [
        Claim(
            "no PAC algorithm stops before the lower bound of Theorem 1, on average",
            f"least mean over bound: {least['over_lower']:.1f}",
            least["over_lower"] >= 1,
        ),
        Claim(
            "(ours) nor before T* kl(delta, 1 - delta)",
            f"least mean over limit: {least['over_limit']:.2f}",
            least["over_limit"] >= 1,
        ),
        Claim(
            "(ours) Challenger comes close to T* kl as delta falls; the others stay far",
            f"mean over limit, delta 0.1 -> 1e-12: {'; '.join(f'{label} {text}' for label, text in falls.items())}",
            float(spread.filter(learner=CHALLENGER).sort("delta")["over_limit"][0]) < 3,
        ),
        error_claim(rows, options.preset),
    ]
    return Found({"ratios": spread, "means": data}, claims, spec.to_dict())


def _labels() -> tuple[str, ...]:
    return COVERAGE, DIAMETER, BPI, CHALLENGER


def _ends(values: list[float]) -> str:
    """First (smallest delta) and last value, largest delta first."""
    return f"{values[-1]:.3g} -> {values[0]:.3g}"
