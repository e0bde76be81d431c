"""`surepath estimate`: how many trials to expect, before the first one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surepath._text import shown
from surepath.cli._output import AsJson, print_json
from surepath.cli._problem import Delta, Direction, Epsilon, Sigma, open_noisy
from surepath.cli.main import app

if TYPE_CHECKING:
    from surepath.simulation.estimate import Estimate


@app.command()
def estimate(
    problem: Annotated[str, typer.Argument(help="A problem file (.json, .csv) or the id of an instance.")],
    epsilon: Epsilon = None,
    delta: Delta = None,
    sigma: Sigma = None,
    direction: Direction = None,
    spread: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Least and largest mean of a step; by default the range in the file, else 0 1."),
    ] = None,
    ties: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the options of a state that are as good as its best one.")
    ] = 0.0,
    scatter: Annotated[
        float | None,
        typer.Option(help="Standard deviation to expect of scores in a declared range; by default a fifth of it."),
    ] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Also say which epsilon so many trials buy.")] = None,
    worlds: Annotated[int, typer.Option(min=1, help="How many worlds are drawn.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the worlds.")] = 0,
    budget: Annotated[int, typer.Option(min=1, help="Trials after which a run is cut.")] = 2_000_000,
    seconds: Annotated[
        float, typer.Option(min=0, help="Seconds after which the answer is given from what was played; 0 for no limit.")
    ] = 20.0,
    as_json: AsJson = False,
) -> None:
    """Guess how many trials a problem will need, from simulated worlds on its graph."""
    from surepath.cli.bound import asked
    from surepath.simulation.estimate import estimate as guess

    found = open_noisy(problem, direction, sigma)
    with _bar(as_json, worlds) as report:
        answer = guess(
            found.mdp,
            asked("epsilon", epsilon, found.epsilon),
            asked("delta", delta, found.delta),
            sigma,
            spread=spread,
            ties=ties,
            scatter=scatter,
            instance=found.instance,
            worlds=worlds,
            seed=seed,
            budget=budget,
            seconds=seconds or None,
            progress=report,
        )
    if as_json:
        print_json({"problem": problem, "simulated": True, **as_data(answer, trials)})
    else:
        print_text(answer, problem, trials)


@contextlib.contextmanager
def _bar(quiet: bool, worlds: int) -> Iterator[Callable[[int, int], None]]:
    """Show the worlds done and the elapsed time, on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, quiet=quiet)
    if not console.is_terminal:
        yield lambda done, total: None
        return
    columns = (TextColumn("worlds"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        line = bar.add_task("worlds", total=worlds)
        yield lambda done, total: bar.update(line, completed=done)


def as_data(answer: Estimate, trials: int | None = None) -> dict[str, Any]:
    """Return the estimate as plain values; null where most runs were cut."""
    return {
        **answer.settings,
        "means": answer.worlds.in_words(),
        "means_drawn_from": [float(answer.worlds.low.min()), float(answer.worlds.high.max())],
        "curve": [dict(zip(("epsilon", "median", "low", "high"), point)) for point in answer.curve],
        **({} if trials is None else {"trials": trials, "epsilon_for_trials": answer.epsilon_for(trials)}),
        "estimates": {
            name: {
                "median": answer.quantile(name, 0.5),
                "low": answer.quantile(name, 0.1),
                "high": answer.quantile(name, 0.9),
                "worlds": len(answer.trials[name]),
                "cut": int(answer.censored[name].sum()),
                "trials": answer.trials[name],
            }
            for name in answer.trials
        },
    }


def print_text(answer: Estimate, problem: str, budget: int | None = None) -> None:
    """Print a short table, and how to read it."""
    from rich.console import Console
    from rich.table import Table

    about = answer.settings

    def trials(name: str, share: float) -> str:
        value = answer.quantile(name, share)
        return f"{value:,.0f}" if value < float("inf") else f"over {answer.at_least(name, share):,}"

    console = Console(highlight=False)
    low, high = about["sigma"]
    noise = f"{high:g}" if low >= high else f"{low:g} to {high:g}"
    said = "noise to be learned within the declared range" if about["learned"] else f"sigma {noise}"
    asks = f"epsilon {about['epsilon']:g}, delta {about['delta']:g}, {said}"
    console.print(f"{shown(problem)}: {asks}", markup=False)
    table = Table("trials to expect", "median", "10 %", "90 %", "worlds", box=None, pad_edge=False)
    for name in answer.trials:
        cells = [trials(name, share) for share in (0.5, 0.1, 0.9)]
        table.add_row(name, *cells, str(len(answer.trials[name])), style="bold" if name == "Challenger" else None)
    for column in table.columns[1:]:
        column.justify = "right"
    console.print(table)
    played = max(len(found) for found in answer.trials.values())
    if about["out_of_time"]:
        console.print(
            f"In {about['seconds']:g} seconds {played} of {about['worlds']} worlds were played, the last in part; "
            "give more time with --seconds."
        )
    _print_curve(console, answer)
    if budget is not None:
        bought = answer.epsilon_for(budget)
        words = "less than the largest epsilon above" if bought is None else f"an epsilon of about {bought:.3g}"
        console.print(f"{budget:,} trials buy {words}, in half of the worlds.")
    console.print(
        f"A guess from {played} simulated runs on this graph, with {answer.worlds.in_words()} and {_noise(about)}. "
        "If "
        "your true means lie closer together or further apart, say so with --spread; if many options are about as "
        "good as each other, with --ties. In 10 % and 90 % of the runs it took no more than shown; the certificate "
        "you will get does not depend on this guess."
    )


def _noise(about: dict[str, Any]) -> str:
    """Describe the noise that was simulated."""
    worst = "; the worst noise is the most that the range allows, half of it" if about["learned"] else ""
    if about["own_law"]:
        return f"scores drawn by its law{worst}"
    if about["scatter"] is None:
        return "Gaussian noise"
    low, high = about["scatter"]
    size = f"{high:.3g}" if low >= high else f"{low:.3g} to {high:.3g}"
    whose = "as you expect" if about["scatter_given"] else "a fifth of the range; say what you expect with --scatter"
    return f"scores that scatter by {size} within their range ({whose}){worst}"


def _print_curve(console: Any, answer: Estimate) -> None:
    """Show what each epsilon costs, with bars on a logarithmic scale."""
    from math import isfinite, log

    from rich.table import Table

    known = [median for _, median, _, _ in answer.curve if isfinite(median)]
    if not known:
        return
    table = Table("epsilon", "trials", "10 %", "90 %", "", box=None, pad_edge=False, title=None)
    for column in table.columns[:4]:
        column.justify = "right"
    most, least = log(max(known) + 1), log(min(known) + 1)
    for epsilon, *costs in answer.curve:
        cells = [f"{cost:,.0f}" if isfinite(cost) else "cut" for cost in costs]
        share = (log(costs[0] + 1) - least) / (most - least or 1.0) if isfinite(costs[0]) else 1.0
        asked = abs(epsilon - answer.settings["epsilon"]) < 1e-12
        table.add_row(f"{epsilon:.3g}", *cells, "▇" * (1 + round(29 * share)), style="bold" if asked else None)
    console.print("\nWhat Challenger needs for each epsilon:")
    console.print(table)
