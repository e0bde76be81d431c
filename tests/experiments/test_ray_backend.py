"""Experiments on a real local Ray cluster of three nodes, one of which is killed in mid-run."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from surepath.errors import SettingError
from surepath.experiments.runner import RayBackend, Store, read, run
from surepath.experiments.spec import Spec
from tests.experiments.specs import small
from tests.learners import functions

pytest.importorskip("polars")
ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.needs_ray, pytest.mark.slow, pytest.mark.xdist_group("ray")]

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


def lose(cluster: Any, node: Any) -> int:
    """Kill a node with everything on it at once, as a power cut does; how many workers went with it."""
    (raylet,) = (process.process.pid for process in node.all_processes["raylet"])
    workers = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(file.read_text().rsplit(")", 1)[1].split()[1]) == raylet:
                workers.append(int(file.parent.name))
    cluster.remove_node(node, allow_graceful=False)
    for worker in workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
    return len(workers)


@pytest.mark.rare
def test_an_experiment_survives_the_loss_of_a_node(cluster: Any, tmp_path: Path) -> None:
    doomed = cluster.add_node(**SMALL_NODE)
    cluster.add_node(**SMALL_NODE)
    # A run takes about half a second, so that every node is at work when one of them goes.
    learners = [{"name": "BPIUCRL"}, {"name": "BPIUCRL", "elimination": "value"}]
    instances = [{"family": "paper_random", "seeds": [4], "sigma": 0.5}]
    spec = Spec.from_dict(small(runs=12, chunk=1, epsilons=[0.025, 2.0], learners=learners, instances=instances))
    killed: list[int] = []

    def progress(done: int, total: int) -> None:
        if not killed and done >= total // 4:
            assert sum(node["Alive"] for node in ray.nodes()) == 3
            killed.append(lose(cluster, doomed))

    summary = run(spec, tmp_path / "ray", on=RayBackend(address=cluster.address), progress=progress)
    assert killed[0] > 0
    assert summary.played == summary.runs == 2 * 12
    frame = read(tmp_path / "ray")
    assert frame.height == 2 * 12 * 2
    assert frame.select("cell", "run", "epsilon").is_unique().all()
    assert [one.runs for one in Store(tmp_path / "ray").files().values()] == [12, 12]
    run(spec, tmp_path / "threads", workers=2)
    assert read(tmp_path / "threads").equals(frame)


def test_workers_import_nothing_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scipy.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nraise ImportError('planted')\n")
    monkeypatch.chdir(tmp_path)
    spec = Spec.from_dict(small(runs=2))
    run(spec, "out", on=RayBackend(workers=1))
    assert not (tmp_path / "ran").exists()
    assert read("out").height == 16


def test_workers_import_a_rule_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rules_for_ray.py").write_text(Path(functions.__file__).read_text())
    monkeypatch.chdir(tmp_path)
    spec = Spec.from_dict(small(runs=2, learners=[{"name": "EPRL", "sampling": "rules_for_ray:widest"}]))
    run(spec, tmp_path / "ray", on=RayBackend(workers=1))
    run(spec, tmp_path / "threads", workers=1)
    assert read(tmp_path / "ray").equals(read(tmp_path / "threads"))
    (tmp_path / "rules_for_ray.py").unlink()
    with pytest.raises(SettingError, match=r"^sampling 'rules_for_ray:widest': No module"):
        run(spec, tmp_path / "again", on=RayBackend(workers=1))
