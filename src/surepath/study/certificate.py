"""Certificates: what a study has proven, written so that whoever does not trust it can compute it again.

The claim is about the evidence of one moment: the moment of the stop, or now where that proves as much. The learner's
own gap is stated when the plain implementation (`surepath/verify`) confirms it from the sums alone, or from the scores
themselves where noise is learned: these are evidence then, and the certificate holds them. Some gaps need arcs that
were ruled out at earlier moments: then the sums of those moments are evidence too, as far as a file can hold them.
Where the scores of a trial may depend on each other, bounds on pairs of arcs stay proven: the certificate holds, for
each pair that it needs, counts and sums of the moment at which it was kept.

`verify` at the end of this file checks a certificate against a study: it passes the log in as plain rows.
"""

from __future__ import annotations

import json
from collections import UserDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath._text import shown, write_text
from surepath._version import __version__
from surepath.errors import CertificateError
from surepath.learners.base import build, proven_gap
from surepath.learners.challenger.state import planned_shares
from surepath.model.mdp import MDP
from surepath.model.paths import on_open_paths
from surepath.study.fold import Fold
from surepath.study.rounds import StudyRounds
from surepath.study.sheets import all_trials
from surepath.study.storage import Reading, Storage, open_storage
from surepath.study.trial import ActionRow, TrialRow
from surepath.verify.bound import PlainBound, Scores, StageBound, Sums, kept_moments
from surepath.verify.file import (
    ADVICE,
    CERTIFICATE_FORMAT,
    EVIDENCE,
    EXCLUDE,
    KIND,
    NOTHING,
    ROUNDS,
    assumptions,
    content_hash,
    missing_rule,
    moment,
    read,
    statement,
)
from surepath.verify.log import Action, Log, Replay, frozen, in_order
from surepath.verify.noise import checker_of
from surepath.verify.rounds import PlainRounds, read_rounds
from surepath.verify.verify import OF_SUMS, Verdict, reached
from surepath.verify.verify import verify as check

if TYPE_CHECKING:
    from surepath.study.study import Study

MOST_NUMBERS = 5_000_000  # of sums at earlier moments; later moments are left out, and the gap may be larger
NEARLY = 1.01  # a gap that the sums alone prove is preferred, if at most this much larger

Rows = Callable[[int], Iterable[TrialRow]]


class Certificate(UserDict[str, Any]):
    """Statement and proof of what a study knows; a mapping that can be saved as JSON.

    Example:
        >>> from surepath import MDP, Study
        >>> mdp = MDP.from_steps({"model": ["small", "large"]}, sigma=0.1)
        >>> study = Study.create(mdp, storage="memory", epsilon=0.3, delta=0.1)
        >>> while not study.done:
        ...     trial = study.ask()
        ...     _ = study.tell(trial, [0.9 if trial.plan["model"] == "large" else 0.2])
        >>> certificate = study.certificate()
        >>> certificate["plan"], certificate["certified_gap"] <= 0.3
        ({'model': 'large'}, True)
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        super().__init__(content)

    @property
    def certified_gap(self) -> float:
        """Return the proven distance from the best; infinite while nothing is proven."""
        gap = self["certified_gap"]
        return float("inf") if gap is None else float(gap)

    def __str__(self) -> str:
        return shown(self["statement"])

    def __repr__(self) -> str:
        return f"Certificate({str(self)!r})"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return dict(json.loads(json.dumps(self.data)))

    def save(self, path: str | Path) -> None:
        """Write the certificate as a JSON file."""
        write_text(Path(path), json.dumps(self.data, indent=1, allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate without checking it; `verify` does."""
        return cls(read(path))


