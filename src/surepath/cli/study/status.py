"""`surepath study status`: the status of a study, once or while it goes on."""

from __future__ import annotations

import math
import time
from typing import Annotated, Any

import typer

from surepath._text import shown
from surepath.cli._output import AsJson, print_json
from surepath.cli.study import study
from surepath.cli.study._open import DEFAULT_STORAGE, Name, Storage, load, shown_plan

MOST_SHOWN = 6  # running trials, each on a line of its own
MOST_WORKERS_LISTED = 10


@study.command("status")
def status(
    watch: Annotated[bool, typer.Option("--watch", help="Go on until the answer is proven; Ctrl-C ends it.")] = False,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two readings.")] = 2.0,
    forecast: Annotated[
        bool, typer.Option("--forecast", help="Also guess by simulation what further trials would bring.")
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Also say which plans may still be better.")] = False,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Show the status of a study: trials, the best plan so far, what is proven, who works on it."""
    found = load(storage, name)
    _print_status(found, watch, every, as_json, forecast, explain)


def _print_status(found: Any, watch: bool, every: float, as_json: bool, forecast: bool, explain: bool) -> None:
    before = None
    while True:
        now = found.status()
        if (now.trials, now.states, now.epsilon) != before:
            before = (now.trials, now.states, now.epsilon)
            guess = found.forecast() if forecast else None
            if as_json:
                more = {} if guess is None else {"forecast": guess.to_dict()}
                print_json({**now.as_dict(), **more, **({"explanation": found.explain()} if explain else {})})
            else:
                lines = [text(now, brief=watch and not now.done, forecast=forecast)]
                lines += [found.explain()] if explain else []
                lines += [f"forecast: {guess}"] if guess is not None else []
                typer.echo("\n".join(lines))
        if not watch or now.done:
            return
        time.sleep(every)


def text(now: Any, *, brief: bool = False, forecast: bool = False) -> str:
    """Describe a status; brief gives one line, and where a forecast follows, no rough guess is made."""
    from surepath.study.spending import money
    from surepath.study.status.progress import at_most, gap_in_words

    counts = ", ".join(f"{count:,} {state}" for state, count in now.states.items() if count) or "none yet"
    gap = gap_in_words(now.certified_gap, now.epsilon)
    left = "" if now.rough_trials_left is None or now.done or forecast else f", {at_most(now.rough_trials_left)}"
    spent = "" if now.spent is None else f"; spent {money(now.spent)}"
    if brief:
        return f"trials: {counts}{spent}; {gap}{left}{'; in doubt' if now.findings else ''}"
    proven = math.isfinite(now.certified_gap)
    lines = [
        f"{shown(now.name)} in {shown(now.storage)}",
        f"trials: {counts}{spent}",
        f"best plan{'' if now.done else ' so far'}: {shown_plan(now.best_plan)}",
        f"{gap}{', wrong with probability ' + format(now.delta, 'g') + ' at most' if proven else ''}"
        f"{': done' if now.done and not now.findings else left}",
    ]
    lines += [f"counted: {now.worth}"] if now.worth else []
    lines += [shown(now.doubt)] if now.findings else []
    lines += [f"running: {line}" for line in _running(now)]
    lines += [f"last failure: {shown(now.last_failure)}"] if now.last_failure else []
    lines += [f"finding: {shown(one)}" for one in now.findings[1:]]
    return "\n".join(lines)


def _running(now: Any) -> list[str]:
    """Write one line per running trial, or per worker where there are many."""
    from surepath.study.lease import in_words

    def lease(ends: list[float]) -> str:
        return in_words(max(min(ends) - now.now, 0.0))

    if len(now.running) <= MOST_SHOWN:
        ends = [(trial.number, trial.worker, trial.lease_until) for trial in now.running]
        return [f"trial {number} by {shown(worker)}, lease {lease([end])}" for number, worker, end in ends]
    by_worker: dict[str, list[float]] = {}
    for trial in now.running:
        by_worker.setdefault(trial.worker, []).append(trial.lease_until)
    lines = [f"{len(ends):,} by {shown(worker)}, lease {lease(ends)}" for worker, ends in by_worker.items()]
    if len(lines) > MOST_WORKERS_LISTED:
        more = sum(map(len, list(by_worker.values())[MOST_WORKERS_LISTED:]))
        lines[MOST_WORKERS_LISTED:] = [f"{more:,} by {len(lines) - MOST_WORKERS_LISTED:,} other workers"]
    return lines
