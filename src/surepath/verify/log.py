"""The log that a certificate is compared with: plain rows of trials and actions, from an exported file or passed in.

An exported log is a table of trials (.csv, or .jsonl with one object a line) with the columns number, state, source,
of, plan.STEP and score.STEP for every step. Lines of a .jsonl file may give `path` and `rewards` in their place. A full
export (.jsonl) begins with a line about the study itself, and holds what was excluded and tightened too.

`Replay` adds a log up a second time: sums, scores, counts, cost and the hash over the log, without any learner.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from surepath._checks import LARGEST, FloatArray, IntArray
from surepath.errors import CertificateError, ProblemError
from surepath.model.mdp import MDP
from surepath.model.text_files import plain_cell, read_text
from surepath.verify.bound import Scores, Sums
from surepath.verify.file import LEFT_OUT, MARKED, SOURCES, STATES, TIGHTEN, WORST
from surepath.verify.stages import MissingRule

MOST_LOG_BYTES = 4 * 1024**3
LOG_FORMAT = "surepath-study-log"
FROZEN = ("name", "problem", "problem_hash", "settings", "options", "created", "version")


class Trial(NamedTuple):
    """One trial of a log."""

    number: int  # 1, 2, ... in the order asked for
    state: str
    path: tuple[int, ...]  # H arcs
    source: str
    of: int | None  # the trial this one repeats or reports late
    rewards: tuple[float, ...]  # those that were reported, in the user's direction
    cost: float | None = None  # what it really cost, where that was told
    baseline: tuple[float, ...] = ()  # taken off its rewards before they count


class Action(NamedTuple):
    """A decision of a person that is part of the log: an exclusion, a tighter epsilon."""

    number: int  # 1, 2, ...
    after: int  # it counts after this many settled trials
    kind: str
    content: Any


class Watch(Protocol):
    """A test for contradictions between scores and what was declared; it is told what could not be counted."""

    refused: int
    late: int

    def observe(self, path: IntArray, gains: FloatArray) -> None:
        """Take in one trial: its arcs, and the gains of those that have a score."""

    def findings(self) -> Sequence[Any]:
        """List what the scores so far contradict."""


@dataclass
class Log:
    """Log that a certificate is compared with.

    Attributes:
        trials: In the order of their numbers; those up to the first that is not settled count.
        actions: Exclusions and tightenings, or None where the log does not have them.
        study: What was frozen when the study was created, where the log has it: the fields of FROZEN, those that are
            JSON parsed.
        stop: Where the log knows it: the number of trials after which the study was done, [] while it is not.
    """

    trials: Sequence[Trial]
    actions: list[Action] | None = None
    study: Mapping[str, Any] | None = None
    stop: list[int] | None = None

    def settled(self) -> Iterator[Trial]:
        """Yield trials while they are settled and numbered 1, 2, ..."""
        for number, row in enumerate(self.trials, start=1):
            if row.number != number or row.state not in STATES:
                return
            yield row


def read_log(path: str | Path, mdp: MDP) -> Log:
    """Read an exported log."""
    file = Path(path)
    table = file.suffix.lower() == ".csv"
    try:
        text = read_text(file, MOST_LOG_BYTES)
    except ProblemError as error:
        raise CertificateError(str(error)) from None
    try:
        if table:
            lines: list[Any] = list(_table(text))
        else:
            lines = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError, csv.Error) as error:
        raise CertificateError(f"{file} is neither a .csv file nor a list of JSON objects: {error}") from None
    trials, actions, study = [], [], None
    for place, line in enumerate(lines, start=2 if table else 1):
        try:
            if not isinstance(line, dict):
                raise ValueError(f"{line!r} is not a JSON object")
            entry = line.get("entry", "trial")
            if not table and line.get("format") == LOG_FORMAT:
                study = frozen({name: line[name] for name in FROZEN})
            elif not table and "format" in line:
                raise ValueError(f"{line['format']!r} is not the format of an export; it begins with {LOG_FORMAT!r}")
            elif entry == "action":
                content = json.loads(line["content"])
                actions.append(Action(_whole(line["action"]), _whole(line["after"]), str(line["kind"]), content))
            elif entry == "trial" and line.get("number") not in (None, ""):  # waiting plans have no number
                trials.append(_trial(line, mdp))
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            raise CertificateError(f"{file}, line {place}: {error}") from None
    return Log(sorted(trials), sorted(actions) if study or actions else None, study)


def frozen(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a study with those that are JSON parsed."""
    return {**record, **{name: json.loads(record[name]) for name in ("problem", "settings", "options")}}


def _trial(line: Mapping[str, Any], mdp: MDP) -> Trial:
    if "path" in line:
        path, rewards = line["path"], line["rewards"]
    else:
        steps = [str(step) for step in mdp.step_labels or range(mdp.horizon)]
        scores = {f"score.{steps[stage]}": stage for stage in mdp.score_stages}
        if mdp.plans is not None:  # the whole plan is one option, scored at its end
            steps = list(mdp.plans[0])
        if mdp.plans is not None or (mdp.scored is not None and len(mdp.scored) == 1):
            scores = {"score": mdp.horizon - 1}
        path = mdp.path({step: str(line[f"plan.{step}"]) for step in steps})
        rewards = []
        for column, stage in scores.items():
            if line[column] not in (None, ""):  # what a later score covers counts as 0
                rewards += [0.0] * (stage - len(rewards)) + [line[column]]
    if any(isinstance(value, bool) for value in rewards):
        raise ValueError("scores must be numbers")
    taken = line.get("baseline") or ()
    return Trial(
        number=_whole(line["number"]),
        state=str(line["state"]),
        path=tuple(int(arc) for arc in mdp.check_path(path)),
        source=str(line["source"]),
        of=None if line.get("of") in (None, "") else _whole(line["of"]),
        rewards=tuple(float(value) for value in rewards),
        cost=None if line.get("cost") in (None, "") else float(line["cost"]),
        baseline=tuple(map(float, taken.split() if isinstance(taken, str) else taken)),
    )


