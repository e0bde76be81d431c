"""`surepath plot`: pictures of a study, a certificate, a problem or an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from surepath._text import shown
from surepath.cli._output import AsJson, print_json
from surepath.cli.main import app

plot = typer.Typer(
    help="Pictures: of a study (its database), a certificate, a problem, or an experiment (its folder).",
    no_args_is_help=True,
)
app.add_typer(plot, name="plot")

Source = Annotated[
    str, typer.Argument(metavar="STUDY", help="Where the study is: sqlite:///FILE, a file name, postgresql://...")
]
OrCertificate = Annotated[
    str, typer.Argument(metavar="STUDY|CERTIFICATE", help="Where the study is, or a certificate file (.json).")
]
Name = Annotated[str | None, typer.Argument(help="The study; may be left out where the storage has one.")]
Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of an experiment's results.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="The picture: .png, .svg or .pdf.")]
Most = Annotated[int, typer.Option(min=1, help="Options shown for each step.")]
Instance = Annotated[str | None, typer.Option(help="Only this instance.")]
Delta = Annotated[float | None, typer.Option(help="Of the experiment's deltas, this one; by default the smallest.")]
Learners = Annotated[list[str] | None, typer.Option("--learner", help="Only this label; may be given several times.")]


@plot.command("graph")
def graph(
    source: Annotated[
        str,
        typer.Argument(metavar="STUDY|CERTIFICATE|PROBLEM", help="A study, a certificate, a problem file, an id."),
    ],
    name: Name = None,
    out: Out = Path("graph.png"),
    as_json: AsJson = False,
) -> None:
    """Draw the options of every step, with the current plan and how often each was tried."""
    from surepath.plots import draw_graph
    from surepath.plots.graph import READING

    _check(out)
    found = _problem(source)
    if found is not None:
        best = None if found.instance is None else found.instance.best_path()
        _done("graph", draw_graph(found.mdp, best), out, READING, {"options": found.mdp.n_arcs}, as_json)
        return
    seen = _known(source, name)
    data = {"options": seen.mdp.n_arcs, "path": seen.path, "visits": seen.visits}
    _done("graph", draw_graph(seen.mdp, seen.path, seen.visits, seen.active), out, READING, data, as_json)


@plot.command("gap")
def gap(source: Source, name: Name = None, out: Out = Path("gap.png"), as_json: AsJson = False) -> None:
    """Draw how far the current plan could still be from the best, proven, after each trial."""
    from surepath.plots.gap import READING, draw_gap, gap_data

    _check(out)
    data = gap_data(_study(source, name))
    _done("gap", draw_gap(data), out, READING, data._asdict(), as_json)


@plot.command("visits")
def visits(
    source: OrCertificate, name: Name = None, out: Out = Path("visits.png"), most: Most = 8, as_json: AsJson = False
) -> None:
    """Draw how many trials each option took part in."""
    from surepath.plots.visits import READING, draw_visits, visits_data

    _check(out)
    rows = visits_data(_known(source, name), most)
    _done("visits", draw_visits(rows), out, READING, {"rows": [row._asdict() for row in rows]}, as_json)


@plot.command("intervals")
def intervals(
    source: OrCertificate, name: Name = None, out: Out = Path("intervals.png"), most: Most = 6, as_json: AsJson = False
) -> None:
    """Draw the mean score of each option along the current plan, with an interval."""
    from surepath.plots.intervals import READING, draw_intervals, intervals_data, unit_of

    _check(out)
    seen = _known(source, name)
    rows, unit = intervals_data(seen, most), unit_of(seen)
    reading = READING.replace("score", unit)
    _done("intervals", draw_intervals(rows, unit), out, reading, {"rows": [row._asdict() for row in rows]}, as_json)


@plot.command("challengers")
def challengers(
    source: Source,
    name: Name = None,
    out: Out = Path("challengers.png"),
    count: Annotated[int, typer.Option(min=1, max=50, help="How many.")] = 6,
    as_json: AsJson = False,
) -> None:
    """Draw the plans that may still be better than the current one, and by how much."""
    from surepath.plots.challengers import READING, challengers_data, draw_challengers

    _check(out)
    data = challengers_data(_study(source, name), count)
    rivals = [
        {"path": one.path, "words": one.words, "estimate": one.estimate, "bound": one.bound} for one in data.rivals
    ]
    facts = {"rivals": rivals, "gap": data.gap, "epsilon": data.epsilon}
    _done("challengers", draw_challengers(data), out, READING, facts, as_json)


@plot.command("stopping")
def stopping(
    folder: Folder,
    out: Out = Path("stopping.png"),
    instance: Instance = None,
    delta: Delta = None,
    epsilon: Annotated[float | None, typer.Option(help="One of the experiment's; by default the smallest.")] = None,
    as_json: AsJson = False,
) -> None:
    """Draw what share of an experiment's runs had stopped after so many trials."""
    from surepath.plots.rows import epsilon_column, rows_of
    from surepath.plots.stopping import READING, draw_stopping, stopping_data

    _check(out)
    rows = rows_of(folder)
    data = stopping_data(rows, instance, delta, epsilon)
    _done("stopping", draw_stopping(data, epsilon_column(rows)), out, READING, {"rows": data.to_dicts()}, as_json)


