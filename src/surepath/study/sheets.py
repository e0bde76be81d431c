"""Trials as rows of a sheet: write sheets to fill in, read them back, import scores of the past."""

from __future__ import annotations

import csv
import difflib
import hashlib
import io
import json
import math
import random
import re
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surepath._checks import repeated
from surepath._text import DECIMAL_COMMA, csv_line, is_workbook, plain_cell, point_hint, read_bytes, workbook_text
from surepath.errors import RewardError, StudyError, SurepathError
from surepath.model.mdp import MDP
from surepath.study.storage import PAGE, Reading, Writing
from surepath.study.trial import SCORED, Result, Trial, TrialRow, case_text, check_countable, past_result, placed

if TYPE_CHECKING:
    from surepath.study.study import Study


# Rows -----------------------------------------------------------------------------------------------------------------
# A trial as one row of a table: the columns of frames, of exported CSV files and of the files a lab fills in. The
# option of step "model" is in column `plan.model`, its score in `score.model`; where steps have no names, their numbers
# are used. The prefix keeps a step called "number" or "state" apart from the columns of those names. Where the whole
# plan has one score at its end, every step still has its plan column, and the score is in `score`.

EVERY_ROW = 2**31
FACTS = ("number", "state", "source", "of", "worker", "asked", "told", "note", "case", "cost", "tries", "baseline")


def steps(mdp: MDP) -> list[str]:
    """Return the names of the steps, or their numbers where they have none."""
    return [str(step) for step in mdp.step_labels or range(mdp.horizon)]


def plan_steps(mdp: MDP) -> list[str]:
    """Return the names of the user's steps, also where the whole plan is one option, scored at its end."""
    return steps(mdp) if mdp.plans is None else list(mdp.plans[0])


def plan_columns(mdp: MDP) -> list[str]:
    """Return the names of the columns of options."""
    return [f"plan.{step}" for step in plan_steps(mdp)]


def score_columns(mdp: MDP) -> list[str]:
    """Return the names of the columns of scores."""
    if mdp.plans is not None or (mdp.scored is not None and len(mdp.scored) == 1):
        return ["score"]
    return [f"score.{steps(mdp)[stage]}" for stage in mdp.score_stages]


def columns(mdp: MDP) -> list[str]:
    """Return the names of all columns of a table of trials."""
    return [*FACTS, *plan_columns(mdp), *score_columns(mdp)]


def option_names(mdp: MDP, path: tuple[int, ...]) -> list[str]:
    """Return the names of the options of a path."""
    return [mdp.action_label(arc) for arc in path] if mdp.plans is None else list(mdp.plans[path[0]].values())


def all_trials(log: Reading, last: int = EVERY_ROW) -> Iterator[TrialRow]:
    """Read every trial, or those up to a number, page by page."""
    first = 1
    while first <= last and (rows := log.trials(first, min(PAGE, last - first + 1))):
        yield from rows
        first = rows[-1].number + 1


def table_rows(mdp: MDP, log: Reading) -> Iterator[list[Any]]:
    """Read every trial and waiting plan, each as a list of values in the order of `columns`; times are in UTC."""
    waiting = (TrialRow(0, "waiting", row.path, row.source, row.of, asked=row.at) for row in log.queue(EVERY_ROW))
    for row in chain(all_trials(log), waiting):
        own = {**row._asdict(), "number": row.number or None, "case": case_text(row.cases)}  # waiting plans have none
        own["baseline"] = " ".join(map(repr, row.baseline)) or None
        own |= {
            name: None if own[name] is None else datetime.fromtimestamp(own[name], UTC) for name in ("asked", "told")
        }
        facts = [own[name] for name in FACTS]
        scores = [row.rewards[stage] if stage < len(row.rewards) else None for stage in mdp.score_stages]
        yield [*facts, *option_names(mdp, row.path), *scores]


# Sheet ----------------------------------------------------------------------------------------------------------------
# A sheet has the columns number, case (in a study with cases), plan.STEP and score.STEP, and perhaps cost and baseline;
# others are left alone. A row whose scores are all empty is not done yet; `failed` in a score cell says that the trial
# failed at that step. Spreadsheets save them with semicolons or tabs and decimal commas, too.

