"""figure-hard: the worst case of the appendix as the number of states, actions and stages grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from surepath import theory
from surepath.experiments.figures.common import (
    COVERAGE,
    DELTA,
    NOISE,
    Claim,
    Found,
    Frames,
    Options,
    ends,
    labels_of,
    learners,
    play,
    proven,
    under,
)
from surepath.experiments.figures.drawing import draw_panels
from surepath.experiments.figures.panels import Panel, Series, line_with_band
from surepath.model import families

if TYPE_CHECKING:
    import polars

TITLE = "The worst case: minimax_hard as S, A and H grow"
READING = (
    "Each panel lets one size grow. Coloured: mean episodes of the learners. Lower bound: the corrected one, which "
    "every learner needs here. Published: the paper's, of order S A H^2, which is refuted: for small delta it lies "
    "above the design, a list of plays fixed in advance that is enough on this graph whatever the means. Dashed: what "
    "the theorem grants max-coverage at most. All means are equal here, so no answer can be wrong."
)
EPSILON = 1.0  # in units of sigma
REFUTED = (126_866, 176_129)  # episodes of the design and of the published bound; tests/theory/test_worst_case.py
SWEEPS = {
    "states": [(2, 2, 12), (4, 2, 12), (8, 2, 12), (16, 2, 12)],
    "actions": [(4, 2, 6), (4, 4, 6), (4, 8, 6), (4, 16, 6)],
    "horizon": [(4, 2, 6), (4, 2, 9), (4, 2, 12), (4, 2, 18)],
}


def make(options: Options) -> Found:
    """Play runs on every size, and compute the worst-case bounds of each."""
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
    means, spec = play(options, "hard", values)
    ids = {size: source["id"] for size, source in zip(sizes, spec.instances)}
    table = []
    for axis, sweep in SWEEPS.items():
        for states, actions, horizon in sweep:
            size = dict(zip(("states", "actions", "horizon"), (states, actions, horizon)))
            lower = theory.worst_case_lower_bound(states, actions, horizon, epsilon, DELTA, sigma=noise)
            upper = theory.worst_case_upper_bound(states, actions, horizon, epsilon, DELTA, sigma=noise)
            published = theory.worst_case_lower_bound(
                states, actions, horizon, epsilon, DELTA, sigma=noise, formula="published"
            )
            # Which share of the S A H arcs can be reached: small graphs are emptier, which no bound in S, A, H knows.
            mdp = families.from_id(ids[states, actions, horizon]).mdp
            full = mdp.n_arcs / (states * actions * horizon)
            design = float(theory.design_episodes(mdp, epsilon, DELTA, noise))
            for row in means.filter(instance=ids[states, actions, horizon]).iter_rows(named=True):
                kept = {key: row[key] for key in ("learner", "mean", "low", "high", "censored")}
                limits = {"lower": lower, "published": published, "design": design, "upper": upper, "full": full}
                table.append({"axis": axis, **size, "size": size[axis], **kept, **limits})
    data = pl.DataFrame(table)
    return Found({"sizes": data}, claims(data, options.preset), spec.to_dict())


def panels(frames: Frames) -> list[Panel]:
    """Return episodes and worst-case bounds over each size, a panel per size."""
    found = []
    for unsorted in frames["sizes"].partition_by("axis", maintain_order=True):
        axis, part = unsorted["axis"][0], unsorted.sort("size")
        series = [line_with_band(label, part.filter(learner=label), "size", "mean") for label in labels_of(part)]
        one = part.unique("size", maintain_order=True)
        size = one["size"].to_list()
        series.append(Series("lower bound", size, one["lower"].to_list()))
        series.append(Series("published bound (refuted)", size, one["published"].to_list(), dash="dotted"))
        series.append(Series("design, fixed in advance", size, one["design"].to_list(), dash="dashdot"))
        series.append(Series("upper bound, max-coverage", size, one["upper"].to_list(), dash="dashed"))
        others = [f"{name[0].upper()} = {part[name][0]}" for name in ("states", "actions", "horizon") if name != axis]
        found.append(Panel(", ".join(others), axis, "episodes", series))
    return found


def draw(found: Found, preset: str) -> Any:
    """Draw episodes and worst-case bounds over each size; returns a matplotlib figure."""
    return draw_panels(panels(found.frames), f"{TITLE} ({preset} settings)")


def claims(data: polars.DataFrame, preset: str) -> list[Claim]:
    """Judge the growth of max-coverage against both worst-case bounds, and every proven learner against the lower."""
    coverage, sure = data.filter(learner=COVERAGE), proven(data, preset)
    share = ends(coverage["high"] / coverage["upper"])[1]
    above = ends(sure["mean"] / sure["lower"])[0]
    grown, factors = [], []
    for axis in SWEEPS:
        part = coverage.filter(axis=axis).sort("size")
        low, high = ((part["mean"] / part[bound] / part["full"]).to_list() for bound in ("lower", "upper"))
        grown.append(f"{axis} {low[-1] / low[0]:.2f}x and {high[-1] / high[0]:.2f}x")
        factors.append(high[-1] / high[0])
    return [
        Claim(
            "every PAC algorithm needs at least S A H^2 log(1 / 4 delta) / (72 epsilon^2) episodes on some MDP",
            "refuted: for two states, two actions, 576 stages, epsilon 6 and delta 1e-150 a list of plays fixed in "
            f"advance needs {REFUTED[0]:,} episodes, the formula says {REFUTED[1]:,} (docs, 'The worst case')",
            False,
        ),
        Claim(
            "every PAC algorithm needs at least S A (H - log2 S) log(1 / 4 delta) / (8 epsilon^2) episodes here",
            f"least mean over bound: {above:.1f} (the bound's constants are small: "
            f"{ends(data['lower'])[0]:.1f} to {ends(data['lower'])[1]:.1f} episodes)",
            above >= 1,
        ),
        Claim(
            "EPRL with max-coverage grows no faster than its worst-case upper bound with its logarithms",
            "growth of its mean per reachable arc from the smallest size to the largest, over that of the lower bound "
            f"and over that of the upper: {', '.join(grown)}. (The paper calls it minimax optimal, which rests on the "
            "refuted bound: in H it grows faster than what is needed)",
            None if preset != "theory" else max(factors) <= 1.25,
        ),
        Claim(
            "max-coverage stops before its worst-case upper bound",
            f"largest run over bound: {share:.2g}",
            under(share, preset, bool((coverage["censored"] > 0).any())),
        ),
    ]
