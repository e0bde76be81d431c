"""A real PostgreSQL server on a temporary folder and a free port, for tests and benchmarks; it can be restarted."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

FOLDERS = "/usr/lib/postgresql"


def programs() -> Path | None:
    """Find the folder of initdb and postgres, the newest version first."""
    numbered = [file for file in Path(FOLDERS).glob("*/bin/initdb") if file.parts[-3].isdigit()]
    if numbered:
        return max(numbered, key=lambda file: int(file.parts[-3])).parent
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


def _user() -> str | None:
    """PostgreSQL refuses to run as root: name another user in that case."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGQUIT)  # PR_SET_PDEATHSIG: no server outlives a killed test run


def free_port() -> int:
    """Find a port that nobody takes by chance before it is bound, or while a server restarts.

    Linux gives ports from 32768 on to outgoing connections and to servers that ask for any port: this one lies below.
    """
    for port in random.SystemRandom().sample(range(20_000, 32_000), 100):
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no free port was found")


class Server:
    """A server that this process owns.

    Args:
        durable: Write through to the disk, as a server of one's own would; off, it is quicker.
    """

    def __init__(self, durable: bool = False) -> None:
        found = programs()
        if found is None:
            raise FileNotFoundError("PostgreSQL is not installed; make system installs it")
        self._programs, self._user, self._durable = found, _user(), durable
        self.folder = Path(tempfile.mkdtemp(prefix="surepath-postgres-"))
        if self._user is not None:
            os.chown(self.folder, pwd.getpwnam(self._user).pw_uid, -1)
        self.port = free_port()
        self.url = f"postgresql://surepath@127.0.0.1:{self.port}/postgres"
        make: list[str | Path] = [
            found / "initdb",
            "-D",
            self.folder / "data",
            "-U",
            "surepath",
            "--auth=trust",
            "--no-sync",
        ]
        subprocess.run(
            [*make, "-E", "UTF8", "--locale=C"], user=self._user, cwd="/", check=True, stdout=subprocess.DEVNULL
        )
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        quick = [] if self._durable else ["-c", "fsync=off", "-c", "full_page_writes=off"]
        place: list[str | Path] = [self._programs / "postgres", "-D", self.folder / "data", "-k", self.folder]
        self._process = subprocess.Popen(
            [*place, "-p", str(self.port), "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=60", *quick],
            user=self._user,
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "log").open("ab"),
            preexec_fn=_die_with_parent,
        )
        end = time.monotonic() + 60
        while subprocess.run(
            [self._programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False
        ).returncode:
            if time.monotonic() > end or self._process.poll() is not None:
                raise RuntimeError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT ends every connection, SIGQUIT stops at once and needs recovery, as after a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=60)
            self._process = None

    def empty_database(self, encoding: str = "UTF8") -> str:
        """Create a database and return its address."""
        import psycopg

        name = f"study_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0")  # type: ignore[arg-type]
        return self.url.rpartition("/")[0] + f"/{name}"

    def remove(self) -> None:
        """Stop the server and delete its folder."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)
