"""`surepath simulate`: run a learner many times on a problem whose true means are given."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from surepath._text import shown
from surepath.cli._output import MOST_WORKERS, AsJson, print_json
from surepath.cli._problem import Direction, open_noisy
from surepath.cli.main import app


@app.command()
def simulate(
    problem: Annotated[str, typer.Argument(help="A problem file with means (.json, .csv) or the id of an instance.")],
    learner: Annotated[
        str, typer.Option(help="Challenger, EPRL, BPIUCRL, Uniform, WholePlan or Design.")
    ] = "Challenger",
    epsilon: Annotated[
        list[float] | None,
        typer.Option(help="How far from the best the answer may be; several times for several."),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="Allowed probability of a wrong answer; what the file asks, or 0.1.")
    ] = None,
    sigma: Annotated[
        float | None, typer.Option(help="Sub-Gaussian factor; by default the file's. Needed where it declares none.")
    ] = None,
    direction: Direction = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="Setting of the learner, such as sampling=max-diameter.")
    ] = None,
    runs: Annotated[int, typer.Option(help="How many runs.")] = 100,
    seed: Annotated[int, typer.Option(help="Main seed; run i has a child of its own.")] = 0,
    budget: Annotated[int, typer.Option(help="Trials after which a run is cut.")] = 10_000_000,
    workers: Annotated[
        int | None, typer.Option(min=1, max=MOST_WORKERS, help="Threads; one per core by default.")
    ] = None,
    as_json: AsJson = False,
    rows: Annotated[bool, typer.Option(help="With --json, also every run.")] = False,
    progress: Annotated[bool, typer.Option(help="A progress bar on standard error.")] = True,
) -> None:
    """Run a learner many times and say how many trials it needs and how often it is wrong."""
    from surepath.cli.bound import asked
    from surepath.errors import ProblemError
    from surepath.learners.registry import learner_name
    from surepath.simulation.simulate import simulate as run_many

    found = open_noisy(problem, direction, sigma)
    if found.instance is None:
        raise ProblemError(
            f"a simulation needs the true means, and {problem} gives none; "
            f'give every edge a "mean" (your best guess will do)'
        )
    risk = delta if delta is not None else found.delta or 0.1
    spec: dict[str, Any] = {"name": learner_name(learner), "delta": risk, **_settings(setting or [])}
    if sigma is not None:
        spec.setdefault("sigma", sigma)  # --set sigma=unknown: scores have this noise, and the learner is not told
    grid = epsilon or [asked("epsilon", None, found.epsilon)]
    results = run_many(
        spec, found.instance, runs, seed, grid, workers, budget=budget, progress=progress and not as_json
    )
    lines = [_summary(results, e) for e in dict.fromkeys(grid)]
    if as_json:
        answer: dict[str, Any] = {"settings": results.settings, "summary": lines}
        if rows:
            answer["rows"] = [row._asdict() for row in results]
        print_json(answer)
        return
    _print(results, lines)


def _settings(pairs: list[str]) -> dict[str, Any]:
    from surepath.errors import SettingError

    settings: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign:
            raise SettingError(f"--set takes name=value, such as sampling=max-diameter, not {pair!r}")
        try:
            settings[key] = json.loads(value)
        except json.JSONDecodeError:
            settings[key] = value
        except (ValueError, RecursionError):  # thousands of digits or brackets
            raise SettingError(f"--set {key}=... is too long to be a value: {len(value):,} characters") from None
        own = "learner" if key == "name" else key
        if own in ("learner", "epsilon", "delta") or (own == "sigma" and settings[key] != "unknown"):
            raise SettingError(f"--set {key}=... would count for nothing beside --{own}: say --{own} {shown(value)}")
    return settings


def _summary(results: Any, epsilon: float) -> dict[str, Any]:
    import numpy as np

    chosen = results.at(epsilon)
    tau = results.tau[chosen]
    reasons, counts = np.unique(results.reason[chosen], return_counts=True)
    return {
        "epsilon": epsilon,
        "runs": int(chosen.sum()),
        "mean_tau": float(tau.mean()),
        "standard_error": float(tau.std(ddof=1) / np.sqrt(len(tau))) if len(tau) > 1 else None,
        "median_tau": float(np.median(tau)),
        "wrong": None if results.censored[chosen].all() else results.failure_rate(epsilon),
        "censored": float(results.censored[chosen].mean()),
        "mean_regret": float(results.regret[chosen].mean()),
        "reasons": dict(zip(reasons.tolist(), counts.tolist())),
    }


def _print(results: Any, lines: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    learner = results.settings["learner"]
    console = Console()
    table = Table(title=escape(shown(f"{learner['name']} on {results.settings['instance'] or 'this problem'}")))
    for column in ("epsilon", "runs", "mean trials", "median", "wrong", "censored", "mean regret", "stopped by"):
        table.add_column(column, justify="right")
    for line in lines:
        table.add_row(
            f"{line['epsilon']:g}",
            str(line["runs"]),
            ("" if line["censored"] == 0 else ">=") + f"{line['mean_tau']:,.1f}",
            f"{line['median_tau']:,.0f}",
            "" if line["wrong"] is None else f"{line['wrong']:.2%}",
            f"{line['censored']:.0%}",
            f"{line['mean_regret']:.4g}",
            ", ".join(f"{name} {count}" for name, count in line["reasons"].items()),
        )
    console.print(table)
    plain = {k: v for k, v in learner.items() if k not in ("name", "epsilon") and not isinstance(v, list | dict)}
    listed = ", ".join(f"{k}={v}" for k, v in plain.items())
    console.print(f"settings: {shown(listed)}", highlight=False, markup=False)
    if learner.get("widths") in ("empirical", "uncapped"):
        kind = learner["widths"]
        console.print(f"{kind} widths have no guarantee: delta is not a bound on the share of wrong answers")
