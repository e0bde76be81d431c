"""Forecasts over HTTP: what they say, one at a time, and nobody waits for them."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from fastapi.testclient import TestClient

from surepath import Study
from surepath.study.sql import SqlStorage
from surepath.web import reading
from surepath.web.background_forecast import BackgroundForecast
from tests.web.site import Caller, new_study


def test_one_forecast_is_simulated_at_a_time(client: TestClient, storage: SqlStorage, reader: Caller) -> None:
    new_study(storage, trials=60)
    assert reader.get("forecast/worlds", more=7)["done"]
    app: Any = client.app
    with app.state.simulating, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "WAIT", 0.01)
        answer = client.get("/api/forecast/worlds", headers=reader.headers)
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"


def test_the_forecast_says_how_many_trials_are_left(
    storage: SqlStorage, reader: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BackgroundForecast, "_renew", lambda self: None)  # a better one could come at any moment
    study = new_study(storage, trials=60, sigma=1.0)
    found = reader.get("forecast")
    assert (
        found["words"] == f"Roughly {found['trials_left']:,} more trials, if the gap goes on falling with the root of "
        "their number."
    )
    assert found["trials_left"] > 0
    new_study(storage, "new")
    fresh = reader.get("forecast", study="new")
    assert (fresh["trials_left"], fresh["words"]) == (None, "")
    new_study(storage, "done", trials=60)
    assert reader.get("forecast", study="done")["trials_left"] == 0
    assert not study.done


def test_a_slow_forecast_makes_nobody_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    made = threading.Event()

    class Slow:
        def to_dict(self) -> dict[str, float]:
            return {"trials_left": 7.0, "worst": float("inf")}

        def __str__(self) -> str:
            return "about 7 trials"

    def forecast(self: Study) -> Slow:
        made.wait(60)
        return Slow()

    monkeypatch.setattr(Study, "forecast", forecast, raising=False)
    background = BackgroundForecast(new_study("memory", trials=60, sigma=1.0))
    first = background.get()
    assert first["words"].startswith("Roughly")
    assert first["pending"]
    made.set()
    assert background._worker is not None
    background._worker.join()
    assert background.get() == {"trials_left": 7.0, "worst": None, "words": "About 7 trials.", "pending": False}
