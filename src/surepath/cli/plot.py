"""`surepath plot KIND`: pictures of a study, a problem or an experiment."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from surepath._text import shown
from surepath.cli.main import AsJson, app, print_json, say
from surepath.cli.study import load

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
        from surepath.experiments.pictures import PICTURES, rows_of
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
