"""The tables of a study database, the statements of a log, addresses of databases, and their faults."""

from __future__ import annotations

import re
from typing import Any, get_args, get_type_hints
from urllib.parse import unquote

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from surepath._optional import need
from surepath._text import hidden, is_open
from surepath.errors import SettingError, StorageError
from surepath.study.trial import ActionRow, QueueRow, SnapshotRow, TrialRow

metadata = sa.MetaData()
TYPES: dict[Any, Any] = {int: sa.BigInteger, float: sa.Double, bool: sa.Boolean, bytes: sa.LargeBinary}  # else text
SCHEMA = "3"  # raised with every change of the tables


def _log(name: str, row: type[Any], key: str = "number") -> sa.Table:
    """Return the table of a log: a column for each field of its rows."""
    columns = []
    for field, kind in get_type_hints(row).items():
        kinds = get_args(kind) if type(None) in get_args(kind) else (kind,)
        own: dict[str, Any] = {"nullable": len(kinds) > 1, "primary_key": field == key, "autoincrement": False}
        columns.append(sa.Column(field, TYPES.get(kinds[0], sa.Text), **own))
    return sa.Table(name, metadata, _of_study(), *columns)


def _of_study() -> sa.Column[Any]:
    return sa.Column("study", sa.Integer, sa.ForeignKey("surepath_studies.id"), primary_key=True)


version = sa.Table("surepath_version", metadata, sa.Column("version_num", sa.Text, nullable=False))

# Long texts come last: SQLite need not read through them to get at the rest.
studies = sa.Table(
    "surepath_studies",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("problem_hash", sa.Text, nullable=False),
    sa.Column("options", sa.Text, nullable=False),
    sa.Column("settings", sa.Text, nullable=False),
    sa.Column("problem", sa.Text, nullable=False),
)

# A row a study, its lock: what every write changes, apart from what never changes.
COUNTERS = ("changes", "trials", "actions", "waiting", "stamp")
heads = sa.Table(
    "surepath_heads", metadata, _of_study(), *(sa.Column(name, sa.BigInteger, nullable=False) for name in COUNTERS)
)

