"""The tables: built whole or not at all, other versions and other encodings refused in words."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from surepath.errors import StorageError
from surepath.study.sql import SqlStorage
from surepath.study.tables import build_tables, check_schema, open_engine, read_url, version
from tests.study.storage.test_contract import RECORD


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_cannot_keep_every_text_is_refused(server: Any, encoding: str) -> None:
    """LATIN1 refuses a Greek letter in the middle of a study; SQL_ASCII gives bytes back in place of texts."""
    url = server.empty_database(encoding)
    for do in (SqlStorage(url).names, lambda: SqlStorage(url).create(RECORD), lambda: SqlStorage(url).load("one")):
        with pytest.raises(StorageError, match=rf"the database study_\w+ has the encoding {encoding}.*UTF8"):
            do()


def test_an_empty_database_is_built_and_a_study_table_of_somebody_else_left_alone(url: str) -> None:
    other = create_engine(read_url(url))
    with other.begin() as connection:
        connection.execute(text("CREATE TABLE mine (x integer)"))
        connection.execute(text("INSERT INTO mine VALUES (7)"))
    storage = SqlStorage(url)
    with pytest.raises(StorageError, match="holds no studies"):
        storage.names()
    storage.create(RECORD)
    assert storage.names() == ["one"]
    with other.begin() as connection:
        assert connection.execute(text("SELECT x FROM mine")).scalar() == 7
    other.dispose()


def test_a_schema_of_another_version_is_refused_in_words(url: str) -> None:
    storage = SqlStorage(url)
    storage.create(RECORD)
    engine = create_engine(read_url(url))
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {version.name} SET version_num = '0999'"))
    for do in (SqlStorage(url).names, lambda: SqlStorage(url).create(RECORD), lambda: SqlStorage(url).load("one")):
        with pytest.raises(StorageError, match="schema 0999, and this surepath reads 1; open it"):
            do()
    engine.dispose()


def test_tables_built_in_part_leave_nothing(url: str) -> None:
    engine = open_engine(read_url(url))
    with pytest.raises(ZeroDivisionError), engine.begin() as connection:  # noqa: PT012
        build_tables(connection)
        1 / 0
    with engine.connect() as connection:
        assert check_schema(connection) is False
    SqlStorage(url).create(RECORD)
    engine.dispose()


def test_two_who_create_at_once_both_find_the_tables(url: str) -> None:
    import threading
    from dataclasses import replace

    from surepath.study.storage import retrying

    errors: list[Exception] = []

    def create(i: int) -> None:
        try:
            record = replace(RECORD, name=f"study {i}")
            retrying(lambda: SqlStorage(url).create(record))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=create, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert len(SqlStorage(url).names()) == 4


def test_sqlite_keeps_what_was_committed(tmp_path: Path) -> None:
    storage = SqlStorage(str(tmp_path / "study.db"))
    storage.create(RECORD)
    with sqlite3.connect(tmp_path / "study.db") as plain:
        assert plain.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    with storage._connection(write=True) as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
