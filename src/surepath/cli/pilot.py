"""`surepath pilot`: play every option a few times, see how far scores scatter, keep the trials for the study."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surepath._text import many, shown
from surepath.cli._output import AsJson, print_json
from surepath.cli._problem import Direction, open_problem
from surepath.cli.main import app

if TYPE_CHECKING:
    from surepath.model.mdp import MDP
    from surepath.model.sources.files import Problem
    from surepath.study.pilot import Pilot


@app.command()
def pilot(
    problem: Annotated[str, typer.Argument(help="A problem file (.json, .csv) or the id of an instance.")],
    sheet: Annotated[
        Path, typer.Option("--csv", help="The sheet of trials: written if it is not there, else read.")
    ] = Path("pilot.csv"),
    plays: Annotated[int, typer.Option(min=1, help="How often every option is played at least.")] = 5,
    command: Annotated[
        str | None, typer.Option(help="Run for every trial and fill in the sheet; as in surepath study run.")
    ] = None,
    direction: Direction = None,
    as_json: AsJson = False,
) -> None:
    """Play every option a few times and say how far scores scatter, before a study whose noise nobody knows.

    Without --command the sheet is filled in by hand: call this once to write it, fill in the scores, call it again.
    """
    from surepath.model.sources.textfile import write_text
    from surepath.study.pilot import pilot_paths, read_pilot
    from surepath.study.sheets.sheet import read_past, read_table, sheet_text
    from surepath.study.trial import Trial

    about = open_problem(problem, direction)
    mdp = about.mdp
    if not sheet.exists():
        paths = pilot_paths(mdp, plays)
        trials = [Trial(i + 1, mdp.plan(path), path, 0.0, "pilot", "") for i, path in enumerate(paths)]
        if command is None:
            write_text(sheet, sheet_text(mdp, trials))
            _tell_written(sheet, problem, len(trials), as_json)
            return
        _run(mdp, trials, command, sheet, as_json)
    results, empty = read_past(mdp, read_table(sheet), sheet.name)
    found = read_pilot(mdp, [(mdp.path(result.plan), result.rewards) for result in results])
    if as_json:
        print_json({"sheet": str(sheet), "empty": empty, **as_data(found)})
        return
    print_text(found, sheet, problem, empty, about)


def _run(mdp: MDP, trials: list[Any], command: str, sheet: Path, quiet: bool) -> None:
    """Perform the trials one after another and write the sheet with their scores; cut short, with those so far."""
    from rich.progress import track

    from surepath.errors import RewardError
    from surepath.model.sources.textfile import csv_line, write_text
    from surepath.study.running.command import Command
    from surepath.study.running.performed import rewards_of
    from surepath.study.sheets.rows import option_names, plan_columns, score_columns
    from surepath.study.sheets.sheet import sheet_text

    performer = Command(mdp, command, "pilot")
    lines = [csv_line(["number", *plan_columns(mdp), *score_columns(mdp)])]
    finished = 0
    try:
        for trial in track(trials, "pilot", transient=True, disable=quiet):
            done = performer(trial)
            try:
                rewards = rewards_of(mdp, trial, done)
            except RewardError as error:
                raise RewardError(f"trial {trial.number}: {error}") from None
            scores: list[Any] = [*rewards, *([] if done.note is None else ["failed"])]
            scores += [""] * (mdp.horizon - len(scores))
            options = option_names(mdp, tuple(trial.path.tolist()))
            lines.append(csv_line([trial.number, *options, *scores[: mdp.horizon]]))
            finished += 1
    except BaseException:
        if finished:
            rest = sheet_text(mdp, trials[finished:]).partition("\n")[2]
            write_text(sheet, "".join(lines) + rest)
            words = (
                f"{shown(sheet)} has the scores of the first {many(finished, 'trial')}; the others are to be filled in"
            )
            typer.echo(words, err=True)
        raise
    write_text(sheet, "".join(lines))


def _tell_written(sheet: Path, problem: str, count: int, as_json: bool) -> None:
    if as_json:
        print_json({"written": str(sheet), "trials": count})
        return
    typer.echo(
        f"wrote {shown(sheet)} with {count:,} trials; play them in this order, fill in the scores, and call\n"
        f"  {shown(f'surepath pilot {problem} --csv {sheet}')}"
    )


def as_data(found: Pilot) -> dict[str, Any]:
    """Return the pilot as plain values."""
    return {
        "trials": found.trials,
        "suggested_sigma": found.sigma,
        "steps": [step.__dict__ for step in found.steps],
        "options": [option.__dict__ for option in found.options],
        "warnings": found.warnings,
    }


def print_text(found: Pilot, sheet: Path, problem: str, empty: int, about: Problem) -> None:
    """Print steps first, then the noisiest options, warnings, and what to do next."""
    from rich.console import Console
    from rich.table import Table

    from surepath.study.pilot import PILOT_CONFIDENCE

    console = Console(highlight=False)
    table = Table("step", "scores", "scatter", f"{PILOT_CONFIDENCE:.0%} interval", box=None, pad_edge=False)
    for step in found.steps:
        span = f"{step.low:.3g} - {step.high:.3g}" if step.low == step.low else ""
        scatter = f"{step.deviation:.3g}" if step.deviation == step.deviation else "?"
        table.add_row(shown(step.name), str(step.scores), scatter, span)
    console.print(f"{found.trials:,} trials" + (f", {empty:,} not filled in yet" if empty else ""))
    console.print(table)
    loud = sorted(found.options, key=lambda option: -option.deviation)[:3]
    if loud:
        words = "; ".join(f"{option.name}: {option.deviation:.3g}" for option in loud)
        console.print(f"largest scatter: {words}", markup=False)
    for warning in found.warnings:
        console.print(f"warning: {warning}", markup=False, style="yellow")
    for line in advice(found, sheet, problem, about):
        console.print(line, markup=False, soft_wrap=True)


def advice(found: Pilot, sheet: Path, problem: str, about: Problem) -> list[str]:
    """Return what may follow, as lines of text and commands."""
    from surepath.study.pilot import SIGMA_FACTOR

    name, file = shlex.quote(problem), shlex.quote(str(sheet))
    asks = [] if about.epsilon is not None else [f"--epsilon {_proposal(found):g}"]
    asks += [] if about.delta is not None else ["--delta 0.05"]
    create = " ".join(["  surepath study create", name, *asks])
    chosen = " Epsilon is a proposal: how far from the best the answer may be, in units of a plan's total score."
    chosen = chosen if about.epsilon is None else ""
    load = f"  surepath study import-log {file}"
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
        "interval. It is an estimate, not a bound: declaring it is your own decision, and the certificate will say "
        f"that you declared it. {known}",
        f"With this sigma, leave these trials out of the study: a sigma that was chosen from scores does not "
        f"belong to a proof that counts them.{chosen}",
        f"{create} --sigma {found.sigma:.3g}",
        "Only if you knew a sigma before the pilot, declare that one and import the pilot's trials too:",
        load,
    ]


def _proposal(found: Pilot) -> float:
    """Propose an epsilon of the size of the scatter of a plan's total, rounded to one figure."""
    total = sum(step.deviation**2 for step in found.steps if step.deviation == step.deviation) ** 0.5
    return float(f"{total:.1g}") or 0.1
