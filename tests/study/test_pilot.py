"""Pilots: plays that reach every option, and estimates that are right on average."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from surepath import MDP, Study
from surepath.cli.main import app
from surepath.errors import RewardError
from surepath.study.pilot import SIGMA_FACTOR, Pilot, pilot_paths, read_pilot
from surepath.study.sheets import read_past
from tests.strategies import mdps

STEPS = MDP.from_steps({"a": ["x", "y"], "b": ["u", "v", "w"]})


@settings(max_examples=50, deadline=None)
@given(mdps(), st.integers(1, 3))
def test_every_option_is_played_often_enough(mdp: MDP, plays: int) -> None:
    visits = np.zeros(mdp.n_arcs, dtype=np.int64)
    for path in pilot_paths(mdp, plays):
        visits[mdp.check_path(path)] += 1
    assert (visits[~mdp.is_known] >= plays).all()
    assert len(pilot_paths(mdp, plays)) <= plays * max(1, int((~mdp.is_known).sum()))


def played(noise: float, seed: int) -> Pilot:
    rng = np.random.default_rng(seed)
    return read_pilot(STEPS, [(path, 0.1 * path + noise * rng.normal(size=2)) for path in pilot_paths(STEPS, 6)])


def test_the_noise_is_estimated_and_its_interval_holds() -> None:
    found = [played(0.2, seed) for seed in range(300)]
    for step in (0, 1):
        inside = [one.steps[step].low <= 0.2 <= one.steps[step].high for one in found]
        assert 0.91 <= np.mean(inside) <= 0.985
        assert np.mean([one.steps[step].deviation ** 2 for one in found]) == pytest.approx(0.04, rel=0.05)
    assert all(one.sigma == SIGMA_FACTOR * max(step.high for step in one.steps) for one in found)
    assert np.mean([one.sigma is not None and one.sigma >= 0.2 for one in found]) == 1.0


def test_a_pilot_by_hand_and_by_command_becomes_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    STEPS.save("p.json")
    run = CliRunner().invoke(app, ["pilot", "p.json", "--plays", "2"], catch_exceptions=False)
    assert "fill in the scores" in run.stdout
    sheet = Path("pilot.csv").read_text()
    assert CliRunner().invoke(app, ["pilot", "p.json"], catch_exceptions=True).exit_code != 0  # still empty
    rng = np.random.default_rng(0)
    lines = sheet.splitlines()
    filled = [lines[0]] + [line[:-1] + f"{rng.normal():.3f},{rng.normal():.3f}" for line in lines[1:]]
    Path("pilot.csv").write_text("\n".join(filled) + "\n")
    answer = json.loads(CliRunner().invoke(app, ["pilot", "p.json", "--json"], catch_exceptions=False).stdout)
    assert answer["trials"] == len(filled) - 1
    assert answer["suggested_sigma"] > 0
    script = "import random; print(random.gauss(0, 1), random.gauss(0, 1))"
    Path("trial.py").write_text(script)
    told = CliRunner().invoke(
        app, ["pilot", "p.json", "--csv", "run.csv", "--plays", "2", "--command", "python3 trial.py {a}"]
    )
    assert "Suggestion: sigma" in told.stdout
    assert "With this sigma, leave these trials out of the study" in told.stdout
    line = next(line for line in told.stdout.splitlines() if line.startswith("  surepath study create"))
    assert re.fullmatch(r"  surepath study create p\.json --epsilon \S+ --delta 0\.05 --sigma \S+", line)
    made = CliRunner().invoke(app, line.split()[1:], catch_exceptions=False)  # it works as printed
    assert made.exit_code == 0, made.output
    refused = CliRunner().invoke(app, ["study", "import-log", "run.csv"])  # the very scores that gave the sigma
    assert "is what surepath pilot suggests from these very scores" in str(refused.exception)
    Path("other.csv").write_text("number,plan.a,plan.b,score.a,score.b\n1,x,u,0.5,0.25\n2,x,u,failed,\n3,y,u,,\n")
    taken = CliRunner().invoke(app, ["study", "import-log", "other.csv"], catch_exceptions=False)
    assert "1 row without any score left out; 1 failed at the first step and hold no score" in taken.stdout
    few = CliRunner().invoke(app, ["pilot", "p.json", "--csv", "other.csv"], catch_exceptions=False)
    assert "1 trials with scores, 1 failed at the first step, 1 not filled in yet" in few.stdout
    MDP.from_steps({"a": ["x", "y"], "b": ["u", "v", "w"]}, reward_range=(-9.0, 9.0)).save("ranged.json")
    told = CliRunner().invoke(app, ["pilot", "ranged.json", "--csv", "run.csv"], catch_exceptions=False)
    assert "nothing is taken from these scores" in told.stdout
    assert "--sigma" not in told.stdout
    assert "  surepath study import-log run.csv" in told.stdout
    study = Study.create(STEPS, "memory", epsilon=0.5, delta=0.1, sigma=2.0)
    past, _, _ = read_past(study.mdp, Path("run.csv").read_text(), "run.csv")
    assert study.import_trials([(one.path, one.rewards) for one in past]) == len(past)
    assert study.learner.visits.min() >= 2


def test_a_pilot_that_is_cut_short_keeps_the_scores_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    steps = {"a": ["x", "y"], "b": ["u"]}
    Path("p.json").write_text(json.dumps({"format": "surepath-problem", "version": 1, "steps": steps}))
    program = "import sys; print(0.5, 0.25 if int(sys.argv[1]) < 4 else 'oops')"
    words = ["pilot", "p.json", "--plays", "3", "--command", f'python3 -c "{program}" {{trial}}']
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, RewardError)
    assert done.stderr.endswith("pilot.csv has the scores of the first 3 trials; the others are to be filled in\n")
    again = CliRunner().invoke(app, ["pilot", "p.json", "--json"])
    assert (json.loads(again.stdout)["trials"], json.loads(again.stdout)["empty"]) == (3, 3)
