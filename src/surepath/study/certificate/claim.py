"""Which claim a certificate makes, and what proves it.

The claim is about the evidence of one moment: the moment of the stop, or now where that proves as much. The learner's
own gap is stated when the plain implementation confirms it from the sums alone, or from the scores themselves where
noise is learned: these are evidence then, and the certificate holds them unless they are too many. Some gaps need arcs
that were ruled out at earlier moments: then the sums of those moments are evidence too, and the certificate holds them,
so that each step can be checked. Where they would be too many, the certificate names the arcs and says that the log
must be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surepath._types import BoolArray, IntArray
from surepath.learners.proven import proven_gap
from surepath.model.paths import on_open_paths
from surepath.study.certificate.replay import moments, scores_of
from surepath.study.fold import MOST_REPLAYED, Fold
from surepath.study.plain_bound.checker import NO_GUARANTEE, Checker, checker_of
from surepath.study.plain_bound.evidence import Scores, Sums
from surepath.study.storage import ActionRow, TrialRow

SUMS, SCORES, MOMENTS, LOG, REPLAY, NOTHING = "sums", "scores", "moments", "log", "replay", "nothing"
MOST_NUMBERS = 300_000  # of sums at earlier moments, or of scores
NEARLY = 1.01  # a gap that the sums alone prove is preferred, if at most this much larger

Rows = Callable[[int], Iterable[TrialRow]]


@dataclass
class Claim:
    """A path, its gap, and the evidence of one moment."""

    path: IntArray
    gap: float | None
    prefix: int
    actions: int
    digest: str
    tally: dict[str, Any]
    evidence: dict[str, list[Any]]
    alive: BoolArray
    scores: Scores | None = None
    proof: dict[str, Any] = field(default_factory=dict)

    @property
    def seen(self) -> Sums:
        """Return the sums as arrays."""
        parts = self.evidence
        visits = np.array(parts["visits"], dtype=np.int64)
        return Sums(visits, np.array(parts["origin"]), np.array(parts["sums"]), self.scores)

    def hold_scores(self) -> bool:
        """Add the scores, where there are some, to the evidence; return False when they are too many."""
        if self.scores is not None:
            lists = self.scores.lists(self.seen.visits)
            if sum(map(len, lists)) > MOST_NUMBERS:
                return False
            self.evidence["scores"] = lists
        return True


def best_claim(fold: Fold, rows: Rows, actions: Sequence[ActionRow]) -> Claim:
    """Choose the claim and prove it."""
    learner, mdp = fold.view, fold.mdp
    feasible = on_open_paths(mdp, ~learner.excluded)
    checker, why = checker_of(mdp, fold.settings, feasible)
    scores = scores_of(fold, rows(fold.prefix), actions) if checker is not None and checker.needs_scores else None
    chosen = now = _claim(fold, learner._evidence(), learner._recommend(), proven_gap(learner), scores)
    if fold.proof is not None:
        proof = fold.proof
        then = _claim(fold, proof["evidence"], np.asarray(proof["path"]), float(proof["gap"]), scores)
        then.prefix, then.actions, then.digest = int(proof["prefix"]), int(proof["actions"]), str(proof["digest"])
        then.tally = proof["tally"]
        if not _is_better(now, then, checker):
            chosen = then
    if chosen.gap is None:
        chosen.proof = {"by": NOTHING}
    elif why.endswith(NO_GUARANTEE):
        chosen.gap, chosen.proof = None, {"by": NOTHING, "why": why}
    elif checker is None:
        chosen.proof = {"by": REPLAY, "why": why}
    else:
        enough = float(learner.epsilon) if learner.stopped else 0.0
        if not _by_sums(chosen, checker, feasible, enough):
            _by_steps(chosen, checker, feasible, fold, rows, actions)
    return chosen


def _is_better(now: Claim, then: Claim, checker: Checker | None) -> bool:
    """Return whether the present evidence proves as much; what the learner says may have been proven earlier."""
    if now.gap is None or then.gap is None or now.gap > then.gap:
        return then.gap is None
    if now.gap == then.gap and not np.array_equal(now.path, then.path):
        return False
    return checker is None or checker.proves(now.seen, now.path, now.alive, now.gap)


def _claim(fold: Fold, evidence: dict[str, Any], path: IntArray, gap: float, scores: Scores | None) -> Claim:
    visits = np.asarray(evidence["visits"])
    origin = np.where(visits > 0, evidence.get("origin", fold.view._origin), 0.0)
    alive = evidence.get("alive", evidence.get("active"))
    if alive is None or len(alive) != fold.mdp.n_arcs:  # of plans, not of arcs
        alive = fold.view.active
    return Claim(
        path=np.array(path, dtype=np.int64),
        gap=float(gap) if np.isfinite(gap) else None,
        prefix=fold.prefix,
        actions=fold.actions,
        digest=fold.digest,
        tally=fold.tally.as_tree(),
        evidence={"visits": visits.tolist(), "origin": origin.tolist(), "sums": np.asarray(evidence["sums"]).tolist()},
        alive=np.array(alive, dtype=bool),
        scores=scores,
    )


def _by_sums(found: Claim, checker: Checker, feasible: BoolArray, enough: float) -> bool:
    """Try to prove the gap, or one nearly as small or small enough, from the sums of that moment alone."""
    assert found.gap is not None
    if not checker.proves(found.seen, found.path, feasible, found.gap):
        alone = checker.gap(found.seen, found.path, feasible)
        if not alone <= max(NEARLY * found.gap, enough):
            return False
        found.gap = alone
    if found.hold_scores():
        found.proof = {"by": SUMS if found.scores is None else SCORES}
    else:
        found.proof = {"by": LOG, "ruled_out": []}
    return True


def _by_steps(
    found: Claim, checker: Checker, feasible: BoolArray, fold: Fold, rows: Rows, actions: Sequence[ActionRow]
) -> None:
    """Prove the gap from what was ruled out earlier; a larger one where the plain implementation proves no more."""
    assert found.gap is not None
    steps, alive = [], found.alive
    if found.prefix <= MOST_REPLAYED:
        steps = moments(fold, rows(found.prefix), actions[: found.actions], checker)
    small = sum(3 * len(step["visits"]) for step in steps) <= MOST_NUMBERS
    if steps and small and found.hold_scores():
        alive = feasible.copy()
        for step in steps:
            alive[step["ruled_out"]] = False
        found.proof = {"by": MOMENTS, "moments": steps}
    else:
        found.hold_scores()
        found.proof = {"by": LOG, "ruled_out": np.flatnonzero(feasible & ~alive).tolist()}
    if not checker.proves(found.seen, found.path, alive, found.gap):
        gap = checker.gap(found.seen, found.path, alive)
        found.gap = float(gap) if np.isfinite(gap) else None
        if found.gap is None:
            found.proof = {"by": NOTHING}
            found.evidence.pop("scores", None)
