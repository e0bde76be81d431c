"""Results by CSV: a sheet of trials to be filled in, the same sheet read back, and tables of past results.

A sheet has the columns number, plan.STEP and score.STEP. A row whose scores are all empty is not done yet; `failed` in
a score cell says that the trial failed at that step. Other columns are left alone. Where the whole plan has one score
at its end, its column is `score`. Sheets saved by spreadsheets are read too: with semicolons or tabs and decimal
commas, in Windows' encoding or in UTF-16.
"""

from __future__ import annotations

import csv
import difflib
import io
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from surepath._checks import repeated
from surepath.errors import RewardError, StudyError, SurepathError
from surepath.model.mdp import MDP
from surepath.model.plans import WHOLE
from surepath.model.sources.textfile import csv_line, plain_cell, read_bytes
from surepath.study.sheets.rows import option_names, plan_columns, plan_steps, score_columns, scored_at_end, steps
from surepath.study.telling import Result
from surepath.study.trial import Trial

FAILED_WORD = "failed"


class Sheet(NamedTuple):
    """The results of a sheet, the numbers of trials whose scores are still empty, and whether it names the plans."""

    results: list[Result]
    empty: list[int]
    plans: bool = True


class PastResult(NamedTuple):
    """A plan that was played before, and the rewards seen; `number` is what the file calls it, if it does."""

    plan: dict[str, str]
    rewards: list[float]
    where: str
    number: int | None = None


def read_table(path: Path) -> str:
    """Read a sheet's text: UTF-8, UTF-16 with its mark, or the Windows encoding that Excel's plain CSV has."""
    data = read_bytes(path, kind="sheets")
    marked = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    bad = -1 if marked else data.find(b"\0")  # UTF-16 that does not say so, or no text at all
    for encoding in ("utf-16",) if marked else ("utf-8-sig", "cp1252") if bad < 0 else ():
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            bad = error.start
    raise StudyError(
        f"{path.name}, line {data[:bad].count(10) + 1} holds a character that is neither UTF-8 nor Windows text; "
        f"in the spreadsheet, save it as CSV UTF-8"
    )


def sheet_text(mdp: MDP, trials: Iterable[Trial]) -> str:
    """Write trials as a sheet with empty scores; those of known options are filled in."""
    lines = [csv_line(["number", *plan_columns(mdp), *score_columns(mdp)])]
    for trial in trials:
        arcs = trial.path.tolist()
        known = [float(mdp.known[arc]) if mdp.known is not None and mdp.is_known[arc] else "" for arc in arcs]
        lines.append(csv_line([trial.number, *option_names(mdp, tuple(arcs)), *known]))
    return "".join(lines)


def read_sheet(mdp: MDP, text: str, name: str) -> Sheet:
    """Read a sheet that was filled in; a row that cannot be read is named by its line."""
    results: list[Result] = []
    empty: list[int] = []
    plans = True
    at_step = [""] if scored_at_end(mdp) else [f" at step {step}" for step in steps(mdp)]
    for where, row in _rows(mdp, text, name, number=True):
        number = _trial_number(row["number"])
        if number is None:
            raise StudyError(f"{where}: number must be the number of a trial, not {row['number']!r}")
        path = _path(mdp, row, where)
        plans = path is not None
        read = _scores(mdp, row, path, where)
        if read is None:
            empty.append(number)
            continue
        rewards, failed = read
        note = row.get("note") or (f"failed{at_step[len(rewards)]}" if failed else "")
        results.append(Result(number, rewards, failed, note, where, path))
    return Sheet(results, empty, plans)


