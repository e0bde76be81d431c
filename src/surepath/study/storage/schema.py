"""Building and checking the tables; a schema of another version is refused."""

from __future__ import annotations

from sqlalchemy import Connection, insert, inspect, select

from surepath.errors import StorageError
from surepath.study.storage.tables import SCHEMA, metadata, version


def check_schema(connection: Connection) -> bool:
    """Return whether a database has the tables; refuse those of another version."""
    if not inspect(connection).has_table(version.name):
        return False
    found = connection.execute(select(version.c.version_num)).scalar()
    if found != SCHEMA:
        raise StorageError(
            f"this database has schema {found}, and this surepath reads {SCHEMA}; open it with the version that made "
            f"it, or with a newer one"
        )
    return True


def build_tables(connection: Connection) -> None:
    """Build the tables, inside the caller's transaction."""
    metadata.create_all(connection)
    connection.execute(insert(version).values(version_num=SCHEMA))
