"""The tables of a study database; `migrations/` builds them, and a test compares the two."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    text,
)

metadata = MetaData()

STUDY_KEY = "surepath_studies.id"

# Long texts come last: SQLite need not read through them to get at the rest.
studies = Table(
    "surepath_studies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("created", Double, nullable=False),
    Column("version", Text, nullable=False),
    Column("problem_hash", Text, nullable=False),
    Column("options", Text, nullable=False),
    Column("settings", Text, nullable=False),
    Column("problem", Text, nullable=False),
)

# A row a study, its lock: what every write changes, apart from what never changes.
heads = Table(
    "surepath_heads",
    metadata,
    Column("study", Integer, ForeignKey(STUDY_KEY), primary_key=True),
    Column("changes", BigInteger, nullable=False),
    Column("trials", BigInteger, nullable=False),
    Column("actions", BigInteger, nullable=False),
    Column("waiting", BigInteger, nullable=False),
)

trials = Table(
    "surepath_trials",
    metadata,
    Column("study", Integer, ForeignKey(STUDY_KEY), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("state", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("of", BigInteger),
    Column("rewards", Text, nullable=False),
    Column("worker", Text, nullable=False),
    Column("asked", Double, nullable=False),
    Column("lease", Double, nullable=False),
    Column("told", Double),
    Column("note", Text, nullable=False),
    Column("request", Text),
    Column("change", BigInteger, nullable=False),
)
_OPEN = text("state = 'running' OR state = 'expired' AND told IS NULL")
_LINKED = text('"of" IS NOT NULL')
_REQUESTED = text("request IS NOT NULL")
Index("surepath_trials_change", trials.c.study, trials.c.change, trials.c.number)
Index("surepath_trials_running", trials.c.study, trials.c.lease, sqlite_where=_OPEN, postgresql_where=_OPEN)
Index("surepath_trials_of", trials.c.study, trials.c.of, sqlite_where=_LINKED, postgresql_where=_LINKED)
Index("surepath_trials_request", trials.c.study, trials.c.request, sqlite_where=_REQUESTED, postgresql_where=_REQUESTED)

actions = Table(
    "surepath_actions",
    metadata,
    Column("study", Integer, ForeignKey(STUDY_KEY), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("after", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("change", BigInteger, nullable=False),
)

queue = Table(
    "surepath_queue",
    metadata,
    Column("study", Integer, ForeignKey(STUDY_KEY), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("path", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("of", BigInteger),
    Column("at", Double, nullable=False),
)

requests = Table(
    "surepath_requests",
    metadata,
    Column("study", Integer, ForeignKey(STUDY_KEY), primary_key=True),
    Column("request", Text, primary_key=True),
)

snapshots = Table(
    "surepath_snapshots",
    metadata,
    Column("study", Integer, ForeignKey(STUDY_KEY), primary_key=True),
    Column("format", Integer, primary_key=True, autoincrement=False),
    Column("prefix", BigInteger, primary_key=True, autoincrement=False),
    Column("actions", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
)
