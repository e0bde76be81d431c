"""Results by CSV: a sheet of trials to be filled in, the same sheet read back, and tables of past results.

A sheet has the columns number, plan.STEP and score.STEP. A row whose scores are all empty is not done yet; `failed` in
a score cell says that the trial failed at that step. Other columns are left alone. Sheets saved by spreadsheets with
semicolons and decimal commas are read too.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from surepath._checks import suggest
from surepath.errors import RewardError, StudyError, SurepathError
from surepath.model.mdp import MDP
from surepath.study.rows import plan_columns, score_columns, steps
from surepath.study.telling import Result
from surepath.study.trial import Trial

FAILED_WORD = "failed"


class Sheet(NamedTuple):
    """The results of a sheet, and the numbers of trials whose scores are still empty."""

    results: list[Result]
    empty: list[int]


class PastResult(NamedTuple):
    """A plan that was played before, and the rewards seen."""

    plan: dict[str, str]
    rewards: list[float]
    where: str


def sheet_text(mdp: MDP, trials: Iterable[Trial]) -> str:
    """Write trials as a sheet with empty scores; those of known options are filled in."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["number", *plan_columns(mdp), *score_columns(mdp)])
    for trial in trials:
        arcs = trial.path.tolist()
        known = [float(mdp.known[arc]) if mdp.known is not None and mdp.is_known[arc] else "" for arc in arcs]
        writer.writerow([trial.number, *(mdp.action_label(arc) for arc in arcs), *known])
    return out.getvalue()


def read_sheet(mdp: MDP, text: str, name: str) -> Sheet:
    """Read a sheet that was filled in; a row that cannot be read is named by its line."""
    results: list[Result] = []
    empty: list[int] = []
    for where, row in _rows(text, name, ["number", *score_columns(mdp)]):
        number = row["number"]
        if not number.isascii() or not number.isdigit() or len(number) > 18:
            raise StudyError(f"{where}: number must be the number of a trial, not {number!r}")
        path = _path(mdp, row, where)
        read = _scores(mdp, row, path, where)
        if read is None:
            empty.append(int(number))
            continue
        rewards, failed = read
        note = row.get("note") or (f"failed at step {steps(mdp)[len(rewards)]}" if failed else "")
        results.append(Result(int(number), rewards, failed, note, where, path))
    return Sheet(results, empty)


def read_past(mdp: MDP, text: str, name: str) -> tuple[list[PastResult], int]:
    """Read a table of past results, and how many of its rows hold no score."""
    results, empty = [], 0
    for where, row in _rows(text, name, score_columns(mdp)):
        bare = {plan: row[step] for step, plan in zip(steps(mdp), plan_columns(mdp)) if step in row}
        path = _path(mdp, {**bare, **row}, where)
        if path is None:
            missing = next(plan for plan in plan_columns(mdp) if plan not in bare and plan not in row)
            raise StudyError(f"{name} lacks the column {missing!r}; past results need the option of every step")
        read = _scores(mdp, row, path, where, past=True)
        if read is None or not read[0]:
            empty += 1
            continue
        plan = dict(zip(steps(mdp), (mdp.action_label(arc) for arc in path)))
        results.append(PastResult(plan, read[0], where))
    return results, empty


def _path(mdp: MDP, row: dict[str, str], where: str) -> tuple[int, ...] | None:
    """The path of a row's plan, or None where the sheet has not kept the plan."""
    if not all(column in row for column in plan_columns(mdp)):
        return None
    plan = {step: row[column] for step, column in zip(steps(mdp), plan_columns(mdp))}
    try:
        return tuple(mdp.path(plan).tolist())
    except SurepathError as error:
        raise StudyError(f"{where}: {error}") from None


def _scores(
    mdp: MDP, row: dict[str, str], path: tuple[int, ...] | None, where: str, *, past: bool = False
) -> tuple[list[float], bool] | None:
    """The rewards of a row up to its end or failure, and whether it failed; None when nothing is filled in."""
    known = [path is not None and bool(mdp.is_known[arc]) for arc in path or [0] * mdp.horizon]
    cells = [(column, row[column]) for column in score_columns(mdp)]
    if not any(cell for (_, cell), free in zip(cells, known) if not free):
        return None
    rewards: list[float] = []
    for (column, cell), free in zip(cells, known):
        if cell.lower() == FAILED_WORD:
            after = next(
                (name for name, other in cells[len(rewards) + 1 :] if other.lower() not in ("", FAILED_WORD)), None
            )
            if after is not None and not known[[name for name, _ in cells].index(after)]:
                raise RewardError(f"{where}: {column} says {FAILED_WORD}, but {after} after it has a score")
            return rewards, True
        if past and not any(other for _, other in cells[len(rewards) :]):
            return rewards, True  # it ended here, and nobody will come back to it
        if not cell and not free:
            raise RewardError(f"{where}: {column} is empty; write its score, or {FAILED_WORD} where the trial failed")
        rewards.append(math.nan if not cell else _number(cell, column, where))
    return rewards, False


def _number(cell: str, column: str, where: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in cell:
        raise RewardError(f"{where}: {column} must be a number, or {FAILED_WORD}, not {cell!r}")
    return value


def _rows(text: str, name: str, needed: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a CSV text with their places; cells are stripped, empty lines and remarks (#) skipped."""
    mark = next((sign for sign in ",;\t" if sign in text.partition("\n")[0]), ",")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    header: list[str] | None = None
    line = 1
    try:
        for row in reader:
            where, line = f"{name}, line {line}", reader.line_num + 1
            cells = [cell.strip() for cell in row]
            if not any(cells) or cells[0].startswith("#"):
                continue
            if header is None:
                header = _header(cells, name, needed)
                continue
            if len(cells) != len(header):
                raise StudyError(f"{where} has {len(cells)} cells; the header has {len(header)} columns")
            found = dict(zip(header, cells))
            if mark != ",":  # then a comma in a number is a decimal point
                found |= {key: found[key].replace(",", ".", 1) for key in needed if key.startswith("score.")}
            yield where, found
    except csv.Error as error:
        raise StudyError(f"{name}, line {line} is not valid CSV: {error}") from None
    if header is None:
        raise StudyError(f"{name} is empty; its first line names the columns: {', '.join(needed)}")


def _header(cells: list[str], name: str, needed: list[str]) -> list[str]:
    twice = next((cell for i, cell in enumerate(cells) if cell and cell in cells[:i]), None)
    if twice is not None:
        raise StudyError(f"{name} names the column {twice!r} twice")
    for column in needed:
        if column not in cells:
            raise StudyError(f"{name} lacks the column {column!r}{suggest(column, cells)}")
    return cells
