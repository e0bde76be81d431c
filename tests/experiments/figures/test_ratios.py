"""figure-ratios: the authors' grid, the ratios, their panels, and claims that follow the numbers."""

from __future__ import annotations

from typing import Any

import pytest

from surepath.experiments.drawing import AS_POINTS
from surepath.experiments.figures import ratios
from surepath.experiments.figures.common import Claim, learners, summary
from surepath.experiments.spec import Spec
from tests.experiments.figures.frames import rows

pl = pytest.importorskip("polars")

MEANS = {
    "instance": ["paper_random-v1/s2a2h3/sigma0.5/seed1"] * 4,
    "learner": ["BPI-UCRL", "Challenger", "max-coverage", "max-diameter"],
    "epsilon": [0.1] * 4,
    "epsilon_per_gap": [0.5] * 4,
    "mean": [100.0, 10.0, 50.0, 40.0],
    "ratio_to_bpi": [1.0, 0.1, 0.5, 0.4],
    "ratio_to_coverage": [2.0, 0.2, 1.0, 0.8],
    "bound": [True, True, True, True],
}


def test_the_grid_is_the_authors() -> None:
    assert len(ratios.EPSILON_GRID) == 28
    assert ratios.EPSILON_GRID[:2] == (0.05, 0.15)
    assert ratios.EPSILON_GRID[-4:] == (2.45, 2.5, 5.0, 10.0)


def test_the_whole_grid_is_one_spec() -> None:
    spec = Spec.from_dict(
        {
            "runs": 10,
            "deltas": [0.1],
            "epsilons_per_gap": list(ratios.EPSILON_GRID),
            "instances": [{"family": "paper_random", "seeds": "0..9", "sigma": 0.5}],
            "learners": learners("experiment"),
        }
    )
    assert len(spec.cells()) == 10 * 4


def test_ratios_divide_means_and_mark_cut_baselines() -> None:
    tau = {"max-coverage": [90, 20], "max-diameter": [45, 10], "BPI-UCRL": [900, 5], "Challenger": [9, 3]}
    found = ratios.with_ratios(summary(rows(tau, censored=True)))
    one = found.row(by_predicate=(pl.col("instance") == "i0") & (pl.col("learner") == "max-diameter")
                    & (pl.col("epsilon") == 0.05), named=True)  # fmt: skip
    assert one["ratio_to_bpi"] == pytest.approx(45.5 / 900.5)
    assert one["ratio_to_coverage"] == pytest.approx(45.5 / 90.5)
    assert one["bound"]


def test_ratios_leave_the_baseline_out_and_mark_bounds() -> None:
    left, right = ratios.panels({"means": pl.DataFrame(MEANS)})
    assert [series.label for series in left.series] == ["max-coverage", "max-diameter", "Challenger"]
    assert [series.y for series in left.series] == [[0.5], [0.4], [0.1]]
    assert all(series.hollow == [True] and series.kind == AS_POINTS for series in left.series)
    assert [(series.label, series.y) for series in right.series] == [("max-diameter", [0.8])]
    assert left.line_at == right.line_at == 1.0


def judged(tau: dict[str, list[int]], **options: Any) -> list[Claim]:
    """The claims on these stopping times."""
    frame = rows(tau, **options)
    return ratios.claims(ratios.with_ratios(summary(frame)), frame)


def test_claims_follow_the_numbers() -> None:
    like_paper = {"max-coverage": [90, 27], "max-diameter": [80, 18], "BPI-UCRL": [99_000, 9], "Challenger": [9, 3]}
    claims = judged(like_paper)
    # Every claim holds but the one that instances differ, since here they are twins.
    assert [claim.holds for claim in claims] == [True, True, True, True, False, True, True]
    assert "ratios 1.95 to 1.95" in claims[0].measured
    assert claims[5].measured.startswith("cheaper on 2 of 2 instances, dearer on 0, no sure difference on 0")
    other = {"max-coverage": [90, 29], "max-diameter": [95, 8], "BPI-UCRL": [99, 9], "Challenger": [900, 30]}
    claims = judged(other)
    assert [claim.holds for claim in claims] == [False, False, False, False, False, True, False]
    claims = judged(other, censored=True)
    assert [claim.holds for claim in claims[2:4]] == [None, None]
    assert claims[2].measured == "at 0.05: ratios 0.96 to 0.96, at most: BPI-UCRL was cut by the budget"


def test_three_runs_settle_nothing_neither_for_the_paper_nor_for_us() -> None:
    like_paper = {"max-coverage": [90, 27], "max-diameter": [80, 18], "BPI-UCRL": [99_000, 9], "Challenger": [9, 3]}
    assert [claim.holds for claim in judged(like_paper, runs=3)] == [None] * 7


def test_the_grid_of_the_text_has_its_25_values() -> None:
    assert len(set(ratios.TEXT_GRID)) == 25
    assert (ratios.TEXT_GRID[0], ratios.TEXT_GRID[-1]) == (0.05, 10.0)
