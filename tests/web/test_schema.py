"""Schemathesis over the whole API: whatever is sent, in form or not, no answer is a fault of the server."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings

from surepath import Study
from surepath.study.forecast import Forecast, forecast
from surepath.study.sql import SqlStorage
from surepath.web.access import Access
from surepath.web.app import create_app
from tests.web.site import READ, WRITE, new_study

EXAMPLES = 30  # of each of the routes

storage = SqlStorage("memory")
new_study(storage, trials=8, sigma=1.0).ask(3)
schema = schemathesis.openapi.from_asgi("/api/openapi.json", create_app(storage, Access(READ, WRITE)))


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a forecast in no time: what is asked for matters here, not what comes out."""

    def quick(study: Study, more: int, draws: int, seed: int) -> Forecast:
        return forecast(study, more, draws, seed, seconds=0.01)

    monkeypatch.setattr(Study, "forecast", quick)


@schema.exclude(path="/api/changes").parametrize()  # a stream does not end; test_page.py reads it
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_no_request_makes_the_server_fail(case: Any) -> None:
    response = case.call(headers={"Authorization": f"Bearer {WRITE}"})
    case.validate_response(response, checks=[schemathesis.checks.not_a_server_error])
    documented = case.operation.definition.raw["responses"]
    assert str(response.status_code) in documented or response.status_code in (400, 405), response.text
    kinds = documented.get(str(response.status_code), {}).get("content", {"application/json": {}})
    assert response.headers["content-type"][0].partition(";")[0] in kinds
    if response.status_code >= 400:
        assert set(response.json()) == {"error", "message"}
