"""The paper's figures: the grid, the claims, and small versions of the whole way to the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from surepath.cli.main import app
from surepath.errors import SettingError
from surepath.experiments.paper import FIGURES, PRESETS, Options, cover, ratios
from surepath.experiments.paper.common import BPI, LABELS, error_claims, learners, proven, summary, under
from surepath.experiments.spec import Spec
from surepath.learners.registry import build
from surepath.model import families

pl: Any = pytest.importorskip("polars")
pytest.importorskip("matplotlib")


def test_the_grid_is_the_authors() -> None:
    assert len(ratios.GRID) == 28
    assert ratios.GRID[:2] == (0.05, 0.15)
    assert ratios.GRID[-4:] == (2.45, 2.5, 5.0, 10.0)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_four_learners_take_the_preset(preset: str) -> None:
    found = [dict(learner) for learner in learners(preset)]
    assert tuple(learner.pop("label") for learner in found) == LABELS
    mdp = families.paper_random().mdp
    built = [build({**learner, "epsilon": 0.1, "delta": 0.1, "sigma": 1.0}, mdp) for learner in found]
    assert [learner.settings().get("preset") for learner in built] == [preset, preset, preset, None]
    assert built[0].settings()["widths"] == ("paper" if preset == "theory" else "empirical")


def test_covers_are_exact(tmp_path: Path) -> None:
    found = cover.make(Options(folder=tmp_path))
    assert all(claim.holds for claim in found.claims)
    assert found.frames["covers"].columns == ["m", "open", "closed", "cover"]


def rows(tau: dict[str, list[int]], censored: bool = False) -> Any:
    """Rows of one instance at the smallest and the largest epsilon, two runs each."""
    data = [
        {"instance": f"i{i}", "learner": label, "delta": 0.1, "epsilon": eps, "epsilon_per_gap": eps, "run": run,
         "tau": tau[label][k] + run, "correct": True, "censored": censored and label == BPI}
        for i in range(2) for label in LABELS for k, eps in enumerate((0.05, 10.0)) for run in (0, 1)
    ]  # fmt: skip
    return pl.DataFrame(data)


def test_claims_follow_the_numbers() -> None:
    like_paper = {"max-coverage": [90, 27], "max-diameter": [80, 18], "BPI-UCRL": [99_000, 9], "Challenger": [9, 3]}
    claims = ratios._claims(ratios.ratios(summary(rows(like_paper))))
    # Every claim holds but the one that instances differ, since here they are twins.
    assert [claim.holds for claim in claims] == [True, True, True, True, False, True, True]
    assert "ratios 1.95 to 1.95" in claims[0].measured
    other = {"max-coverage": [90, 29], "max-diameter": [95, 8], "BPI-UCRL": [99, 9], "Challenger": [900, 30]}
    claims = ratios._claims(ratios.ratios(summary(rows(other))))
    assert [claim.holds for claim in claims] == [False, False, False, False, False, True, False]
    claims = ratios._claims(ratios.ratios(summary(rows(other, censored=True))))
    assert [claim.holds for claim in claims[2:4]] == [None, None]
    assert claims[2].measured == "at 0.05: ratios 0.96 to 0.96, at most: BPI-UCRL was cut by the budget"


def test_ratios_divide_means_and_mark_cut_baselines() -> None:
    tau = {"max-coverage": [90, 20], "max-diameter": [45, 10], "BPI-UCRL": [900, 5], "Challenger": [9, 3]}
    found = ratios.ratios(summary(rows(tau, censored=True)))
    one = found.row(by_predicate=(pl.col("instance") == "i0") & (pl.col("learner") == "max-diameter")
                    & (pl.col("epsilon") == 0.05), named=True)  # fmt: skip
    assert one["ratio_to_bpi"] == pytest.approx(45.5 / 900.5)
    assert one["ratio_to_coverage"] == pytest.approx(45.5 / 90.5)
    assert one["bound"]


def answers(delta: float, wrong: int, runs: int, cut: bool = False, instance: str = "i") -> Any:
    """Runs of Challenger on one instance, some of them wrong."""
    return pl.DataFrame(
        {"instance": instance, "learner": "Challenger", "delta": delta, "epsilon": 1.0, "epsilon_per_gap": 2.0,
         "run": range(runs), "tau": 5, "correct": [i >= wrong for i in range(runs)], "censored": cut}
    )  # fmt: skip


def test_too_many_errors_break_the_guarantee() -> None:
    paper, ours = error_claims(summary(rows({label: [5, 5] for label in LABELS})), "theory")
    assert (paper.measured, paper.holds) == ("0 wrong of 24 answers (0.00%)", True)
    assert (ours.measured, ours.holds) == ("0 wrong of 8 answers (0.00%)", True)
    many = answers(0.1, 20, 40)
    assert not error_claims(summary(many), "theory")[1].holds
    assert error_claims(summary(many), "theory")[0].measured == "no run stopped before the budget"
    at = "20 wrong of 40 answers (50.00%); at worst 20 of 40 for Challenger at delta 0.1"
    assert error_claims(summary(many), "theory")[1].measured == at
    assert error_claims(summary(answers(0.1, 6, 40)), "theory")[1].holds  # more than a tenth, but chance does that
    # Neither a large delta elsewhere, nor right answers on other instances, nor cut runs hide errors.
    assert not error_claims(summary(pl.concat([answers(0.1, 0, 180), answers(1e-12, 1, 20)])), "theory")[1].holds
    others = [answers(0.1, 0, 20, instance=f"j{i}") for i in range(9)]
    assert not error_claims(summary(pl.concat([*others, answers(0.1, 20, 20)])), "theory")[1].holds
    assert error_claims(summary(answers(0.1, 3, 20, cut=True)), "theory")[1].holds is None


def test_theorems_are_judged_on_what_they_are_about() -> None:
    frame = rows({label: [5, 5] for label in LABELS})
    assert set(proven(frame, "theory")["learner"]) == set(LABELS)
    assert set(proven(frame, "experiment")["learner"]) == {"Challenger"}
    assert under(0.5, "theory", cut=False) is True
    assert under(0.5, "theory", cut=True) is None
    assert under(0.5, "experiment", cut=False) is None
    assert under(1.5, "experiment", cut=True) is False


@pytest.mark.parametrize("name", ["figure-cases", "figure-hard", "figure-bounds", "figure-tree"])
@pytest.mark.slow
def test_a_small_figure_from_the_command_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = FIGURES[name]
    for attribute, value in {
        "GRID": (3.0, 10.0),
        "SEEDS": (25, 3),
        "DELTAS": (0.1, 0.01),
        "TREES": ((2, 3, 4),),
        "SWEEPS": {"states": [(2, 2, 6), (4, 2, 6)], "actions": [(2, 2, 6)], "horizon": [(2, 2, 6)]},
    }.items():
        if hasattr(module, attribute):
            monkeypatch.setattr(module, attribute, value)
    command = ["reproduce", name, "--out", str(tmp_path), "--runs", "2", "--workers", "1", "--json"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert [figure["figure"] for figure in told["figures"]] == [name]
    assert {f"{name}.png", f"{name}.svg", "report.html"} < set(told["files"])
    assert any(file.startswith(f"{name}-") and file.endswith(".parquet") for file in told["files"])
    assert f'<h2 id="{name}">' in (tmp_path / "report.html").read_text()
    assert {claim["holds"] for claim in told["figures"][0]["claims"]} <= {True, False, None}
    again = CliRunner().invoke(app, command)  # nothing is played twice
    assert json.loads(again.stdout)["figures"][0]["claims"] == told["figures"][0]["claims"]


def test_an_unknown_figure_is_named(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["reproduce", "figure-ratio", "--out", str(tmp_path / "x")])
    assert isinstance(result.exception, SettingError)
    assert "figure 'figure-ratio' is not known (did you mean \"figure-ratios\"?)" in str(result.exception)
    result = CliRunner().invoke(app, ["reproduce", "figure-cover", "--preset", "x", "--out", str(tmp_path / "x")])
    assert "preset 'x' is not known" in str(result.exception)
    result = CliRunner().invoke(app, ["reproduce", "figure-cases", "--runs", "0", "--out", str(tmp_path / "x")])
    assert "runs must be at least 1, not 0" in str(result.exception)
    assert not (tmp_path / "x").exists()


def test_the_report_has_the_figures_of_earlier_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FIGURES["figure-cases"], "SEEDS", (25,))
    for name in ("figure-cover", "figure-cases"):
        command = ["reproduce", name, "--out", str(tmp_path), "--runs", "2", "--workers", "1", "--quiet"]
        assert CliRunner().invoke(app, command).exit_code == 0
    result = CliRunner().invoke(app, ["reproduce", "figure-cover", "--out", str(tmp_path), "--preset", "theory"])
    assert "holds figures made with --preset experiment; choose another folder" in str(result.exception)
    page = (tmp_path / "report.html").read_text()
    assert '<h2 id="figure-cases">' in page
    assert '<h2 id="figure-cover">' in page


def test_the_whole_sweep_is_one_spec() -> None:
    spec = Spec.from_dict(
        {
            "runs": 10,
            "deltas": [0.1],
            "epsilons_per_gap": list(ratios.GRID),
            "instances": [{"family": "paper_random", "seeds": "0..9", "sigma": 0.5}],
            "learners": learners("experiment"),
        }
    )
    assert len(spec.cells()) == 10 * 4
