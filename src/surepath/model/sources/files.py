"""Problems in files: JSON with a published schema, and the edge-table CSV. Text only, bounded in size."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surepath._checks import check_delta, check_epsilon, repeated
from surepath.errors import NoiseError, ProblemError, SettingError
from surepath.model.instance import Instance
from surepath.model.mdp import MDP
from surepath.model.sources.csv_table import csv_text, parse_csv, table_direction
from surepath.model.sources.edges import EdgeTable, read_edges
from surepath.model.sources.file_rows import (
    check_csv_law,
    check_csv_names,
    checked_edges,
    declared_law,
    problem_fields,
    step_problem,
    table_rows,
)
from surepath.model.sources.problem_schema import ProblemModel, parse_problem, problem_schema
from surepath.model.sources.textfile import MAX_BYTES, read_text, write_text

__all__ = [
    "Problem",
    "load_problem",
    "parse_json_problem",
    "parse_problem_text",
    "problem_schema",
    "problem_text",
    "save_problem",
]

# An edge opens one bracket; this many stop a file of empty lists long before it fills the memory.
MAX_BRACKETS = 4_000_000


@dataclass(frozen=True)
class Problem:
    """What a problem file holds.

    Attributes:
        mdp: The layered graph.
        instance: A world to simulate, when the file gives means; else None.
        epsilon, delta: What the file suggests, or None.
        name: A short name, or None.
        about: Remarks, line by line.
    """

    mdp: MDP
    instance: Instance | None = None
    epsilon: float | None = None
    delta: float | None = None
    name: str | None = None
    about: tuple[str, ...] = ()


def load_problem(
    path: str | Path, *, direction: str | None = None, sigma: float | None = None, max_bytes: int = MAX_BYTES
) -> Problem:
    """Read a JSON problem file, or an edge-table CSV when the name ends in .csv.

    Args:
        path: The file.
        direction: For a CSV without a line "# direction: minimize": "maximize" (default) or "minimize".
        sigma: Sub-Gaussian factor of the edges that declare neither sigma nor range. A file that gives means needs
            one or the other; a graph alone loads without.
        max_bytes: Larger files are refused unread.
    """
    file = Path(path)
    return parse_problem_text(read_text(file, max_bytes), file.name, direction=direction, sigma=sigma)


def parse_problem_text(text: str, name: str, *, direction: str | None = None, sigma: float | None = None) -> Problem:
    """Parse the text of a file called `name`, whose ending says whether it is CSV or JSON."""
    if Path(name).suffix.lower() != ".csv":
        problem = parse_json_problem(text, name, sigma=sigma)
        if direction is not None and direction != problem.mdp.direction:
            raise ProblemError(f'{name} says "{problem.mdp.direction}"; direction is for CSV tables')
        return problem
    table = parse_csv(text, name)
    towards = table_direction(table, direction, name)
    built = read_edges(table.rows, fallback=sigma, direction=towards, place=table.place, cost_weight=table.cost_weight)
    return Problem(built.mdp, _instance(built, None, None, name), name=Path(name).stem)


def parse_json_problem(text: str, name: str = "problem", *, sigma: float | None = None) -> Problem:
    """Parse a problem from JSON text; `name` is the file in messages, `sigma` the noise it does not declare."""
    model = parse_problem(_parse_json(text, name), name)
    default_range = _default_range(model, name)
    if model.steps is not None:
        return _problem(model, step_problem(model, default_range, sigma, name), None, name)
    assert model.edges is not None
    try:
        built = read_edges(
            checked_edges(model.edges, default_range),
            source=model.source,
            target=model.target,
            sigma=model.sigma,
            fallback=sigma,
            direction=model.direction,
            cost_weight=model.cost_weight or 0.0,
            states=model.states,
            actions=model.actions,
            step_names=model.step_names,
        )
    except ProblemError as error:
        raise type(error)(f"{name}: {error}") from None
    return _problem(model, built.mdp, _instance(built, model.law, model.concentration, name), name)


def _problem(model: ProblemModel, mdp: MDP, instance: Instance | None, name: str) -> Problem:
    about = (model.about,) if isinstance(model.about, str) else tuple(model.about or ())
    return Problem(
        mdp=mdp,
        instance=instance,
        epsilon=_setting(check_epsilon, model.epsilon, name),
        delta=_setting(check_delta, model.delta, name),
        name=model.name,
        about=about,
    )


def save_problem(
    path: str | Path,
    mdp: MDP,
    instance: Instance | None = None,
    *,
    name: str | None = None,
    about: str | Sequence[str] | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
) -> None:
    """Write a JSON problem file, or an edge-table CSV when the name ends in .csv; whole or not at all.

    Args:
        path: The file; an existing one is replaced in one step.
        mdp: The graph.
        instance: Also write its means and its sigma; it must have the same graph. A CSV cannot name a law: it
            takes Gaussian rewards, and beta laws of concentration 4.
        name: What the problem is called; a JSON file only, as are the next three.
        about: A remark, or several, for those who read the file.
        epsilon: How far from the best an answer may be.
        delta: Allowed probability that it is farther away.
    """
    file = Path(path)
    given = {"name": name, "about": about, "epsilon": epsilon, "delta": delta}
    fields = {field: value for field, value in given.items() if value is not None}
    if instance is not None and instance.mdp != mdp:
        raise ProblemError("the instance has another graph; pass instance.mdp as the MDP to save")
    if file.suffix.lower() == ".csv":
        if fields:
            raise ProblemError(f"an edge-table CSV has no place for {', '.join(fields)}; save as .json instead")
        if instance is not None:
            check_csv_law(instance)
        check_csv_names(mdp)
        text = csv_text(table_rows(mdp, instance, shared=()), mdp)
    else:
        text = _json_text(mdp, instance, fields)
    parse_problem_text(text, file.name)  # what cannot be read again is not written
    write_text(file, text)


def problem_text(mdp: MDP) -> str:
    """Write a problem, without any means, as JSON text that `parse_json_problem` reads back to the same graph."""
    return _json_text(mdp, None, {})


def _json_text(mdp: MDP, instance: Instance | None, fields: dict[str, Any]) -> str:
    head = {**problem_fields(mdp, instance), **fields}
    shared = tuple(key for key in ("sigma", "low", "high") if key in head)
    edges = ",\n".join("    " + json.dumps(row) for row in table_rows(mdp, instance, shared=shared))
    opening = json.dumps(head, indent=2)[:-2]
    return f'{opening},\n  "edges": [\n{edges}\n  ]\n}}\n'


def _parse_json(text: str, name: str) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            twice = repeated(key for key, _ in items)
            raise ProblemError(f"{name}: the field {twice!r} appears twice in one object")
        return found

    def constant(word: str) -> float:
        raise ProblemError(f"{name}: {word} is not a number a problem file may hold; numbers must be finite")

    if text.count("[") + text.count("{") > MAX_BRACKETS:
        raise ProblemError(f"{name} opens more than {MAX_BRACKETS:,} brackets; no problem file needs so many")
    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except RecursionError as cause:
        raise ProblemError(f"{name} is nested too deeply to be a problem file") from cause
    except json.JSONDecodeError as cause:
        short = cause.pos >= len(text.rstrip()) or cause.msg.startswith("Unterminated string")
        cut = "; the file seems to be cut off" if short else ""
        raise ProblemError(
            f"{name} is not valid JSON at line {cause.lineno}, column {cause.colno}: {cause.msg}{cut}"
        ) from cause
    except ProblemError:
        raise
    except ValueError as cause:  # an integer of thousands of digits
        raise ProblemError(f"{name} holds a number too long to read") from cause


def _default_range(model: ProblemModel, name: str) -> tuple[float, float] | None:
    if (model.low is None) != (model.high is None):
        raise ProblemError(f"{name}: low and high go together; give both or neither")
    if model.low is not None and model.high is not None:
        return model.low, model.high
    return (0.0, 1.0) if model.law == "bernoulli" else None


def _instance(built: EdgeTable, law: str | None, concentration: float | None, name: str) -> Instance | None:
    if built.means is None:
        return None
    try:
        declared = declared_law(built.mdp, built.means, law, concentration, f"the problem file {name}")
        return Instance(built.mdp, declared)
    except NoiseError:
        raise  # names the file itself
    except ProblemError as error:
        raise ProblemError(f"{name}: {error}") from None


def _setting(check: Callable[[Any], float], value: float | None, name: str) -> float | None:
    try:
        return None if value is None else check(value)
    except SettingError as error:
        raise ProblemError(f"{name}: {error}") from None
