"""`surepath experiment`: run an experiment from a spec, check the spec, compare the learners, write a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surepath._text import shown
from surepath.cli._interrupt import set_interrupt_text
from surepath.cli._output import MOST_WORKERS, AsJson, colour, print_json
from surepath.cli.main import app

experiment = typer.Typer(
    help="Experiments: simulate many learners, instances and runs from one spec.", no_args_is_help=True
)
app.add_typer(experiment, name="experiment")

MOST_ROWS_PRINTED = 24  # of a table shown whole

SpecFile = Annotated[Path, typer.Argument(help="The spec, a TOML file.")]
Folder = Annotated[Path, typer.Argument(help="Folder of an experiment's results.")]


@experiment.command("run")
def run_command(
    spec: SpecFile,
    out: Annotated[Path, typer.Option("--out", help="Folder for the results.")],
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
    from surepath.experiments.runner import run
    from surepath.experiments.spec import Spec

    loaded = Spec.load(spec)
    set_interrupt_text(f"interrupted; finished runs are safe in {shown(out)}: go on with --resume")
    summary = run(
        loaded,
        out,
        workers=workers,
        backend_name=backend,
        address=address,
        resume=resume,
        progress=not quiet and not as_json,
    )
    if as_json:
        print_json({**summary._asdict(), "experiment": loaded.name, "out": str(out)})
        return
    typer.echo(
        f"{shown(loaded.name)}: {summary.runs:,} runs in {summary.cells:,} cells, {summary.played:,} of them played "
        f"now in {summary.seconds:.1f} s; rows in {shown(out)}"
    )


@experiment.command("check")
def check_command(spec: SpecFile, as_json: AsJson = False) -> None:
    """Check a spec and list its cells; nothing is run."""
    from surepath.experiments.instance_sources import name_of
    from surepath.experiments.spec import Spec

    loaded = Spec.load(spec)
    cells = loaded.cells()
    if as_json:
        print_json({"experiment": loaded.name, "runs": loaded.runs, "cells": [cell.id for cell in cells]})
        return
    typer.echo("\n".join(shown(cell.id) for cell in cells))
    if loaded.per_gap:
        for name, epsilons in {name_of(cell.source): cell.epsilons for cell in reversed(cells)}.items():
            typer.echo(f"{shown(name)}: smallest epsilon {min(epsilons):.4g}, largest {max(epsilons):.4g}")
    typer.echo(f"{shown(loaded.name)}: {len(cells):,} cells of {loaded.runs:,} runs each")


@experiment.command("table")
def table_command(
    folder: Folder,
    baseline: Annotated[str | None, typer.Option(help="Label of the learner to compare the others with.")] = None,
    form: Annotated[str, typer.Option("--format", help="markdown, latex or html.")] = "markdown",
    every: Annotated[bool, typer.Option("--all", help="A row for every instance, delta and epsilon.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare the learners of an experiment: means, intervals, errors, ratios over paired runs, a permutation test."""
    from surepath.experiments.results import read
    from surepath.experiments.stats import compare
    from surepath.experiments.store import Store
    from surepath.experiments.text_tables import overview, table

    rows = read(folder)
    comparison = compare(rows, baseline)
    manifest = Store(folder).manifest()
    stored, runs = rows.select("cell", "run").n_unique(), manifest["spec"]["runs"] * len(manifest["cells"])
    if stored < runs:
        note = f"note: {stored:,} of {runs:,} runs are stored; play the others with surepath experiment run --resume"
        typer.secho(note, fg=colour("yellow"), err=True)
    if as_json:
        print_json({"rows": comparison.to_dicts()})
        return
    if every or comparison.height <= MOST_ROWS_PRINTED:
        typer.echo(table(comparison, form), nl=False)
        return
    typer.echo(overview(comparison, form), nl=False)
    typer.secho(f"note: one row per learner; --all has the {comparison.height:,} rows behind it", err=True)


@experiment.command("report")
def report_command(
    folder: Folder,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The report: .html, or .md with its pictures beside it [FOLDER/report.html]."),
    ] = None,
    baseline: Annotated[str | None, typer.Option(help="Label of the learner to compare the others with.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a report: the learners compared, wrong answers against delta, pictures, and the settings that made it."""
    from surepath.plots.report import write_report

    file = folder / "report.html" if out is None else out
    made = write_report(folder, file, baseline)
    if as_json:
        print_json({"out": str(file), "files": [str(one) for one in made.files], "rates": made.rates.to_dicts()})
        return
    for line in made.findings:
        typer.echo(shown(line))
    typer.echo(f"report: {shown(file)}")
