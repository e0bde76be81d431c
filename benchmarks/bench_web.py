"""Asks and tells per second over HTTP, and how long the slowest of a hundred takes: 8 clients on one server.

`python -m benchmarks.bench_web [--seconds 60] [--clients 8]`; a minute by default. The server is a process of its
own (`surepath serve`) on a SQLite file that is synced at every write; the clients are threads that ask for one trial,
tell its scores, and go on. A pipeline of 8 steps with 4 options each, Challenger, an epsilon that is never reached. The
page reads at the same time, as one that is open would: the stream of changes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import record
from surepath import Study, connect, families

SIGMA = 0.1


def started(folder: Path) -> tuple[Any, str, str]:
    """Start a server on a free port; returns its process, address and write token."""
    command = [sys.executable, "-m", "surepath", "serve", str(folder / "study.db"), "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = []
    while not lines or lines[-1] != "}\n":
        lines.append(process.stdout.readline())
    printed = json.loads("".join(lines))
    return process, printed["address"], printed["write_token"]


def client(address: str, token: str, end: float, seed: int, times: dict[str, list[float]]) -> None:
    """Ask and tell until the time is up."""
    study = connect(address, token)
    rng = np.random.default_rng(seed)
    while time.monotonic() < end:
        begun = time.perf_counter()
        trial = study.ask()
        asked = time.perf_counter()
        study.tell(trial, 0.5 + SIGMA * rng.standard_normal(len(trial.path)))
        times["ask"].append(asked - begun)
        times["tell"].append(time.perf_counter() - asked)


def watch(address: str, token: str, events: list[int]) -> None:
    """Read the stream of changes, as an open page does."""
    request = urllib.request.Request(f"{address}api/changes", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=600) as stream:
        try:
            for line in stream:
                events.append(len(line))
        except OSError:
            return


def main(arguments: list[str] | None = None) -> None:
    """Run the clients and print the rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=8)
    wanted = parser.parse_args(arguments if arguments is not None else [])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        instance = families.chain(8, 4, seed=0, sigma=SIGMA)
        Study.create(instance.mdp, f"sqlite:///{folder / 'study.db'}", epsilon=1e-3, delta=0.1, sigma=SIGMA).close()
        process, address, token = started(folder)
        try:
            connect(address, token).ask()  # kernels are loaded
            times: dict[str, list[float]] = {"ask": [], "tell": []}
            events: list[int] = []
            threading.Thread(target=watch, args=(address, token, events), daemon=True).start()
            begun = time.monotonic()
            end = begun + wanted.seconds
            clients = [
                threading.Thread(target=client, args=(address, token, end, seed, times))
                for seed in range(wanted.clients)
            ]
            for one in clients:
                one.start()
            for one in clients:
                one.join()
            spent = time.monotonic() - begun
        finally:
            process.terminate()
            process.wait()
    print(
        f"{wanted.clients} clients for {spent:.0f} s on SQLite, one page open ({sum(events) / spent / 1000:.1f} kB/s)"
    )
    print(f"{'':8}{'a second':>10}{'median ms':>12}{'99th ms':>10}")
    for verb, seconds in times.items():
        half, most = np.percentile(seconds, [50, 99]) * 1000
        print(f"{verb:8}{len(seconds) / spent:>10.0f}{half:>12.1f}{most:>10.1f}")
        record(f"{verb} over HTTP, {wanted.clients} clients", len(seconds) / spent, "a second")
        record(f"{verb} over HTTP, 99th of a hundred", most, "ms")


if __name__ == "__main__":
    main(sys.argv[1:])