def read_past(mdp: MDP, text: str, name: str) -> tuple[list[PastResult], int]:
    """Read a table of past results, and how many of its rows hold no score."""
    results, empty = [], 0
    named = list(zip(plan_steps(mdp), plan_columns(mdp)))
    for where, row in _rows(mdp, text, name):
        bare = {plan: row[step] for step, plan in named if step in row}
        path = _path(mdp, {**bare, **row}, where)
        if path is None:
            missing = next(plan for _, plan in named if plan not in bare and plan not in row)
            raise StudyError(
                f"{name} lacks the column {missing!r}; past results need the option of every step. "
                f"The file has {', '.join(map(repr, row))}"
            )
        read = _scores(mdp, row, path, where, past=True)
        if read is None or not read[0]:
            empty += 1
            continue
        plan = dict(zip(plan_steps(mdp), option_names(mdp, path)))
        results.append(PastResult(plan, read[0], where, _trial_number(row.get("number", ""))))
    return results, empty


def _trial_number(cell: str) -> int | None:
    """Return the number of a trial; spreadsheets write 1 as 1.0 at times."""
    return int(re.split("[.,]", cell)[0]) if re.fullmatch(r"[0-9]{1,18}([.,]0*)?", cell) else None


def _path(mdp: MDP, row: dict[str, str], where: str) -> tuple[int, ...] | None:
    """Return the path of a row's plan, or None where the sheet has not kept the plan."""
    if scored_at_end(mdp) and f"plan.{WHOLE}" in row:  # as earlier versions wrote it: all of the plan in one cell
        plan = {WHOLE: row[f"plan.{WHOLE}"]}
    elif not all(column in row for column in plan_columns(mdp)):
        return None
    else:
        plan = {step: row[column] for step, column in zip(plan_steps(mdp), plan_columns(mdp))}
    try:
        return tuple(mdp.path(plan).tolist())
    except SurepathError as error:
        raise StudyError(f"{where}: {error}") from None


def _scores(
    mdp: MDP, row: dict[str, str], path: tuple[int, ...] | None, where: str, *, past: bool = False
) -> tuple[list[float], bool] | None:
    """Return the rewards of a row up to its end or failure, and whether it failed; None when nothing is filled in."""
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


def _rows(mdp: MDP, text: str, name: str, *, number: bool = False) -> Iterator[tuple[str, dict[str, str]]]:
    """Return the rows of a CSV text with their places; cells are stripped, empty lines and remarks (#) skipped."""
    needed = [*(["number"] if number else []), *score_columns(mdp)]
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    mark = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    header: list[str] | None = None
    line = 1
    try:
        for row in reader:
            where, line = f"{name}, line {line}", reader.line_num + 1
            cells = [plain_cell(cell.strip()) for cell in row]
            if not any(cells) or cells[0].startswith("#"):
                continue
            if header is None:
                old = f"score.{WHOLE}" if scored_at_end(mdp) else ""  # the name in earlier versions
                header = _header(["score" if old and cell == old else cell for cell in cells], name, needed)
                continue
            if len(cells) != len(header):
                raise StudyError(f"{where} has {len(cells)} cells; the header has {len(header)} columns")
            found = dict(zip(header, cells))
            if mark != ",":  # then a comma in a number is a decimal point
                found |= {key: found[key].replace(",", ".", 1) for key in score_columns(mdp)}
            yield where, found
    except csv.Error as error:
        raise StudyError(f"{name}, line {line} is not valid CSV: {error}") from None
    if header is None:
        raise StudyError(f"{name} is empty; its first line names the columns: {', '.join(needed)}")


def _header(cells: list[str], name: str, needed: list[str]) -> list[str]:
    twice = repeated(cell for cell in cells if cell)
    if twice is not None:
        raise StudyError(f"{name} names the column {twice!r} twice")
    for column in needed:
        if column not in cells:
            near = difflib.get_close_matches(column, [cell for cell in cells if cell not in needed], n=1)
            meant = f" (is {near[0]!r} meant to be it?)" if near else ""
            raise StudyError(
                f"{name} lacks the column {column!r}{meant}; it needs {', '.join(map(repr, needed))}, "
                f"and has {', '.join(map(repr, cells))}"
            )
    return cells