def write_certificate(study: Study) -> Certificate:
    """Write down what a study has proven by now."""

    def read_log(log: Reading) -> tuple[list[ActionRow], Claim]:
        study._fold.sync(log)
        actions = log.actions_after(0)[: study._fold.actions]
        return actions, best_claim(study._fold, lambda n: all_trials(log, n), actions)

    study.sync()
    with study._lock:
        actions, claim = study._read(read_log)
        findings = study._fold.learner.findings()
        epsilon = float(study._fold.learner.epsilon)
        done = bool(study._fold.learner.stopped)
    mdp, record = study.mdp, study.record
    settings = json.loads(record.settings)
    learner = study._fold.learner
    planned = learner.planned if isinstance(learner, StudyRounds) else _planned(mdp, settings)
    content: dict[str, Any] = {
        "kind": KIND,
        "format": CERTIFICATE_FORMAT,
        "statement": "",
        "certified_gap": claim.gap,
        "plan": {str(step): str(option) for step, option in mdp.plan(claim.path).items()},
        "path": claim.path.tolist(),
        "done": done and reached(claim.gap, epsilon, mdp, claim.seen),
        "epsilon": epsilon,
        "delta": float(study.delta),
        "assumptions": [],
        "warnings": [{**found.__dict__, "advice": ADVICE[found.kind]} for found in findings],
        "trials": {"number": claim.prefix, **{name: claim.tally[name] for name in ("states", "sources", "refused")}},
        "actions": [_plain(row)._asdict() for row in actions],
        "log": {"trials": claim.prefix, "actions": claim.actions, "digest": claim.digest},
        "proof": claim.proof,
        "evidence": claim.evidence,
        "planned": None if planned is None else planned.tolist(),
        "settings": settings,
        "problem": json.loads(record.problem),
        "problem_hash": record.problem_hash,
        "study": {
            "name": record.name,
            "options": json.loads(record.options),
            "created": moment(record.created),
            "version": record.version,
        },
        "version": __version__,
        "created": moment(datetime.now(UTC).timestamp()),
    }
    content["statement"], content["assumptions"] = statement(content), assumptions(content, mdp)
    content["sha256"] = content_hash(content)
    return Certificate(content)


def _planned(mdp: MDP, settings: Mapping[str, Any]) -> FloatArray | None:
    """Return the shares of the trials under the optimal design, where an entry of the bound plans by them."""
    if settings["name"] != "Challenger" or all(entry.get("flow") != "design" for entry in settings["bound"]):
        return None
    sigma = np.broadcast_to(np.asarray(settings["sigma"], dtype=np.float64), (mdp.n_arcs,))
    return planned_shares(mdp, np.where(mdp.is_known, 0.0, sigma), "design")


def _plain(row: ActionRow) -> Action:
    return Action(*row[:4])


# The claim, and its proof ---------------------------------------------------------------------------------------------


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
        visits, missing = (np.array(parts[name], dtype=np.int64) for name in ("visits", "missing"))
        return Sums(visits, np.array(parts["origin"]), np.array(parts["sums"]), self.scores, missing)

    def prove_by(self, moments: list[dict[str, Any]], kept: list[dict[str, Any]]) -> None:
        """Set the proof, and hold the scores, where there are some, as evidence."""
        self.proof = {"by": EVIDENCE, "moments": moments, "kept": kept}
        if self.scores is not None:
            self.evidence["scores"] = self.scores.lists(self.seen.counts)


def best_claim(fold: Fold, rows: Rows, actions: Sequence[ActionRow]) -> Claim:
    """Choose the claim and prove it."""
    if isinstance(fold.learner, StudyRounds):
        return _claim_of_rounds(fold, fold.view)
    learner, mdp = fold.view, fold.mdp
    feasible = on_open_paths(mdp, ~learner.excluded)
    checker, _ = checker_of(mdp, fold.settings, _planned(mdp, fold.settings))
    scores = None
    if checker is not None and checker.needs_scores:
        log = _replay(fold, keep_scores=True)
        for entry in in_order(rows(fold.prefix), actions):
            log.take(entry)
        scores = log.scores
    chosen = now = _claim(fold, learner._evidence(), learner._recommend(), proven_gap(learner), scores)
    if fold.proof is not None:
        proof = fold.proof
        then = _claim(fold, proof["evidence"], np.asarray(proof["path"]), float(proof["gap"]), scores)
        then.prefix, then.actions, then.digest, then.tally = (
            proof[name] for name in ("prefix", "actions", "digest", "tally")
        )
        if not _is_better(now, then, checker):
            chosen = then
    if checker is None or chosen.gap is None:
        chosen.gap, chosen.proof = None, {"by": NOTHING}
        return chosen
    enough = float(learner.epsilon) if learner.stopped else 0.0
    if not _by_sums(chosen, checker, feasible, enough):
        _by_steps(chosen, checker, feasible, fold, rows, actions)
    return chosen


def _claim_of_rounds(fold: Fold, learner: StudyRounds) -> Claim:
    """State what the finished rounds prove: the learner's gap where the plain implementation confirms it."""
    found = _claim(fold, learner._evidence(), learner.recommend(), learner.certified_gap(), None)
    rounds = learner.rounds()
    found.evidence["rounds"], found.proof = rounds, {"by": NOTHING}
    checker = PlainRounds(fold.mdp, fold.settings, learner.planned, read_rounds(rounds, fold.mdp))
    alive, stated, found.gap = checker.alive_after(np.ones(fold.mdp.n_arcs, dtype=bool)), found.gap, None
    for after in range(len(rounds), 0, -1):  # what was proven once stays proven
        gap = checker.gap(found.path, alive, after, stated or 0.0)
        if stated is not None and gap < (np.inf if found.gap is None else found.gap):
            found.gap, found.proof = gap, {"by": ROUNDS, "after": after}
        if gap == stated:
            break
    return found


