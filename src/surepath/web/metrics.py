"""What a server counts, for Prometheus: requests, answers, connections, and the state of every study."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from surepath.errors import SurepathError
from surepath.study.status import Status
from surepath.web.live import MOST_OPEN, OpenStudies

BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)  # seconds
STREAM = "/api/changes"  # as long as its reader stays
PER_STUDY = {
    "surepath_open_trials": "Trials that run, or whose lease has ended and that are awaited.",
    "surepath_settled_trials": "Trials that are settled, up to the first one that still runs.",
    "surepath_certified_gap": "Proven distance of the current plan from the best; +Inf while nothing is proven.",
    "surepath_epsilon": "The distance that is asked for.",
    "surepath_done": "1 once that is proven.",
    "surepath_findings": "What the scores say against what was declared of them.",
}


class Metrics:
    """The counters of one process; with several, a scrape of any of them adds up all."""

    def __init__(self, studies: OpenStudies) -> None:
        self.studies, self.registry = studies, CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry}
        self._seconds = Histogram(
            "surepath_request_seconds", "From a request to the end of its answer.", ["route"], buckets=BUCKETS, **own
        )
        self._answers = Counter("surepath_answers", "Answers by status.", ["route", "status"], **own)
        own["multiprocess_mode"] = "livesum"
        self.streams = Gauge("surepath_streams", "Pages and programs that follow a study.", **own)
        self.connections = Gauge("surepath_connections", "Open connections.", **own)
        self.registry.register(self)

    def count(self, scope: Any, status: int, seconds: float) -> None:
        """Count an answer."""
        route = getattr(scope.get("route"), "path", "other")
        self._answers.labels(route, str(status)).inc()
        if route != STREAM:
            self._seconds.labels(route).observe(seconds)

    def collect(self) -> Iterator[Any]:
        """Yield what is known of each study; nothing of them while the database is away, which /ready says."""
        families = {name: GaugeMetricFamily(name, about, labels=["study"]) for name, about in PER_STUDY.items()}
        states = GaugeMetricFamily("surepath_trials", "Trials by state.", labels=["study", "state"])
        for now in self._statuses():
            waiting = now.states["running"] + len(now.overdue)
            values = waiting, now.settled, now.certified_gap, now.epsilon, now.done, len(now.findings)
            for family, value in zip(families.values(), values):
                family.add_metric([now.name], float(value))
            for state, number in now.states.items():
                states.add_metric([now.name, state], number)
        yield from families.values()
        yield states

    def _statuses(self) -> Iterator[Status]:
        with suppress(SurepathError):
            for name in self.studies.names()[:MOST_OPEN]:
                yield self.studies.get(name).still().status()

    def text(self) -> bytes:
        """Return everything in Prometheus's format."""
        registry = self.registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
            registry.register(self)
        return bytes(generate_latest(registry))
