"""Building and checking the tables: Alembic upgrades them, and a schema newer than this version is refused."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from surepath.errors import StorageError

VERSION_TABLE = "surepath_version"
REVISIONS = ("0001",)  # oldest first
MIGRATIONS = Path(__file__).parent / "migrations"


def revision(connection: Connection) -> str | None:
    """Return the revision of the tables in a database, or None when it has none of ours."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
    return None if found is None else str(found)


def check_schema(connection: Connection) -> bool | None:
    """Return whether the tables are current, None when there are none; refuse those of a newer version."""
    found = revision(connection)
    if found is not None and found not in REVISIONS:
        raise StorageError(
            f"this database has schema {found}, made by a newer surepath; this version knows up to {REVISIONS[-1]}. "
            f"Upgrade surepath to open it"
        )
    return None if found is None else found == REVISIONS[-1]


def upgrade(connection: Connection) -> None:
    """Build the tables or bring them up to date, inside the caller's transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
