"""The statements of a study's log, built once, so that SQLAlchemy compiles each a single time."""

from __future__ import annotations

from sqlalchemy import BindParameter, bindparam, delete, func, insert, select, text, update

from surepath.study.storage.records import ActionRow, QueueRow, SnapshotRow, TrialRow
from surepath.study.storage.tables import actions, heads, queue, requests, snapshots, studies, trials
from surepath.study.trial import CANCELLED, EXPIRED, RUNNING

_STUDY: BindParameter[int] = bindparam("the_study")
_NUMBER: BindParameter[int] = bindparam("the_number")
_LIMIT: BindParameter[int] = bindparam("the_limit")
_IS_OPEN = (trials.c.state == text(f"'{RUNNING}'")) | (  # written out, so that the partial index serves
    (trials.c.state == text(f"'{EXPIRED}'")) & trials.c.told.is_(None)
)
_OF_FORMAT = (snapshots.c.study == _STUDY) & (snapshots.c.format == bindparam("the_format"))
_TRIAL = select(*(trials.c[name] for name in TrialRow._fields)).where(trials.c.study == _STUDY)

COUNTERS = ("changes", "trials", "actions", "waiting")
_FIRST_LEASE = (
    select(func.min(trials.c.lease))
    .where(trials.c.study == studies.c.id, _IS_OPEN)
    .correlate(studies)
    .scalar_subquery()
)
# One statement begins every transaction. On PostgreSQL it may wait for the lock; the counters are then those of the
# moment it was granted, clock and first lease may be those of the moment before.
ONE_STUDY = (
    select(studies.c.id, studies.c.created, *(heads.c[name] for name in COUNTERS), _FIRST_LEASE.label("first_lease"))
    .join(heads, heads.c.study == studies.c.id)
    .where(studies.c.name == bindparam("the_name"))
)
TIMED_STUDY = ONE_STUDY.add_columns(text("extract(epoch FROM clock_timestamp()) AS now"))
LOCKED_STUDY = TIMED_STUDY.with_for_update(of=heads)
STUDY_NAMES = select(studies.c.name).order_by(studies.c.name)
COUNT = update(heads).where(heads.c.study == _STUDY).values({name: bindparam(f"new_{name}") for name in COUNTERS})

ONE_TRIAL = _TRIAL.where(trials.c.number == _NUMBER)
TRIALS = _TRIAL.where(trials.c.number >= _NUMBER).order_by(trials.c.number).limit(_LIMIT)
CHANGED = (
    _TRIAL.where(trials.c.change > bindparam("the_change"), trials.c.change <= bindparam("the_last"))
    .order_by(trials.c.change, trials.c.number)
    .limit(_LIMIT)
)
TRIALS_OF = _TRIAL.where(trials.c.of == _NUMBER).order_by(trials.c.number)
TRIALS_OF_REQUEST = _TRIAL.where(trials.c.request == bindparam("the_request")).order_by(trials.c.number)
EXPIRED_TRIALS = _TRIAL.where(_IS_OPEN, trials.c.lease < bindparam("the_time")).order_by(trials.c.number).limit(_LIMIT)
ADD_TRIAL = insert(trials)
UPDATE_TRIAL = (
    update(trials)
    .where(trials.c.study == _STUDY, trials.c.number == _NUMBER, trials.c.state.in_((RUNNING, EXPIRED, CANCELLED)))
    .values({name: bindparam(f"new_{name}") for name in ("state", "rewards", "lease", "told", "note", "change")})
)

ACTIONS = (
    select(*(actions.c[name] for name in ActionRow._fields))
    .where(actions.c.study == _STUDY, actions.c.number > _NUMBER)
    .order_by(actions.c.number)
)
ADD_ACTION = insert(actions)

QUEUE = (
    select(*(queue.c[name] for name in QueueRow._fields))
    .where(queue.c.study == _STUDY)
    .order_by(queue.c.number)
    .limit(_LIMIT)
)
QUEUE_ENDS = select(func.min(queue.c.number), func.max(queue.c.number)).where(queue.c.study == _STUDY)
ADD_TO_QUEUE = insert(queue)
TAKE_FROM_QUEUE = delete(queue).where(queue.c.study == _STUDY, queue.c.number == _NUMBER)

REQUEST = select(requests.c.study).where(requests.c.study == _STUDY, requests.c.request == bindparam("the_request"))
ADD_REQUEST = insert(requests)

SNAPSHOT = (
    select(*(snapshots.c[name] for name in SnapshotRow._fields))
    .where(_OF_FORMAT)
    .order_by(snapshots.c.prefix.desc())
    .limit(1)
)
SNAPSHOT_PREFIX = select(func.max(snapshots.c.prefix)).where(_OF_FORMAT)
DROP_SNAPSHOTS = delete(snapshots).where(_OF_FORMAT)
ADD_SNAPSHOT = insert(snapshots)
