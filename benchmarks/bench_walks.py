"""Count how far a reader goes through the source: files and hops of four walks, import edges, files and lines.

`python -m benchmarks.bench_walks [-v] [source folder ...]`; this checkout by default, older ones beside it if named, -v
lists the files. A walk prepares a task, runs it and follows its calls, in all threads: a file counts where one of its
functions ran, a hop is a pair of files of which one called the other. Kernels run as plain Python
(NUMBA_DISABLE_JIT=1), in a process of its own, and every task runs once before it is followed, so that imports do not
count.
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
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.record import record

SOURCE = Path(__file__).parent.parent / "src"
IMPORTED = re.compile(r"^\s*(?:from (surepath[\w.]*) import|import (surepath[\w.]*))", re.MULTILINE)
EDGES = [
    {"stage": stage, "state": 0, "action": action, "next_state": 0} for stage in range(3) for action in ("one", "other")
]
COUNTS = ("import edges", "files of source", "lines of source")
Task = Callable[[], None]
PROBLEM = {"format": "surepath-problem", "version": 1, "direction": "maximize", "source": 0, "edges": EDGES}


def from_file_to_recommendation(folder: Path) -> Task:
    """Load a problem from a file, ask and tell until Challenger stops, and take its recommendation."""
    import numpy as np

    from surepath import MDP, Challenger

    file = folder / "problem.json"
    file.write_text(json.dumps(PROBLEM), encoding="utf-8")

    def task() -> None:
        learner = Challenger(MDP.load(file), epsilon=3.0, delta=0.1, sigma=1.0)
        rng = np.random.default_rng(0)
        while not learner.stopped:
            path = learner.ask()
            learner.tell(path, rng.normal(size=len(path)))
        learner.recommend()

    return task


def over_http(folder: Path) -> Task:
    """Ask for a trial and tell its scores over HTTP, server and client together; the study is open."""
    import uvicorn

    from surepath import MDP, Study, connect
    from surepath.web.routes import Access
    from surepath.web.server import configured, create_app, listen

    place = f"sqlite:///{folder / 'study.db'}"
    Study.create(MDP.from_steps({"a": ["x", "y"], "b": ["u", "v"]}, sigma=1.0), place, epsilon=0.1, delta=0.1)
    door = listen("127.0.0.1", 0)
    server = uvicorn.Server(configured(create_app(place, Access("r", "w"))))
    threading.Thread(target=server.run, kwargs={"sockets": [door]}, daemon=True).start()
    study = connect(f"http://127.0.0.1:{door.getsockname()[1]}", "w")
    study.tell(study.ask(), [0.5, 0.5])
    return lambda: study.tell(study.ask(), [0.5, 0.5]) and None


def simulated_eprl(_: Path) -> Task:
    """Simulate one run of EPRL."""
    from surepath import families, simulate

    instance, settings = families.paper_random(2, 2, 3, seed=0), {"name": "EPRL", "epsilon": 4.0, "delta": 0.1}
    return lambda: simulate(settings, instance, runs=1, seed=0, workers=1, budget=300) and None


def from_spec_to_figure(folder: Path) -> Task:
    """Play one run of each cell of figure-1, and draw it."""
    from surepath.cli.main import app

    words = ["reproduce", "figure-1", "--runs", "1", "--workers", "1", "--quiet", "--out", str(folder)]

    def task() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            app(words, standalone_mode=False)

    return task


# Each walk, and the most files that it should take.
WALKS: dict[str, tuple[Callable[[Path], Task], int]] = {
    "file -> ask/tell -> recommend": (from_file_to_recommendation, 15),
    "simulate EPRL": (simulated_eprl, 18),
    "spec -> figure": (from_spec_to_figure, 35),
    "HTTP ask + tell": (over_http, 18),  # last: its server runs on
}


def followed(walk: Callable[[Path], Task], folder: Path, package: str) -> tuple[set[str], set[tuple[str, str]]]:
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

    threading.setprofile(note)  # before the task is prepared: its threads are followed too
    sys.setprofile(note)
    try:
        task = walk(folder)
        files.clear()
        hops.clear()
        task()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return files, hops


def measure() -> dict[str, Any]:
    """Follow every walk through the package that this process imports, and count its source."""
    import surepath

    package = Path(surepath.__file__).parent
    walks = {}
    for name, (walk, _) in WALKS.items():
        with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
            walk(Path(first))()
            files, hops = followed(walk, Path(second), f"{package}{os.sep}")
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


def main(arguments: list[str] | None = None) -> None:
    """Print and record the walks and counts of this source, and print those of others named."""
    sources = [word for word in arguments or [] if word != "-v"]
    for source in [SOURCE, *map(Path, sources)]:
        found = measured(source)
        if source != SOURCE:
            print(f"\n{source}")
        figures: dict[str, tuple[int, str]] = {}
        for name, walk in found["walks"].items():
            figures[f"files of {name}"] = len(walk["files"]), f"at most {WALKS[name][1]}"
            figures[f"hops of {name}"] = walk["hops"], ""
            if "-v" in (arguments or []):
                print(f"{name}: {', '.join(walk['files'])}")
        figures |= {name: (found[name.removesuffix(" of source")], "") for name in COUNTS}
        for name, (value, target) in figures.items():
            print(f"{name:<40} {value:>8,}  {target}")
            if source == SOURCE:
                record(name, value, "", target)


if __name__ == "__main__":
    main(sys.argv[1:])