FAILED_WORD = "failed"


class Sheet(NamedTuple):
    """The results of a sheet, and the numbers of trials whose scores are still empty."""

    results: list[Result]
    empty: list[int]


def read_table(path: Path) -> str:
    """Read a sheet's text: UTF-8, UTF-16 with its mark, the Windows encoding of Excel's plain CSV, or a workbook."""
    data = read_bytes(path, kind="sheets")
    if is_workbook(path):
        return workbook_text(data, path.name)
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


PLATES = ((8, 12), (16, 24))  # rows and columns of wells


def random_wells(count: int) -> list[str]:
    """Return wells of the smallest plate that holds so many, in random order: A1 to H12, or A1 to P24."""
    for rows, columns in PLATES:
        if count <= rows * columns:
            wells = [f"{'ABCDEFGHIJKLMNOP'[row]}{column + 1}" for row in range(rows) for column in range(columns)]
            return random.SystemRandom().sample(wells, count)
    raise StudyError(f"{count:,} trials do not fit on a plate of 384 wells; ask for fewer")


def sheet_text(mdp: MDP, trials: Sequence[Trial], wells: bool = False, filled: Sequence[list[Any]] = ()) -> str:
    """Write trials as a sheet with empty scores; those of known options are there, and `filled` those of the first."""
    places = random_wells(len(trials)) if wells else []
    cases = any(trial.cases for trial in trials)
    own = [*(["well"] if wells else []), *(["case"] if cases else [])]
    lines = [csv_line(["number", *own, *plan_columns(mdp), *score_columns(mdp)])]
    for i, trial in enumerate(trials):
        arcs = trial.path.tolist()
        scored = [arcs[stage] for stage in mdp.score_stages]
        known = [float(mdp.known[arc]) if mdp.known is not None and mdp.is_known[arc] else "" for arc in scored]
        case = [*places[i : i + 1], *([trial.case or ""] if cases else [])]
        scores = [*filled[i], *[""] * len(known)][: len(known)] if i < len(filled) else known
        lines.append(csv_line([trial.number, *case, *option_names(mdp, tuple(arcs)), *scores]))
    return "".join(lines)


def read_sheet(mdp: MDP, text: str, name: str) -> Sheet:
    """Read a sheet that was filled in; a row that cannot be read is named by its line."""
    results: list[Result] = []
    empty: list[int] = []
    one = score_columns(mdp) == ["score"]
    at_step = [""] if one else [f" at step {steps(mdp)[stage]}" for stage in mdp.score_stages]
    for where, row in _rows(mdp, text, name, ["number", *plan_columns(mdp)]):
        number = _trial_number(row["number"])
        if number is None:
            raise StudyError(f"{where}: number must be the number of a trial, not {row['number']!r}")
        path = _path(mdp, row, where)
        read = _scores(mdp, row, path, where)
        if read is None:
            empty.append(number)
            continue
        rewards, failed = read
        note = row.get("note") or (f"failed{at_step[len(rewards)]}" if failed else "")
        cost = _number(row["cost"], "cost", where) if row.get("cost") else None
        less = [_number(cell, "baseline", where) for cell in row.get("baseline", "").split()]
        result = Result(number, rewards, failed, note, where, path, row.get("case"), cost)
        results.append(result._replace(baseline=less[0] if len(less) == 1 else less or None))
    return Sheet(results, empty)


class Past(NamedTuple):
    """Past results of a table, numbered as it says or 0, how many rows are not filled in, and failed at first."""

    results: list[Result]
    empty: int
    failed: int


