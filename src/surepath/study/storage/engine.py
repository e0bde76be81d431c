"""Opening databases: SQLite for one machine, PostgreSQL for many, and their errors in words.

SQLite runs in WAL mode, so that readers never wait, and write transactions begin with BEGIN IMMEDIATE, so that two
writers queue up instead of failing in the middle. synchronous=FULL: what was committed survives a power failure too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from surepath._optional import need
from surepath.errors import StorageError
from surepath.study.storage.contract import TransientError

BUSY_MS = 10_000  # how long SQLite itself waits for a lock
PENDING_WRITE = "surepath_write"  # execution option of a connection about to write


def read_url(text: str) -> URL:
    """Read a storage URL; a plain file name is a SQLite file."""
    if "://" not in text:
        return URL.create("sqlite", database=text)
    try:
        url = make_url(text)
    except ArgumentError:
        raise StorageError(f'storage {text!r} is no URL; write "sqlite:///study.db" or "postgresql://..."') from None
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
        # A pool may hold connections of a server that has been restarted since: each is tried before use.
        return create_engine(
            url, pool_pre_ping=True, pool_size=5, max_overflow=20, connect_args={"connect_timeout": 10}
        )
    if url.database in (None, "", ":memory:"):
        raise StorageError(
            'a SQLite study needs a file, "sqlite:///study.db"; storage="memory" keeps it in this process'
        )
    folder = Path(str(url.database)).parent
    if not folder.is_dir():
        raise StorageError(f"the folder {folder} does not exist; a study's file is created, its folder is not")
    engine = create_engine(url, connect_args={"timeout": BUSY_MS / 1000, "check_same_thread": False})

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


def in_words(error: SQLAlchemyError, url: URL) -> StorageError:
    """Turn a database error into one of ours."""
    place = str(url.database) if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)
    cause = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
    low = cause.lower()
    if "not a database" in low or "malformed" in low:
        return StorageError(f"{place} is not a SQLite database, or it is damaged ({cause})")
    if "readonly" in low or "read-only" in low:
        return StorageError(f"{place} cannot be written: the file or its folder is read-only")
    if "disk is full" in low or "no space left" in low or "disk i/o error" in low:
        return StorageError(f"{place} cannot be written: the disk is full or fails ({cause}); nothing was half-written")
    if "unable to open" in low:
        return StorageError(f"{place} cannot be opened: no permission, or it is a folder")
    if "locked" in low or "busy" in low:
        return TransientError(f"{place} is locked by another writer for too long")
    if isinstance(error, DBAPIError) and (error.connection_invalidated or _lost(error, low)):
        return TransientError(f"no connection to {place} ({cause})")
    return StorageError(f"{place}: {cause}")


def _lost(error: DBAPIError, text: str) -> bool:
    words = (
        "connection",
        "server closed",
        "terminating",
        "shutting down",
        "starting up",
        "recovery mode",
        "consuming input",
        "could not receive",
        "could not send",
        "serialize access",
        "deadlock",
    )
    return type(error.orig).__name__ in (
        "OperationalError",
        "InterfaceError",
        "AdminShutdown",
        "CannotConnectNow",
    ) and any(word in text for word in words)
