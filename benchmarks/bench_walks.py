"""How far a reader goes through the source: files and hops of three walks, import edges, files and lines.

`python -m benchmarks.bench_walks [source folder ...]`; this checkout by default, older ones beside it if named. A walk
runs one task and follows its calls: a file counts where one of its functions ran, a hop is a pair of files of which one
called the other. Kernels run as plain Python (NUMBA_DISABLE_JIT=1), in a process of its own, and every task runs once
before it is followed, so that imports do not count.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.record import record

SOURCE = Path(__file__).parent.parent / "src"
IMPORTED = re.compile(r"^\s*(?:from (surepath[\w.]*) import|import (surepath[\w.]*))", re.MULTILINE)
EDGES = [
    {"stage": stage, "state": 0, "action": action, "next_state": 0} for stage in range(3) for action in ("one", "other")
]
PROBLEM = {"format": "surepath-problem", "version": 1, "direction": "maximize", "source": 0, "edges": EDGES}


def from_file_to_recommendation(folder: Path) -> None:
    """Load a problem from a file, ask and tell until Challenger stops, and take its recommendation."""
    import numpy as np

    from surepath import MDP, Challenger

    file = folder / "problem.json"
    file.write_text(json.dumps(PROBLEM), encoding="utf-8")
    learner = Challenger(MDP.load(file), epsilon=3.0, delta=0.1, sigma=1.0)
    rng = np.random.default_rng(0)
    while not learner.stopped:
        path = learner.ask()
        learner.tell(path, rng.normal(size=len(path)))
    learner.recommend()


@cache
def small_instance() -> Any:
    """Build the instance of the simulation, before it is followed."""
    from surepath import families

    return families.paper_random(2, 2, 3, seed=0)


def simulated_eprl(_: Path) -> None:
    """Simulate one run of EPRL."""
    from surepath import simulate

    simulate({"name": "EPRL", "epsilon": 4.0, "delta": 0.1}, small_instance(), runs=1, seed=0, workers=1, budget=300)


def from_spec_to_figure(folder: Path) -> None:
    """Play one run of each cell of figure-cases, and draw it."""
    from surepath.cli.main import app

    words = ["reproduce", "figure-cases", "--runs", "1", "--workers", "1", "--quiet", "--out", str(folder)]
    with contextlib.redirect_stdout(io.StringIO()):
        app(words, standalone_mode=False)


WALKS: dict[str, Callable[[Path], None]] = {
    "file -> ask/tell -> recommend": from_file_to_recommendation,
    "simulate EPRL": simulated_eprl,
    "spec -> figure": from_spec_to_figure,
}


def followed(task: Callable[[Path], None], folder: Path, package: str) -> tuple[set[str], set[tuple[str, str]]]:
    """Run a task; return the package's files whose functions ran, and the pairs of them that call each other."""
    files: set[str] = set()
    hops: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        called = frame.f_code.co_filename
        if event != "call" or not called.startswith(package):
            return
        files.add(called)
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(package):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != called:
            hops.add((caller.f_code.co_filename, called))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        task(folder)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return files, hops


def measure() -> dict[str, Any]:
    """Follow every walk through the package that this process imports, and count its source."""
    import surepath

    package = Path(surepath.__file__).parent
    walks = {}
    for name, task in WALKS.items():
        with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
            task(Path(first))
            files, hops = followed(task, Path(second), f"{package}{os.sep}")
        walks[name] = {"files": sorted(str(Path(file).relative_to(package)) for file in files), "hops": len(hops)}
    texts = [file.read_text(encoding="utf-8") for file in package.rglob("*.py")]
    return {
        "walks": walks,
        "import edges": sum(len(set(IMPORTED.findall(text))) for text in texts),
        "files": len(texts),
        "lines": sum(len(text.splitlines()) for text in texts),
    }


def measured(source: Path) -> dict[str, Any]:
    """Measure the package in a source folder, in a process of its own."""
    command = [sys.executable, "-c", "from benchmarks.bench_walks import *; print(json.dumps(measure()))"]
    environment = {
        **os.environ,
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": os.pathsep.join(map(str, (source.resolve(), Path(__file__).parent.parent))),
    }
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main(sources: list[str] | None = None) -> None:
    """Print and record the walks and counts of this source, and print those of others named."""
    for source in [SOURCE, *map(Path, sources or [])]:
        found = measured(source)
        if source != SOURCE:
            print(f"\n{source}")
        figures: dict[str, int] = {}
        for name, walk in found["walks"].items():
            figures |= {f"files of {name}": len(walk["files"]), f"hops of {name}": walk["hops"]}
        figures |= {"import edges": found["import edges"], "files of source": found["files"]}
        figures["lines of source"] = found["lines"]
        for name, value in figures.items():
            print(f"{name:<40} {value:>8,}")
            if source == SOURCE:
                record(name, value)


if __name__ == "__main__":
    main(sys.argv[1:])
