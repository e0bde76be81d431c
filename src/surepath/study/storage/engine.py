"""Opening databases: SQLite for one machine, PostgreSQL for many, and their errors in words.

SQLite runs in WAL mode, so that readers never wait, and write transactions begin with BEGIN IMMEDIATE, so that two
writers queue up instead of failing in the middle. synchronous=FULL: what was committed survives a power failure too.
WAL mode keeps an index beside the file, which a folder that cannot be written does not take: there a file is opened as
one that does not change, anew for every transaction, so that it can be read.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from sqlalchemy import Engine, NullPool, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from surepath._optional import need
from surepath._text import OPEN_PARAMETERS, hidden
from surepath.errors import StorageError
from surepath.study.storage.contract import TransientError

BUSY_MS = 10_000  # how long SQLite itself waits for a lock
LOCK_MS = 10_000  # how long PostgreSQL does
IDLE_MS = 120_000  # after which PostgreSQL ends the transaction of a worker that hangs, so that others can go on
READ_ONLY = "the file or its folder is read-only"
# No file name, and perhaps with a password in it.
_ALMOST_URL = re.compile(r"(http|mysql|postgres|sqlite)[\w+]*:|[A-Za-z][\w+]+:/|[^/\\]{2,}:.*@", re.DOTALL)
PENDING_WRITE = "surepath_write"  # execution option of a connection about to write


def read_url(text: str) -> URL:
    """Read a storage URL; a plain file name is a SQLite file."""
    if "://" not in text and not _ALMOST_URL.match(text):
        return URL.create("sqlite", database=text)
    try:
        url = make_url(text)
        certain = url.get_backend_name() == "sqlite" or (text.count("@") <= 1 and not hidden(text).endswith("://***"))
    except (ArgumentError, ValueError):
        certain = False
    if not certain:  # what the driver would take for a host could be half of a password
        raise StorageError(
            f'storage "{hidden(text)}" is not a URL; write "sqlite:///study.db" or "postgresql://...", '
            f"with @, :, / and ? in a password as %40, %3A, %2F and %3F"
        )
    if url.get_backend_name() == "postgresql":
        need("psycopg", "postgres")
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() != "sqlite":
        kind = url.get_backend_name()
        raise StorageError(
            f'storage must be SQLite or PostgreSQL, not "{kind}": "sqlite:///study.db", "postgresql://..."'
        )
    return url


def open_engine(url: URL) -> Engine:
    """Create the engine of a database, with the settings that studies rely on."""
    if url.get_backend_name() != "sqlite":
        # A pool may hold connections of a server that has been restarted since: the first use finds out, empties the
        # pool and is repeated (retry.py), which costs nothing while the server is there.
        try:
            engine = create_engine(url, pool_size=5, max_overflow=20, connect_args={"connect_timeout": 10})
        except (ArgumentError, ValueError):
            raise StorageError(f"{shown(url)} is not an address of a database: its parameters cannot be read") from None

        @event.listens_for(engine, "connect")
        def _limit(connection: Any, _record: Any) -> None:
            with connection.cursor() as cursor:
                cursor.execute(f"SET lock_timeout = {LOCK_MS}; SET idle_in_transaction_session_timeout = {IDLE_MS}")
            connection.commit()

        return engine
    if url.database in (None, "", ":memory:"):
        raise StorageError(
            'a SQLite study needs a file, "sqlite:///study.db"; storage="memory" keeps it in this process'
        )
    folder = Path(str(url.database)).parent
    if not folder.is_dir():
        raise StorageError(f"the folder {folder} does not exist; a study's file is created, its folder is not")
    file = Path(str(url.database))
    pool: dict[str, Any] = {"poolclass": NullPool} if _sealed(file) else {}
    engine = create_engine(url, connect_args={"timeout": BUSY_MS / 1000, "check_same_thread": False}, **pool)

    @event.listens_for(engine, "do_connect")
    def _open(_dialect: Any, _record: Any, arguments: list[Any], options: dict[str, Any]) -> None:
        if pool and _sealed(file):
            arguments[0], options["uri"] = f"file:{quote(str(file.absolute()))}?immutable=1", True

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        write = connection.get_execution_options().get(PENDING_WRITE, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def _sealed(file: Path) -> bool:
    """Return whether a SQLite file can be read, not written, and has no log beside it that must be read too."""
    closed = file.is_file() and not os.access(file, os.W_OK) and not os.access(file.parent, os.W_OK)
    return closed and not file.with_name(f"{file.name}-wal").exists()


def shown(url: URL) -> str:
    """Write an address as it may be shown: without its secrets."""
    base, mark, query = url.set(drivername=url.get_backend_name()).render_as_string(hide_password=False).partition("?")
    return hidden(unquote(base) + mark + query)


def in_words(error: Exception, url: URL) -> StorageError:
    """Turn a database error into one of ours, without the secrets of the address."""
    place = str(url.database) if url.get_backend_name() == "sqlite" else shown(url)
    origin = getattr(error, "orig", None) or error
    cause = (str(origin).strip().splitlines() or [type(origin).__name__])[0]
    for secret in (url.password, *(str(value) for name, value in url.query.items() if name not in OPEN_PARAMETERS)):
        if secret and secret in cause:
            cause = "the driver's message holds a secret of the address and is not shown"
    low = cause.lower()
    if "not a database" in low or "malformed" in low:
        return StorageError(f"{place} is not a SQLite database, or it is damaged ({cause})")
    if "readonly" in low or "read-only" in low:
        return StorageError(f"{place} cannot be written: {READ_ONLY}")
    if "disk is full" in low or "no space left" in low or "disk i/o error" in low:
        return StorageError(f"{place} cannot be written: the disk is full or fails ({cause}); nothing was half-written")
    if "unable to open" in low:
        return StorageError(f"{place} cannot be opened: no permission, or it is a folder")
    if "locked" in low or "busy" in low:
        return TransientError(f"{place} is locked by another writer for too long")
    if getattr(error, "connection_invalidated", False) or _passing(origin, low):
        return TransientError(f"no connection to {place} ({cause})")
    return StorageError(f"{place}: {cause}")


# PostgreSQL's classes of errors: connection lost, shutdown or start, deadlock and the like, too many connections, a
# lock not to be had in time, a transaction that hung.
PASSING_STATES = ("08", "57P", "40", "53300", "55P03", "25P03")
PASSING_WORDS = (
    "connection",
    "server closed",
    "terminating",
    "shutting down",
    "starting up",
    "recovery mode",
    "consuming input",
    "could not receive",
    "could not send",
)
NOT_PASSING = ("authentication", "does not exist", "no password", "pg_hba")  # no waiting helps


def _passing(origin: Exception, text: str) -> bool:
    state = getattr(origin, "sqlstate", None)
    if state:
        return str(state).startswith(PASSING_STATES)
    kinds = {kind.__name__ for kind in type(origin).__mro__}
    whole = str(origin).lower()
    if not kinds & {"OperationalError", "InterfaceError"} or any(word in whole for word in NOT_PASSING):
        return False
    return any(word in text for word in PASSING_WORDS)
