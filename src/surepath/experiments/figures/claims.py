"""Judging claims by what was measured: guarantees by counts of errors, comparisons by one test over paired runs.

A claim holds, is refuted, or is not settled by the runs (None).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surepath.experiments.figures.common import CHALLENGER, OF_THE_PAPER, Claim
from surepath.experiments.stats import permutation_test

if TYPE_CHECKING:
    import polars

SIGNIFICANCE = 0.05
ENOUGH_RUNS = 6  # runs: with fewer no exchange of pairs has a probability below SIGNIFICANCE, so nothing can be settled


def proven(frame: polars.DataFrame, preset: str) -> polars.DataFrame:
    """Keep the rows of learners that carry a guarantee: all with the proven widths, Challenger with any."""
    return frame if preset == "theory" else frame.filter(learner=CHALLENGER)


def under(largest: float, preset: str, cut: bool) -> bool | None:
    """Judge whether runs of EPRL stay under an upper bound, given the largest ratio of a run to its bound.

    The theorems are about the proven widths, so other presets and cut runs can refute the claim but not confirm it.
    """
    if largest > 1:
        return False
    return None if cut or preset != "theory" else True


def error_claims(means: polars.DataFrame, preset: str) -> list[Claim]:
    """Judge the guarantee, a wrong answer with probability at most delta, for the paper's learners and for Challenger.

    Each (learner, delta, epsilon) is tested on each instance and over all of them: a claim is refuted when so many
    wrong answers in so many runs would have a chance below 5 % even if each had probability delta, corrected for the
    number of tests.
    """
    words = "EPRL and BPI-UCRL are (epsilon, delta)-PAC with the widths of Algorithm 1"
    if preset != "theory":
        words = "the smaller widths of the experiments are 'still empirically correct'"
    paper = means["learner"].is_in(OF_THE_PAPER)
    parts = [(words, means.filter(paper)), ("(ours) Challenger is (epsilon, delta)-PAC", means.filter(~paper))]
    return [_errors(claim, part) for claim, part in parts]


def _errors(claim: str, cells: polars.DataFrame) -> Claim:
    import polars as pl
    from scipy.special import bdtrc

    counts, keys = ("wrong", "answers", "runs"), ("learner", "delta", "tolerance")
    cells = cells.with_columns(tolerance=pl.coalesce("epsilon_per_gap", "epsilon")).select(*keys, *counts)
    everywhere = cells.group_by(keys).agg(pl.col(counts).sum())
    tests = pl.concat([everywhere, cells]).filter(pl.col("answers") > 0)
    if not tests.height:
        return Claim(claim, "no run stopped before the budget", None)
    errors, answers = int(cells["wrong"].sum()), int(cells["answers"].sum())
    # Probability of at least so many errors; of none at least it is 1.
    chance = bdtrc(tests["wrong"].to_numpy() - 1.0, tests["runs"].to_numpy(), tests["delta"].to_numpy())
    chance[tests["wrong"].to_numpy() == 0] = 1.0
    worst = tests.sort(pl.col("wrong") / pl.col("runs") / pl.col("delta")).row(-1, named=True)
    measured = f"{errors:,} wrong of {answers:,} answers ({errors / answers:.2%})"
    if errors:
        measured += f"; at worst {worst['wrong']} of {worst['runs']} for {worst['learner']} at delta {worst['delta']:g}"
    return Claim(claim, measured, bool(chance.min() * tests.height >= 0.05))


def settled(holds: bool, runs: int) -> bool | None:
    """Return a verdict that rests on means of runs, or None where there are too few of them."""
    return holds if runs >= ENOUGH_RUNS else None


def compared(rows: polars.DataFrame | polars.LazyFrame, first: str, second: str) -> polars.DataFrame:
    """Compare two learners on each (instance, delta): columns instance, delta, runs, factor and p.

    Of each run the logarithm of the episodes is averaged over the epsilons; factor is the geometric mean over the runs
    of the second learner's episodes over the first's, above 1 where the first is cheaper, and p the probability of a
    difference as large if the two were exchangeable.
    """
    import polars as pl

    keys = ["instance", "delta", "run"]
    logs = (
        rows.lazy()
        .filter(pl.col("learner").is_in([first, second]))
        .group_by(*keys, "learner")
        .agg(pl.col("tau").log().mean())
        .sort(*keys, "learner")
        .collect(engine="streaming")
    )
    one, other = (logs.filter(learner=label).drop("learner") for label in (first, second))
    pairs = one.join(other.rename({"tau": "other"}), on=keys, maintain_order="left")
    found = []
    for part in pairs.partition_by("instance", "delta", maintain_order=True):
        factor = float(np.exp((part["other"] - part["tau"]).to_numpy().mean()))
        p = permutation_test(part["tau"], part["other"])
        found.append(
            {"instance": part["instance"][0], "delta": part["delta"][0], "runs": len(part), "factor": factor, "p": p}
        )
    return pl.DataFrame(found)


def cheaper_everywhere(parts: list[polars.DataFrame]) -> bool | None:
    """Judge whether the first learner of every comparison is cheaper on every instance.

    True needs a factor above 1 and p below SIGNIFICANCE in each (all must be so, hence no correction); False one
    factor below 1 that is sure even among so many tests; anything else is not settled.
    """
    tests = [(row["factor"], row["p"]) for part in parts for row in part.iter_rows(named=True)]
    if any(factor < 1 and p * len(tests) < SIGNIFICANCE for factor, p in tests):
        return False
    return True if all(factor > 1 and p < SIGNIFICANCE for factor, p in tests) else None
