"""Baselines: scores count less what is told beside them, in every trial or in none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surepath import MDP, Challenger, Study
from surepath.errors import ConflictError, RewardError, SettingError, StudyError
from surepath.study.certificate import verify
from surepath.study.sheets import read_sheet
from surepath.study.storage import Storage
from tests.study.pipelines import means_of, pipeline


def new(**options: Any) -> Study:
    return Study.create(pipeline(), Storage("memory"), epsilon=0.3, delta=0.1, baseline=True, **options)


def play(study: Study, spread: float, seed: int = 0) -> None:
    """Hard cases lower all scores of a trial, and the baseline, told as one number or step by step, as much."""
    means, rng = means_of(study.mdp), np.random.default_rng(seed)
    while not study.done:
        trial, case = study.ask(), spread * rng.standard_normal()
        told = case if trial.number % 2 else [case, case, case]
        study.tell(trial, means[trial.path] + case + 0.1 * rng.standard_normal(3), baseline=told)


def test_scores_count_less_their_baseline_in_study_log_and_certificate(tmp_path: Path) -> None:
    study, other = new(name="s"), new(name="t")
    play(study, 5.0)
    play(other, 0.0)
    assert study.learner.episodes == other.learner.episodes  # the case is gone, however hard
    np.testing.assert_allclose(study.learner.sums, other.learner.sums, atol=1e-9)
    row = study._read(lambda log: log.trials(1, 1))[0]
    assert len(row.baseline) == len(row.rewards) == 3
    assert abs(row.baseline[0]) > 0.1
    certificate = study.certificate()
    assert any("less the baseline of their trial" in line for line in certificate["assumptions"])
    study.export(tmp_path / "log.jsonl")
    for how in ({"storage": study.storage}, {"log": tmp_path / "log.jsonl"}):
        assert verify(certificate, **how).answer == "yes"
    again = Study.from_export(tmp_path / "log.jsonl", Storage("memory"))
    assert again._read(lambda log: log.trials(1, 1))[0].baseline == row.baseline
    assert again.options.baseline


def test_baselines_are_told_in_every_trial_or_in_none() -> None:
    study = new()
    with pytest.raises(StudyError, match="trial 1 needs a baseline, as every trial of this study"):
        study.tell(study.ask(), [0.1, 0.2, 0.3])
    assert study.tell(1, [0.1, 0.2, 0.3], baseline=0.1) == "told"
    assert study.tell(1, [0.1, 0.2, 0.3], baseline=[0.1, 0.1, 0.1]) == "repeated"
    with pytest.raises(ConflictError, match="trial 1 was already recorded"):
        study.tell(1, [0.1, 0.2, 0.3], baseline=0.2)
    study.fail(study.ask())
    study.fail(study.ask(), [0.5], baseline=0.25)
    with pytest.raises(StudyError, match="past results have none here"):
        study.import_trials([(study.ask().plan, [0.1, 0.2, 0.3])])
    for wrong in ([0.1, 0.2], np.nan, [[0.1, 0.2, 0.3]]):
        with pytest.raises(RewardError, match="one finite number, or one for each of the 3 scores"):
            study.tell(study.ask(), [0.1, 0.2, 0.3], baseline=wrong)
    without = Study.create(pipeline(), Storage("memory"), epsilon=0.3, delta=0.1)
    with pytest.raises(StudyError, match="created without baselines"):
        without.tell(without.ask(), [0.1, 0.2, 0.3], baseline=0.1)
    rows: list[Any] = [
        {"state": "s", "action": "a", "next_state": "end", "known": 1.0},
        {"state": "s", "action": "b", "next_state": "end", "sigma": 0.1},
    ]
    partly = MDP.from_edges(rows)
    with pytest.raises(SettingError, match="has options whose score is known"):
        Study.create(partly, Storage("memory"), epsilon=0.3, delta=0.1, baseline=True)


def test_ranges_are_those_of_the_differences() -> None:
    mdp = pipeline(sigma=None, reward_range=(-1, 1))
    learner, plain = (Challenger(mdp, 0.3, 0.1, dependence="any") for _ in range(2))
    learner.tell([0, 2, 8], [5.5, 5.25, 4.5], baseline=5.0)
    plain.tell([0, 2, 8], [0.5, 0.25, -0.5])
    assert learner.sums.tolist() == plain.sums.tolist()
    with pytest.raises(RewardError, match=r"less its baseline, the score .* outside the declared range"):
        learner.tell([0, 2, 8], [5.5, 5.25, 4.5], baseline=3.0)


def test_a_sheet_has_a_column_of_baselines() -> None:
    mdp = pipeline()
    plan, steps = mdp.plan([0, 2, 8]), ("fetch", "parse", "rank")
    head = ["number", "baseline", *(f"plan.{step}" for step in steps), *(f"score.{step}" for step in steps)]
    rows = [
        [number, less, *map(str, plan.values()), "1", "2", "3"]
        for number, less in (("1", "0.5"), ("2", "0.5 0.25 0"), ("3", ""))
    ]
    text = "\n".join(",".join(row) for row in [head, *rows])
    found = read_sheet(mdp, text, "sheet.csv").results
    assert [result.baseline for result in found] == [0.5, [0.5, 0.25, 0.0], None]
