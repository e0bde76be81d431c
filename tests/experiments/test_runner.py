"""Experiments: the same rows however they were played, nothing lost, nothing twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from surepath import families, simulate
from surepath._text import PARTIAL_ENDING
from surepath.errors import SettingError
from surepath.experiments.runner import Store, read, run
from surepath.experiments.spec import Spec
from tests.experiments.specs import MAX_DIAMETER, small

polars = pytest.importorskip("polars")


def test_rows_are_those_of_simulate(tmp_path: Path) -> None:
    spec = Spec.from_dict(small())
    summary = run(spec, tmp_path, workers=2)
    assert summary[:3] == (4, 20, 20)
    frame = read(tmp_path)
    assert frame.height == 4 * 5 * 2
    assert frame.select("cell", "run", "epsilon").is_unique().all()
    part = frame.filter(learner="max-diameter", instance="chain-v1/n3k2/seed7").sort("run", "epsilon")
    alone = simulate(
        {"name": "EPRL", "sampling": "max-diameter", "delta": 0.1},
        families.from_id("chain-v1/n3k2/seed7"),
        runs=5,
        seed=part["seed"][0],
        epsilons=[2.0, 3.0],
    )
    for name in ("run", "epsilon", "tau", "censored", "correct", "regret", "reason", "eliminated", "gap"):
        assert part[name].to_list() == getattr(alone, name).tolist(), name
    assert part["path"].to_list() == alone.path.tolist()
    assert '"sampling": "max-diameter"' in part["settings"][0]
    assert part["version"].unique().to_list() == [alone.settings["version"]]


def test_more_runs_are_added_to_those_that_are_there(tmp_path: Path) -> None:
    """More learners too."""
    run(Spec.from_dict(small(learners=[MAX_DIAMETER])), tmp_path / "a", workers=1)
    summary = run(Spec.from_dict(small(runs=8, chunk=4)), tmp_path / "a", workers=1, resume=True)
    assert summary.played == 2 * 3 + 2 * 8
    run(Spec.from_dict(small(runs=8)), tmp_path / "b", workers=1)
    assert read(tmp_path / "a").equals(read(tmp_path / "b"))
    run(Spec.from_dict(small(runs=2)), tmp_path / "a", workers=1, resume=True)
    assert read(tmp_path / "a")["run"].max() == 1


def test_a_folder_keeps_one_experiment(tmp_path: Path) -> None:
    run(Spec.from_dict(small()), tmp_path, workers=1)
    before = sorted(tmp_path.rglob("*.parquet"))
    with pytest.raises(SettingError, match="already holds 20 runs of this experiment; add --resume"):
        run(Spec.from_dict(small()), tmp_path)
    for change in ({"deltas": [0.2]}, {"seed": 4}, {"name": "other"}):
        with pytest.raises(SettingError, match=r"holds rows of another experiment.*; choose another folder"):
            run(Spec.from_dict(small(**change)), tmp_path, resume=True)
    with Store(tmp_path).locked(), pytest.raises(SettingError, match="another process is running an experiment in"):
        run(Spec.from_dict(small()), tmp_path, resume=True)
    assert sorted(tmp_path.rglob("*.parquet")) == before
    assert read(tmp_path).height == 40


def test_a_long_cell_is_written_while_it_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surepath.experiments.runner.WRITE_EVERY", -1000.0)  # always
    spec = Spec.from_dict(small(learners=[MAX_DIAMETER]))
    cells, written, write = spec.cells(), list[str](), Store._write

    def writes(store: Store, key: str) -> None:
        written.append(key)
        write(store, key)

    monkeypatch.setattr(Store, "_write", writes)
    run(spec, tmp_path / "a", workers=1)
    assert written.count(cells[0].key) == 3  # five runs, two at a time
    assert len(list(tmp_path.rglob("*.parquet"))) == len(cells)
    run(spec, tmp_path / "b", workers=2)
    assert read(tmp_path / "a").equals(read(tmp_path / "b"))


def stored(folder: Path) -> int:
    return sum(one.runs for one in Store(folder).files().values())


RUNS = 600
SPEC = """
runs = 10
chunk = 1
deltas = [0.1]
epsilons = [0.6]
instances = [{family = "chain", steps = 3, options = 2, seeds = "0..59"}]
learners = [{name = "BPIUCRL", sigma = 0.5}, {name = "EPRL", sampling = "max-diameter", sigma = 0.5}]
"""


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_process_is_resumed(ending: signal.Signals, tmp_path: Path) -> None:
    file, out = tmp_path / "spec.toml", tmp_path / "out"
    file.write_text(SPEC)
    command = [sys.executable, "-m", "surepath", "experiment", "run", str(file), "--out", str(out), "--workers", "2"]
    process = subprocess.Popen([*command, "--quiet"], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 240
    while stored(out) < 4:
        assert process.poll() is None, process.stderr.read()  # type: ignore[union-attr]
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(process.pid, ending)
    _, said = process.communicate(timeout=60)
    if ending == signal.SIGINT:
        assert process.returncode == 130
        assert "go on with --resume" in said
    safe = stored(out)
    assert 4 <= safe < 2 * RUNS
    (out / "rows" / f".cut{PARTIAL_ENDING}").write_bytes(b"what was being written")
    spec = Spec.load(file)
    summary = run(spec, out, resume=True, workers=2)
    assert 2 * RUNS - summary.played == safe
    frame = read(out)
    assert frame.height == 2 * RUNS
    assert frame.select("cell", "run").is_unique().all()
    run(spec, tmp_path / "whole", workers=2)
    assert read(tmp_path / "whole").equals(frame)
