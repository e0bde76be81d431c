"""figure-peers: the field on the same problems, as epsilon and delta fall and the horizon grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from surepath import theory
from surepath.experiments.drawing import Panel, Series, line_with_band
from surepath.experiments.figures import common
from surepath.experiments.figures.common import Claim, Found, Frames, Options
from surepath.experiments.runner import scan
from surepath.experiments.spec import instance_of

if TYPE_CHECKING:
    import polars

TITLE = "Peers: trials until a proven answer"
READING = (
    "Mean trials until the stop on the paper's random instances: over epsilon, over delta (at epsilon = Delta_min) and "
    "over the number of stages; bands go from the shortest to the longest run. All seven stop with their proven "
    "widths, whatever the preset, which fixes the noise alone. Hollow marks are lower bounds: runs were cut by the "
    "budget. Black: T* kl(delta, 1 - delta), below which nobody finds the very best plan; an answer within epsilon may "
    "take less. CombGame's stop is played by the rule of CLUCB, not by its own game."
)
PEERS = {"CLUCB": "clucb", "CombGame's stop": "combgame", "top-two Thompson": "top-two"}
SEED, HORIZON, BUDGET = 1, 4, 5_000_000
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)  # in units of Delta_min
DELTAS = (0.1, 1e-2, 1e-4, 1e-8)
HORIZONS = (2, 3, 4, 6, 8)
LIMIT = "lower bound for the best plan"


def make(options: Options) -> Found:
    """Play all learners along each axis, and compute T* of each instance."""
    import polars as pl

    noise = common.PRESET_SIGMA[options.preset]
    peers = [{"name": "Peer", "label": label, "method": method} for label, method in PEERS.items()]
    fixed = {"runs": options.runs or 10, "budget": BUDGET, "learners": [*common.learners("theory"), *peers]}
    one, each = source(HORIZON, noise), [source(horizon, noise) for horizon in HORIZONS]
    grids: dict[str, dict[str, Any]] = {
        "epsilon": {"deltas": [common.DELTA], "epsilons_per_gap": list(EPSILONS), "instances": [one]},
        "delta": {"deltas": list(DELTAS), "epsilons_per_gap": [1.0], "instances": [one]},
        "horizon": {"deltas": [common.DELTA], "epsilons_per_gap": [1.0], "instances": each},
    }
    tables, rows, specs = [], [], {}
    for axis, grid in grids.items():
        means, spec = common.play(options, f"peers-{axis}", {**fixed, **grid})
        specs[axis] = spec.to_dict()
        rows.append(scan(options.folder / f"peers-{axis}"))
        worlds = {where["id"]: instance_of(where) for where in spec.instances}
        times = {name: theory.characteristic_time(world) for name, world in worlds.items()}
        limits = pl.DataFrame(
            [
                {
                    "instance": name,
                    "delta": delta,
                    "stages": float(world.mdp.horizon),
                    "limit": times[name].bound(delta),
                }
                for name, world in worlds.items()
                for delta in spec.deltas
            ]
        )
        columns = {"epsilon": "epsilon_per_gap", "delta": "delta", "horizon": "stages"}
        joined = means.join(limits, on=["instance", "delta"])
        tables.append(joined.with_columns(axis=pl.lit(axis), size=pl.col(columns[axis])))
    found = pl.concat(tables)
    return Found({"means": found}, claims(found, rows), specs)


def source(horizon: int, noise: float) -> dict[str, Any]:
    """Return the instance of so many stages as a spec names it."""
    return {"family": "paper_random", "horizon": horizon, "seed": SEED, "sigma": noise}


def panels(frames: Frames) -> list[Panel]:
    """Return mean trials over epsilon, delta and the number of stages."""
    found = []
    names = {"epsilon": "epsilon / Delta_min", "delta": "delta", "horizon": "stages"}
    for part in frames["means"].partition_by("axis", maintain_order=True):
        axis, series = part["axis"][0], []
        for label in common.labels_of(part):
            own = part.filter(learner=label).sort("size")
            line = line_with_band(label, own, "size", "mean")
            series.append(Series(label, line.x, line.y, line.low, line.high, (own["censored"] > 0).to_list()))
        one = part.unique("size", maintain_order=True).sort("size")
        series.append(Series(LIMIT, one["size"].to_list(), one["limit"].to_list(), dash="dashed"))
        found.append(Panel("", names[axis], "trials", series, x_log=axis != "horizon", x_falls=axis != "horizon"))
    return found


def claims(means: polars.DataFrame, rows: list[polars.LazyFrame]) -> list[Claim]:
    """Judge who needs the fewest trials on every axis, and all guarantees."""
    import polars as pl

    others = [*common.OF_THE_PAPER, *PEERS]
    keys = ["axis", "instance", "delta", "epsilon"]
    ours = means.filter(learner=common.CHALLENGER).select(*keys, ours="mean")
    ratio = means.join(ours, on=keys).with_columns(ratio=pl.col("mean") / pl.col("ours"))
    words = []
    for label in others:
        low, high = common.ends(ratio.filter(learner=label)["ratio"])
        words.append(f"{label} {low:.1f} to {high:.1f}")
    cheaper = [common.compared(part, common.CHALLENGER, label) for part in rows for label in others]
    lead = means.filter(learner=common.CHALLENGER, axis="delta").sort("delta")
    near = (lead["mean"] / lead["limit"]).to_list()
    everywhere = pl.concat(rows)
    return [
        Claim(
            "(ours) Challenger needs fewer trials than each of the field, over epsilon, delta and the horizon",
            f"their mean trials over its own: {', '.join(words)}",
            common.cheaper_everywhere(cheaper),
        ),
        Claim(
            "(ours) Challenger comes closer to T* kl(delta, 1 - delta) as delta falls",
            f"its mean over the bound: {near[-1]:.1f} at delta {lead['delta'][-1]:g}, {near[0]:.1f} at "
            f"{lead['delta'][0]:g} (epsilon = Delta_min, where less than the best plan is asked for)",
            common.settled(near[0] < near[-1], int(lead["runs"][0])),
        ),
        *common.error_claims(everywhere, "theory"),
        common.errors_of("CLUCB and the stops of CombGame and top-two are (epsilon, delta)-PAC", everywhere, PEERS),
    ]