@plot.command("cost")
def cost(
    folder: Folder,
    out: Out = Path("cost.png"),
    instance: Instance = None,
    delta: Delta = None,
    learner: Learners = None,
    as_json: AsJson = False,
) -> None:
    """Draw the mean number of trials of each learner over epsilon."""
    from surepath.plots.cost import READING, cost_data, draw_cost
    from surepath.plots.rows import epsilon_column, rows_of

    _check(out)
    rows = rows_of(folder)
    data = cost_data(rows, instance, delta, learner or None)
    _done("cost", draw_cost(data, epsilon_column(rows)), out, READING, {"rows": data.to_dicts()}, as_json)


@plot.command("compare")
def compare(
    folder: Folder,
    out: Out = Path("compare.png"),
    baseline: Annotated[str | None, typer.Option(help="Label of the learner to compare with; default: first.")] = None,
    delta: Delta = None,
    epsilon: Annotated[float | None, typer.Option(help="Only this one of the experiment's.")] = None,
    learner: Learners = None,
    as_json: AsJson = False,
) -> None:
    """Draw the trials of each learner over those of a baseline, instance by instance."""
    from surepath.plots.comparison import READING, comparison_data, draw_comparison
    from surepath.plots.rows import epsilon_column, rows_of

    _check(out)
    rows = rows_of(folder)
    data = comparison_data(rows, baseline, delta, epsilon, learner or None)
    _done("compare", draw_comparison(data, epsilon_column(rows)), out, READING, {"rows": data.to_dicts()}, as_json)


def _check(out: Path) -> None:
    """Refuse what cannot be drawn before anything is computed: another kind of file, or no matplotlib."""
    from surepath._optional import need
    from surepath.plots.column_figure import picture_file

    picture_file(out)
    need("matplotlib.figure", "plot")


def _done(kind: str, figure: Any, out: Path, reading: str, data: dict[str, Any], as_json: bool) -> None:
    """Write the picture, and print where it is and how to read it."""
    from surepath.plots.column_figure import save

    save(figure, out)
    if as_json:
        print_json({"plot": kind, "out": str(out), "data": data})
        return
    typer.echo(f"{shown(out)}: {reading}")


def _study(source: str, name: str | None) -> Any:
    """Open a study; a certificate in its place is refused in words."""
    from surepath.cli.study._open import load
    from surepath.errors import SettingError

    if source.endswith(".json"):
        raise SettingError(f"{source} is no study; this picture needs the trials themselves, from the study's database")
    return load(source, name)


def _known(source: str, name: str | None) -> Any:
    """Read what is known from a study or a certificate."""
    from surepath.plots.evidence import known

    if source.endswith(".json"):
        from surepath.study.certificate import Certificate

        return known(Certificate.load(source))
    return known(_study(source, name))


def _problem(source: str) -> Any:
    """Open a problem file or an instance; None for a study or a certificate."""
    import json
    import re

    from surepath.cli._problem import open_problem

    path = Path(source)
    if source.endswith(".csv") or (re.match(r"\w+-v\d+(/|$)", source) and not path.exists()):
        return open_problem(source)
    if source.endswith(".json"):
        from surepath.model.sources.textfile import read_text
        from surepath.verify.file import KIND

        try:
            content = json.loads(read_text(path))
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict) or content.get("kind") != KIND:
            return open_problem(source)
    return None
