"""Settings of the whole suite: Hypothesis profiles, SUREPATH_STRICT=1, under which a skip is a failure, a database."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

STRICT = os.environ.get("SUREPATH_STRICT") == "1"

# Compilation and a shared machine make single examples slow at times: no deadline. CI draws the same examples always.
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("dev", deadline=None, max_examples=40, suppress_health_check=_SLOW)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if STRICT or os.environ.get("CI") else "dev"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run what needs Ray last: its threads outlive it, and beside them a forked process may hang or crash."""
    items.sort(key=lambda item: item.get_closest_marker("needs_ray") is not None)


@pytest.fixture(scope="session")
def server() -> Iterator[Any]:
    """A PostgreSQL server of this run's own."""
    from tests.study.postgres import Server, programs

    if programs() is None:
        pytest.skip("PostgreSQL is not installed; make system installs it")
    running = Server()
    yield running
    running.remove()


@pytest.fixture
def postgres(server: Any) -> str:
    """The address of an empty database."""
    return str(server.empty_database())


def _reason(longrepr: object) -> str:
    return str(longrepr[2]) if isinstance(longrepr, tuple) else str(longrepr)


def _refuse_skip(report: Any, strict: bool) -> None:
    """Turn a skipped report into a failed one; an expected failure (xfail) is not a skip."""
    if strict and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped under SUREPATH_STRICT=1, where nothing may be skipped: {_reason(report.longrepr)}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    outcome = yield
    _refuse_skip(outcome.get_result(), STRICT)


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, None]:
    outcome = yield
    _refuse_skip(outcome.get_result(), STRICT)
