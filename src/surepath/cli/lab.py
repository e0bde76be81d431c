"""Commands that simulate (simulate, experiment run and report, reproduce: the figures of the paper) and that draw."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surepath._text import shown
from surepath.cli.main import MOST_WORKERS, AsJson, app, print_json, say, set_interrupt_text
from surepath.cli.problem import asked, learner_settings, open_noisy
from surepath.cli.study import load

if TYPE_CHECKING:
    from surepath.experiments.spec import Spec


@app.command()
def simulate(
    problem: Annotated[str, typer.Argument(help="A problem file with means (.json, .csv) or the id of an instance.")],
    learner: Annotated[
        str, typer.Option(help="Challenger, EPRL, BPIUCRL, Uniform, Peer, WholePlan or Design.")
    ] = "Challenger",
    epsilon: Annotated[
        list[float] | None, typer.Option(help="How far from the best the answer may be; several times for several.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="Allowed probability of a wrong answer; what the file asks, or 0.1.")
    ] = None,
    sigma: Annotated[
        float | None, typer.Option(help="Sub-Gaussian factor; by default the file's. Needed where it declares none.")
    ] = None,
    dependence: Annotated[
        str | None,
        typer.Option(help="Of Challenger: any, or independent; by default what suits how the scores are drawn."),
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="Setting of the learner, such as sampling=thrifty.")
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
    from surepath.errors import ProblemError
    from surepath.learners.base import learner_name
    from surepath.simulation.simulate import simulate as run_many

    found = open_noisy(problem, sigma)
    if found.instance is None:
        raise ProblemError(
            f"a simulation needs the true means, and {problem} gives none; "
            f'give every edge a "mean" (your best guess will do)'
        )
    risk = delta if delta is not None else found.delta or 0.1
    spec: dict[str, Any] = {"name": learner_name(learner), "delta": risk, **learner_settings(setting or [])}
    if dependence is not None:
        spec["dependence"] = dependence
    if sigma is not None:
        spec.setdefault("sigma", sigma)  # --set sigma=unknown: scores have this noise, and the learner is not told
    grid = epsilon or [asked("epsilon", None, found.epsilon)]
    results = run_many(
        spec, found.instance, runs, seed, grid, workers, budget=budget, progress=progress and not as_json
    )
    lines = [_simulation_row(results, e) for e in dict.fromkeys(grid)]
    if as_json:
        answer: dict[str, Any] = {"settings": results.settings, "summary": lines}
        if rows:
            answer["rows"] = [row._asdict() for row in results]
        print_json(answer)
        return
    _print_simulation(results, lines)


def _simulation_row(results: Any, epsilon: float) -> dict[str, Any]:
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


def _print_simulation(results: Any, lines: list[dict[str, Any]]) -> None:
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
    if learner.get("preset") == "experiment":
        console.print("preset experiment has no guarantee: delta is not a bound on the share of wrong answers")


experiment = typer.Typer(
    help="Experiments: simulate many learners, instances and runs from one spec.", no_args_is_help=True
)
app.add_typer(experiment, name="experiment")


@experiment.command("run")
def run_command(
    spec: Annotated[Path, typer.Argument(help="The spec, a TOML file.")],
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the results.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Check the spec and list its cells; run nothing.")] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, max=MOST_WORKERS, help="Threads, or processors of a local Ray; default: all.")
    ] = None,
    backend: Annotated[str, typer.Option(help="local or ray.")] = "local",
    address: Annotated[str | None, typer.Option(help='A running Ray cluster, such as "auto".')] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Play only the runs that are missing.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
    as_json: AsJson = False,
) -> None:
    """Play an experiment; stop it at any time, and continue with --resume."""
    from surepath.experiments.spec import Spec

    if out is None and not check:
        raise typer.BadParameter("give a folder for the results with --out, or check the spec alone with --check")
    loaded = Spec.load(spec)
    if out is None or check:
        _print_cells(loaded, as_json)
        return
    from surepath._checks import one_of
    from surepath.experiments.runner import RayBackend, run

    set_interrupt_text(f"interrupted; finished runs are safe in {shown(out)}: go on with --resume")
    progress = not quiet and not as_json
    ray = RayBackend(workers, address) if one_of("backend", backend, ("local", "ray")) == "ray" else None
    summary = run(loaded, out, workers=workers, resume=resume, progress=progress, on=ray)
    if as_json:
        print_json({**summary._asdict(), "experiment": loaded.name, "out": str(out)})
        return
    say(
        f"{shown(loaded.name)}: {summary.runs:,} runs in {summary.cells:,} cells, {summary.played:,} of them played "
        f"now in {summary.seconds:.1f} s; rows in {shown(out)}"
    )


def _print_cells(spec: Spec, as_json: bool) -> None:
    """Print the cells of a spec that was checked."""
    from surepath.experiments.spec import name_of

    cells = spec.cells()
    if as_json:
        print_json({"experiment": spec.name, "runs": spec.runs, "cells": [cell.id for cell in cells]})
        return
    say("\n".join(shown(cell.id) for cell in cells))
    if spec.per_gap:
        for name, epsilons in {name_of(cell.source): cell.epsilons for cell in reversed(cells)}.items():
            say(f"{shown(name)}: smallest epsilon {min(epsilons):.4g}, largest {max(epsilons):.4g}")
    say(f"{shown(spec.name)}: {len(cells):,} cells of {spec.runs:,} runs each")


@experiment.command("report")
def report_command(
    folder: Annotated[Path, typer.Argument(help="Folder of an experiment's results.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The page to write [FOLDER/report.html].")] = None,
    baseline: Annotated[str | None, typer.Option(help="Label of the learner to compare the others with.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the learners on one page: cost, wrong answers against delta, pictures, and the settings that made it."""
    from surepath.experiments.report import markdown_table, overview_cells, write_report

    file = folder / "report.html" if out is None else out
    made = write_report(folder, file, baseline)
    if as_json:
        print_json({"out": str(file), "rows": made.comparison.to_dicts(), "rates": made.rates.to_dicts()})
        return
    typer.echo(markdown_table(*overview_cells(made.comparison, made.baseline)))
    for line in made.findings:
        say(shown(line))
    say(f"report: {shown(file)}")


