"""`surepath study run`: run a command for one trial after another, several at a time, until the answer is proven."""

from __future__ import annotations

import math
import signal
from typing import Annotated, Any

import typer

from surepath._text import many, shown
from surepath.cli._interrupt import allow_seconds, call_before_kill, set_interrupt_text
from surepath.cli._output import MOST_WORKERS, AsJson, print_json
from surepath.cli.study import study
from surepath.cli.study._open import DEFAULT_STORAGE, Name, Storage, load, note, shown_plan


@study.command("run")
def run(
    command: Annotated[
        str,
        typer.Option(
            help="Run for every trial, without a shell; {STEP} is the option of that step, {trial} its number."
        ),
    ],
    workers: Annotated[int, typer.Option(min=1, max=MOST_WORKERS, help="Trials at the same time.")] = 1,
    trials: Annotated[int | None, typer.Option(min=1, help="Run at most so many trials.")] = None,
    timeout: Annotated[str | None, typer.Option(help="Begin no trial after this time: 30min, 8h.")] = None,
    budget: Annotated[
        float | None, typer.Option(help="Begin no trial that would bring what the study has spent above this.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress line.")] = False,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Run a command for one trial after another until the best plan is proven or the budget is spent.

    The command prints a score for each step, as numbers or as one line of JSON; a non-zero exit is a failed trial.
    One that ends with exit code 0 and prints anything else ends the run.
    """
    from surepath.study.running.command import Command
    from surepath.study.running.runner import Runner
    from surepath.study.spending import checked_budget

    found = load(storage, name)
    performer = Command(found.mdp, command, found.name)
    progress = False if quiet or as_json else None
    runner = Runner(
        found,
        performer,
        n_trials=trials,
        timeout=timeout,
        progress=progress,
        abandon=performer.end,
        budget=checked_budget(found.mdp, budget),
        say=note,
    )
    set_interrupt_text("interrupted; running trials were cancelled, all that was reported is kept")
    allow_seconds(15.0)
    call_before_kill(performer.kill)
    signal.signal(
        signal.SIGTERM, signal.getsignal(signal.SIGINT)
    )  # a scheduler's signal to end is handled as Ctrl-C is
    try:
        runner.run(workers)
    finally:
        performer.kill()  # nothing is left of them, unless a second Ctrl-C cut the first one short
    _report(found, runner, as_json)


def _report(found: Any, runner: Any, as_json: bool) -> None:
    from surepath.study.spending import money
    from surepath.study.status.in_words import waiting_in_words

    now = found.status()
    facts = {
        "recorded": runner.recorded,
        "failed": runner.failed,
        "last_failure": runner.last_failure or None,
        "answer": now.answer,
        "done": now.done,
        "best_plan": now.best_plan,
        "certified_gap": now.certified_gap,
        "epsilon": now.epsilon,
        "states": now.states,
    }
    if now.spent is not None:
        facts |= {"spent": now.spent, "budget_spent": bool(runner.out_of_budget)}
    forecast = None if now.done else found.forecast()
    if as_json:
        facts["forecast"] = None if forecast is None else forecast.to_dict()
        print_json(facts)
        return
    if runner.out_of_budget:
        note(runner.out_of_budget)
    paid = "" if now.spent is None else f", {money(now.spent)} spent in all"
    lost = f", {runner.failed:,} failed: {shown(runner.last_failure)}\n" if runner.failed else "; "
    so_far = "" if now.done else " so far"
    paid += ", as the study was done already" if now.done and not runner.recorded else ""
    typer.echo(f"{many(runner.recorded, 'trial')} run now{paid}{lost}best plan{so_far}: {shown_plan(now.best_plan)}")
    if not math.isfinite(now.certified_gap):
        typer.echo("nothing is proven about it yet")
    else:
        from surepath._numbers import rounded_up

        word = "by the arithmetic" if now.findings else "proven"
        sure = (
            f"{word} within {rounded_up(now.certified_gap)} of the best, wrong with probability {now.delta:g} at most"
        )
        typer.echo(sure if now.done else f"{sure}; wanted: {now.epsilon:g}")
    if waiting := waiting_in_words(now):
        typer.echo(waiting)
    if forecast is not None:
        typer.echo(f"{forecast}")
    if now.doubt is not None:
        typer.echo(shown(now.doubt))
    for finding in now.findings[1:]:
        note(f"finding: {finding}")
