"""study.trials as a frame, study.status() and what a notebook shows."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from surepath import MDP, Study
from surepath.errors import MissingExtraError
from tests.study.worlds import new_study

COLUMNS = ["number", "state", "source", "of", "worker", "asked", "told", "note", "case", "cost", "tries"]
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


def check(frame: Any, rows: list[dict[str, Any]]) -> None:
    assert list(frame.columns) == COLUMNS
    assert [row["state"] for row in rows] == ["complete", "partial", "cancelled", "running", "waiting"]
    assert [row["score.model"] for row in rows[:2]] == [0.5, 0.5]
    assert rows[0]["score.prompt"] == 0.25
    assert rows[1]["note"] == "KeyError"
    last = rows[-1]
    assert (last["plan.model"], last["plan.prompt"], last["source"]) == ("large", "short", "queued")


def test_a_polars_frame() -> None:
    pytest.importorskip("polars")
    frame = filled().trials
    rows = frame.to_dicts()
    check(frame, rows)
    assert [row["number"] for row in rows] == [1, 2, 3, 4, None]
    assert rows[1]["score.prompt"] is None
    assert isinstance(rows[0]["told"], datetime)
    assert abs((rows[0]["asked"] - datetime.now(UTC)).total_seconds()) < 600
    assert rows[3]["told"] is None


def test_a_pandas_frame_where_polars_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    pd = pytest.importorskip("pandas")
    monkeypatch.setitem(sys.modules, "polars", None)
    frame = filled().trials
    check(frame, frame.to_dict("records"))
    assert frame["number"].isna().tolist() == [False] * 4 + [True]
    assert frame["number"].dtype == "Int64"
    assert pd.isna(frame["score.prompt"][1])
    assert str(frame["asked"].dt.tz) == "UTC"


def test_without_either_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("polars", "pandas"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'surepath\[data\]'"):
        filled().trials


# Its status --------------------------------------------------------------------------------------------------------


def test_notebooks_obey_nothing() -> None:
    bad = "<script>alert('x')</script>"
    study = new_study(name=bad, mdp=MDP.from_steps({bad: [bad, "b"]}, sigma=0.1), epsilon=1e-6)
    study.ask(worker=bad)
    text = study._repr_html_()
    assert "<script" not in text
    assert text.count("&lt;script&gt;") >= 4  # the name, the step, its option, the worker; the picture has more
    assert "nothing yet" in text
