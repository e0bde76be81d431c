"""Asks and tells per second over HTTP, and how long the slowest of a hundred takes: 8 clients on one server.

`python -m benchmarks.bench_web [--seconds 60] [--clients 8] [--processes 1]`; a minute by default. The server is a
process of its own (`surepath serve`) on a SQLite file that is synced at every write; the clients are threads that tell
the scores of a trial and get the next one in the same request. The page reads at the same time, as one that is open
would: the stream of changes. A pipeline of 8 steps with 4 options each, Challenger, an epsilon that is never reached.

`--limits` measures other sizes in their place: 1,000 studies, 100,000 trials, 100 workers, 500 streams.

Before that, the same study without a server, in one thread. Then Optuna's gRPC storage proxy does the same on the same
machine: random suggestions, a SQLite file behind it; its packages are installed beside this run if they are missing.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from tests.web.site import long_study

from benchmarks.record import record
from surepath import MDP, Study, connect, families

SIGMA = 0.1


def started(folder: Path, *options: str) -> tuple[Any, str, str]:
    """Start a server on a free port; returns its process, address and write token."""
    command = [sys.executable, "-m", "surepath", "serve", str(folder / "study.db"), "--port", "0", "--json", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = []
    while not lines or lines[-1] != "}\n":
        lines.append(process.stdout.readline())
    printed = json.loads("".join(lines))
    return process, printed["address"], printed["write_token"]


def client(address: str, token: str, end: float, seed: int, times: list[float], name: str | None = None) -> None:
    """Tell and ask until the time is up."""
    study = connect(address, token, name)
    rng = np.random.default_rng(seed)
    trial = study.ask()
    while time.monotonic() < end:
        begun = time.perf_counter()
        _, trial = study.tell_and_ask(trial, 0.5 + SIGMA * rng.standard_normal(len(trial.path)))
        times.append(time.perf_counter() - begun)
    study.cancel(trial)


# Optuna's storage proxy, in a process of its own: python -c OPTUNA_SERVER FILE PORT
OPTUNA_SERVER = """
import sys, optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
place = optuna.storages.RDBStorage(f"sqlite:///{sys.argv[1]}")
optuna.create_study(storage=place, study_name="bench")
optuna.storages.run_grpc_proxy_server(place, host="localhost", port=int(sys.argv[2]))
"""


def optuna_rate(folder: Path, clients: int, seconds: float) -> list[float] | None:
    """Measure asks and tells through Optuna's gRPC storage proxy; None where it cannot be installed."""
    packages = str(folder / "packages")
    if importlib.util.find_spec("grpc") is None or importlib.util.find_spec("google.protobuf") is None:
        command = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--target", packages]
        if subprocess.run([*command, "grpcio", "protobuf", "typing_extensions"], check=False).returncode:
            return None
        sys.path.append(packages)
        importlib.invalidate_caches()
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), packages])}
    command = [sys.executable, "-c", OPTUNA_SERVER, str(folder / "optuna.db"), str(port)]
    server = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    times: list[float] = []
    try:
        end = time.monotonic() + 60
        while socket.socket().connect_ex(("127.0.0.1", port)) and time.monotonic() < end:
            time.sleep(0.2)
        time.sleep(1.0)

        def work(seed: int) -> None:
            place = optuna.storages.GrpcStorageProxy(host="localhost", port=port)
            study = optuna.load_study(
                study_name="bench", storage=place, sampler=optuna.samplers.RandomSampler(seed=seed)
            )
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                begun = time.perf_counter()
                trial = study.ask()
                for step in range(8):
                    trial.suggest_categorical(str(step), [0, 1, 2, 3])
                study.tell(trial, 0.5)
                times.append(time.perf_counter() - begun)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(clients)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    finally:
        server.kill()
        server.wait()
    return times


def watch(address: str, token: str, events: list[int], name: str = "") -> None:
    """Read the stream of changes, as an open page does."""
    query = f"?study={quote(name)}" if name else ""
    request = urllib.request.Request(f"{address}api/changes{query}", headers={"Authorization": f"Bearer {token}"})
    while True:
        try:
            with urllib.request.urlopen(request, timeout=600) as stream:
                for line in stream:
                    events.append(len(line))
        except urllib.error.HTTPError:  # many join at once: a page tries again, too
            time.sleep(0.5)
        except OSError:
            return