# The random stamp of every change. A log restored from a backup goes on with the same numbers and other stamps.
changes = sa.Table(
    "surepath_changes",
    metadata,
    _of_study(),
    sa.Column("change", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("stamp", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

trials = _log("surepath_trials", TrialRow)
_OPEN = sa.text("state = 'running' OR state = 'expired' AND told IS NULL")
_OF = sa.text('"of" IS NOT NULL')
_REQUEST = sa.text("request IS NOT NULL")
sa.Index("surepath_trials_change", trials.c.study, trials.c.change, trials.c.number)
sa.Index("surepath_trials_running", trials.c.study, trials.c.lease, sqlite_where=_OPEN, postgresql_where=_OPEN)
sa.Index("surepath_trials_of", trials.c.study, trials.c.of, sqlite_where=_OF, postgresql_where=_OF)
sa.Index("surepath_trials_request", trials.c.study, trials.c.request, sqlite_where=_REQUEST, postgresql_where=_REQUEST)

actions = _log("surepath_actions", ActionRow)
queue = _log("surepath_queue", QueueRow)
snapshots = _log("surepath_snapshots", SnapshotRow, key="prefix")
requests = sa.Table(
    "surepath_requests",
    metadata,
    _of_study(),
    sa.Column("request", sa.Text, primary_key=True),
    sa.Column("content", sa.Text, nullable=False),
)

_STUDY: sa.BindParameter[int] = sa.bindparam("the_study")
_NUMBER: sa.BindParameter[int] = sa.bindparam("the_number")
_LIMIT: sa.BindParameter[int] = sa.bindparam("the_limit")
_IS_OPEN = (trials.c.state == sa.text("'running'")) | (  # written out, so that the partial index serves
    (trials.c.state == sa.text("'expired'")) & trials.c.told.is_(None)
)
_TRIAL = sa.select(*(trials.c[name] for name in TrialRow._fields)).where(trials.c.study == _STUDY)

_FIRST_LEASE = (
    sa.select(sa.func.min(trials.c.lease))
    .where(trials.c.study == studies.c.id, _IS_OPEN)
    .correlate(studies)
    .scalar_subquery()
)
_KNOWN_STAMP = (
    sa.select(changes.c.stamp)
    .where(changes.c.study == studies.c.id, changes.c.change == sa.bindparam("the_known"))
    .correlate(studies)
    .scalar_subquery()
)
# One statement begins every transaction. On PostgreSQL it may wait for the lock; the counters are then those of the
# moment it was granted, clock and first lease may be those of the moment before.
ONE_STUDY = (
    sa.select(
        studies.c.id,
        studies.c.created,
        *(heads.c[name] for name in COUNTERS),
        _FIRST_LEASE.label("first_lease"),
        _KNOWN_STAMP.label("known_stamp"),
    )
    .join(heads, heads.c.study == studies.c.id)
    .where(studies.c.name == sa.bindparam("the_name"))
)
TIMED_STUDY = ONE_STUDY.add_columns(sa.text("extract(epoch FROM clock_timestamp()) AS now"))
LOCKED_STUDY = TIMED_STUDY.with_for_update(of=heads)
STUDY_NAMES = sa.select(studies.c.name).order_by(studies.c.name)
COUNT = sa.update(heads).where(heads.c.study == _STUDY).values({name: sa.bindparam(f"new_{name}") for name in COUNTERS})
STAMP = sa.select(changes.c.stamp).where(changes.c.study == _STUDY, changes.c.change == sa.bindparam("the_change"))
ADD_STAMP = sa.insert(changes).values(
    study=_STUDY, change=sa.bindparam("new_changes", type_=changes.c.change.type), stamp=sa.bindparam("new_stamp")
)
COUNT_AND_STAMP = COUNT.add_cte(ADD_STAMP.cte("stamped"))  # one round trip, which SQLite need not save

ONE_TRIAL = _TRIAL.where(trials.c.number == _NUMBER)
TRIALS = _TRIAL.where(trials.c.number >= _NUMBER).order_by(trials.c.number).limit(_LIMIT)
CHANGED = _TRIAL.where(
    trials.c.change > sa.bindparam("the_change"), trials.c.change <= sa.bindparam("the_last")
).order_by(trials.c.change, trials.c.number)
TRIALS_OF = _TRIAL.where(trials.c.of == _NUMBER).order_by(trials.c.number)
TRIALS_OF_REQUEST = _TRIAL.where(trials.c.request == sa.bindparam("the_request")).order_by(trials.c.number)
EXPIRED_TRIALS = (
    _TRIAL.where(_IS_OPEN, trials.c.lease < sa.bindparam("the_time")).order_by(trials.c.number).limit(_LIMIT)
)
SETTLED_BY = ("state", "lease", "told", "note", "cost", "tries", "rewards", "baseline", "change")
UPDATE_TRIAL = (  # what a report changes
    sa.update(trials)
    .where(trials.c.study == _STUDY, trials.c.number == _NUMBER)
    .where(trials.c.state.in_(("running", "expired", "cancelled")))
    .values({name: sa.bindparam(f"new_{name}") for name in SETTLED_BY})
)

_ACTION = sa.select(*(actions.c[name] for name in ActionRow._fields)).where(actions.c.study == _STUDY)
ACTIONS = _ACTION.where(actions.c.number > _NUMBER).order_by(actions.c.number)
TIGHTENED = _ACTION.where(actions.c.kind == "tighten")

QUEUE = (
    sa.select(*(queue.c[name] for name in QueueRow._fields))
    .where(queue.c.study == _STUDY)
    .order_by(queue.c.number)
    .limit(_LIMIT)
)
QUEUE_ENDS = sa.select(sa.func.min(queue.c.number), sa.func.max(queue.c.number)).where(queue.c.study == _STUDY)
TAKE_FROM_QUEUE = sa.delete(queue).where(queue.c.study == _STUDY, queue.c.number == _NUMBER)

REQUEST = sa.select(requests.c.content).where(
    requests.c.study == _STUDY, requests.c.request == sa.bindparam("the_request")
)

SNAPSHOT = (
    sa.select(*(snapshots.c[name] for name in SnapshotRow._fields))
    .where(snapshots.c.study == _STUDY)
    .order_by(snapshots.c.prefix.desc())
    .limit(1)
)
SNAPSHOT_PREFIX = sa.select(sa.func.max(snapshots.c.prefix)).where(snapshots.c.study == _STUDY)
DROP_SNAPSHOTS = sa.delete(snapshots).where(snapshots.c.study == _STUDY)


def check_schema(connection: sa.Connection) -> bool:
    """Return whether a database has the tables; refuse those of another version."""
    if not sa.inspect(connection).has_table(version.name):
        return False
    found = connection.execute(sa.select(version.c.version_num)).scalar()
    if found != SCHEMA:
        raise StorageError(
            f"this database has schema {found}, and this surepath reads {SCHEMA}; open it with the version that made "
            f"it, or with a newer one"
        )
    return True


def build_tables(connection: sa.Connection) -> None:
    """Build the tables, inside the caller's transaction."""
    metadata.create_all(connection)
    connection.execute(sa.insert(version).values(version_num=SCHEMA))


READ_ONLY = "the file or its folder is read-only"
MEMORY = ("memory", "memory://")
# No file name, and perhaps with a password in it.
_ALMOST_URL = re.compile(
    r"\s*(file|http|mysql|postgres|sqlite)[\w+]*:|[A-Za-z][\w+]+:/|[^/\\]{2,}:.*@|\w*//.*:.*@|.*\bpass\w*\s*=",
    re.DOTALL | re.IGNORECASE,
)


def read_url(text: str) -> URL:
    """Read a storage URL; a plain file name is a SQLite file."""
    if not isinstance(text, str) or not text:
        given = type(text).__name__ if text else "nothing"
        raise SettingError(f'storage must be a URL such as "sqlite:///study.db", not {given}')
    if text in MEMORY:
        return URL.create("sqlite")
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
    kind = url.get_backend_name()
    if kind == "postgresql":
        need("psycopg", "postgres")
        return url.set(drivername="postgresql+psycopg")
    if kind != "sqlite":
        raise StorageError(f'storage must be SQLite or PostgreSQL ("postgresql://..."), not "{kind}"')
    if url.database in (None, "", ":memory:"):
        raise StorageError('a SQLite study needs a file, "sqlite:///study.db"; or storage="memory"')
    return url


def shown(url: URL) -> str:
    """Write an address as it may be shown: without its secrets."""
    base, mark, query = url.set(drivername=url.get_backend_name()).render_as_string(hide_password=False).partition("?")
    return hidden(unquote(base) + mark + query)


WITHHELD = "the driver's message holds a secret of the address and is not shown"


class TransientError(StorageError):
    """A transaction that did not come through for a passing reason: a lost connection, a lock held for too long.

    It may have been committed or not; whoever repeats it must make sure that a second time changes nothing.
    """


FAULTS = {  # what SQLite says, and what we say of it
    "not a database|malformed": "is not a SQLite database, or it is damaged ({})",
    "readonly|read-only": f"cannot be written: {READ_ONLY}",
    "disk is full|no space left|disk i/o error": (
        "cannot be written: the disk is full or fails ({}); nothing was half-written"
    ),
    "unable to open": "cannot be opened: no permission, or it is a folder",
}


def storage_error(error: Exception, url: URL, known: bool = False) -> StorageError:
    """Turn a database error into one of ours, without the secrets of the address.

    `known` says that this database has answered before: where its socket is missing, it is being restarted.
    """
    place = str(url.database or "memory") if url.get_backend_name() == "sqlite" else shown(url)
    origin = getattr(error, "orig", None) or error
    said = str(origin).strip()  # several lines, where several addresses were tried
    cause = (said.splitlines() or [type(origin).__name__])[0]
    low, quoted = cause.lower(), re.findall(r'"([^"]{4,})"', said)  # servers quote the part that they refuse
    for secret in (url.password, *(str(value) for name, value in url.query.items() if not is_open(name, str(value)))):
        if secret and (secret in said or any(part in secret for part in quoted)):
            cause = WITHHELD
    for words, message in FAULTS.items():
        if re.search(words, low):
            return StorageError(f"{place} {message.format(cause)}")
    if "locked" in low or "busy" in low:
        return TransientError(f"{place} is locked by another writer for too long")
    if getattr(error, "connection_invalidated", False) or _passing(origin, low, known):
        return TransientError(f"no connection to {place} ({cause})")
    return StorageError(f"{place}: {cause}")


# PostgreSQL's classes of errors: connection lost, shutdown or start, a statement that took too long, deadlock and the
# like, too many connections, a lock not to be had in time, a transaction that hung.
PASSING_STATES = ("08", "57P", "57014", "40", "53300", "55P03", "25P03")
PASSING_WORDS = re.compile(
    "connection|server closed|terminating|shutting down|starting up|recovery mode|consuming input|could not receive"
    "|could not send"
)
NOT_PASSING = re.compile(  # no waiting helps
    "authentication|does not exist|unrecognized configuration|no password|pg_hba|ssl|certificate"
    "|name or service not known"
)
NO_SOCKET = "no such file or directory"


def _passing(origin: Exception, text: str, known: bool) -> bool:
    state = getattr(origin, "sqlstate", None)
    if state:
        return str(state).startswith(PASSING_STATES)
    kinds = {kind.__name__ for kind in type(origin).__mro__}
    whole = str(origin).lower()
    if not kinds & {"OperationalError", "InterfaceError"} or NOT_PASSING.search(whole):
        return False
    if NO_SOCKET in whole:
        return known
    return PASSING_WORDS.search(text) is not None
