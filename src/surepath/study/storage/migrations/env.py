"""Alembic's entry point: upgrades run inside the transaction that surepath has opened."""

from alembic import context

from surepath.study.storage.schema import VERSION_TABLE
from surepath.study.storage.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=False,  # the caller's transaction holds everything
)
context.run_migrations()
