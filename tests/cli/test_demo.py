"""surepath demo: the embedded example solved, its costs, its pictures."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from surepath import Challenger, families
from surepath.cli import _demo_costs
from surepath.cli._demo_view import View
from surepath.cli.main import app
from surepath.errors import SurepathError


def call(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["demo", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_json_holds_the_answer_and_its_costs(tmp_path: Path) -> None:
    picture = tmp_path / "graph.svg"
    facts = json.loads(call("--json", "--draw", str(picture)))
    instance = families.support_tickets()
    assert picture.read_bytes().startswith(b"<?xml")
    assert facts["simulated"] is True
    assert (facts["arcs"], facts["plans"]) == (instance.mdp.n_arcs, 65_536)
    answer, trials = facts["answer"], facts["trials"]
    assert answer["correct"]
    assert answer["short_of_best"] <= answer["certified_gap"] <= 0.3
    assert facts["gap_after_each_trial"][-1] == answer["certified_gap"]
    assert len(facts["gap_after_each_trial"]) == trials["challenger"]
    assert facts["step_by_step"]["short_of_best"] == pytest.approx(0.375)
    assert trials["limit"] < trials["limit_of_the_best"] < trials["challenger"]
    assert 20 * trials["challenger"] < trials["eprl"] < trials["whole_plans"] / 20


def test_text_tells_the_story_in_plain_lines() -> None:
    text = call("--seed", "1")
    flowing = " ".join(text.split())
    for part in (
        "Scores are simulated from a table in the package; no model was run.",
        "trial 10: 42 of 116 scores never seen, nothing proven yet",
        "trial 20: the plan in hand is proven within",
        "that is enough",
        "Certificate.",
        "would end 0.375 below it",
        "whole plans, one by one",
        "surepath estimate problem.json",
    ):
        assert part in flowing
    assert "\x1b" not in text


def test_the_live_view_shows_plan_gap_and_goal() -> None:
    instance = families.support_tickets()
    learner = Challenger(instance.mdp, 0.3, 0.1)
    screen = StringIO()
    console = Console(file=screen, force_terminal=True, width=80, color_system=None)
    rng = np.random.default_rng(0)
    with View(console, learner, pause=False) as view:
        while not learner.stopped:
            plan = learner.ask()
            learner.tell(plan, instance.means[plan] + 0.1 * rng.standard_normal(8))
            view.show(learner.certified_gap())
    shown = screen.getvalue()
    assert "nothing proven yet: 108 of 116 scores never seen" in shown  # a trial sees eight
    assert "the plan in hand after 20 trials" in shown
    last = shown[shown.index("the plan chosen after") :]
    assert f"the plan chosen after {learner.episodes} trials" in last
    assert learner.mdp.action_label(int(learner.recommend()[0])) in last
    assert f"{learner.certified_gap():.3f} of the best (wanted 0.3)" in last


def test_a_failed_comparison_is_said() -> None:
    with _demo_costs.Costs(-1) as costs, pytest.raises(SurepathError, match=r"could not be simulated: .*seed"):
        costs.read()
