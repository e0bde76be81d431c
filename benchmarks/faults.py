"""Faults under 20 workers over HTTP: what was acknowledged and is not in the log, what is there twice.

`python -m benchmarks.faults [kill|idle|streams|backup|disk|postgres|pgbouncer ...]`, some minutes, on loopback alone.
Every worker tells scores that nobody else tells, over a server of its own process. Lost: results that were acknowledged
and are not in the log, but for those between a backup and its restoration. Doubled: results that the log counts twice.
At the end the certificate is verified. A full disk needs root, for a file system of 8 MB in memory.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.study.postgres import Server, free_port
from tests.web.proxies import pgbouncer

from surepath import Study, connect, families
from surepath.errors import StudyError
from surepath.study.certificate import verify

WORKERS = 20
TOKEN = "token-of-the-faults"
SIGMA = 1.0


class Served:
    """A study, a server over it that can be killed and started again, and workers that note what was acknowledged."""

    def __init__(self, storage: str, folder: Path) -> None:
        self.storage, self.folder, self.port = storage, folder, free_port()
        mdp = families.chain(4, 3, seed=0, sigma=SIGMA).mdp
        Study.create(mdp, storage, "faults", epsilon=1e-6, delta=0.1, sigma=SIGMA).close()
        self.told: list[tuple[float, ...]] = []  # by the first worker to be answered
        self.refused = 0
        self._ended, self._lock = threading.Event(), threading.Lock()
        self.process: Any = None

    def begin(self) -> None:
        """Start the server and the workers."""
        self.start()
        # Daemons: one that waits for a server that is gone ends with the program, not ten minutes later.
        self._workers = [threading.Thread(target=self._work, args=(seed,), daemon=True) for seed in range(WORKERS)]
        for one in self._workers:
            one.start()

    def start(self) -> None:
        """Start the server and wait until it is ready."""
        environment = {**os.environ, "SUREPATH_STORAGE": self.storage, "SUREPATH_WRITE_TOKEN": TOKEN}
        command = [sys.executable, "-m", "surepath", "serve", "--port", str(self.port), "--json"]
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=log)
        while socket.socket().connect_ex(("127.0.0.1", self.port)):
            assert self.process.poll() is None, (self.folder / "server.log").read_text()[-2000:]
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End the server."""
        self.process.send_signal(how)
        self.process.wait()

    def _work(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        study = connect(f"http://127.0.0.1:{self.port}", TOKEN)
        trial: Any = None
        while not self._ended.is_set():
            if trial is None:
                trial = study.ask(worker=str(seed))
            scores = tuple(0.5 + SIGMA * rng.standard_normal(len(trial.path)))
            try:
                outcome, following = study.tell_and_ask(trial, scores, worker=str(seed))
            except StudyError:  # its trial is not in a backup that was restored, or is another one's there
                self.refused, trial = self.refused + 1, None
                continue
            with self._lock:
                if outcome != "late":
                    self.told.append(scores)
            trial = following

    def run(self, seconds: float) -> None:
        """Let the workers go on for a while, and until each has told something more."""
        before, end = len(self.told), time.monotonic() + 60
        time.sleep(seconds)
        while len(self.told) < before + WORKERS and time.monotonic() < end:
            time.sleep(0.1)

    def finish(self) -> tuple[int, int, bool]:
        """End the workers and the server; returns what was lost, what is doubled, and whether the proof holds."""
        self._ended.set()
        end = time.monotonic() + 60
        for one in self._workers:
            one.join(max(0.0, end - time.monotonic()))
        stuck = sum(one.is_alive() for one in self._workers)
        self.stop(signal.SIGTERM)
        assert not stuck, f"{stuck} workers did not end within a minute"
        with Study.load(self.storage) as study, study.storage.reading("faults") as log:
            rows = [row.rewards for row in log.trials(1, 10**6) if row.state == "complete" and row.source != "late"]
            counted = Counter(rows)
            lost = sum(counted[scores] == 0 for scores in set(self.told))
            file = self.folder / "certificate.json"
            file.write_text(json.dumps(study.certificate().to_dict()))
            return lost, sum(n - 1 for n in counted.values()), verify(file, self.storage).holds


def kill_server(at: Served, times: int = 20) -> None:
    """Kill the server again and again."""
    for _ in range(times):
        at.run(0.5)
        at.stop()
        at.start()
    at.run(1.0)


def restart_database(at: Served, server: Server, times: int = 10) -> None:
    """Stop the database, half of the times as after a crash, and start it again."""
    for i in range(times):
        at.run(0.5)
        server.stop(signal.SIGQUIT if i % 2 else signal.SIGINT)
        time.sleep(0.5)
        server.start()
    at.run(1.0)


def fill_disk(at: Served) -> None:
    """Leave no space for a while."""
    at.run(1.0)
    filler = at.folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 65_536)
        except OSError:
            pass
    log = Path(at.storage.removeprefix("sqlite:///") + "-wal")
    before, size = len(at.told), log.stat().st_size
    time.sleep(3.0)
    grown = log.stat().st_size - size
    print(f"    full: {len(at.told) - before} told in 3 s, into a write-ahead log that grew by {grown:,} bytes")
    filler.unlink()
    at.run(1.0)


