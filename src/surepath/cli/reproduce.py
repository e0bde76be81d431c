"""`surepath reproduce`: the paper's figures, and its claims beside what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surepath._text import shown
from surepath.cli._interrupt import set_interrupt_text
from surepath.cli._output import MOST_WORKERS, AsJson, print_json
from surepath.cli.main import app

ALL = "all"


@app.command()
def reproduce(
    figure: Annotated[
        str,
        typer.Argument(
            help="figure-cases, figure-ratios, figure-hard, figure-cover, figure-tree, figure-bounds, or all."
        ),
    ] = ALL,
    out: Annotated[Path, typer.Option("--out", help="Folder for pictures, data and report.")] = Path("reproduced"),
    preset: Annotated[
        str, typer.Option(help="theory (Algorithm 1), text (the experiments as written) or experiment (what ran).")
    ] = "experiment",
    runs: Annotated[int | None, typer.Option(help="Runs per cell; default: the paper's, 10 (figure-hard: 6).")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=MOST_WORKERS, help="Threads; default: one per core.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Main seed.")] = 2022,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bars.")] = False,
    as_json: AsJson = False,
) -> None:
    """Play the paper's experiments again: PNG, SVG, Parquet, one HTML report. Call again to continue after a stop."""
    from surepath._checks import one_of
    from surepath.experiments.figures import FIGURES, Options
    from surepath.experiments.figures.reproduce import REPORT, files_of
    from surepath.experiments.figures.reproduce import reproduce as make

    names = list(FIGURES) if one_of("figure", figure, (*FIGURES, ALL)) == ALL else [figure]
    show = not quiet and not as_json
    options = Options(folder=out, preset=preset, runs=runs, workers=workers, seed=seed, progress=show)
    set_interrupt_text(f"interrupted; finished runs are safe in {shown(out)}: call again to go on")
    sections = make(names, options, (lambda text: typer.echo(text, err=True)) if show else (lambda text: None))
    if as_json:
        figures = [
            {
                "figure": section.name,
                "seconds": section.seconds,
                "claims": [claim._asdict() for claim in section.claims],
            }
            for section in sections
        ]
        print_json({"preset": preset, "out": str(out), "figures": figures, "files": files_of(out)})
        return
    for section in sections:
        typer.echo(f"{section.name} ({section.seconds:.1f} s)")
        for claim in section.claims:
            word = {True: "holds", False: "DOES NOT HOLD", None: "not settled"}[claim.holds]
            typer.echo(f"  {claim.paper}\n    {claim.measured}: {word}")
    typer.echo(f"report: {shown(out / REPORT)}")
