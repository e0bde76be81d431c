"""The progress line, what is said when a budget is spent, and the rough guess of the trials that are left."""

from __future__ import annotations

from typing import Any

import pytest

from surepath._checks import rounded_up
from surepath.study import status as progress
from surepath.study.status import rough_trials_left
from tests.study.worlds import NEVER, new_study, scores


def test_nothing_is_said_where_no_terminal_listens(capfd: pytest.CaptureFixture[str]) -> None:
    study = new_study(epsilon=NEVER)

    def failing(plan: dict[Any, Any]) -> list[float]:
        raise ValueError

    study.optimize(scores, n_trials=2)
    study.optimize(failing, n_trials=2)
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err.replace("surepath: compiling kernels, once; this takes a few seconds\n", "") == ""


def test_the_progress_line(capsys: pytest.CaptureFixture[str]) -> None:
    study = new_study()
    study.optimize(scores, progress=True)
    said = capsys.readouterr().err
    assert "1 running: nothing proven yet" in said
    assert (
        f"{len(study)} trials, 0 running: proven gap {rounded_up(study.certified_gap)}, wanted 0.3, done (model="
        in said
    )
    assert "more trials" not in said


def test_the_progress_line_is_one_line_of_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(progress, "REDRAWN_EVERY", 0.0)
    study = new_study(epsilon=NEVER)
    study.optimize(scores, n_trials=4, progress=True)
    drawn, _, said = capsys.readouterr().err.rpartition("\r")
    lines = [line.removesuffix("\x1b[K") for line in drawn.split("\r")[1:]]
    assert {len(line) for line in lines if line.endswith("…")} == {59}
    assert max(map(len, lines)) == 59
    assert len(said.splitlines()[0]) > 59, "the last one is not written over"


def test_a_spent_budget_says_what_more_would_buy(capsys: pytest.CaptureFixture[str]) -> None:
    study = new_study(epsilon=NEVER)
    study.optimize(lambda plan: [0.5, 0.25], n_trials=8, progress=True)
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("the budget is spent; ")
    assert "50 more trials would bring the proven gap" in said
    study.optimize(lambda plan: [0.5, 0.25], n_trials=1, progress=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("trials", "gap", "expected"), [(100, 0.2, 300), (1, 0.1, 0), (0, 0.5, None), (9, 1e30, None), (57, 0.33, 560)]
)
def test_the_square_law(trials: int, gap: float, expected: int | None) -> None:
    assert rough_trials_left(trials, gap, 0.1) == expected