def hold_connections(at: Served, count: int = 2_000) -> None:
    """Hold idle connections for ten seconds; those that the server closes are opened again at once."""
    at.run(1.0)
    before, opened, end = len(at.told), 0, time.monotonic() + 10
    idle: dict[int, socket.socket] = {}
    closed = select.poll()
    while time.monotonic() < end:
        while len(idle) < count:
            one = socket.create_connection(("127.0.0.1", at.port), 5)
            idle[one.fileno()], opened = one, opened + 1
            closed.register(one, select.POLLIN)
        for handle, _ in closed.poll(50):
            closed.unregister(handle)
            idle.pop(handle).close()
    print(f"    {opened:,} idle connections opened, {len(at.told) - before} told meanwhile")
    at.run(1.0)
    for one in idle.values():
        one.close()


def open_streams(at: Served, count: int = 200) -> None:
    """Follow the study in many streams."""
    import urllib.request

    streams = []
    for _ in range(count):
        request = urllib.request.Request(
            f"http://127.0.0.1:{at.port}/api/changes", headers={"Authorization": f"Bearer {TOKEN}"}
        )
        streams.append(urllib.request.urlopen(request, timeout=60))

    def drain(stream: Any) -> None:
        try:
            while stream.read1(65_536):
                pass
        except OSError:
            return

    for one in streams:
        threading.Thread(target=drain, args=(one,), daemon=True).start()
    at.run(5.0)
    print(f"    {len(streams)} streams open")


def restore_backup(at: Served) -> None:
    """Copy the file while it is written to, and put the copy in its place later on."""
    at.run(1.0)
    file, copy = Path(at.storage.removeprefix("sqlite:///")), at.folder / "backup.db"
    with at._lock:  # nothing is acknowledged meanwhile, so that it is known what the copy must hold
        with sqlite3.connect(file) as source, sqlite3.connect(copy) as target:
            source.backup(target)
        kept = len(at.told)
    at.run(1.0)
    at.stop(signal.SIGTERM)
    with at._lock:
        for ending in ("", "-wal", "-shm"):
            file.with_name(file.name + ending).unlink(missing_ok=True)
        shutil.copy(copy, file)
        del at.told[kept:]
    at.start()
    at.run(1.0)
    print(f"    {at.refused} trials of after the backup refused")


def measure(name: str, storage: str, folder: Path, harm: Callable[[Served], None]) -> None:
    """Run one fault and print its line."""
    begun = time.monotonic()
    at = Served(storage, folder)
    try:
        at.begin()
        harm(at)
        lost, doubled, holds = at.finish()
    finally:
        at._ended.set()
        if at.process is not None:
            at.process.kill()
    said = "verifies" if holds else "FAILS"
    print(f"{name:44}{len(at.told):>8,}{lost:>6}{doubled:>9}  {said}  {time.monotonic() - begun:.0f} s", flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Run every fault and print the table."""
    chosen = set(arguments or [])
    print(f"{'fault':44}{'told':>8}{'lost':>6}{'doubled':>9}  certificate")

    def wanted(name: str) -> bool:
        return not chosen or name in chosen

    with tempfile.TemporaryDirectory(prefix="surepath-faults-") as place:

        def new(name: str) -> Path:
            folder = Path(place) / name
            folder.mkdir()
            return folder

        local: list[tuple[str, str, Callable[[Served], None]]] = [
            ("kill", "server killed 20 times", kill_server),
            ("idle", "2,000 idle connections", hold_connections),
            ("streams", "200 streams", open_streams),
            ("backup", "a backup restored in mid-run", restore_backup),
        ]
        for key, name, harm in local:
            if wanted(key):
                folder = new(key)
                measure(f"{name}, SQLite", f"sqlite:///{folder / 'study.db'}", folder, harm)
        if wanted("disk"):
            folder = new("disk")
            if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(folder)], check=False).returncode:
                print("a full disk: not run, a file system in memory cannot be mounted here")
            else:
                try:
                    measure("a full disk, SQLite", f"sqlite:///{folder / 'study.db'}", folder, fill_disk)
                finally:
                    subprocess.run(["umount", "--lazy", str(folder)], check=False)
        for key, name in (("postgres", "PostgreSQL restarted 10 times"), ("pgbouncer", "the same, behind pgbouncer")):
            if not wanted(key):
                continue
            server = Server(durable=True)
            try:
                url = server.empty_database()
                if key == "postgres":
                    measure(name, url, new(key), lambda at, server=server: restart_database(at, server))
                else:
                    with pgbouncer(server, url.rpartition("/")[2]) as address:
                        measure(name, address, new(key), lambda at, server=server: restart_database(at, server))
            finally:
                server.remove()


if __name__ == "__main__":
    main(sys.argv[1:])
