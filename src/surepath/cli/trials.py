"""Commands on trials: ask, tell, fail, cancel, enqueue, exclude, import-log, and the pilot before a study."""

from __future__ import annotations

import shlex
from collections import Counter
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surepath._text import check_table, many, shown, write_table
from surepath.cli.main import AsJson, answer, app, print_json, refuse_existing, say
from surepath.cli.problem import open_problem
from surepath.cli.study import (
    DEFAULT_STORAGE,
    TAKES_SCORES,
    Force,
    Name,
    Number,
    Numbers,
    Storage,
    again,
    load,
    note,
    pairs,
    scores,
    shown_plan,
    study,
    trial_row,
)

if TYPE_CHECKING:
    from surepath.model.files import Problem
    from surepath.model.mdp import MDP
    from surepath.study.pilot import Pilot
    from surepath.study.study import Study
    from surepath.study.trial import Trial

SHORT_LEASE = 3600.0
Baseline = Annotated[
    list[float] | None, typer.Option(help="What each score counts less: once, or once for every score.")
]
Cost = Annotated[float | None, typer.Option(min=0, help="What the trial really cost.")]


@study.command("ask")
def ask(
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="How many trials.")] = 1,
    sheet: Annotated[Path | None, typer.Option("--csv", help="A file to fill in: .csv or .xlsx.")] = None,
    wells: Annotated[bool, typer.Option("--wells", help="Draw a well of a plate for every row of the file.")] = False,
    worker: Annotated[str | None, typer.Option(help="Who runs them; by default host and process.")] = None,
    budget: Annotated[float | None, typer.Option(help="What the study may spend in all; then no trial begins.")] = None,
    force: Force = False,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Take the next trials to run; exit code 1 when the answer is proven or the budget is spent: none are given."""
    from surepath.errors import BudgetError, StoppedError
    from surepath.study.sheets import random_wells

    if sheet is not None:  # what can be refused is, before any trial is assigned
        refuse_existing(sheet, force)
        random_wells(n if wells else 0)
        check_table(sheet)
    found = load(storage, name)
    try:
        limit: dict[str, Any] = {} if budget is None else {"budget": budget}
        trials = found.ask(n, worker=worker, **limit)
    except (BudgetError, StoppedError) as error:
        facts = {"trials": [], "done": isinstance(error, StoppedError)}
        options = again(found, storage)
        if facts["done"]:
            note(
                f"{shown(found.name)} is done: surepath study status{options} says its answer, "
                f"surepath study tighten{options} EPSILON goes on"
            )
        else:
            facts |= {"budget_spent": True, "spent": found.spent}
            note(str(error))
        if as_json:
            print_json(facts)
        raise typer.Exit(1) from None
    if sheet is not None:
        _write_sheet(found, trials, sheet, wells)
    rows = [{name: getattr(trial, name) for name in ("number", "plan", "lease_until", "cases")} for trial in trials]
    facts = {"trials": rows, "done": False, "written": None if sheet is None else str(sheet)}
    if sheet is None:
        answer(as_json, facts, "\n".join(shown(trial) for trial in trials))
        return
    numbers = f"trials {trials[0].number} to {trials[-1].number}" if n > 1 else f"trial {trials[0].number}"
    answer(
        as_json,
        facts,
        f"wrote {shown(sheet)}: {numbers}; fill in the scores (failed where a step failed), then\n"
        f"  surepath study tell {shown(shlex.quote(str(sheet)))}{again(found, storage)}",
    )


def _write_sheet(found: Study, trials: list[Any], sheet: Path, wells: bool) -> None:
    from surepath.study.creation import duration_text
    from surepath.study.sheets import sheet_text

    try:
        write_table(sheet, sheet_text(found.mdp, trials, wells))
    except BaseException:
        for trial in trials:  # nobody will ever see these
            found.cancel(trial)
        raise
    lease = found.options.lease
    if lease < SHORT_LEASE:
        note(
            f"note: the lease of this study is {duration_text(lease)}; scores reported later may not count, and the "
            f"plans are assigned again meanwhile. For work by hand, create a study with --lease 7d"
        )


def _less(baseline: list[float] | None) -> Any:
    return baseline[0] if baseline and len(baseline) == 1 else baseline or None


ANSWERS = {
    "told": "recorded",
    "repeated": "recorded before, nothing changed",
    "late": "came too late to count, after the lease had ended or the trial was cancelled; kept in the log",
}


@study.command("tell", context_settings=TAKES_SCORES)
def tell(
    what: Annotated[str, typer.Argument(help="A file from study ask (.csv, .xlsx), or the number of a trial.")],
    values: Annotated[list[str] | None, typer.Argument(help="Its scores, step by step, or STEP=SCORE.")] = None,
    cost: Cost = None,
    baseline: Baseline = None,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Report scores: a filled-in CSV file, all of it or nothing, or one trial; the same twice changes nothing."""
    from surepath.study.performing import Performed, rewards_of
    from surepath.study.sheets import read_sheet, read_table, some_trials

    one = what.isascii() and what.isdigit()
    if one and not values:
        raise typer.BadParameter(f"give the scores of trial {what}: surepath study tell {what} 0.7 0.4")
    if not one and (values or cost is not None or baseline is not None):
        raise typer.BadParameter("give a CSV file alone, or the number of a trial and its scores")
    seen, found = scores(values or []), load(storage, name)
    if one:
        trial = found._trial(trial_row(found, int(what)))
        way_out = "a recorded trial never changes; report a trial that failed there by `study fail` on the same study"
        told = Performed(seen, ended=way_out)  # one that was forgotten could never be added
        rewards = rewards_of(found.mdp, trial, told, ranged=not found.options.baseline)
        outcome = found.tell(trial.number, rewards, cost=cost, baseline=_less(baseline))
        facts = {"number": trial.number, "answer": outcome, "state": trial_row(found, trial.number).state}
        said = f"trial {what}: {ANSWERS[outcome]}"
    else:
        path = Path(what)
        sheet = read_sheet(found.mdp, read_table(path), path.name)
        counts = Counter(found.tell_many(sheet.results))
        facts = {**{outcome: counts[outcome] for outcome in ANSWERS}, "empty": sheet.empty}
        parts = [f"{counts[outcome]:,} {words}" for outcome, words in ANSWERS.items() if counts[outcome]]
        if sheet.empty:
            parts.append(f"{len(sheet.empty):,} without scores, left as they are ({some_trials(sheet.empty)})")
        said = f"{shown(path.name)}: {'; '.join(parts) or 'no rows'}"
    proven = found.done and isfinite(found.certified_gap)
    end = f"\nthe answer is proven: surepath study status{again(found, storage)}" if proven else ""
    answer(as_json, {**facts, "done": found.done}, said + end)


