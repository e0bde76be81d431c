"""Replaying a log: plain sums from its rows, and the moments at which arcs were ruled out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from surepath._types import FloatArray
from surepath.errors import RewardError
from surepath.learners.base import Learner
from surepath.learners.precision import Sizes, rounding_of
from surepath.learners.reward_input import read_rewards
from surepath.learners.watch import Watch
from surepath.model.mdp import MDP
from surepath.model.paths import on_open_paths
from surepath.study.fold import EXCLUDE, TIGHTEN, Fold, counted_rewards
from surepath.study.plain_bound.checker import Checker
from surepath.study.plain_bound.evidence import Scores, Sums
from surepath.study.storage.records import ActionRow, TrialRow
from surepath.study.tally import Tally


class PlainLog:
    """Sums, counts and hash of a log, trial after trial, without any learner.

    Attributes:
        visits, origin, sums: As in `Sums`, arrays that grow.
        scores: The gains themselves, where they are kept.
        tally: Counts.
        watch: The test for contradictions with the declared noise, where one is given.
        digest: Hash over settings, trials and actions so far.
    """

    def __init__(
        self,
        mdp: MDP,
        seed: str,
        on_failure: str,
        epsilon: float,
        keep_scores: bool = False,
        sigma: FloatArray | None = None,
    ) -> None:
        self.mdp, self.on_failure, self.epsilon, self.sizes = mdp, on_failure, epsilon, Sizes(mdp)
        self.visits = np.zeros(mdp.n_arcs, dtype=np.int64)
        self.origin, self.sums = np.zeros(mdp.n_arcs), np.zeros(mdp.n_arcs)
        self.scores = Scores(mdp.n_arcs) if keep_scores else None
        self.tally = Tally(mdp.n_arcs, mdp.cost)
        self.watch = None if sigma is None else Watch(mdp, sigma)
        self.digest = hashlib.sha256(seed.encode()).hexdigest()

    def take(self, row: TrialRow) -> None:
        """Add one settled trial to the sums, the counts and the hash."""
        rewards = counted_rewards(self.mdp, row, self.on_failure)
        if self._can_be_held(row.path, rewards):
            if self.watch is not None and rewards:
                arcs = np.array(row.path, dtype=np.int64)
                self.watch.observe(arcs, self.mdp.gains_of(arcs[: len(rewards)], np.array(rewards, dtype=np.float64)))
            for arc, reward in zip(row.path, rewards):
                self.visits[arc] += 1
                if not self.mdp.is_known[arc]:
                    gain = float(self.mdp.gains_of([arc], np.array([reward]))[0])
                    if self.visits[arc] == 1:
                        self.origin[arc] = gain
                    self.sums[arc] += gain - self.origin[arc]
                    if self.scores is not None:
                        self.scores.add(arc, gain)
        else:
            self.tally.refused += 1
        self.tally.count(row)
        if self.watch is not None:
            self.watch.refused, self.watch.late = self.tally.refused, self.tally.outlived
        self._chain([row.number, row.state, list(row.path), list(row.rewards), row.source, row.of])

    def _can_be_held(self, path: tuple[int, ...], rewards: list[float]) -> bool:
        """Return whether double precision can hold what epsilon asks for, with rewards of this size too."""
        try:
            read_rewards(self.mdp, np.array(path, dtype=np.int64), rewards)
        except RewardError:
            return False
        gains = self.mdp.gains_of(list(path[: len(rewards)]), np.array(rewards, dtype=np.float64))
        low, high = self.sizes.with_gains(gains)
        if self.epsilon > 0 and rounding_of(low, high) > self.epsilon:
            return False
        self.sizes.low, self.sizes.high = low, high
        return True

    def act(self, action: ActionRow) -> None:
        """Add one exclusion or tightening to the hash; a tighter epsilon counts from here on."""
        if action.kind == TIGHTEN:
            self.epsilon = float(json.loads(action.content))
        self._chain([action.number, action.after, action.kind, json.loads(action.content)])

    def _chain(self, entry: list[Any]) -> None:
        self.digest = hashlib.sha256((self.digest + json.dumps(entry)).encode()).hexdigest()

    @property
    def seen(self) -> Sums:
        """Return the sums, as they are now."""
        return Sums(self.visits.copy(), self.origin.copy(), self.sums.copy(), self.scores)


def walk(
    log: PlainLog, fold: Fold | None, rows: Iterable[TrialRow], actions: Sequence[ActionRow]
) -> Iterable[tuple[int, bool]]:
    """Feed trials and actions in their order to a plain log and to a fold.

    After each it yields the number of trials so far and whether something was excluded just now.
    """
    coming, number = list(actions), 0

    def act() -> bool:
        action = coming.pop(0)
        log.act(action)
        if fold is not None:
            fold._act(action)
        return action.kind == EXCLUDE

    while coming and coming[0].after <= 0:
        yield 0, act()
    for row in rows:
        log.take(row)
        number = row.number
        if fold is not None:
            fold._take([row])
        yield number, False
        while coming and coming[0].after <= number:
            yield number, act()


def moments(
    fold: Fold, rows: Iterable[TrialRow], actions: Sequence[ActionRow], checker: Checker
) -> list[dict[str, Any]]:
    """Find when arcs were ruled out, by replaying the log, and what the sums of those moments prove by themselves.

    The learner only says at which moments to check, and which path to compare with; the plain implementation decides.
    """
    again = Fold(fold.mdp, fold.settings, fold.on_failure, fold._seed)
    log = PlainLog(fold.mdp, fold._seed, fold.on_failure, float(fold.settings["epsilon"]), checker.needs_scores)
    learner = again.learner
    alive = active = on_open_paths(fold.mdp, ~learner.excluded)
    found: list[dict[str, Any]] = []
    earlier = (0, _copy(learner, log))
    for number, excluded in walk(log, again, rows, actions):
        if excluded:
            found = []  # what was ruled out by a plan that is infeasible counts no more
            alive = active = on_open_paths(fold.mdp, ~learner.excluded)
        now = learner.active
        if (active & ~now).any():
            path = learner._recommend()
            for trials, seen in (
                earlier,
                (number, _copy(learner, log)),
            ):  # some rules read the sums before the last trial
                ruled_out = checker.ruled_out(seen, path, alive)
                if ruled_out.any():
                    arcs = np.flatnonzero(ruled_out).tolist()
                    found.append({"trials": trials, "path": path.tolist(), "ruled_out": arcs, **_lists(seen)})
                    alive = alive & ~ruled_out
        active, earlier = now, (number, _copy(learner, log))
    return found


def scores_of(fold: Fold, rows: Iterable[TrialRow], actions: Sequence[ActionRow]) -> Scores:
    """Read the gains of each arc from a log."""
    log = PlainLog(fold.mdp, fold._seed, fold.on_failure, float(fold.settings["epsilon"]), keep_scores=True)
    for _ in walk(log, None, rows, actions):
        pass
    assert log.scores is not None
    return log.scores


def _copy(learner: Learner, log: PlainLog) -> Sums:
    return Sums(learner._visits.copy(), learner._origin.copy(), learner._sums.copy(), log.scores)


def _lists(seen: Sums) -> dict[str, list[Any]]:
    return {"visits": seen.visits.tolist(), "origin": seen.origin.tolist(), "sums": seen.sums.tolist()}
