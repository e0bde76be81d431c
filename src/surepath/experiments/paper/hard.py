"""figure-hard: the worst case of the appendix as the number of states, actions and stages grows."""

from __future__ import annotations

from surepath import theory
from surepath.experiments.paper.common import (
    COVERAGE,
    DELTA,
    DIAMETER,
    NOISE,
    Claim,
    Found,
    Options,
    ends,
    error_claims,
    learners,
    mean_episodes,
    play,
)

TITLE = "The worst case: minimax_hard as S, A and H grow"
READING = (
    "Each panel lets one size grow. Coloured: mean episodes of the learners; solid black: the lower bound that holds "
    "for every learner on the hardest instance of this size; dashed: what the theorem grants max-coverage at most. "
    "Lines parallel to the black one grow as S A H^2, which is the best possible in the worst case; between the black "
    "and the dashed line everything is as the paper says."
)
EPSILON = 3.0
SWEEPS = {
    "states": [(2, 2, 12), (4, 2, 12), (8, 2, 12), (16, 2, 12)],
    "actions": [(4, 2, 6), (4, 4, 6), (4, 8, 6), (4, 16, 6)],
    "horizon": [(4, 2, 6), (4, 2, 9), (4, 2, 12), (4, 2, 18)],
}


def make(options: Options) -> Found:
    """Runs on every size, with the worst-case bounds beside them."""
    import polars as pl

    noise = NOISE[options.preset]
    sizes = {f"{size}": size for sweep in SWEEPS.values() for size in sweep}.values()
    epsilon = EPSILON * noise
    values = {
        "runs": options.runs or 5,
        "deltas": [DELTA],
        "epsilons": [epsilon],
        "budget": 100_000_000,
        "instances": [
            {"family": "minimax_hard", "states": s, "actions": a, "horizon": h, "sigma": noise} for s, a, h in sizes
        ],
        "learners": learners(options.preset),
    }
    rows, spec = play(options, "hard", values)
    ids = {size: source["id"] for size, source in zip(sizes, spec.instances)}
    means = mean_episodes(rows)
    table = []
    for axis, sweep in SWEEPS.items():
        for states, actions, horizon in sweep:
            size = dict(zip(("states", "actions", "horizon"), (states, actions, horizon)))
            lower = theory.worst_case_lower_bound(states, actions, horizon, epsilon, DELTA, sigma=noise)
            upper = theory.worst_case_upper_bound(states, actions, horizon, epsilon, DELTA, sigma=noise)
            for row in means.filter(instance=ids[states, actions, horizon]).iter_rows(named=True):
                kept = {key: row[key] for key in ("learner", "mean", "low", "high", "censored")}
                table.append({"axis": axis, **size, "size": size[axis], **kept, "lower": lower, "upper": upper})
    data = pl.DataFrame(table)
    coverage = data.filter(learner=COVERAGE)
    share = ends(coverage["high"] / coverage["upper"])[1]
    above = ends(data["mean"] / data["lower"])[0]
    flat = []
    for axis in SWEEPS:
        part = data.filter(axis=axis, learner=DIAMETER).sort("size")
        ratio = (part["mean"] / part["lower"]).to_list()
        flat.append(f"{axis} {ratio[0]:.0f} -> {ratio[-1]:.0f}")
    factor = max(
        float(part["mean"][-1] / part["lower"][-1]) / float(part["mean"][0] / part["lower"][0])
        for axis in SWEEPS
        for part in [data.filter(axis=axis, learner=DIAMETER).sort("size")]
    )
    claims = [
        Claim(
            "every PAC algorithm needs at least S A H^2 log(1 / 4 delta) / (72 epsilon^2) episodes here",
            f"least mean over bound: {above:.1f}",
            above >= 1,
        ),
        Claim(
            "EPRL is minimax optimal up to logarithms: its episodes grow as the bound does",
            f"max-diameter over the bound, smallest to largest size: {', '.join(flat)}",
            factor < 2,
        ),
        Claim(
            "max-coverage stops before its worst-case upper bound",
            f"largest run over bound: {share:.2g}",
            share <= 1,
        ),
        *error_claims(rows, options.preset),
    ]
    return Found({"sizes": data}, claims, spec.to_dict())