@study.command("fail", context_settings=TAKES_SCORES)
def fail(
    number: Number,
    values: Annotated[list[str] | None, typer.Argument(help="The scores seen before it failed.")] = None,
    reason: Annotated[str, typer.Option("--note", help="Why it failed.")] = "",
    cost: Cost = None,
    baseline: Baseline = None,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Report that a trial failed at the step after the given scores."""
    found = load(storage, name)
    outcome = found.fail(number, scores(values or []), reason, cost=cost, baseline=_less(baseline))
    kept = "" if not values else f", its first {len(values)} scores are kept"
    kept = ", its first score is kept" if values and len(values) == 1 else kept
    said = f"failed{kept}" + (f"; {ANSWERS['late']}" if outcome == "late" else "")
    if outcome == "repeated":
        said = f"{trial_row(found, number).state} before, nothing changed"
    answer(as_json, {"number": number, "answer": outcome}, f"trial {number}: {said}")


@study.command("cancel")
def cancel(
    numbers: Numbers,
    reason: Annotated[str, typer.Option("--note", help="Why they were not run.")] = "",
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Cancel trials that were not run; those already reported stay as they are."""
    found = load(storage, name)
    for number in numbers:
        trial_row(found, number)  # a number that is none is refused before anything changes
    states = {}
    for number in numbers:
        found.cancel(number, reason)
        states[number] = trial_row(found, number).state
    lines = [f"trial {n}: {state}{'' if state == 'cancelled' else ', and stays so'}" for n, state in states.items()]
    answer(as_json, {"states": states}, "\n".join(lines))


@study.command("enqueue")
def enqueue(
    plan: Annotated[list[str], typer.Argument(help="STEP=OPTION for every step, or one JSON object.")],
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Queue a plan of your own to be assigned next; any plan is valid data."""
    found = load(storage, name)
    path = found.mdp.path(pairs(plan, "a plan"))
    found.enqueue(path)
    named = found.mdp.plan(path)
    answer(as_json, {"plan": named}, f"queued {shown_plan(named)}")


@study.command("exclude")
def exclude(
    options: Annotated[list[str], typer.Argument(help="STEP=OPTION: that option of the step, in every state.")],
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Exclude options that cannot be run, for good: a fact of the world, never a verdict on their scores."""
    found = load(storage, name)
    out = pairs(options, "an option")
    found.exclude(out)
    answer(as_json, {"excluded": out}, f"excluded {shown_plan(out)}, for good")


ASSUMPTION = (
    "The proof now rests on this too: the file holds every result of these trials, or a part that was not picked by "
    "how they came out, and they were scored the same way as the study's."
)


@study.command("import-log")
def import_log(
    path: Annotated[Path, typer.Argument(help="A CSV file with columns plan.STEP (or STEP) and score.STEP.")],
    again: Annotated[bool, typer.Option("--again", help="Count what is in the log already once more.")] = False,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Import past results, all of the file or nothing; valid if they were not picked by how they came out."""
    from surepath.study.sheets import import_past

    found = load(storage, name)
    count = import_past(found, path, again=again)
    rest = f"; {many(count.empty, 'row')} without any score left out" if count.empty else ""
    rest += f"; {count.failed:,} failed at the first step and hold no score" if count.failed else ""
    said = f"imported {many(count.imported, 'trial')} from {shown(path.name)}{rest}" + (
        f"\n{ASSUMPTION}" if count.imported else ""
    )
    if not count.imported and count.repeated:
        said = f"{shown(path.name)} was imported before; nothing changed"
    answer(as_json, {**count._asdict(), "assumption": ASSUMPTION}, said)


@app.command()
def pilot(
    problem: Annotated[str, typer.Argument(help="A problem file (.json, .csv) or the id of an instance.")],
    sheet: Annotated[
        Path, typer.Option("--csv", help="The sheet of trials: written if it is not there, else read.")
    ] = Path("pilot.csv"),
    plays: Annotated[int, typer.Option(min=1, help="How often every option is played at least.")] = 5,
    command: Annotated[str | None, typer.Option(help="Run it for every trial, as surepath study run does.")] = None,
    as_json: AsJson = False,
) -> None:
    """Play every option a few times and say how far scores scatter, before a study whose noise nobody knows.

    Without --command the sheet is filled in by hand: call this once to write it, fill in the scores, call it again.
    """
    from surepath._text import write_text
    from surepath.study.pilot import pilot_paths, read_pilot
    from surepath.study.sheets import read_past, read_table, sheet_text
    from surepath.study.trial import Trial

    about = open_problem(problem)
    mdp = about.mdp
    if not sheet.exists():
        paths = pilot_paths(mdp, plays)
        trials = [Trial(i + 1, mdp.plan(path), path, 0.0, "pilot", "") for i, path in enumerate(paths)]
        if command is None:
            write_text(sheet, sheet_text(mdp, trials))
            said = (
                f"wrote {shown(sheet)} with {len(trials):,} trials; play them in this order, fill in the scores, and "
            )
            again = shown(f"surepath pilot {problem} --csv {sheet}")
            answer(as_json, {"written": str(sheet), "trials": len(trials)}, f"{said}call\n  {again}")
            return
        _run_pilot(mdp, trials, command, sheet, as_json)
    results, empty, failed = read_past(mdp, read_table(sheet), sheet.name)
    found = read_pilot(mdp, [(result.path, result.rewards) for result in results])
    left = [f"{failed:,} failed at the first step"] if failed else []
    left += [f"{empty:,} not filled in yet"] if empty else []
    facts = {"sheet": str(sheet), "empty": empty, "failed": failed, "trials": found.trials}
    facts |= {"suggested_sigma": found.sigma, "steps": [step._asdict() for step in found.steps]}
    lines = [", ".join([f"{found.trials:,} trials with scores", *left]), *map(str, found.steps)]
    lines += _what_next(found, sheet, problem, about)
    answer(as_json, facts, "\n".join(map(shown, lines)))


def _run_pilot(mdp: MDP, trials: list[Trial], command: str, sheet: Path, quiet: bool) -> None:
    """Perform the trials one after another and write the sheet with their scores; cut short, with those so far."""
    from rich.progress import track

    from surepath._text import write_text
    from surepath.study.performing import rewards_of
    from surepath.study.runner import Command
    from surepath.study.sheets import FAILED_WORD, sheet_text
    from surepath.study.trial import placed

    performer = Command(mdp, command, "pilot")
    filled: list[list[Any]] = []
    try:
        for trial in track(trials, "pilot", transient=True, disable=quiet):
            done = performer(trial)
            with placed(f"trial {trial.number}"):
                rewards = rewards_of(mdp, trial, done)
            seen = [rewards[stage] for stage in mdp.score_stages if stage < len(rewards)]
            filled.append([*seen, *([] if done.note is None else [FAILED_WORD])])
    finally:
        if filled:
            write_text(sheet, sheet_text(mdp, trials, filled=filled))
        if 0 < len(filled) < len(trials):
            some = f"the scores of the first {many(len(filled), 'trial')}"
            say(f"{shown(sheet)} has {some}; the others are to be filled in", err=True)


def _what_next(found: Pilot, sheet: Path, problem: str, about: Problem) -> list[str]:
    """Return what may follow, as lines of text and commands."""
    from surepath.study.pilot import SIGMA_FACTOR

    create, chosen = f"  surepath study create {shlex.quote(problem)}", ""
    load = f"  surepath study import-log {shlex.quote(str(sheet))}"
    if about.epsilon is None:  # of the size of the scatter of a plan's total, rounded to one figure
        total = sum(step.deviation**2 for step in found.steps if step.deviation == step.deviation) ** 0.5
        create += f" --epsilon {float(f'{total:.1g}') or 0.1:g}"
        chosen = " Epsilon is a proposal: how far from the best the answer may be, in units of a plan's total score."
    create += "" if about.delta is not None else " --delta 0.05"
    if about.mdp.noise_missing("") is None:
        return [
            "This problem declares its noise or a range already, so nothing is taken from these scores. The trials "
            f"were fixed in advance, and the study may count them:{chosen}",
            create,
            load,
        ]
    known = (
        "If you know the range of the scores, declare that instead: then no sigma is needed, and the study may count "
        "these trials."
    )
    if found.sigma is None:
        return [f"Too little was seen to suggest a sigma: every option needs at least two scores. {known}"]
    return [
        f"Suggestion: sigma {found.sigma:.3g}, which is {SIGMA_FACTOR:g} times the upper end of the noisiest step's "
        f"interval: an estimate, not a bound. {known}",
        f"With this sigma, leave these trials out of the study: a sigma that was chosen from scores does not "
        f"belong to a proof that counts them.{chosen}",
        f"{create} --sigma {found.sigma:.3g}",
        "Only if you knew a sigma before the pilot, declare that one and import the pilot's trials too:",
        load,
    ]
