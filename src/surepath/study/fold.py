"""The learner as a fold over the log: trials enter in the order in which they were asked for.

Only the longest prefix of trials that are all settled enters; results that come ahead of it wait, and count as
pending plays until their turn comes. So what is proven does not depend on which results come in first, even if quick
trials are the good ones (docs, "Crashes, failures, budgets"). A result that comes after its trial was given up, and
counted as lost, stays in the log and out of the proof, which is in doubt from then on: slow trials were left out. The
state is a function of the log alone: another worker, or a replay elsewhere, has the same active arcs, incumbent, next
plan and stop.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import numpy as np

from surepath._types import IntArray
from surepath._version import __version__
from surepath.errors import RewardError, StudyError, SurepathError
from surepath.learners.registry import build
from surepath.model.mdp import MDP
from surepath.study.storage import (
    ENCODING_FORMAT,
    PAGE,
    ActionRow,
    Reading,
    SnapshotRow,
    TrialRow,
    Writing,
    decode_tree,
    encode_tree,
    missing_row,
)
from surepath.study.tally import Tally
from surepath.study.trial import EXPIRED, FAILED, LATE, PARTIAL, SCORED, WORST

FEW_AHEAD = 4  # results that may wait before it is tried whether they suffice
MOST_PENDING = 256  # pending plays that count one by one when a plan is chosen; the newest ones
_ALL = 2**31
SAVE_EVERY = 500  # trials folded in between two snapshots
SAVE_SECONDS = 0.5  # or time spent on folding them: what an opening study has to repeat
MOST_REPLAYED = 20_000  # trials that another learner is fed one by one, for a certificate or the gap over the trials
EXCLUDE, TIGHTEN = "exclude", "tighten"


class Fold:
    """A learner fed with the settled prefix of a log.

    Attributes:
        learner: What the prefix has made of it.
        prefix: Number of the last trial folded in.
        actions: Number of the last action folded in.
        change: Last change of the log that was read.
        stamp: The stamp of that change.
        window: Trials after the prefix, by number.
        digest: Hash over settings, prefix and actions, in order.
        proof: From the moment of the stop on: the evidence that proved the answer; else None.
    """

    def __init__(self, mdp: MDP, settings: dict[str, Any], on_failure: str, seed: str) -> None:
        self.mdp, self.settings, self.on_failure, self._seed = mdp, settings, on_failure, seed
        self._reset()

    def _reset(self) -> None:
        self.learner = build(self.settings, self.mdp)
        self.prefix = self.actions = self.change = self.saved = 0
        self.seconds = 0.0  # spent on folding since the last snapshot
        self._torn = False  # whether a step was interrupted, so that the learner may be half updated
        self.stamp: int | None = None
        self._unread = False  # whether reading was interrupted, so that the window may lack trials
        self._view: tuple[tuple[int, int], Any] | None = None
        self._tried: tuple[tuple[int, int], int, bool] = ((-1, -1), 0, False)  # what `enough` found, and at how many
        self.window: dict[int, TrialRow] = {}
        self._coming: list[ActionRow] = []
        self.tally = Tally(self.mdp.n_arcs, self.mdp.cost)
        self.digest = hashlib.sha256(self._seed.encode()).hexdigest()
        self.proof: dict[str, Any] | None = None
        self._note_proof()

    # Reading the log ---------------------------------------------------------------------------------------------

    def sync(self, log: Reading) -> None:
        """Read what is new in the log and fold in what is settled; interrupted, it goes on from where it was."""
        last = log.last_change()
        replaced = last < self.change or (self.change and log.stamp(self.change) != self.stamp)
        if self._torn or replaced:  # interrupted amid a step, or a backup was restored
            self._reset()
        if self.prefix == 0 and not self.window and last > self.change:
            self._load(log)
        if last == self.change and not self._unread:
            return
        begun = time.perf_counter()
        self._coming.extend(log.actions_after(self._coming[-1].number if self._coming else self.actions))
        if self.change == 0 or self._unread or log.last_number() - self.prefix > PAGE + len(self.window):
            self._unread, self.change, self.stamp = True, last, log.stamp(last)
            self.window.clear()
            first = self.prefix + 1
            while rows := log.trials(first, PAGE):
                first = rows[-1].number + 1
                self._take(rows)
        else:
            self._take(log.trials_changed_after(self.change, _ALL))
        self._advance()  # there may be decisions and no trial
        if len(self.window) < log.last_number() - self.prefix:
            missing = next(n for n in range(self.prefix + 1, log.last_number() + 1) if n not in self.window)
            raise missing_row("trial", missing)
        self._unread, self.change, self.stamp = False, last, log.stamp(last)
        self.seconds += time.perf_counter() - begun

    def _take(self, rows: Iterable[TrialRow]) -> None:
        self.window.update((row.number, row) for row in rows if row.number > self.prefix)
        self._advance()

    def _advance(self) -> None:
        while True:
            action = self._coming[0] if self._coming else None
            row = self.window.get(self.prefix + 1)
            if action is not None and action.after <= self.prefix:
                self._torn = True
                self._act(action)
                del self._coming[0]
            elif row is not None and row.settled:
                self._torn = True
                self.prefix = row.number
                self._fold(row)
                del self.window[row.number]
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

    def copy(self) -> Any:
        """Copy the learner, all but the graph, which never changes."""
        return deepcopy(self.learner, {id(part): part for part in (self.learner.mdp, self.learner.graph)})

    def _fold(self, row: TrialRow) -> None:
        try:
            self.tally.refused += not self._feed(self.learner, row)
            self.tally.count(row)
        except (SurepathError, LookupError, TypeError, ValueError) as error:
            raise StudyError(f"trial {row.number} of the log is damaged: {error}") from error
        self.learner._watch.refused, self.learner._watch.late = self.tally.refused, self.tally.outlived
        self._chain([row.number, row.state, row.path, row.rewards, row.source, row.of])
        self._note_proof()

    def _feed(self, learner: Any, row: TrialRow) -> bool:
        """Tell a learner what came of a trial; return whether it could take it."""
        path = np.array(row.path, dtype=np.int64)
        rewards = counted_rewards(self.mdp, row, self.on_failure)
        failed_at = len(row.rewards) if len(rewards) > len(row.rewards) else None
        try:
            if rewards:
                learner.tell(path, rewards, failed_at=failed_at)
            elif row.state in (FAILED, EXPIRED):
                learner.fail(path)
        except RewardError:
            return False
        return True

    def _act(self, action: ActionRow) -> None:
        content = json.loads(action.content)
        if action.kind == EXCLUDE:
            self.learner.exclude(np.array(content, dtype=np.int64))
            self.proof = None  # it was about the plans that were feasible then
        else:
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
                "tally": deepcopy(self.tally.as_tree()),
                "path": self.learner.recommend(),
                "gap": float(self.learner.certified_gap()),
                "evidence": self.learner._evidence(),
            }

    @property
    def spent(self) -> float | None:
        """Return what settled trials have cost, those that wait for their turn included; None where nothing costs."""
        return self._spent(row for row in self.window.values() if row.settled or row.state == EXPIRED)

    @property
    def committed(self) -> float | None:
        """Return what settled and running trials cost, each running one its full price; None where nothing costs."""
        return self._spent(self.window.values())

    def _spent(self, rows: Iterable[TrialRow]) -> float | None:
        spending = self.tally.spending
        return None if spending is None else spending.with_rows(rows).total

    # Results that wait for their turn -----------------------------------------------------------------------------

    @property
    def ahead(self) -> list[TrialRow]:
        """List the settled trials that count only once an earlier one is settled too, by number."""
        return [self.window[number] for number in sorted(self.window) if self.window[number].settled]

    def enough(self) -> bool:
        """Return whether what waits would end the study if the trials that still run were left out.

        It is tried on a copy of the learner, where far more wait than run (else their turn comes soon), and again
        when a quarter more do. Further trials would then be wasted, most likely.
        """
        key, waiting = (self.prefix, self.actions), sum(row.settled for row in self.window.values())
        if self.learner.stopped or self._coming or waiting < 2 * (len(self.window) - waiting) + FEW_AHEAD:
            return False
        of, tried, found = self._tried
        if of != key or (not found and waiting >= 1.25 * tried):
            learner = self.copy()
            for row in self.ahead:
                self._feed(learner, row)
            self._tried = key, waiting, bool(learner.stopped)
        return self._tried[2]

    # Choosing ----------------------------------------------------------------------------------------------------

    def pending(self) -> list[tuple[int, ...]]:
        """List the paths of trials that run or are awaited, or whose results wait for their turn, by number."""
        rows = [self.window[number] for number in sorted(self.window)[-MOST_PENDING:]]
        return [row.path for row in rows if not row.settled or (row.state in SCORED and row.source != LATE)]

    def choose(self, n: int, beside: Iterable[tuple[int, ...]] = ()) -> IntArray:
        """Choose the next n paths; the same log gives the same paths."""
        plays = [*self.pending(), *beside]
        paths: IntArray = self.learner.ask_beside(np.array(plays, dtype=np.int64).reshape(-1, self.mdp.horizon), n)
        return paths

    # Snapshots ---------------------------------------------------------------------------------------------------

    def snapshot(self) -> SnapshotRow:
        """Return the state as bytes, and count it as saved."""
        tree = {
            "of": self._origin(self.prefix, self.actions),
            "read": [self.change, self.stamp],
            "learner": self.learner.snapshot(),
            "tally": self.tally.as_tree(),
            "digest": self.digest,
            "proof": self.proof,
        }
        row = SnapshotRow(self.prefix, self.actions, ENCODING_FORMAT, encode_tree(tree))
        self.mark_saved(self.prefix)
        return row

    def save(self, log: Writing) -> None:
        """Save a snapshot now and then, so that opening the study is quick."""
        if self.prefix < self.saved + SAVE_EVERY and self.seconds < SAVE_SECONDS:
            return
        kept = log.snapshot_prefix(ENCODING_FORMAT)  # another worker may have saved one
        if kept > self.prefix - SAVE_EVERY // 2:
            self.mark_saved(kept)
        else:
            log.save_snapshot(self.snapshot())

    def mark_saved(self, prefix: int) -> None:
        """Record that a snapshot of this many trials is kept."""
        self.saved, self.seconds = prefix, 0.0

    def _origin(self, prefix: int, actions: int) -> list[Any]:
        """Return what a snapshot belongs to: another study's, or another version's, is of no use."""
        return [__version__, hashlib.sha256(self._seed.encode()).hexdigest(), prefix, actions]

    def _load(self, log: Reading) -> None:
        """Load the snapshot, if it was made of this log; one that cannot be read is ignored: the log has everything."""
        row = log.snapshot(ENCODING_FORMAT)
        if row is None or row.prefix > log.last_number():
            return
        try:
            tree = decode_tree(row.content)
            change, stamp = tree["read"]
            if tree["of"] != self._origin(row.prefix, row.actions) or log.stamp(int(change)) != stamp:
                return
            self.learner.restore(tree["learner"])
            self.tally.load(tree["tally"])
            self.digest, self.proof = tree["digest"], tree["proof"]
        except Exception:  # whatever is wrong with a cache, the log is the truth
            self._reset()
            return
        self.prefix, self.actions = int(row.prefix), int(row.actions)
        self._coming = [action for action in self._coming if action.number > self.actions]
        self.mark_saved(self.prefix)


def counted_rewards(mdp: MDP, row: TrialRow, on_failure: str) -> list[float]:
    """Return the rewards of a settled trial that count: those seen, and the worst one of an arc that failed if asked.

    That is the worst reward of its declared range; the known one, where it is known. A late result does not count.
    """
    if row.source == LATE:
        return []
    rewards = list(row.rewards)
    if row.state in (PARTIAL, FAILED) and on_failure == WORST and len(rewards) < len(row.path):
        rewards.append(_worst_reward(mdp, row.path[len(rewards)]))
    return rewards


def _worst_reward(mdp: MDP, arc: int) -> float:
    if mdp.known is not None and mdp.is_known[arc]:
        return float(mdp.known[arc])
    assert mdp.reward_range is not None
    low, high = mdp.reward_range
    return float(low[arc] if mdp.sign > 0 else high[arc])
