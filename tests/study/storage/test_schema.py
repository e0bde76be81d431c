"""The tables: migrations build what `tables.py` says, old ones are upgraded, newer ones refused in words."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text

from surepath.errors import StorageError
from surepath.study.storage.engine import open_engine, read_url
from surepath.study.storage.schema import MIGRATIONS, REVISIONS, VERSION_TABLE, check_schema, upgrade
from surepath.study.storage.sql import SqlStorage
from surepath.study.storage.tables import metadata
from tests.study.storage.test_contract import RECORD


def test_migrations_and_tables_agree(url: str) -> None:
    SqlStorage(url).create(RECORD)
    engine = open_engine(read_url(url))
    with engine.connect() as connection:
        options = {"version_table": VERSION_TABLE, "compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []
        assert check_schema(connection) is True
    engine.dispose()


def test_the_list_of_revisions_is_that_of_the_scripts() -> None:
    scripts = ScriptDirectory(str(MIGRATIONS)).walk_revisions()
    assert [script.revision for script in scripts] == list(reversed(REVISIONS))


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


def test_a_newer_schema_is_refused_in_words(url: str) -> None:
    storage = SqlStorage(url)
    storage.create(RECORD)
    engine = create_engine(read_url(url))
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '0999'"))
    for do in (SqlStorage(url).names, lambda: SqlStorage(url).create(RECORD), lambda: SqlStorage(url).load("one")):
        with pytest.raises(StorageError, match=r"schema 0999, made by a newer surepath.*Upgrade surepath"):
            do()
    engine.dispose()


def test_an_interrupted_upgrade_leaves_nothing(url: str) -> None:
    engine = open_engine(read_url(url))
    with pytest.raises(ZeroDivisionError), engine.begin() as connection:  # noqa: PT012
        upgrade(connection)
        1 / 0
    with engine.connect() as connection:
        assert check_schema(connection) is None
    SqlStorage(url).create(RECORD)
    engine.dispose()


def test_two_who_create_at_once_both_find_the_tables(url: str) -> None:
    import threading
    from dataclasses import replace

    from surepath.study.storage.retry import retrying

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