ALL = "all"


@app.command()
def reproduce(
    figure: Annotated[
        str,
        typer.Argument(
            help="figure-1 to figure-4, by their numbers in the paper; figure-peers, figure-budget; or all."
        ),
    ] = ALL,
    out: Annotated[Path, typer.Option("--out", help="Folder for pictures, data and report.")] = Path("reproduced"),
    preset: Annotated[
        str, typer.Option(help="theory (Algorithm 1) or experiment (what the authors' code ran).")
    ] = "experiment",
    runs: Annotated[
        int | None, typer.Option(help="Runs per cell; default: the paper's, 10 (figure-4: 6, figure-budget: 20).")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=MOST_WORKERS, help="Threads; default: one per core.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Main seed.")] = 2022,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bars.")] = False,
    as_json: AsJson = False,
) -> None:
    """Play the paper's experiments again: PNG, SVG, PDF, Parquet, an HTML report. Call again to go on after a stop."""
    from surepath._checks import one_of
    from surepath.experiments.figures.common import FIGURES, REPORT, Options
    from surepath.experiments.figures.common import reproduce as make

    names = list(FIGURES) if one_of("figure", figure, (*FIGURES, ALL)) == ALL else [figure]
    show = not quiet and not as_json
    options = Options(folder=out, preset=preset, runs=runs, workers=workers, seed=seed, progress=show)
    set_interrupt_text(f"interrupted; finished runs are safe in {shown(out)}: call again to go on")
    sections = make(names, options, (lambda text: say(text, err=True)) if show else (lambda text: None))
    if as_json:
        figures = [
            {
                "figure": section.name,
                "seconds": section.seconds,
                "claims": [claim._asdict() for claim in section.found.claims],
            }
            for section in sections
        ]
        files = sorted(path.name for path in out.iterdir() if path.is_file())
        print_json({"preset": preset, "out": str(out), "figures": figures, "files": files})
        return
    for section in sections:
        say(f"{section.name} ({section.seconds:.1f} s)")
        for claim in section.found.claims:
            word = {True: "holds", False: "DOES NOT HOLD", None: "not settled"}[claim.holds]
            say(f"  {claim.paper}\n    {claim.measured}: {word}")
    say(f"report: {shown(out / REPORT)}")


# Plots ----------------------------------------------------------------------------------------------------------------

Drawn = tuple[Any, str, dict[str, Any]]  # a matplotlib figure, how to read it, its data


class Kind(StrEnum):
    """The kinds of pictures."""

    graph = "graph"
    gap = "gap"
    intervals = "intervals"
    challengers = "challengers"
    cost = "cost"
    compare = "compare"