def _is_better(now: Claim, then: Claim, checker: PlainBound | None) -> bool:
    """Return whether the present evidence proves as much; what the learner says may have been proven earlier."""
    if now.gap is None or then.gap is None or now.gap > then.gap:
        return then.gap is None
    if now.gap == then.gap and not np.array_equal(now.path, then.path):
        return False
    return checker is None or checker.proves(now.seen, now.path, now.alive, now.gap)


def _claim(fold: Fold, evidence: dict[str, Any], path: IntArray, gap: float, scores: Scores | None) -> Claim:
    visits = np.asarray(evidence["visits"])
    origin = np.where(visits > 0, evidence.get("origin", fold.view._origin), 0.0)
    return Claim(
        path=np.array(path, dtype=np.int64),
        gap=float(gap) if np.isfinite(gap) else None,
        prefix=fold.prefix,
        actions=fold.actions,
        digest=fold.digest,
        tally=fold.tally.as_tree(),
        evidence={
            **{name: np.asarray(evidence[name]).tolist() for name in ("visits", "missing", "sums")},
            "origin": origin.tolist(),
        },
        alive=np.array(evidence.get("alive", evidence.get("active")), dtype=bool),
        scores=scores,
    )


def _by_sums(found: Claim, checker: PlainBound, feasible: BoolArray, enough: float) -> bool:
    """Try to prove the gap, or one nearly as small or small enough, from the sums of that moment alone."""
    assert found.gap is not None
    if not checker.proves(found.seen, found.path, feasible, found.gap):
        alone = checker.gap(found.seen, found.path, feasible)
        if not alone <= max(NEARLY * found.gap, enough):
            return False
        found.gap = alone
    found.prove_by([], [])
    return True


def _by_steps(
    found: Claim, checker: PlainBound, feasible: BoolArray, fold: Fold, rows: Rows, actions: Sequence[ActionRow]
) -> None:
    """Prove the gap from what was ruled out earlier; a larger one where the plain implementation proves no more."""
    assert found.gap is not None
    alive = feasible.copy()
    steps, kept = _moments(found, fold, rows(found.prefix), actions[: found.actions], checker)
    for step in steps:
        alive[step["ruled_out"]] = False
    found.prove_by(steps, kept)
    if not checker.proves(found.seen, found.path, alive, found.gap):
        gap = checker.gap(found.seen, found.path, alive)
        found.gap = float(gap) if np.isfinite(gap) else None
        if found.gap is None:
            found.proof = {"by": NOTHING}
            found.evidence.pop("scores", None)