def _whole(value: Any) -> int:
    if not isinstance(value, (int, str)) or isinstance(value, bool):
        raise ValueError(f"{value!r} is not a whole number")
    return int(value)


def in_order(trials: Iterable[Trial], actions: Sequence[Action], after: int = 0) -> Iterator[Trial | Action]:
    """Yield trials and actions in the order in which they count; the trials are those after a number."""
    coming, number = list(actions), after
    while coming and coming[0].after <= number:
        yield coming.pop(0)
    for row in trials:
        yield row
        number = row.number
        while coming and coming[0].after <= number:
            yield coming.pop(0)


class Replay:
    """Sums, scores, counts and hash of a log, entry after entry, without any learner.

    Attributes:
        visits, origin, sums, missing: As in `Sums`, arrays that grow.
        scores: The gains themselves, where they are kept.
        trials: Trials so far.
        states, sources: How many there were of each.
        by_arc: Plays of each arc that were left out, late or imported, int [N] by name.
        outlived: Results of trials that had been given up: they do not count.
        refused: Trials whose scores are too large for double precision to decide what epsilon asks for.
        unfit: Numbers of trials with a score that cannot be one: not finite, too large or outside its range.
        spent: What the trials have cost; None where nothing costs anything.
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
        watch: Watch | None = None,
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
        self.by_arc: dict[str, IntArray] = {name: np.zeros(mdp.n_arcs, dtype=np.int64) for name in (*LEFT_OUT, *MARKED)}
        self.spent = None if mdp.cost is None else 0.0
        self._unreported = set[int]()  # expired trials that count their full cost until a late result says more
        self._largest = largest_known(mdp)
        self.digest = hashlib.sha256(seed.encode()).hexdigest()

    def take(self, entry: Trial | Action) -> None:
        """Add one settled trial, or one action; a tighter epsilon counts from there on."""
        if isinstance(entry, Action):
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
        for name in (entry.state, entry.source):
            if name in self.by_arc:
                self.by_arc[name][list(entry.path)] += 1
        self._pay(entry)
        chained = [entry.number, entry.state, list(entry.path), list(entry.rewards), entry.source, entry.of]
        self._chain([*chained, list(entry.baseline)] if entry.baseline else chained)

    def counted(self, row: Trial) -> list[float]:
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
        if self.on_failure == WORST and row.state in ("partial", "failed") and mdp.scored is not None:
            if mdp.reward_range is None:
                raise CertificateError("failures count as the worst score, but no range of scores is declared")
            worst = mdp.reward_range[0 if mdp.sign > 0 else 1]
            for stage in [stage for stage in mdp.scored if stage >= len(rewards)]:
                rewards += [0.0] * (stage - len(rewards)) + [float(worst[row.path[stage]])]
        elif self.on_failure == WORST and row.state in ("partial", "failed") and len(rewards) < len(row.path):
            arc = row.path[len(rewards)]
            if mdp.known is not None and mdp.is_known[arc]:
                rewards.append(float(mdp.known[arc]))
            elif mdp.reward_range is None:
                raise CertificateError("failures count as the worst score, but no range of scores is declared")
            else:
                rewards.append(float(mdp.reward_range[0 if mdp.sign > 0 else 1][arc]))
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
        if self.watch is not None and rewards and not rest:
            self.watch.observe(arcs, gains)
        for arc, gain in zip(path, gains.tolist()):
            self.visits[arc] += 1
            if not mdp.is_known[arc]:
                if self.visits[arc] == 1:
                    self.origin[arc] = gain
                self.sums[arc] += gain - self.origin[arc]
                if self.scores is not None:
                    self.scores.add(arc, gain)

    def _pay(self, row: Trial) -> None:
        """Count what a trial cost, as told or declared: the steps that were run, all of them where nobody knows.

        A failed trial ran the steps that were scored and the one that failed. What an expired one counts is taken back
        when its late result comes. Cancelled and imported trials count nothing.
        """
        if self.spent is None or row.state == "cancelled" or row.source == "imported":
            return
        assert self.mdp.cost is not None
        if row.source == "late" and row.of in self._unreported:
            self._unreported.discard(row.of)
            self.spent -= math.fsum(self.mdp.cost[list(row.path)])
        if row.state == "expired":
            self._unreported.add(row.number)
        run = len(row.path) if row.state in ("complete", "expired") else len(row.rewards) + 1
        self.spent += math.fsum(self.mdp.cost[list(row.path[:run])]) if row.cost is None else row.cost

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


def _table(text: str) -> Iterator[dict[str, Any]]:
    rows = ([plain_cell(cell) for cell in row] for row in csv.reader(io.StringIO(text, newline="")) if row)
    header = next(rows, [])
    for row in rows:
        yield dict(zip(header, row))