def read_past(mdp: MDP, text: str, name: str) -> Past:
    """Read a table of past results."""
    results: list[Result] = []
    empty = failed = 0
    named = list(zip(plan_steps(mdp), plan_columns(mdp)))
    for where, row in _rows(mdp, text, name):
        bare = {plan: row[step] for step, plan in named if step in row}
        if missing := [plan for _, plan in named if plan not in bare and plan not in row]:
            raise StudyError(
                f"{name} lacks the column {missing[0]!r}; past results need the option of every step. "
                f"The file has {', '.join(map(repr, row))}"
            )
        path = _path(mdp, {**bare, **row}, where)
        read = _scores(mdp, row, path, where, past=True)
        if read is None or not read[0]:
            empty, failed = empty + (read is None), failed + (read is not None)
            continue
        results.append(Result(_trial_number(row.get("number", "")) or 0, read[0], where=where, path=path))
    return Past(results, empty, failed)


def some_trials(numbers: Sequence[int], most: int = 5) -> str:
    """Name the first few of some trials."""
    some = ", ".join(map(str, numbers[:most])) + (", ..." if len(numbers) > most else "")
    return f"trial{'s' if len(numbers) > 1 else ''} {some}"


def _trial_number(cell: str) -> int | None:
    """Return the number of a trial; spreadsheets write 1 as 1.0 at times."""
    return int(re.split("[.,]", cell)[0]) if re.fullmatch(r"[0-9]{1,18}([.,]0*)?", cell) else None


def _path(mdp: MDP, row: dict[str, str], where: str) -> tuple[int, ...]:
    """Return the path of a row's plan."""
    plan = {step: row[column] for step, column in zip(plan_steps(mdp), plan_columns(mdp))}
    try:
        return tuple(mdp.path(plan).tolist())
    except SurepathError as error:
        raise StudyError(f"{where}: {error}") from None


def _scores(
    mdp: MDP, row: dict[str, str], path: tuple[int, ...], where: str, *, past: bool = False
) -> tuple[list[float], bool] | None:
    """Return the rewards of a row up to its end or failure, and whether it failed; None when nothing is filled in."""
    known = [bool(mdp.is_known[path[stage]]) for stage in mdp.score_stages]
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
        raise RewardError(f"{where}: {column} must be a number, or {FAILED_WORD}, not {cell!r}{point_hint(cell)}")
    return value


def _with_points(row: dict[str, str], columns: Sequence[str], where: str, seen: dict[str, str]) -> None:
    """Write decimal points for commas; `seen` holds the first cell of a sheet with each of the two."""
    for column in columns:
        words = row[column].split()
        for word in words:
            if DECIMAL_COMMA.fullmatch(word) or ("." in word and "," not in word):
                seen.setdefault("," if "," in word else ".", f"{where}: {column} is {word!r}")
        if len(seen) == 2:
            raise RewardError(f"{seen[',']} with a decimal comma, but {seen['.']} with a point; write all in one way")
        row[column] = " ".join(word.replace(",", ".") if DECIMAL_COMMA.fullmatch(word) else word for word in words)


def _rows(mdp: MDP, text: str, name: str, also: Sequence[str] = ()) -> Iterator[tuple[str, dict[str, str]]]:
    """Return the rows of a CSV text with their places; cells are stripped, empty lines and remarks (#) skipped."""
    needed = [*also, *score_columns(mdp)]
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    mark = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    header: list[str] | None = None
    decimals: dict[str, str] = {}
    line = 1
    try:
        for row in reader:
            where, line = f"{name}, line {line}", reader.line_num + 1
            cells = [plain_cell(cell.strip()) for cell in row]
            if not any(cells) or cells[0].startswith("#"):
                continue
            if header is None:
                header = _header(cells, name, needed)
                continue
            if len(cells) != len(header):
                raise StudyError(f"{where} has {len(cells)} cells; the header has {len(header)} columns")
            found = dict(zip(header, cells))
            if mark != ",":  # then a comma in a number is a decimal point
                numbers = [*score_columns(mdp), *(name for name in ("cost", "baseline") if name in found)]
                _with_points(found, numbers, where, decimals)
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


# Past results: recorded as data of the study, none of them twice -----------------------------------------------------


class Imported(NamedTuple):
    """Numbers of results taken in, known from the same import before, not filled in, and failed at the first step."""

    imported: int
    repeated: int
    empty: int
    failed: int


