"""Fold the log of a study into a learner: trials counted, budgets spent, snapshots kept."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import time
import zlib
from collections.abc import Iterable, Sequence
from copy import copy, deepcopy
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from surepath._checks import FloatArray, IntArray, real
from surepath._version import __version__
from surepath.errors import BudgetError, RewardError, SettingError, StudyError, SurepathError, WaitingError
from surepath.learners.base import proven_gap
from surepath.model.mdp import MDP
from surepath.study.rounds import StudyRounds, learner_of
from surepath.study.storage import PAGE, Reading, Writing, missing_row
from surepath.study.trial import SCORED, SETTLED, SOURCES, ActionRow, QueueRow, SnapshotRow, TrialRow, counted_rewards

# Tally and spending ---------------------------------------------------------------------------------------------------
# A trial counts for what it was told to have cost; where nobody said, for the declared costs of the steps that were
# run: all of them when it is complete, the steps that were scored and the one that failed when it failed on the way
# (the first step alone when nothing was scored). A trial that expired counts in full, since nobody knows how far it
# came, until a late result says so. A cancelled trial was not run, and an imported one was paid for elsewhere: they
# count nothing.


def money(amount: float) -> str:
    """Write an amount: two decimals, or as many figures as a small one needs.

    Example:
        >>> money(12.5), money(1234.0), money(0.0042), money(0)
        ('12.50', '1,234.00', '0.0042', '0.00')
    """
    return f"{amount:.2g}" if 0 < abs(amount) < 0.01 else f"{amount:,.2f}"


class Tally:
    """Counts over the settled prefix of a log, and what its trials have cost; `cost` holds declared costs of arcs."""

    def __init__(self, cost: FloatArray | None = None) -> None:
        self._cost = cost
        self.states: dict[str, int] = dict.fromkeys(sorted(SETTLED), 0)
        self.sources: dict[str, int] = dict.fromkeys(SOURCES, 0)
        self.refused = 0  # trials whose rewards the learner could not take, in a log that was changed by hand
        self.outlived = 0  # results that came after the lease of their trial, which counted as lost by then
        self.spent = 0.0
        self.unreported = set[int]()  # numbers of expired trials, which count in full so far
        self.told = (0, 0.0, 0.0)  # trials that said what they cost, what that was together, and what was declared

    @property
    def scored(self) -> int:
        """Return how many trials have scores that count."""
        return sum(self.states[state] for state in SCORED) - self.sources["late"]

    @property
    def priced(self) -> bool:
        """Return whether anything is known to cost anything."""
        return self._cost is not None or self.told[0] > 0

    def count(self, row: TrialRow) -> None:
        """Count one settled trial."""
        self.states[row.state] += 1
        self.sources[row.source] += 1
        if row.state == "cancelled" or row.source == "imported":
            return
        if row.source == "late" and row.of in self.unreported:
            self.unreported.discard(row.of)
            self.outlived += 1
            self.spent -= self.price(row.path)
        if row.state == "expired":
            self.unreported.add(row.number)
        whole = row.state in ("complete", "expired")
        price = self.price(row.path if whole else row.path[: len(row.rewards) + 1])
        self.spent += price if row.cost is None else row.cost
        if row.cost is not None:
            count, paid, declared = self.told
            self.told = count + 1, paid + row.cost, declared + price

    def price(self, arcs: Iterable[int]) -> float:
        """Return the sum of the declared costs of some arcs."""
        return 0.0 if self._cost is None else math.fsum(self._cost[list(arcs)])

    def expected(self, path: Iterable[int]) -> float:
        """Return what a trial is expected to cost: as declared, in proportion to what such trials were told to cost."""
        count, paid, declared = self.told
        if not count:
            return self.price(path)
        return self.price(path) * paid / declared if declared > 0 else paid / count

    def with_rows(self, rows: Iterable[TrialRow]) -> Tally:
        """Return a copy with these rows counted too, those that still run as they are expected to cost."""
        later = deepcopy(self, {id(self._cost): self._cost})
        running = []
        for row in sorted(rows):
            if row.settled or row.state == "expired":
                later.count(row)
            else:
                running.append(row.path)
        later.spent += sum(map(later.expected, running))
        return later

    def as_tree(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {**deepcopy(self.__dict__), "_cost": None, "unreported": sorted(self.unreported)}

    def load(self, tree: dict[str, Any]) -> None:
        """Load what `as_tree` returned, perhaps through JSON."""
        own = {"_cost": self._cost, "unreported": set(tree["unreported"]), "told": tuple(tree["told"])}
        self.__dict__.update({**tree, **own})


def checked_budget(budget: float | None) -> float | None:
    """Check what a study may spend in all, in the unit of its costs; None where nothing limits it."""
    if budget is None:
        return None
    limit = real("budget", budget)
    if limit <= 0:
        raise SettingError(f"a budget is a positive amount, not {limit:g}")
    return limit


def affordable(spent: float, prices: Iterable[float], budget: float) -> int:
    """Count the next trials that fit into the budget, or raise an error that says why none does."""
    count = 0
    for price in prices:
        if spent + price > budget * (1 + 1e-12):
            if count == 0:
                raise BudgetError(
                    f"the budget of {money(budget)} is spent: {money(spent)} are spent or under way, and the next "
                    f"trial costs {money(price)}; no trial was assigned"
                )
            break
        spent, count = spent + price, count + 1
    return count


# Fold -----------------------------------------------------------------------------------------------------------------
# Trials enter in the order in which they were asked for. Only the longest prefix of trials that are all settled enters;
# results that come ahead of it wait, and count as pending plays until their turn comes. So what is proven does not
# depend on which results come in first, even if quick trials are the good ones (docs, "Crashes, failures, budgets"). A
# result that comes after its trial was given up, and counted as lost, stays in the log and out of the proof, which is
# in doubt from then on: slow trials were left out. The state is a function of the log alone: another worker, or a
# replay elsewhere, has the same active arcs, incumbent, next plan and stop.

FEW_AHEAD = 4  # results that may wait before it is tried whether they suffice
MOST_PENDING = 256  # pending plays that count one by one when a plan is chosen; the newest ones
SAVE_EVERY = 100  # trials folded in between two snapshots
SAVE_SECONDS = 0.5  # or time spent on folding them: what an opening study has to repeat
SMALL_SNAPSHOT = 200_000  # bytes that any snapshot may take
SNAPSHOT_BYTES = 200  # and as many more for each trial that it saves from being folded again


class Point(NamedTuple):
    """What was proven after some trials."""

    trials: int  # settled ones
    gap: float  # infinite while nothing was proven
    epsilon: float  # what was asked for at that time
    plan: int  # a number that differs between plans


class Fold:
    """A learner fed with the settled prefix of a log."""

    def __init__(self, mdp: MDP, settings: dict[str, Any], on_failure: str, seed: str) -> None:
        self.mdp, self.settings, self.on_failure, self._seed = mdp, settings, on_failure, seed
        self._reset()

    def anew(self) -> Fold:
        """Return a fold of the same study that has read nothing yet."""
        return Fold(self.mdp, self.settings, self.on_failure, self._seed)

    def _reset(self) -> None:
        self.learner = learner_of(self.settings, self.mdp)
        self.prefix = self.actions = 0  # numbers of the last trial and the last action that were folded in
        self.change, self.saved = 0, 0  # the last change of the log that was read; the prefix of the last snapshot
        self.seconds = 0.0  # spent on folding since the last snapshot
        self._torn = False  # whether a step was interrupted, so that the learner may be half updated
        self.stamp: int | None = None  # of that change
        self._unread = False  # whether reading was interrupted, so that the window may lack trials
        self._view: tuple[tuple[int, int], Any] | None = None
        self._told: tuple[tuple[int, int], Any, set[int]] = ((-1, -1), None, set())  # see `_told_all`
        self.window: dict[int, TrialRow] = {}  # trials after the prefix, by number
        self._coming: list[ActionRow] = []
        self.tally = Tally(self.mdp.cost)
        self.digest = hashlib.sha256(self._seed.encode()).hexdigest()  # over settings, prefix and actions, in order
        self.proof: dict[str, Any] | None = None  # from the moment of the stop on: the evidence that proved the answer
        self.trace: list[Point] = []  # what was proven on the way
        self._note_proof()

    # Reading the log ---------------------------------------------------------------------------------------------

    def sync(self, log: Reading) -> None:
        """Read what is new in the log and fold in what is settled; interrupted, it goes on from where it was."""
        last = log.last_change
        replaced = last < self.change or (self.change and log.stamp(self.change) != self.stamp)
        if self._torn or replaced:  # interrupted amid a step, or a backup was restored
            self._reset()
        if self.prefix == 0 and not self.window and last > self.change:
            self._load(log)
        if last == self.change and not self._unread:
            return
        begun = time.perf_counter()
        self._coming.extend(log.actions_after(self._coming[-1].number if self._coming else self.actions))
        if self.change == 0 or self._unread or log.last_number - self.prefix > PAGE + len(self.window):
            self._unread, self.change, self.stamp = True, last, log.stamp(last)
            self.window.clear()
            first = self.prefix + 1
            while rows := log.trials(first, PAGE):
                first = rows[-1].number + 1
                self.take(rows)
        else:
            self.take(log.trials_changed_after(self.change))
        self._advance()  # there may be decisions and no trial
        if len(self.window) < log.last_number - self.prefix:
            missing = next(n for n in range(self.prefix + 1, log.last_number + 1) if n not in self.window)
            raise missing_row("trial", missing)
        self._unread, self.change, self.stamp = False, last, log.stamp(last)
        self.seconds += time.perf_counter() - begun

    def take(self, rows: Iterable[TrialRow]) -> None:
        """Take in rows of the log, and fold in those whose turn has come."""
        self.window.update((row.number, row) for row in rows if row.number > self.prefix)
        self._advance()

    def _advance(self) -> None:
        while True:
            action = self._coming[0] if self._coming else None
            row = self.window.get(self.prefix + 1)
            if action is not None and action.after <= self.prefix:
                self._torn = True
                try:
                    self._act(action)
                except (SurepathError, AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
                    raise StudyError(f"action {action.number} of the log is damaged: {error}") from error
                del self._coming[0]
                if self.trace and self.trace[-1].trials == self.prefix:
                    self.trace[-1] = self.now()
            elif row is not None and row.settled:
                self._torn = True
                self.prefix = row.number
                self._fold(row)
                del self.window[row.number]
                if not self.trace or self.prefix >= self.trace[-1].trials + max(1, self.prefix // 100):
                    self.trace.append(self.now())
            else:
                return
            self._torn = False

    @property
    def view(self) -> Any:
        """Return a copy of the learner to read from: what is read, and when, must not change what the log decides."""
        key = (self.prefix, self.actions)
        if self._view is None or self._view[0] != key:
            self._view = key, self.copy()
        return self._view[1]

    def now(self) -> Point:
        """Return what is proven now; asking the learner itself might change what it decides later."""
        view = self.copy(watch=False)
        return Point(self.prefix, proven_gap(view), float(view.epsilon), zlib.crc32(view.recommend().tobytes()))

    def copy(self, *, watch: bool = True) -> Any:
        """Copy the learner, all but the graph, which never changes, and its watch, which may be large, if wanted."""
        kept = {id(part): part for part in (self.learner.mdp, self.learner.graph)}
        return deepcopy(self.learner, kept if watch else {**kept, id(self.learner._watch): SimpleNamespace()})

    def frozen(self) -> Fold:
        """Return the fold as it is now; the study may go on with its own."""
        still = copy(self)
        still.learner, still.tally = self.copy(), deepcopy(self.tally)
        still.window, still._coming, still.trace = dict(self.window), list(self._coming), list(self.trace)
        still._view = (self.prefix, self.actions), still.learner
        return still

    def _fold(self, row: TrialRow) -> None:
        try:
            self.tally.refused += not self._feed(self.learner, row)
            self.tally.count(row)
        except (SurepathError, LookupError, TypeError, ValueError) as error:
            raise StudyError(f"trial {row.number} of the log is damaged: {error}") from error
        self.learner._watch.refused, self.learner._watch.late = self.tally.refused, self.tally.outlived
        taken_off = [row.baseline] if row.baseline else []
        self._chain([row.number, row.state, row.path, row.rewards, row.source, row.of, *taken_off])
        self._note_proof()

    def _feed(self, learner: Any, row: TrialRow) -> bool:
        """Tell a learner what came of a trial; return whether it could take it."""
        path = np.array(row.path, dtype=np.int64)
        rewards = counted_rewards(self.mdp, row, self.on_failure)
        failed_at = len(row.rewards) if len(rewards) > len(row.rewards) else None
        try:
            if rewards:
                learner.tell(path, rewards, failed_at=failed_at)
            elif row.state in ("failed", "expired"):
                learner.fail(path)
        except RewardError:
            return False
        return True

    def _act(self, action: ActionRow) -> None:
        content = action.content
        if action.kind == "exclude":
            self.learner.exclude(np.array(content, dtype=np.int64))
            self.proof = None  # it was about the plans that were feasible then
        elif action.kind == "tighten":
            self.learner.tighten(float(content))
            if self.proof is not None and self.proof["gap"] > float(content):
                self.proof = None  # it proved what was asked for then; what stops now proves more
        self.actions = action.number
        self._chain([action.number, action.after, action.kind, content])
        self._note_proof()

    def _chain(self, entry: list[Any]) -> None:
        self.digest = hashlib.sha256((self.digest + json.dumps(entry)).encode()).hexdigest()

    def _note_proof(self) -> None:
        if not self.learner.stopped:
            self.proof = None
        elif self.proof is None:
            self.proof = {
                "prefix": self.prefix,
                "actions": self.actions,
                "digest": self.digest,
                "tally": self.tally.as_tree(),
                "path": self.learner.recommend(),
                "gap": float(self.learner.certified_gap()),
                "evidence": self.learner._evidence(),
            }

    @property
    def spent(self) -> float | None:
        """Return what settled trials have cost, those that wait for their turn included; None where nothing costs."""
        rows = (row for row in self.window.values() if row.settled or row.state == "expired")
        tally = self.tally.with_rows(rows)
        return tally.spent if tally.priced else None

    def committed(self) -> Tally:
        """Return what settled and running trials cost; one that has not said it counts as expected."""
        tally = self.tally.with_rows(self.window.values())
        if not tally.priced and self.tally.states["complete"]:
            raise SettingError(
                "a budget needs costs, and neither does an option have one nor was one told: give options a cost, or "
                "tell(..., cost=...)"
            )
        return tally

    # Results that wait for their turn -----------------------------------------------------------------------------

    @property
    def ahead(self) -> list[TrialRow]:
        """List the settled trials that count only once an earlier one is settled too, by number."""
        return [self.window[number] for number in sorted(self.window) if self.window[number].settled]

    def _told_all(self) -> Any:
        """Return a copy of the learner that was told what waits too; None unless far more waits than runs.

        Evidence counts in the order of trials, but what is played next may depend on all that came in: one slow or dead
        trial must not make all after it blind. The copy is told in the order of the log's changes.
        """
        waiting = [row for row in self.window.values() if row.settled]
        if self.learner.stopped or self._coming or len(waiting) < 2 * (len(self.window) - len(waiting)) + FEW_AHEAD:
            return None
        key = (self.prefix, self.actions)
        if self._told[0] != key:
            self._told = key, self.copy(), set()
        _, learner, told = self._told
        for row in sorted((row for row in waiting if row.number not in told), key=lambda row: (row.change, row.number)):
            told.add(row.number)  # first: interrupted amid the next line, it must not be told twice
            self._feed(learner, row)
        return learner

    def enough(self) -> bool:
        """Return whether what waits would end the study if the trials that still run were left out.

        Further trials would then be wasted, most likely.
        """
        if isinstance(self.learner, StudyRounds):  # all plans of the round are assigned
            return not self.learner.stopped and not len(self.learner.left(self.pending()))
        learner = self._told_all()
        return learner is not None and bool(learner.stopped)

    # Choosing ----------------------------------------------------------------------------------------------------

    def pending(self, *, running: bool = False) -> list[tuple[int, ...]]:
        """List the paths of trials that run or are awaited and, unless `running`, of results that wait, by number."""
        rows = [self.window[number] for number in sorted(self.window)]
        paths = [
            row.path
            for row in rows
            if not row.settled or (not running and row.state in SCORED and row.source != "late")
        ]
        return paths if isinstance(self.learner, StudyRounds) else paths[-MOST_PENDING:]

    def choose(self, n: int, beside: Iterable[tuple[int, ...]] = ()) -> IntArray:
        """Choose the next n paths; the same log gives the same paths."""
        told: Any = None if isinstance(self.learner, StudyRounds) else self._told_all()
        learner = self.learner if told is None or told.stopped else told
        plays = [*self.pending(running=learner is told), *beside]
        paths: IntArray = learner.ask_beside(np.array(plays, dtype=np.int64).reshape(-1, self.mdp.horizon), n)
        return paths

    def next_plans(self, log: Writing, n: int, budget: float | None, beside: Sequence[TrialRow] = ()) -> list[QueueRow]:
        """Choose up to n plans; fewer where a budget ends before, and a BudgetError where not even one fits into it.

        `beside` are the trials that this transaction has assigned already.
        """
        plans, taken = self._from_queue(log, n), [row.path for row in beside]
        if len(plans) < n:
            try:
                for path in self.choose(n - len(plans), [*taken, *(plan.path for plan in plans)]).tolist():
                    plans.append(QueueRow(0, tuple(path), "asked"))
            except WaitingError:
                if not plans:
                    raise
        if budget is not None:
            tally = self.committed()
            spent = tally.spent + sum(map(tally.expected, taken))
            kept = affordable(spent, [tally.expected(plan.path) for plan in plans], budget)
            for plan in reversed(plans[kept:]):
                if plan.source != "asked":
                    log.add_to_queue(plan, front=True)
            plans = plans[:kept]
        return plans

    def _from_queue(self, log: Writing, n: int) -> list[QueueRow]:
        """Take up to n waiting plans from the front; those with an excluded option, or of no more use, are dropped.

        In rounds a plan is of use while the trial that it repeats is awaited.
        """
        plans: list[QueueRow] = []
        while len(plans) < n and (waiting := log.queue(n - len(plans))):
            excluded = self.learner.excluded
            for plan in waiting:
                log.take_from_queue(plan.number)
                of = self.window.get(plan.of or 0)
                wanted = not isinstance(self.learner, StudyRounds) or (of is not None and not of.settled)
                if wanted and not excluded[list(plan.path)].any():
                    plans.append(plan)
        return plans

    # Snapshots ---------------------------------------------------------------------------------------------------

    def snapshot(self) -> SnapshotRow:
        """Return the state as bytes, and count it as saved."""
        self.saved, self.seconds = self.prefix, 0.0
        tree = {
            "of": self._origin(self.prefix, self.actions),
            "read": [self.change, self.stamp],
            "learner": self.learner.snapshot(),
            "tally": self.tally.as_tree(),
            "digest": self.digest,
            "proof": self.proof,
            "trace": self.trace,
        }
        return SnapshotRow(self.prefix, self.actions, encode_tree(tree))

    def save(self, log: Writing) -> None:
        """Save a snapshot now and then, so that opening the study is quick; none that is large beside the log."""
        if self.prefix < self.saved + SAVE_EVERY and self.seconds < SAVE_SECONDS:
            return
        kept = log.snapshot_prefix()  # another worker may have saved one
        if kept > self.prefix - SAVE_EVERY // 2:
            self.saved, self.seconds = kept, 0.0
            return
        row = self.snapshot()
        if len(row.content) <= SMALL_SNAPSHOT + SNAPSHOT_BYTES * self.prefix:
            log.save_snapshot(row)

    def _origin(self, prefix: int, actions: int) -> list[Any]:
        """Return what a snapshot belongs to: another study's, or another version's, is of no use."""
        return [__version__, hashlib.sha256(self._seed.encode()).hexdigest(), prefix, actions]

    def _load(self, log: Reading) -> None:
        """Load the snapshot, if it was made of this log; one that cannot be read is ignored: the log has everything."""
        row = log.snapshot()
        if row is None or row.prefix > log.last_number:
            return
        try:
            tree = decode_tree(row.content)
            change, stamp = tree["read"]
            if tree["of"] != self._origin(row.prefix, row.actions) or log.stamp(int(change)) != stamp:
                return
            self.learner.restore(tree["learner"])
            self.tally.load(tree["tally"])
            self.digest, self.proof = tree["digest"], tree["proof"]
            self.trace = [Point(*point) for point in tree["trace"]]
        except Exception:  # whatever is wrong with a cache, the log is the truth
            self._reset()
            return
        self.prefix, self.actions = int(row.prefix), int(row.actions)
        self._coming = [action for action in self._coming if action.number > self.actions]
        self.saved, self.seconds = self.prefix, 0.0


def encode_tree(tree: Any) -> bytes:
    """Write a tree of dicts, lists, numbers, texts, None and arrays."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return {"$array": [str(value.dtype), value.shape, base64.b64encode(value.tobytes()).decode()]}
        return value.item()

    return zlib.compress(json.dumps(tree, default=plain).encode())


def decode_tree(content: bytes) -> Any:
    """Read what `encode_tree` wrote."""

    def rich(value: dict[str, Any]) -> Any:
        if value.keys() != {"$array"}:
            return value
        kind, shape, data = value["$array"]
        return np.frombuffer(base64.b64decode(data), dtype=kind).reshape(shape).copy()

    return json.loads(zlib.decompress(content), object_hook=rich)
