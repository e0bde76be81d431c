"""Studies on a real local Ray cluster of three nodes, one of which is killed in mid-run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from surepath.experiments.backends.ray import RayBackend
from surepath.experiments.results import Store, read
from surepath.experiments.runner import run
from surepath.experiments.spec import Spec
from tests.experiments.specs import MAX_DIAMETER, small

pytest.importorskip("polars")
ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.needs_ray, pytest.mark.slow]

SMALL_NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_dashboard": False}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head and two more nodes, each a process tree of its own."""
    from ray.cluster_utils import Cluster

    for name, value in {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DISABLE_IMPORT_WARNING": "1",
        "RAY_health_check_initial_delay_ms": "500",
        "RAY_health_check_period_ms": "500",
        "RAY_health_check_failure_threshold": "3",
    }.items():
        monkeypatch.setenv(name, value)
    found = Cluster(initialize_head=True, head_node_args=SMALL_NODE)
    yield found
    ray.shutdown()
    found.shutdown()


def test_a_study_survives_the_loss_of_a_node(cluster: Any, tmp_path: Path) -> None:
    doomed = cluster.add_node(**SMALL_NODE)
    cluster.add_node(**SMALL_NODE)
    # Long enough that every node has work when one goes: about 0.1 s a run.
    learners = [{"name": "BPIUCRL"}, MAX_DIAMETER]
    spec = Spec.from_dict(small(runs=16, chunk=1, epsilons=[0.3, 2.0], learners=learners))
    killed: list[float] = []

    def progress(done: int, total: int) -> None:
        if not killed and done >= total // 4:
            nodes = [node for node in ray.nodes() if node["Alive"]]
            assert len(nodes) == 3
            cluster.remove_node(doomed, allow_graceful=False)
            killed.append(time.monotonic())

    summary = run(spec, tmp_path / "ray", on=RayBackend(address=cluster.address), progress=progress)
    assert killed
    assert summary.played == summary.runs == 4 * 16
    frame = read(tmp_path / "ray")
    assert frame.height == 4 * 16 * 2
    assert frame.select("cell", "run", "epsilon").is_unique().all()
    ranges = [piece for pieces in Store(tmp_path / "ray").stored().values() for piece in pieces]
    assert len(ranges) == 4 * 16
    run(spec, tmp_path / "threads", workers=2)
    assert read(tmp_path / "threads").equals(frame)
