"""What a study says of itself: status, frames, progress."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime

import numpy as np
import pytest

from surepath import Study
from surepath._checks import rounded_up
from surepath.errors import MissingExtraError
from surepath.study.status import gap_history
from tests.study import pipelines
from tests.study.worlds import NEVER, new_study, scores

# The status of a study: in words, as progress, in notebooks, and the gap over the trials ------------------------------


def test_a_status_is_printed_in_words_and_progress_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    study = new_study()
    study.optimize(scores, progress=True)
    lines = str(study.status()).splitlines()
    assert lines[0].startswith(f"{study.name} in ")
    assert lines[1] == f"trials: {len(study):,} complete"
    assert lines[2].startswith("best plan: model=")
    assert lines[3].endswith(", wrong with probability 0.1 at most: done")
    said = capsys.readouterr().err
    assert "1 running: nothing proven yet" in said
    done = f"{len(study)} trials, 0 running: proven gap {rounded_up(study.certified_gap)}, wanted 0.3, done (model="
    assert done in said
    assert "more trials" not in said


def test_progress_says_how_many_trials_are_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surepath.study.status.REDRAWN_EVERY", 0.0)
    monkeypatch.setattr("surepath.study.status.FORECAST_EVERY", 0.0)
    said = ""

    def heard(study: Study, _: object) -> bool:
        nonlocal said
        said += capsys.readouterr().err
        return " more trials" in said

    study = new_study(epsilon=0.02)
    study.optimize(lambda plan: [0.5, 0.25], progress=True, callbacks=[heard])
    assert re.search(r"wanted 0.02, about [\d,]+ more trials", said)


def test_a_spent_budget_says_what_more_would_buy(capsys: pytest.CaptureFixture[str]) -> None:
    study = new_study(epsilon=NEVER)
    study.optimize(lambda plan: [0.5, 0.25], n_trials=8, progress=True)
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("the budget is spent; ")
    assert "50 more trials would bring the proven gap" in said
    study.optimize(lambda plan: [0.5, 0.25], n_trials=1, progress=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("noise", ["declared", "betting", "unknown"])
def test_the_past_is_what_was_proven_at_the_time(noise: str) -> None:
    problem = pipelines.pipeline(sigma=None, reward_range=(-1, 2)) if noise == "betting" else pipelines.pipeline()
    study = pipelines.new_study(problem=problem, epsilon=NEVER, sigma="unknown" if noise == "unknown" else None)
    gaps = [study.certified_gap for seed in range(60) if pipelines.play(study, 1, seed)]
    points = gap_history(study)
    assert [point[0] for point in points] == list(range(1, 61))
    assert np.isfinite(gaps).any()
    np.testing.assert_allclose([point[1] for point in points], gaps, rtol=1e-9)


# study.trials as a frame, study.status() and what a notebook shows ----------------------------------------------------

COLUMNS = ["number", "state", "source", "of", "worker", "asked", "told", "note", "case", "cost", "tries", "baseline"]
COLUMNS += ["plan.model", "plan.prompt", "score.model", "score.prompt"]


def filled() -> Study:
    """A study with a trial of most kinds and a waiting plan."""
    study = new_study(epsilon=1e-6)
    first, second, third, _ = study.ask(4)
    study.tell(first, [0.5, 0.25])
    study.fail(second, [0.5], note="KeyError")
    study.cancel(third)
    study.enqueue({"model": "large", "prompt": "short"})
    return study


def test_a_polars_frame() -> None:
    pytest.importorskip("polars")
    frame = filled().trials
    rows = frame.to_dicts()
    assert list(frame.columns) == COLUMNS
    assert [row["state"] for row in rows] == ["complete", "partial", "cancelled", "running", "waiting"]
    assert [(row["score.model"], row["score.prompt"]) for row in rows[:2]] == [(0.5, 0.25), (0.5, None)]
    assert (rows[1]["note"], rows[3]["told"]) == ("KeyError", None)
    assert [rows[-1][name] for name in ("plan.model", "plan.prompt", "source")] == ["large", "short", "queued"]
    assert [row["number"] for row in rows] == [1, 2, 3, 4, None]
    assert isinstance(rows[0]["told"], datetime)
    assert abs((rows[0]["asked"] - datetime.now(UTC)).total_seconds()) < 600


def test_without_polars_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'surepath\[data\]'"):
        filled().trials