def alone(folder: Path, mdp: MDP, seconds: float) -> list[float]:
    """Ask and tell without a server."""
    times: list[float] = []
    rng, end = np.random.default_rng(0), time.monotonic() + seconds
    with Study.create(mdp, f"sqlite:///{folder / 'local.db'}", epsilon=1e-3, delta=0.1, sigma=SIGMA) as study:
        study.cancel(study.ask())  # kernels are loaded; a trial left open would hold up the learner
        while time.monotonic() < end:
            begun = time.perf_counter()
            trial = study.ask()
            study.tell(trial, 0.5 + SIGMA * rng.standard_normal(len(trial.path)))
            times.append(time.perf_counter() - begun)
    return times


def limits(folder: Path) -> None:
    """Print how a server does with many studies, trials, workers and streams."""
    mdp = families.chain(8, 4, seed=0, sigma=SIGMA).mdp
    place = f"sqlite:///{folder / 'study.db'}"
    for i in range(1_000):
        Study.create(mdp, place, f"study {i}", epsilon=1e-3, delta=0.1, sigma=SIGMA).close()
    long_study(place, 100_000)
    process, address, token = started(folder)
    try:
        for name in ("study 7", "long"):
            for when in ("opened", "open"):
                begun = time.perf_counter()
                study = connect(address, token, name)
                trial = study.ask()
                study.tell(trial, np.full(len(trial.path), 0.5))
                spent = 1000 * (time.perf_counter() - begun)
                record(f"connect, ask and tell, {name!r} {when}", spent, "ms")
                print(f"connect, ask and tell, {name!r} {when}: {spent:,.0f} ms")
        for workers, streams in ((8, 1), (100, 1), (8, 500)):
            events: list[int] = []
            for _ in range(max(1, streams - 2)):
                threading.Thread(target=watch, args=(address, token, events, "study 0"), daemon=True).start()
            time.sleep(streams / 50)  # until all have joined
            times = together(address, token, workers, 10.0, "study 0")
            show(f"{workers} workers, {streams} streams", 10.0, times)
            record(f"told and asked, {workers} workers and {streams} streams", len(times) / 10.0, "a second")
    finally:
        process.kill()
        process.wait()


def together(address: str, token: str, clients: int, seconds: float, name: str | None = None) -> list[float]:
    """Let clients work at the same time."""
    times: list[float] = []
    end = time.monotonic() + seconds
    threads = [
        threading.Thread(target=client, args=(address, token, end, seed, times, name)) for seed in range(clients)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return times


def main(arguments: list[str] | None = None) -> None:
    """Run the clients and print the rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--limits", action="store_true")
    wanted = parser.parse_args(arguments if arguments is not None else [])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if wanted.limits:
            limits(folder)
            return
        instance = families.chain(8, 4, seed=0, sigma=SIGMA)
        own = alone(folder, instance.mdp, wanted.seconds / 4)
        show("the study itself", wanted.seconds / 4, own)
        record("told and asked without a server, a second", 4 * len(own) / wanted.seconds, "a second")
        Study.create(instance.mdp, f"sqlite:///{folder / 'study.db'}", epsilon=1e-3, delta=0.1, sigma=SIGMA).close()
        process, address, token = started(folder, "--processes", str(wanted.processes))
        try:
            study = connect(address, token)
            study.cancel(study.ask())  # kernels are loaded; a trial left open would hold up the learner
            events: list[int] = []
            threading.Thread(target=watch, args=(address, token, events), daemon=True).start()
            begun = time.monotonic()
            times = together(address, token, wanted.clients, wanted.seconds)
            spent = time.monotonic() - begun
            page = sum(events) / spent / 1000
            print(f"\n{wanted.clients} clients for {spent:.0f} s on SQLite, one page open ({page:.1f} kB/s)")
            show("surepath", spent, times)
            record("told and asked over HTTP, a second", len(times) / spent, "a second", "at least 200")
            record(
                "told and asked over HTTP, 99th of a hundred", 1000 * float(np.percentile(times, 99)), "ms", "below 60"
            )
        finally:
            process.terminate()
            process.wait()
        others = optuna_rate(folder, wanted.clients, wanted.seconds)
        if not others:
            print("Optuna's gRPC proxy: not measured; its packages cannot be installed, or it answered nobody")
            return
        show("Optuna, gRPC", wanted.seconds, others)
        record("Optuna's gRPC proxy, asked and told, a second", len(others) / wanted.seconds, "a second")
        record("Optuna's gRPC proxy, 99th of a hundred", 1000 * float(np.percentile(others, 99)), "ms")


def show(what: str, spent: float, times: list[float]) -> None:
    """Print the rate of many clients: trials told, with the next one in hand."""
    half, most = np.percentile(times, [50, 99]) * 1000
    print(f"{what:18}{len(times) / spent:>8.0f} a second, median {half:.1f} ms, 99th of a hundred {most:.1f} ms")


if __name__ == "__main__":
    main(sys.argv[1:])