@app.command()
def plot(
    kind: Annotated[
        Kind, typer.Argument(help="Of a study: graph, gap, intervals, challengers. Of an experiment: cost, compare.")
    ],
    source: Annotated[
        str, typer.Argument(help="A study's storage; an experiment's folder; graph: a problem file or an instance too.")
    ],
    name: Annotated[str | None, typer.Argument(help="The study; may be left out where the storage has one.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The picture: .png, .svg or .pdf [KIND.png].")] = None,
    most: Annotated[
        int | None, typer.Option(min=1, max=50, help="Options shown for each step, or plans among the challengers.")
    ] = None,
    instance: Annotated[str | None, typer.Option(help="Only this instance of the experiment.")] = None,
    delta: Annotated[float | None, typer.Option(help="One delta of the experiment; by default the smallest.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="One epsilon of it.")] = None,
    learner: Annotated[
        list[str] | None, typer.Option(help="Only this label of the experiment; may be given several times.")
    ] = None,
    baseline: Annotated[str | None, typer.Option(help="compare: the label to compare with, else the first.")] = None,
    title: Annotated[str, typer.Option(help="Written above the picture.")] = "",
    columns: Annotated[int, typer.Option(min=1, max=2, help="Columns of a paper that the picture spans.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Draw a picture of a study, a problem or an experiment."""
    from surepath._optional import need
    from surepath.experiments.drawing import picture_file, save

    given: dict[str, Any] = {"name": name, "most": most, "instance": instance, "delta": delta}
    given |= {"epsilon": epsilon, "learners": learner or None, "baseline": baseline}
    given = {option: value for option, value in given.items() if value is not None}
    draw, takes = DRAWINGS[kind]
    for option in given:
        if option not in takes:
            words = "the name of a study" if option == "name" else f"--{option.removesuffix('s')}"
            raise typer.BadParameter(f"plot {kind} does not take {words}")
    file = picture_file(out if out is not None else Path(f"{kind}.png"))
    need("matplotlib.figure", "plot")  # both are refused before anything is computed
    figure, reading, data = draw(source, **given)
    save(figure, file, title=title, columns=columns)
    if as_json:
        print_json({"plot": kind.value, "out": str(file), "data": data})
        return
    say(f"{shown(file)}: {reading}")


def _graph(source: str, name: str | None = None) -> Drawn:
    from surepath.cli.problem import open_problem
    from surepath.plots.graph import READING, draw_graph

    if source.endswith((".json", ".csv")) or re.match(r"\w+-v\d+(/|$)", source):
        found = open_problem(source)
        best = None if found.instance is None else found.instance.best_path()
        return draw_graph(found.mdp, best), READING, {"options": found.mdp.n_arcs}
    learner = load(source, name).learner
    mdp, path, visits = learner.mdp, learner.recommend(), learner.visits
    data = {"options": mdp.n_arcs, "path": path, "visits": visits}
    return draw_graph(mdp, path, visits, learner.active), READING, data


def _gap(source: str, name: str | None = None) -> Drawn:
    from surepath.plots.studies import GAP_READING, draw_gap, gap_data

    data = gap_data(load(source, name))
    return draw_gap(data), GAP_READING, data._asdict()


def _intervals(source: str, name: str | None = None, most: int = 6) -> Drawn:
    from surepath.plots.studies import INTERVALS_READING, draw_intervals, intervals_data, unit_of

    study = load(source, name)
    rows, unit = intervals_data(study, most), unit_of(study.mdp)
    reading = INTERVALS_READING.replace("score", unit)
    return draw_intervals(rows, unit), reading, {"rows": [row._asdict() for row in rows]}


def _challengers(source: str, name: str | None = None, most: int = 6) -> Drawn:
    from surepath.plots.studies import CHALLENGERS_READING, challengers_data, draw_challengers

    data = challengers_data(load(source, name), most)
    rivals = [{**one._asdict(), "differs": one.words} for one in data.rivals]
    return draw_challengers(data), CHALLENGERS_READING, {**data._asdict(), "rivals": rivals}


def _of_runs(kind: Kind) -> Callable[..., Drawn]:
    """Return what draws a picture of an experiment's folder."""

    def drawn(folder: str, **chosen: Any) -> Drawn:
        from surepath.experiments.report import PICTURES, rows_of
        from surepath.experiments.stats import epsilon_column

        rows, (make, draw, reading) = rows_of(folder), PICTURES[kind]
        data = make(rows, **chosen)
        return draw(data, epsilon_column(rows)), reading, {"rows": data.to_dicts()}

    return drawn


# How each kind is drawn, and the options that it takes beside its source; the name of a study counts as one.
DRAWINGS: dict[Kind, tuple[Callable[..., Drawn], set[str]]] = {
    Kind.graph: (_graph, {"name"}),
    Kind.gap: (_gap, {"name"}),
    Kind.intervals: (_intervals, {"name", "most"}),
    Kind.challengers: (_challengers, {"name", "most"}),
    Kind.cost: (_of_runs(Kind.cost), {"instance", "delta", "learners"}),
    Kind.compare: (_of_runs(Kind.compare), {"baseline", "delta", "epsilon", "learners"}),
}
