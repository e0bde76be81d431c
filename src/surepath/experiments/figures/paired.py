"""Which of two learners is cheaper, judged over paired runs: the one test behind every claim that compares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surepath.experiments.stats import permutation_test

if TYPE_CHECKING:
    import polars

LEVEL = 0.05
ENOUGH = 6  # runs: with fewer no exchange of pairs has a probability below LEVEL, so nothing can be settled


def settled(holds: bool, runs: int) -> bool | None:
    """Return a verdict that rests on means of runs, or None where there are too few of them."""
    return holds if runs >= ENOUGH else None


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

    True needs a factor above 1 and p below LEVEL in each (all of them must be so, hence no correction); False one
    factor below 1 that is sure even among so many tests; anything else is not settled.
    """
    tests = [(row["factor"], row["p"]) for part in parts for row in part.iter_rows(named=True)]
    if any(factor < 1 and p * len(tests) < LEVEL for factor, p in tests):
        return False
    return True if all(factor > 1 and p < LEVEL for factor, p in tests) else None
