"""Cases: what the trials of a study are played on, such as the tickets of an evaluation set.

Every trial gets a fresh case: the study draws it with replacement, by the number of the trial alone, so that it is
independent of the plan and of all that was seen before. That is what the proof needs. Cases taken in turn are not
independent of each other, and one case played by two plans and told as two trials counts its luck twice.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surepath._checks import IntArray, repeated, shortened, whole
from surepath.errors import SettingError, StudyError
from surepath.learners.base import read_rewards
from surepath.study.sheets import all_trials, read_table

if TYPE_CHECKING:
    from surepath.study.study import Study

MOST_CASES = 100_000
MOST_CASES_PER_TRIAL = 1_000
LONGEST_CASE = 200


def read_cases(cases: Any) -> int | list[str] | None:
    """Read the cases of a new study: how many there are, their names, or a CSV file of them."""
    if cases is None:
        return None
    if isinstance(cases, int):
        return whole("cases", cases, low=1, high=MOST_CASES)
    if isinstance(cases, (str, Path)):
        return _checked(_from_file(Path(cases)), str(cases))
    if not isinstance(cases, Iterable):
        raise SettingError(f"cases are a number, a list of names or a CSV file, not {shortened(cases)}")
    return _checked([str(case) for case in cases], "cases")


def _from_file(path: Path) -> list[str]:
    """Read the column `case` of a table, or its first column where none is called so."""
    rows = [row for row in csv.reader(read_table(path).splitlines()) if any(cell.strip() for cell in row)]
    if len(rows) < 2:
        raise SettingError(f"{path} holds no cases: its first line names the columns, then comes a line for each case")
    column = rows[0].index("case") if "case" in rows[0] else 0
    return [row[column].strip() if len(row) > column else "" for row in rows[1:]]


def _checked(names: list[str], what: str) -> list[str]:
    if not 1 <= len(names) <= MOST_CASES:
        raise SettingError(f"{what}: there must be 1 to {MOST_CASES:,} cases, not {len(names):,}")
    for name in names:
        if not name or len(name) > LONGEST_CASE or not name.isprintable() or "," in name:
            wanted = f"printable text of 1 to {LONGEST_CASE} characters without commas"
            raise SettingError(f"{what}: the name of a case is {wanted}, not {shortened(name)}")
    if (twice := repeated(names)) is not None:
        raise SettingError(f"{what}: the case {twice!r} is named twice; each is drawn as often as any other")
    return names


class Cases:
    """The cases of a study by name, "1", "2", ... where only their number was given, and which a trial is played on."""

    def __init__(self, cases: int | list[str] | None, per_trial: int, seed: str) -> None:
        self.names = [str(i + 1) for i in range(cases)] if isinstance(cases, int) else cases or []
        self.per_trial = per_trial
        self._seed = hashlib.sha256(seed.encode()).hexdigest()

    def drawn(self, number: int) -> tuple[str, ...]:
        """Draw the cases of a trial, with replacement: the same for the same study and number, whatever else is."""
        draws = (hashlib.sha256(f"{self._seed} {number} {i}".encode()).digest() for i in range(self.per_trial))
        return tuple(self.names[int.from_bytes(draw, "big") % len(self.names)] for draw in draws)


class Reference:
    """What one plan has scored on every case, each score less its mean over the cases.

    Given the plan of a trial, its case is any of them with the same probability, so what is taken off its scores has
    mean 0: the means of all plans stay, and what is hard about a case falls out of the difference.
    """

    def __init__(self, scores: Mapping[str, Sequence[float]]) -> None:
        table = np.array(list(scores.values()), dtype=np.float64)
        self._beside = dict(zip(scores, table - table.mean(axis=0)))

    def baseline(self, cases: Sequence[str]) -> tuple[float, ...]:
        """Return what is taken off the scores of a trial on these cases."""
        return tuple(np.mean([self._beside[case] for case in cases], axis=0).tolist())


def check_reference(study: Study, path: IntArray, scores: Mapping[str, Any]) -> dict[str, list[float]]:
    """Check what a plan has scored on every case of a study, in which it may be taken off the scores of trials."""
    names, mdp = study._cases.names, study.mdp
    if not names:
        raise StudyError("a reference is played on every case, and this study has none; create it with cases=...")
    if mdp.reward_range is not None and not (np.isinf(mdp.reward_range[0]) | mdp.is_known).all():
        raise StudyError(
            "a difference to the reference may lie outside the declared range of scores; create the study with the "
            "sigma of the difference"
        )
    if lacking := [case for case in names if case not in scores]:
        raise StudyError(f"the reference lacks {len(lacking):,} of {len(names):,} cases, {lacking[0]!r} among them")
    if unknown := [case for case in scores if case not in set(names)]:
        raise StudyError(f"the reference names {unknown[0]!r}, which is no case of this study")
    found = {case: read_rewards(mdp, path, scores[case]).tolist() for case in names}
    short = next((case for case, values in found.items() if len(values) < mdp.horizon), None)
    if short is not None:
        raise StudyError(f"the reference has no score for every step of case {short!r}")
    return found


class CaseSummary(NamedTuple):
    """What the trials on one case have scored."""

    case: str
    trials: int  #: Complete trials that were played on it.
    mean: float  #: Their mean total.
    spread: float  #: The standard deviation of their totals; NaN for a single one.
    beside: float  #: Their mean total less what the plans that were played score on average, over all cases.


def summarize(study: Study) -> list[CaseSummary]:
    """Sum up the trials on each case, the hardest first: where plans score least beside what they score elsewhere."""
    means = study.mdp.sign * np.nan_to_num(study.learner.means)
    found: dict[str, list[tuple[float, float]]] = {}
    for row in study._read(lambda log: list(all_trials(log))):
        if row.state != "complete" or not row.cases:
            continue
        gains = study.mdp.gains_of(list(row.path), np.array(row.rewards))
        total = float(np.sum(row.rewards))
        for case in row.cases:
            found.setdefault(case, []).append((total, float(gains.sum() - means[list(row.path)].sum())))
    summaries = []
    for case, values in found.items():
        totals, beside = np.array(values).T
        spread = float(totals.std(ddof=1)) if len(totals) > 1 else float("nan")
        summaries.append(CaseSummary(case, len(totals), float(totals.mean()), spread, float(beside.mean())))
    return sorted(summaries, key=lambda one: (one.beside, one.case))