def _moments(
    claim: Claim, fold: Fold, rows: Iterable[TrialRow], actions: Sequence[ActionRow], checker: PlainBound
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Find when arcs were ruled out, by replaying the log, and what the sums of those moments prove by themselves.

    The learner only says at which moments to check, and which path to compare with; the plain implementation decides.
    The second list has the pairs of arcs, kept at earlier moments, that the proof needs.
    """
    again, log = fold.anew(), _replay(fold, checker.needs_scores)
    learner = again.learner
    alive = active = on_open_paths(fold.mdp, ~learner.excluded)
    found: list[dict[str, Any]] = []
    keeper = Keeper(checker, learner, claim.seen) if isinstance(checker, StageBound) else None
    for entry in in_order(rows, actions):
        log.take(entry)
        if isinstance(entry, ActionRow):
            again._act(entry)
        else:
            again.take([entry])
        if keeper is not None:
            keeper.note(log)
        if isinstance(entry, ActionRow) and entry.kind == EXCLUDE:
            found = []  # what was ruled out by a plan that is infeasible counts no more
            alive = active = on_open_paths(fold.mdp, ~learner.excluded)
        now = learner.active
        if (active & ~now).any():
            path, seen = learner._recommend(), log.seen
            if keeper is not None:
                keeper.use(seen, path)
            ruled_out = checker.ruled_out(seen, path, alive)
            if ruled_out.any() and len(found) * len(OF_SUMS) * len(alive) < MOST_NUMBERS:
                arcs = np.flatnonzero(ruled_out).tolist()
                sums = {name: getattr(log, name).tolist() for name in OF_SUMS}
                found.append({"trials": log.trials, "path": path.tolist(), "ruled_out": arcs, **sums})
                alive = alive & ~ruled_out
        active = now
    if keeper is not None:
        keeper.use(claim.seen, claim.path)
    return found, [] if keeper is None else sorted(keeper.used.values(), key=lambda row: (row["trials"], row["pair"]))


class Keeper:
    """Pairs of arcs that a learner kept, as its log is replayed, and those of them that a proof uses."""

    def __init__(self, checker: StageBound, learner: Any, last: Sums) -> None:
        self.checker, self.learner, self.last = checker, learner, last
        self.used: dict[tuple[int, int], dict[str, Any]] = {}
        self._rows: dict[tuple[int, int], dict[str, Any]] = {}
        self._least: dict[tuple[int, int], float] = {}
        self._before = learner._seen.kept.copy()

    def note(self, log: Replay) -> None:
        """Note what was kept since the last call, with the sums of now."""
        kept, of = self.learner._seen.kept, self.learner._seen.kept_of
        for x in np.flatnonzero((kept != self._before) & (of >= 0)).tolist():
            pair = x, int(of[x])
            if kept[x] < self._least.get(pair, np.inf):
                self._least[pair], arcs = float(kept[x]), list(pair)
                parts = {name: getattr(log, name)[arcs].tolist() for name in ("visits", "sums", "missing")}
                self._rows[pair] = {"trials": log.trials, "pair": arcs, **parts}
        self._before = kept.copy()

    def use(self, seen: Sums, path: IntArray) -> None:
        """Give the checker the pairs that bound an arc against a path by less than this moment does."""
        x, y = self.checker.off(seen, path)
        bounds = self.checker.pair_bounds(seen, x, y)[:, 0]
        now = dict(zip(zip(x.tolist(), y.tolist()), bounds.tolist()))
        some = {pair: row for pair, row in self._rows.items() if pair in now}
        for _, then, one, other in kept_moments(list(some.values()), self.last):
            self.checker.keep(then, one, other)
        self.used.update((pair, row) for pair, row in some.items() if self.checker.kept[pair] < now[pair])


def _replay(fold: Fold, keep_scores: bool) -> Replay:
    rule = missing_rule(fold.mdp, fold.settings)
    return Replay(fold.mdp, fold._seed, fold.on_failure, float(fold.settings["epsilon"]), keep_scores, rule=rule)


# Checking one ---------------------------------------------------------------------------------------------------------


def verify(
    certificate: str | Path | Mapping[str, Any],
    storage: str | Storage | None = None,
    name: str | None = None,
    log: str | Path | None = None,
) -> Verdict:
    """Check a certificate, against the study's storage or an exported log where one is given.

    Args:
        certificate: A file, or what `study.certificate()` returned.
        storage: The storage of the study, as a URL.
        name: The study's name there; by default the one in the certificate.
        log: An exported log (.jsonl) in place of a storage.

    Raises:
        CertificateError: When it is not a certificate of this format.

    Example:
        >>> from surepath import MDP, Study
        >>> mdp = MDP.from_steps({"model": ["a", "b"]}, sigma=0.1)
        >>> study = Study.create(mdp, storage="memory", epsilon=0.5, delta=0.1)
        >>> while not study.done:
        ...     trial = study.ask()
        ...     _ = study.tell(trial, [0.0 if trial.plan["model"] == "a" else 1.0])
        >>> verify(study.certificate()).answer
        'yes'
    """
    if storage is not None and log is not None:
        raise CertificateError("give the storage or an exported log, not both")
    if storage is None:
        return check(certificate, log, _watch)
    content = dict(certificate) if isinstance(certificate, Mapping) else read(certificate)
    stated = content.get("study")
    if name is None and isinstance(stated, Mapping) and isinstance(stated.get("name"), str):
        name = stated["name"]
    return check(certificate, log_of(storage, name), _watch)


def _watch(settings: Mapping[str, Any], mdp: MDP) -> Any:
    """Return what compares scores with the declared noise: the watch of a fresh learner."""
    return cast(Any, build(dict(settings), mdp))._watch


def log_of(storage: str | Storage, name: str | None) -> Log:
    """Read a study's log as plain rows."""
    from surepath.study.study import Study

    study = Study.load(storage if isinstance(storage, Storage) else open_storage(storage), name)
    study.sync()

    def rows(log: Reading) -> Log:
        study._fold.sync(log)
        proof = study._fold.proof
        stop = [] if proof is None else [int(proof["prefix"])]
        actions = [_plain(row) for row in log.actions_after(0)]
        return Log(list(all_trials(log)), actions, frozen(asdict(study.record)), stop)

    with study._lock:
        return study._read(rows)
