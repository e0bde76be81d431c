"""The log that a certificate is compared with: trials and actions, from an exported file or passed in.

An exported log (.jsonl) begins with a line about the study itself; then come the trials, and what was excluded and
tightened. `Replay` adds a log up a second time: sums, scores, counts and the hash over the log, without any learner.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surepath._checks import LARGEST
from surepath._text import read_text
from surepath.errors import CertificateError, LogError, ProblemError
from surepath.model.mdp import MDP
from surepath.verify.bound import Scores, Sums
from surepath.verify.file import SOURCES, STATES, TIGHTEN, WORST, MissingRule

MOST_LOG_BYTES = 4 * 1024**3
LOG_FORMAT = "surepath-study-log"
FROZEN = ("name", "problem", "problem_hash", "settings", "options", "created", "version")


class Trial(NamedTuple):
    """One trial of a log; rows of a study's own log have these fields too."""

    number: int  # 1, 2, ... in the order asked for
    state: str
    path: tuple[int, ...]  # H arcs
    source: str
    of: int | None  # the trial this one repeats or reports late
    rewards: tuple[float, ...]  # those that were reported, in the user's direction
    baseline: tuple[float, ...] = ()  # taken off its rewards before they count


class Action(NamedTuple):
    """A decision of a person that is part of the log: an exclusion, a tighter epsilon."""

    number: int  # 1, 2, ...
    after: int  # it counts after this many settled trials
    kind: str
    content: Any


@dataclass
class Log:
    """Log that a certificate is compared with.

    Attributes:
        trials: In the order of their numbers; those up to the first that is not settled count.
        actions: Exclusions and tightenings.
        study: What was frozen when the study was created: the fields of FROZEN, those that are JSON parsed.
        stop: Where the log knows it: the number of trials after which the study was done, [] while it is not.
    """

    trials: Sequence[Any]
    actions: list[Action]
    study: Mapping[str, Any]
    stop: list[int] | None = None

    def settled(self) -> Iterator[Any]:
        """Yield trials while they are settled and numbered 1, 2, ..."""
        for number, row in enumerate(self.trials, start=1):
            if row.number != number or row.state not in STATES:
                return
            yield row


def read_log(path: str | Path, mdp: MDP) -> Log:
    """Read an exported log."""
    file = Path(path)
    try:
        lines = read_text(file, MOST_LOG_BYTES).splitlines()
    except ProblemError as error:
        raise LogError(str(error)) from None
    trials, actions, study = [], [], None
    for place, text in enumerate(lines, start=1):
        try:
            line = json.loads(text) if text.strip() else {}
            if place == 1:
                if line.get("format") != LOG_FORMAT:
                    raise ValueError(f"it must begin with {LOG_FORMAT!r}; surepath study export log.jsonl writes one")
                study = frozen({name: line[name] for name in FROZEN})
            elif line.get("entry") == "action":
                actions.append(Action(whole(line["action"]), whole(line["after"]), line["kind"], line["content"]))
            elif line.get("entry") == "trial":
                trials.append(_trial(line, mdp))
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            kind = LogError if study is None else CertificateError  # later lines are read as the certificate's problem
            raise kind(f"{file}, line {place} is not of an exported log (.jsonl): {error}") from None
    if study is None:
        raise LogError(f"{file} is empty")
    return Log(sorted(trials), sorted(actions), study)


