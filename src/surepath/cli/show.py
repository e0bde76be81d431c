"""`surepath show`: what a problem file holds, in words and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surepath._text import shown
from surepath.cli._output import AsJson, print_json
from surepath.cli._problem import Direction, open_problem
from surepath.cli.main import app


@app.command()
def show(
    problem: Annotated[str, typer.Argument(help="A problem file (.json, .csv) or the id of an instance.")],
    draw: Annotated[
        Path | None, typer.Option("--draw", help="Write a picture of the graph: .png, .svg or .pdf.")
    ] = None,
    direction: Direction = None,
    as_json: AsJson = False,
) -> None:
    """Print the number of steps, states, options and plans, and draw the graph."""
    from surepath.cli._describe import SMALL_GRAPH, drawing, lines, overview, summary
    from surepath.errors import NoiseError

    missing = None
    try:
        found = open_problem(problem, direction)
    except NoiseError as error:  # means without noise make no world to simulate; to show them needs none
        missing, found = str(error), open_problem(problem, direction, 1.0)
    if draw is not None:
        from surepath.plots import draw_graph, save

        save(draw_graph(found.mdp, None if found.instance is None else found.instance.best_path()), draw)
    if as_json:
        print_json({**summary(found, missing), "drawing": None if draw is None else str(draw)})
        return
    text = lines(found, missing)
    if found.mdp.n_arcs <= SMALL_GRAPH:
        text += ["", *drawing(found.mdp)]
    else:
        best = None if found.instance is None else found.instance.best_path().tolist()
        text += ["", *overview(found.mdp, best)]
        if draw is None:
            text.append(f"more than {SMALL_GRAPH} options: draw them with --draw graph.svg")
    if draw is not None:
        text.append(f"drawn in {shown(draw)}")
    typer.echo("\n".join(text))