def import_rows(
    study: Study, rows: Sequence[TrialRow], request: str, again: bool, numbers: Sequence[int | None] = ()
) -> int:
    """Append past results in one transaction; return how many, 0 where the request was carried out before.

    Those of an earlier import, and trials of this study by their numbers, are refused; with `again` they count.
    """
    if study.options.baseline:
        raise StudyError("every trial of this study has a baseline, and past results have none here: none was taken")
    content = ["imported", sorted((row.path, row.rewards) for row in rows)]

    def do(log: Writing) -> int:
        if not log.first_time(request, content):
            return 0
        if not again:
            _refuse_known(log, rows, numbers)
        for place, row in enumerate(rows, start=1):
            with placed(f"result {place}"):
                check_countable(log, study.mdp, row, study._rules)
        first, now = log.last_number + 1, log.now
        log.add_trials([row._replace(number=n, asked=now, told=now) for n, row in enumerate(rows, start=first)])
        return len(rows)

    return study._write(do)


def _refuse_known(log: Reading, rows: Sequence[TrialRow], numbers: Sequence[int | None]) -> None:
    """Refuse rows that are trials by their numbers, with the same plan and scores, or that hold an earlier import.

    The rows of one import carry the same moment.
    """
    wanted = {number: (row.path, row.rewards) for row, number in zip(rows, numbers) if number is not None}
    told, imports = set[int](), defaultdict[float, Counter[Any]](Counter)
    for row in all_trials(log):
        number, seen = row.of if row.source == "late" and row.of in wanted else row.number, (row.path, row.rewards)
        if row.state in SCORED and wanted.get(number) == seen:
            told.add(number)
        if row.source == "imported":
            imports[row.asked][seen] += 1
    if told:
        _refuse(len(told), len(rows), f"as {some_trials(sorted(told))} of this study")
    new = Counter((row.path, row.rewards) for row in rows)
    if known := max((one.total() for one in imports.values() if one <= new), default=0):
        _refuse(known, len(rows), "from an earlier import")


def _refuse(known: int, total: int, how: str) -> None:
    which = f"{known:,} of {total:,} results {'is' if known == 1 else 'are'}"
    if known == total:
        which = "this result is" if total == 1 else f"all {total:,} results are"
    raise StudyError(
        f"{which} in the log already, {how}: nothing was taken, since a result that counts twice makes the proof "
        f"wrong. Import only what is new; or, if equal results were seen each by itself, count them again "
        f"(--again, in Python again=True)"
    )


def import_past(study: Study, path: Path, *, again: bool = False) -> Imported:
    """Import a CSV file of past results, all of it or nothing; the same file a second time changes nothing."""
    results, empty, failed = read_past(study.mdp, read_table(path), path.name)
    _refuse_pilot(study, results, path.name)
    rows: list[TrialRow] = []
    for result in results:
        with placed(result.where):
            rows.append(past_result(study.mdp, result.path, result.rewards, f"imported from {path.name}"))
    content = json.dumps([[result.path, result.rewards] for result in results])
    request = uuid.uuid4().hex if again else f"import {hashlib.sha256(content.encode()).hexdigest()}"
    with placed(path.name):
        taken = import_rows(study, rows, request, again, [result.number or None for result in results])
    return Imported(taken, len(results) - taken, empty, failed)


def _refuse_pilot(study: Study, results: Sequence[Result], name: str) -> None:
    """Refuse the pilot from which the sigma of a study was taken: it was chosen after a look at these scores."""
    from surepath.study.pilot import read_pilot

    sigma = json.loads(study.record.settings)["sigma"]
    declared = {float(one) for one in np.ravel(sigma)[~study.mdp.is_known]} if isinstance(sigma, list) else {sigma}
    if len(declared) != 1 or not results:
        return
    found = read_pilot(study.mdp, [(result.path, result.rewards) for result in results]).sigma
    if found is not None and float(f"{found:.3g}") in declared:
        raise StudyError(
            f"{name}: the sigma of this study, {found:.3g}, is what surepath pilot suggests from these very scores. "
            f"A sigma chosen from scores does not belong to a proof that counts them: nothing was taken. Leave the "
            f"pilot out; or create a study with a range, or with a sigma that was known before"
        )