def frozen(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a study with those that are JSON parsed."""
    return {**record, **{name: json.loads(record[name]) for name in ("problem", "settings", "options")}}


def _trial(line: Mapping[str, Any], mdp: MDP) -> Trial:
    if any(isinstance(value, bool) for value in line["rewards"]):
        raise ValueError("scores must be numbers")
    return Trial(
        number=whole(line["number"]),
        state=str(line["state"]),
        path=tuple(int(arc) for arc in mdp.check_path(line["path"])),
        source=str(line["source"]),
        of=None if line["of"] is None else whole(line["of"]),
        rewards=tuple(map(float, line["rewards"])),
        baseline=tuple(map(float, line["baseline"])),
    )


def whole(value: Any) -> int:
    """Read a whole number of at least 0, or raise an error."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**62:
        raise CertificateError(f"{value!r} is not a count")
    return value


def in_order(trials: Iterable[Any], actions: Sequence[Any], after: int = 0) -> Iterator[Any]:
    """Yield trials and actions in the order in which they count; the trials are those after a number."""
    coming, number = list(actions), after
    while coming and coming[0].after <= number:
        yield coming.pop(0)
    for row in trials:
        yield row
        number = row.number
        while coming and coming[0].after <= number:
            yield coming.pop(0)


def is_action(entry: Any) -> bool:
    """Return whether an entry of a log is an action, not a trial."""
    return hasattr(entry, "kind")


class Replay:
    """Sums, scores, counts and hash of a log, entry after entry, without any learner.

    Attributes:
        visits, origin, sums, missing: As in `Sums`, arrays that grow.
        scores: The gains themselves, where they are kept.
        states, sources: How many trials there were of each.
        outlived: Results of trials that had been given up: they do not count.
        refused: Trials whose scores are too large for double precision to decide what epsilon asks for.
        unfit: Numbers of trials with a score that cannot be one: not finite, too large or outside its range.
        watch: The test for contradictions with the declared noise, where one is given: `observe(path, gains)` for each
            trial, then `findings()`; it is told how many were `refused` and `late`.
        digest: Hash over settings, trials and actions so far.
    """

    def __init__(
        self,
        mdp: MDP,
        seed: str,
        on_failure: str,
        epsilon: float,
        keep_scores: bool = False,
        watch: Any = None,
        rule: MissingRule | None = None,
    ) -> None:
        self.mdp, self.on_failure, self.epsilon, self.watch = mdp, on_failure, epsilon, watch
        self.visits = np.zeros(mdp.n_arcs, dtype=np.int64)
        self.origin, self.sums = np.zeros(mdp.n_arcs), np.zeros(mdp.n_arcs)
        self.missing, self.rule = np.zeros(mdp.n_arcs, dtype=np.int64), rule
        self.scores = Scores(mdp.n_arcs) if keep_scores else None
        self.trials, self.refused, self.unfit = 0, 0, list[int]()
        self.outlived, self._expired = 0, set[int]()
        self.states, self.sources = dict.fromkeys(STATES, 0), dict.fromkeys(SOURCES, 0)
        self._largest = largest_known(mdp)
        self.digest = hashlib.sha256(seed.encode()).hexdigest()

    def take(self, entry: Any) -> None:
        """Add one settled trial, or one action; a tighter epsilon counts from there on."""
        if is_action(entry):
            if entry.kind == TIGHTEN:
                self.epsilon = float(entry.content)
            self._chain([entry.number, entry.after, entry.kind, entry.content])
            return
        if entry.source not in SOURCES:
            raise CertificateError(f"trial {entry.number} has the source {entry.source!r}, which there is not")
        self.trials = entry.number
        counted = self.counted(entry)
        if counted or entry.state in ("failed", "expired"):
            self._add(entry.number, entry.path, counted)
        self.states[entry.state] += 1
        self.sources[entry.source] += 1
        if entry.state == "expired":
            self._expired.add(entry.number)
        self.outlived += entry.source == "late" and entry.of in self._expired
        if self.watch is not None:
            self.watch.refused, self.watch.late = self.refused, self.outlived
        chained = [entry.number, entry.state, list(entry.path), list(entry.rewards), entry.source, entry.of]
        self._chain([*chained, list(entry.baseline)] if entry.baseline else chained)

    def counted(self, row: Any) -> list[float]:
        """Return the rewards that count: those seen, and the worst one of an arc that failed if the study asks for it.

        That is the worst reward of its declared range; the known one, where it is known. A late result does not count.
        """
        if row.source == "late":
            return []
        rewards, mdp = list(row.rewards), self.mdp
        if row.baseline:
            if len(row.baseline) != len(row.path):
                raise CertificateError(f"trial {row.number} has a baseline of {len(row.baseline)} numbers")
            rewards = [reward - taken for reward, taken in zip(rewards, row.baseline)]
        if self.on_failure == WORST and row.state in ("partial", "failed"):
            if mdp.reward_range is None:
                raise CertificateError("failures count as the worst score, but no range of scores is declared")
            worst, left = mdp.reward_range[0 if mdp.sign > 0 else 1], range(len(rewards), len(row.path))
            for stage in left[:1] if mdp.scored is None else [stage for stage in left if stage in mdp.scored]:
                arc = row.path[stage]
                known = float(mdp.known[arc]) if mdp.known is not None and mdp.is_known[arc] else float(worst[arc])
                rewards += [0.0] * (stage - len(rewards)) + [known]
        return rewards

    def _add(self, number: int, path: tuple[int, ...], rewards: list[float]) -> None:
        mdp, arcs = self.mdp, np.array(path, dtype=np.int64)
        values, played = np.array(rewards, dtype=np.float64), arcs[: len(rewards)]
        fit = np.abs(values) <= LARGEST  # false for NaN too
        if mdp.reward_range is not None:
            low, high = (end[played] for end in mdp.reward_range)
            fit &= ~((values < low) | (values > high)) | mdp.unscored[played]
        if not fit.all():
            self.unfit.append(number)
            return
        gains = mdp.gains_of(played, values)
        largest = max(self._largest, float(np.abs(gains).max(initial=0.0)))
        if too_coarse(mdp, largest, self.epsilon):
            self.refused += 1
            return
        self._largest = largest
        rest = [] if self.rule is None else [arc for arc in path[len(rewards) :] if self.rule.noisy[arc]]
        if self.rule is not None and rest and not self.rule.fills:
            return
        for arc in rest:
            self.missing[arc] += 1
            if self.scores is not None:
                self.scores.add(arc, math.nan)
        if self.watch is not None and rewards and not self.missing.any():
            self.watch.observe(arcs, gains)
        for arc, gain in zip(path, gains.tolist()):
            self.visits[arc] += 1
            if not mdp.is_known[arc]:
                if self.visits[arc] == 1:
                    self.origin[arc] = gain
                self.sums[arc] += gain - self.origin[arc]
                if self.scores is not None:
                    self.scores.add(arc, gain)

    def _chain(self, entry: list[Any]) -> None:
        self.digest = hashlib.sha256((self.digest + json.dumps(entry)).encode()).hexdigest()

    @property
    def seen(self) -> Sums:
        """Return the sums, as they are now."""
        return Sums(self.visits.copy(), self.origin.copy(), self.sums.copy(), self.scores, self.missing.copy())


def largest_known(mdp: MDP) -> float:
    """Return the size of the largest gain that is known."""
    return float(np.abs(mdp.known_gain[mdp.is_known]).max(initial=0.0)) if mdp.known is not None else 0.0


def too_coarse(mdp: MDP, largest: float, epsilon: float) -> bool:
    """Return whether gains of this size make totals uncertain by more than epsilon in double precision."""
    return epsilon > 0 and not 2.0**-49 * mdp.horizon * largest <= epsilon
