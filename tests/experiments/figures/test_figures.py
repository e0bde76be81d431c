"""The figures: claims, data, drawing, from the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from surepath import Gaussian, Instance, families
from surepath.cli.main import app
from surepath.experiments.figures import budget, cover, hard, ratios
from surepath.experiments.figures.common import (
    LABELS,
    Claim,
    Found,
    Options,
    Section,
    cheaper_everywhere,
    compared,
    error_claims,
    file_of,
    report,
    summary,
)
from tests.experiments.figures.frames import rows

# Every figure is one file with its data, its drawing and its claims; all share learners and presets -------------------

pl = pytest.importorskip("polars")
pytest.importorskip("matplotlib")


def test_figures_are_imported_without_matplotlib() -> None:
    code = "from surepath.experiments.figures.common import FIGURES, file_of; list(map(file_of, FIGURES))"
    code += "; import sys; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


# Claims are judged by what was measured: hand-made frames with known verdicts -----------------------------------------


def answers(delta: float, wrong: int, runs: int, cut: bool = False, instance: str = "i") -> Any:
    """Runs of Challenger on one instance, some of them wrong."""
    return pl.DataFrame(
        {"instance": instance, "learner": "Challenger", "delta": delta, "epsilon": 1.0, "epsilon_per_gap": 2.0,
         "run": range(runs), "tau": 5, "correct": [i >= wrong for i in range(runs)], "censored": cut}
    )  # fmt: skip


def test_too_many_errors_break_the_guarantee() -> None:
    paper, ours = error_claims(rows({label: [5, 5] for label in LABELS}, runs=2), "theory")
    assert (paper.measured, paper.holds) == ("0 wrong of 24 answers (0.00%)", True)
    assert (ours.measured, ours.holds) == ("0 wrong of 8 answers (0.00%)", True)
    many = answers(0.1, 20, 40)
    assert not error_claims(many, "theory")[1].holds
    assert error_claims(many, "theory")[0].measured == "no run stopped before the budget"
    at = "20 wrong of 40 answers (50.00%); at worst 20 of 40 for Challenger at delta 0.1"
    assert error_claims(many, "theory")[1].measured == at
    assert error_claims(answers(0.1, 6, 40), "theory")[1].holds  # more than a tenth, but chance does that
    # Neither a large delta elsewhere, nor right answers on other instances, nor cut runs hide errors.
    assert not error_claims(pl.concat([answers(0.1, 0, 180), answers(1e-12, 1, 20)]), "theory")[1].holds
    others = [answers(0.1, 0, 20, instance=f"j{i}") for i in range(9)]
    assert not error_claims(pl.concat([*others, answers(0.1, 20, 20)]), "theory")[1].holds
    assert error_claims(answers(0.1, 3, 20, cut=True), "theory")[1].holds is None


@pytest.mark.parametrize(
    ("share", "preset", "cut", "holds"),
    [
        (0.5, "theory", 0.0, True),
        (0.5, "theory", 0.1, None),
        (0.5, "experiment", 0.0, None),
        (2, "experiment", 0.1, False),
    ],
)
def test_theorems_are_judged_on_what_they_are_about(share: float, preset: str, cut: float, holds: bool | None) -> None:
    data = frames()["sizes"].with_columns(high=1.0, upper=1 / share, censored=cut)
    data = pl.concat([data, data.with_columns(learner=pl.lit("Challenger"))])
    assert hard.claims({"sizes": data}, preset)[-1].holds is holds


def test_factors_and_probabilities_are_those_of_the_pairs() -> None:
    found = compared(
        rows({"max-coverage": [90, 40], "max-diameter": [30, 40], "BPI-UCRL": [1, 1], "Challenger": [1, 1]}),
        "max-diameter",
        "max-coverage",
    )
    assert found["instance"].to_list() == ["i0", "i1"]
    assert found["runs"].to_list() == [8, 8]
    logs = [np.log(91 / 31) / 2, np.log(90 / 30) / 2]  # odd and even runs, over both epsilons
    assert found["factor"].to_list() == pytest.approx([np.exp(np.mean(logs))] * 2)
    assert found["p"].to_list() == [2 / 2**8] * 2  # all pairs differ the same way


def test_all_must_be_sure_and_one_sure_exception_refutes() -> None:
    def part(*tests: tuple[float, float]) -> Any:
        return pl.DataFrame([{"factor": factor, "p": p} for factor, p in tests])

    assert cheaper_everywhere([part((2.0, 0.01), (1.1, 0.04)), part((3.0, 0.001))]) is True
    assert cheaper_everywhere([part((2.0, 0.01), (1.1, 0.06))]) is None
    assert cheaper_everywhere([part((2.0, 0.01), (0.9, 0.03))]) is None  # one of two, by chance
    assert cheaper_everywhere([part((2.0, 0.01), (0.9, 0.02))]) is False


def frames() -> dict[str, Any]:
    """Two sizes of each axis, and two deltas."""
    rows = [
        {"axis": axis, "states": 4, "actions": 2, "horizon": 6, "delta": 0.1, "size": size, "learner": "max-coverage",
         "mean": 10.0 * size, "low": 9, "high": 99, "censored": 0.0, "runs": 6, "lower": 1.0 * size,
         "upper": 1e4 * size, "design": 5.0 * size, "full": 1.0}
        for axis in ("states", "actions", "horizon", "delta")
        for size in (4.0, 2.0)
    ]  # fmt: skip
    return {"sizes": pl.DataFrame(rows)}


def test_hard_has_a_panel_per_size_with_its_bounds() -> None:
    panels = hard.panels(frames())
    assert [(panel.title, panel.x_label, panel.x_falls) for panel in panels] == [
        ("A = 2, H = 6", "states", False),
        ("S = 4, H = 6", "actions", False),
        ("S = 4, A = 2", "horizon", False),
        ("S = 4, A = 2, H = 6", "delta", True),
    ]
    learner, lower, design, upper = panels[0].series
    assert (design.label, design.y) == ("design, fixed in advance", [10.0, 20.0])
    assert (learner.x, learner.y, learner.low, learner.high) == ([2, 4], [20.0, 40.0], [9, 9], [99, 99])
    assert (lower.label, lower.y, upper.y, upper.dash) == ("lower bound", [2.0, 4.0], [2e4, 4e4], "dashed")


def test_ratios_divide_means_and_mark_cut_baselines() -> None:
    tau = {"max-coverage": [90, 20], "max-diameter": [45, 10], "BPI-UCRL": [900, 5], "Challenger": [9, 3]}
    found = ratios.with_ratios(summary(rows(tau, censored=True)))
    one = found.row(by_predicate=(pl.col("instance") == "i0") & (pl.col("learner") == "max-diameter")
                    & (pl.col("epsilon") == 0.05), named=True)  # fmt: skip
    assert one["ratio_to_bpi"] == pytest.approx(45.5 / 900.5)
    assert one["ratio_to_coverage"] == pytest.approx(45.5 / 90.5)
    assert one["bound"]


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


def test_tools_without_a_proof_find_a_clear_winner() -> None:
    instance = Instance(families.chain(2, 2).mdp, Gaussian([0.0, 1.0, 0.0, 0.0, 0.0, 1.0], 0.1))
    rng = np.random.default_rng(0)
    regrets = {name: budget.modelled(instance, name, rng) for name in budget.MODELS}
    pytest.importorskip("optuna")
    regrets[budget.TPE] = budget.summed(instance, 0, rng)
    assert regrets == dict.fromkeys(regrets, [0.0] * len(budget.TRIALS))


def test_a_budget_claim_needs_every_problem_to_be_sure() -> None:
    def judged(*means: float) -> list[bool | None]:
        data = [
            {"problem": f"p{i}", "world": world, "learner": label, "trials": 200, "regret": regret + 0.01 * world}
            for i, mean in enumerate(means)
            for label, regret in (("Challenger", 0.1), ("UCB + DP", mean))
            for world in range(8)
        ]
        return [claim.holds for claim in budget.claims(pl.DataFrame(data))]

    assert judged(0.5, 0.3) == [True]
    assert judged(0.5, 0.1) == [None]
    assert judged(0.5, 0.05) == [False]


# `surepath reproduce`: small versions of whole figures, from the command line to the report ---------------------------


@pytest.mark.parametrize("name", ["figure-1", "figure-4", "figure-peers", "figure-budget"])
@pytest.mark.slow
def test_a_small_figure_from_the_command_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = file_of(name)
    for attribute, value in {
        "EPSILON_GRID": (3.0, 10.0),
        "SEEDS": (25, 3),
        "DELTAS": (0.1, 0.01),
        "EPSILONS": (4.0,),
        "HORIZONS": (2,),
        "HORIZON": 2,
        "PROBLEMS": ((2, 2),),
        "TRIALS": (5, 20),
        "GROWING_SIZES": {"states": [(2, 2, 6), (4, 2, 6)], "actions": [(2, 2, 6)], "horizon": [(2, 2, 6)]},
    }.items():
        if hasattr(module, attribute):
            monkeypatch.setattr(module, attribute, value)
    command = ["reproduce", name, "--out", str(tmp_path), "--runs", "2", "--workers", "1", "--json"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert [figure["figure"] for figure in told["figures"]] == [name]
    assert {f"{name}.png", f"{name}.svg", f"{name}.pdf", "report.html"} < set(told["files"])
    assert any(file.startswith(f"{name}-") and file.endswith(".parquet") for file in told["files"])
    assert f'<h2 id="{name}">' in (tmp_path / "report.html").read_text()
    assert {claim["holds"] for claim in told["figures"][0]["claims"]} <= {True, False, None}
    again = CliRunner().invoke(app, command)  # nothing is played twice
    assert json.loads(again.stdout)["figures"][0]["claims"] == told["figures"][0]["claims"]


def test_the_report_needs_no_other_file_and_escapes() -> None:
    claims = [Claim("a < b", "1 & 2", True), Claim("c", "d", False), Claim("e", "f", None)]
    section = Section("figure-x", "Title", "Compare the bars.", b"\x89PNG", Found({}, claims, {"runs": 3}), 1.5)
    page = report([section], "theory")
    assert "How to read this.</b> Compare the bars." in page
    assert '<td>a &lt; b</td><td>1 &amp; 2</td><td class="yes">yes</td>' in page
    assert '<td class="no">no</td>' in page
    assert "<td>not settled</td>" in page
    assert "Preset <b>theory</b>: Algorithm 1 of the paper" in page
    assert "experiment</b>" not in page
    assert not re.search(r"(src|href)=\"(?!data:|#figure-x)", page)
    assert "http" not in page


def test_covers_are_exact(tmp_path: Path) -> None:
    found = cover.make(Options(folder=tmp_path))
    assert all(claim.holds for claim in found.claims)
    assert found.frames["covers"].columns == ["m", "open", "closed", "cover"]


def test_the_grid_is_the_authors() -> None:
    assert len(ratios.EPSILON_GRID) == 28
    assert ratios.EPSILON_GRID[:2] == (0.05, 0.15)
    assert ratios.EPSILON_GRID[-4:] == (2.45, 2.5, 5.0, 10.0)
