"""Problem files: their schema, their rows, and how a problem is loaded and saved."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema

from surepath._checks import BoolArray, FloatArray, check_delta, check_epsilon, repeated, shortened, suggest
from surepath._text import is_workbook, plain_cell, read_bytes, read_text, workbook_text, write_text
from surepath.errors import NoiseError, ProblemError, SettingError
from surepath.model.edges import COLUMNS, STAGES, build, read_rows
from surepath.model.mdp import MDP
from surepath.model.paths import stage_of
from surepath.model.steps import from_steps
from surepath.model.worlds import Bernoulli, Bounded, Gaussian, Instance, Law

# Problem schema -------------------------------------------------------------------------------------------------------
# The published shape of a JSON problem file, and its errors in words.

PROBLEM_FORMAT = "surepath-problem"
PROBLEM_VERSION = 1

Name = Annotated[str, Field(min_length=1)]
Label = Name | Annotated[int, Field(ge=0, le=2**31 - 1)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Remark = str | list[str]


class EdgeModel(BaseModel):  # for the schema alone; `read_rows` checks what a file holds
    """One option: in `state` (at step `stage`) the option `action` leads to `next_state`."""

    model_config = ConfigDict(extra="forbid", strict=True, title="Edge")

    stage: Annotated[int, Field(ge=0, lt=STAGES)] | None = Field(
        None, description="Its step, 0, 1, 2, ...; give every edge one, or none and let the edges form a DAG."
    )
    state: Label = Field(description="Where the option is chosen.")
    action: Label = Field(description="The name of the option; once per state and step.")
    next_state: Label | None = Field(None, description="Where it leads; absent where the plan ends.")
    known: Number | None = Field(None, description="The score, where it is known in advance.")
    sigma: Number | None = Field(None, description="Sub-Gaussian factor of the noise, 0 or more.")
    low: Number | None = Field(None, description="Lowest score possible.")
    high: Number | None = Field(None, description="Highest score possible.")
    mean: Number | None = Field(None, description="True mean score, for simulation only; a learner never sees it.")
    cost: Number | None = Field(None, description="Known cost of this option, money or time, 0 or more.")
    about: Remark | None = Field(None, description="A remark for people.")


class ProblemModel(BaseModel):
    """A decision in steps that are scored with noise."""

    model_config = ConfigDict(extra="forbid", strict=True, title="surepath problem")

    format: Literal["surepath-problem"] = Field(description="Always surepath-problem.")
    version: Literal[1] = Field(description="Version of this format.")
    name: str | None = Field(None, description="A short name.")
    about: Remark | None = Field(None, description="Remarks for people; one text or several lines.")
    direction: Literal["maximize", "minimize"] = Field(
        "maximize", description="Whether large scores are good, or small ones."
    )
    source: Label | None = Field(None, description="The first state; by default the only one it can be.")
    target: Label | None = Field(None, description="For edges without `stage`: the state where plans end.")
    sigma: Number | None = Field(None, description="Sub-Gaussian factor of the edges that give none of their own.")
    low: Number | None = Field(None, description="Lowest score of the edges that give no range of their own.")
    high: Number | None = Field(None, description="Highest score of the edges that give no range of their own.")
    cost_weight: Number | None = Field(
        None, description="What one unit of cost takes from a plan's worth; 0, the default, keeps costs out of it."
    )
    epsilon: Number | None = Field(None, description="How far from the best the answer may be.")
    delta: Number | None = Field(None, description="Allowed probability of a wrong answer.")
    dependence: Literal["any", "independent"] | None = Field(
        None, description="Whether the scores of one trial may depend on each other: any, the default, or independent."
    )
    missing: Literal["related", "unrelated"] | None = Field(
        None, description="What the breaking off of a trial has to do with its scores; related by default."
    )
    law: Literal["gaussian", "bernoulli", "beta", "uniform"] | None = Field(
        None, description="How scores are drawn in simulation; by default beta inside ranges, else Gaussian."
    )
    concentration: Number | None = Field(None, description="a + b of the beta law; 4 by default.")
    states: list[Name] | None = Field(None, description="Names of states, in the order they are numbered.")
    actions: list[Name] | None = Field(None, description="Names of options, in the order they are numbered.")
    step_names: list[Name] | None = Field(None, description="Names of the steps, one each, in their order.")
    plans: list[dict[Name, Name]] | None = Field(
        None, description="With one score at the end: the plan {step: option} behind each option of the one step."
    )
    edges: (
        Annotated[
            list[dict[str, Any]],
            Field(min_length=1),
            WithJsonSchema({"type": "array", "minItems": 1, "items": EdgeModel.model_json_schema()}),
        ]
        | None
    ) = Field(None, description="The options, one entry for each in each state; or give steps.")
    steps: dict[Name, Annotated[list[Label], Field(min_length=1)]] | None = Field(
        None, description="In place of edges: the options of each step, in the order the steps are taken."
    )
    depends: Literal["previous", "none"] | dict[Name, Name | list[Name]] | None = Field(
        None,
        description="With steps: which earlier choices the score of a step depends on; the step before by default.",
    )
    scores: Literal["every", "end"] | list[Name] | None = Field(
        None,
        description="With steps: which steps are scored; end is one score for the whole plan. Every step by default. "
        "With structure also beside edges: a score covers all steps since the scored one before.",
    )
    structure: Literal["additive"] | None = Field(
        None, description="With scores: a score is the sum of an effect of each option that it covers."
    )
    costs: dict[Name, Number | dict[Name, Number]] | None = Field(
        None,
        description="With steps: known cost of options, {step: {option: cost}} or {step: cost}; 0 where none is named.",
    )


def problem_schema() -> dict[str, Any]:
    """Return the JSON schema of a problem file.

    Example:
        >>> problem_schema()["title"]
        'surepath problem'
    """
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **ProblemModel.model_json_schema()}


def _model_of(data: Any, name: str) -> ProblemModel:
    """Check the fields of a problem against the model; the first error is raised in words."""
    if not isinstance(data, dict):
        raise ProblemError(f"{name}: a problem file is a JSON object, not {shortened(data)}")
    version = data.get("version", PROBLEM_VERSION)
    if isinstance(version, int) and version > PROBLEM_VERSION:
        raise ProblemError(
            f"{name} has version {version}, written for a newer surepath; this one reads version {PROBLEM_VERSION}"
        )
    try:
        model = ProblemModel.model_validate(data)
    except ValidationError as error:
        raise ProblemError(f"{name}: {_in_words(error)}") from None
    if model.edges is None and model.steps is None:
        raise ProblemError(f"{name}: the problem lacks the field 'edges' (or 'steps')")
    if model.steps is None:
        what, beside = "steps, and this problem has none", ["depends", "costs"] + ["scores"] * (not model.structure)
    else:
        what, beside = "a problem of edges; this one has steps", ["edges", "source", "target", "states", "actions"]
        beside += ["step_names", "plans", "law", "concentration"]
    alone = next((field for field in beside if getattr(model, field) is not None), None)
    if alone is not None:
        raise ProblemError(f"{name}: {alone} belongs to {what}")
    return model


_NOT_A_PLACE = re.compile(r"constrained-|(literal|dict|list)\[|\[key|(str|float)$")  # the arms of a union


def _in_words(error: ValidationError) -> str:
    problems = error.errors(include_url=False)
    # A typing mistake in a field's name also makes the right name missing: report the cause.
    first = next((p for p in problems if p["type"] == "extra_forbidden"), problems[0])
    key = str(first["loc"][-1])
    if first["type"] == "extra_forbidden":
        return f"there is an unknown field {key!r}{suggest(key, ProblemModel.model_fields)}"
    if first["type"] == "missing":
        return f"the problem lacks the field {key!r}"
    place = ".".join(str(part) for part in first["loc"] if not _NOT_A_PLACE.match(str(part)))
    wanted = (
        p["msg"].partition(" should ")[2].partition(" after")[0] for p in problems if p["input"] is first["input"]
    )
    return f"{place} must {' or '.join(dict.fromkeys(wanted))}, not {shortened(first['input'])}"


def _declared_law(mdp: MDP, means: FloatArray, law: str | None, concentration: float | None, who: str) -> Law:
    """Return the reward law of a file that gives means: as it says, else beta inside ranges, else Gaussian.

    A Gaussian law needs a sigma; `who` names the file where there is none.
    """
    learned, nowhere = ~mdp.is_known, np.full(mdp.n_arcs, np.inf)
    low, high = (-nowhere, nowhere) if mdp.reward_range is None else mdp.reward_range
    ranged = np.isfinite(low) & learned
    if law is None:
        law = "beta" if learned.any() and (ranged == learned).all() else "gaussian"
    if concentration is not None and law != "beta":
        raise ProblemError(f'concentration belongs to the law "beta"; this file\'s law is "{law}"')

    def refuse(bad: BoolArray, why: str) -> None:
        if bad.any():
            raise ProblemError(why.format(option=mdp.describe_arc(int(np.argmax(bad)))))

    if law == "gaussian":
        refuse(ranged, "Gaussian scores leave every range, but {option} declares one; drop low and high, or give all "
               "edges a range and take the law beta")  # fmt: skip
        missing = mdp.noise_missing(who)
        if missing is not None:
            raise NoiseError(missing)
        return Gaussian(means, mdp.declared_sigma)
    refuse(ranged != learned, f'the law "{law}" needs low and high; {{option}} has none')
    if mdp.sigma is not None:
        refuse(
            ranged & (mdp.sigma < (high - low) / 2),
            f'scores drawn by the law "{law}" have a sub-Gaussian factor of half their range, more than the sigma of '
            "{option}; leave sigma out there",
        )
    means, low, high = (np.where(learned, numbers, 0.0) for numbers in (means, low, high))
    if law == "bernoulli":
        refuse(ranged & ((low > 0) | (high < 1)), "Bernoulli scores are 0 or 1; {option} excludes one of them")
        return Bernoulli(means)
    shape = {} if concentration is None else {"concentration": concentration}
    return Bounded(low, high, means, sampler=law, **shape)


# Files ----------------------------------------------------------------------------------------------------------------
# Problems in files: JSON with a published schema, and the edge-table CSV. Text only, bounded in size.

# An edge opens one bracket; this many stop a file of empty lists long before it fills the memory.
MAX_BRACKETS = 4_000_000


@dataclass(frozen=True)
class Problem:
    """Contents of a problem file.

    Attributes:
        mdp: The layered graph.
        instance: A world to simulate, when the file gives means; else None.
        epsilon, delta, dependence, missing: What the file says of a study of it, or None.
        name: A short name, or None.
        about: Remarks, line by line.
    """

    mdp: MDP
    instance: Instance | None = None
    epsilon: float | None = None
    delta: float | None = None
    name: str | None = None
    about: tuple[str, ...] = ()
    dependence: str | None = None
    missing: str | None = None


def load_problem(path: str | Path, *, sigma: float | None = None) -> Problem:
    """Read a JSON problem file; or, when the name ends in .csv or .xlsx, an edge table or a sheet of steps.

    Args:
        path: The file.
        sigma: Sub-Gaussian factor of the edges that declare neither sigma nor range. A file that gives means needs
            one or the other; a graph alone loads without.
    """
    file = Path(path)
    if is_workbook(file):
        text = workbook_text(read_bytes(file), file.name)
        return parse_problem_text(text, f"{file.name}.csv", sigma=sigma)
    return parse_problem_text(read_text(file), file.name, sigma=sigma)


def parse_problem_text(text: str, name: str, *, sigma: float | None = None) -> Problem:
    """Parse the text of a file called `name`, whose ending says whether it is CSV or JSON."""
    if Path(name).suffix.lower() != ".csv":
        return parse_json_problem(text, name, sigma=sigma)
    fields, lines = _parse_table(text, name)
    return _problem(fields, name, sigma, lambda i: f"line {lines[i]}")


def parse_json_problem(text: str, name: str = "problem", *, sigma: float | None = None) -> Problem:
    """Parse a problem from JSON text; `name` is the file in messages, `sigma` the noise it does not declare."""
    return _problem(_parse_json(text, name), name, sigma, lambda i: f"edges[{i}]")


# What a line such as "# low: 0" of a table may set.
SETTINGS = ["direction", "low", "high", "sigma", "epsilon", "delta", "cost_weight", "depends", "scores", "structure"]


def _parse_table(text: str, name: str) -> tuple[dict[str, Any], list[int]]:
    """Read a table as the fields of a problem file, and the line of each of its edges.

    A table of edges has their columns; a sheet of steps has a column for each step, its options below its name. Lines
    that start with # are remarks; those such as "# low: 0" set what is the same for all.
    """
    fields: dict[str, Any] = {
        "format": PROBLEM_FORMAT,
        "version": PROBLEM_VERSION,
        "name": Path(name).name.split(".")[0],
    }
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count), strict=True)
    table: list[tuple[int, list[str]]] = []
    try:
        for line in reader:
            cells = [plain_cell(cell.strip()) for cell in line]
            if any(cells) and not cells[0].startswith("#"):
                table.append((reader.line_num, cells))
                continue
            said = re.fullmatch(r"#\s*(\w+)\s*[:=]\s*(.+?)\s*", ",".join(filter(None, cells)))
            if said and said[1] in SETTINGS:
                fields[said[1]] = said[2]  # text, where it is not JSON
                with contextlib.suppress(ValueError, RecursionError):
                    fields[said[1]] = json.loads(said[2])
    except csv.Error as cause:
        raise ProblemError(f"{name}, line {reader.line_num} is not valid CSV: {cause}") from cause
    if not table:
        raise ProblemError(f"{name} is empty; its first line names steps, or columns such as state,action,next_state")
    number, header = table.pop(0)
    where = f"{name}, line {number}"
    if (twice := repeated(filter(None, header))) is not None:
        raise ProblemError(f"{where} names the column {twice!r} twice")
    if {"action", "state"} & set(header):
        if (strange := next((cell for cell in header if cell not in COLUMNS), None)) is not None:
            raise ProblemError(f"{where} has an unknown column {strange!r}{suggest(strange, COLUMNS)}")
        if lacking := [column for column in ("state", "action", "next_state") if column not in header]:
            raise ProblemError(f"{where} lacks the column {lacking[0]!r}")
    for number, cells in table:
        if "action" in header and len(cells) != len(header):
            raise ProblemError(f"{name}, line {number} has {len(cells)} cells; the header has {len(header)} columns")
        if any(cell and not "".join(header[i : i + 1]) for i, cell in enumerate(cells)):
            raise ProblemError(f"{name}, line {number} has a cell in a column without a name")
    if "action" in header:
        fields["edges"] = [dict(zip(header, cells)) for _, cells in table]
    else:
        fields["steps"] = {
            head: [row[i] for _, row in table if row[i:] and row[i]] for i, head in enumerate(header) if head
        }
    return fields, [number for number, _ in table]


def _problem(data: Any, name: str, sigma: float | None, place: Callable[[int], str]) -> Problem:
    """Build the problem that these fields describe; `place` names edge i in messages."""
    model = _model_of(data, name)
    about = (model.about,) if isinstance(model.about, str) else tuple(model.about or ())
    try:
        epsilon = None if model.epsilon is None else check_epsilon(model.epsilon)
        delta = None if model.delta is None else check_delta(model.delta)
        mdp, means = _graph(model, sigma, place)
        instance = None
        if means is not None:
            law = _declared_law(mdp, means, model.law, model.concentration, f"the problem file {name}")
            instance = Instance(mdp, law)
    except NoiseError:
        raise  # names the file itself
    except (ProblemError, SettingError) as error:
        raise ProblemError(f"{name}: {error}") from None
    return Problem(mdp, instance, epsilon, delta, model.name, about, model.dependence, model.missing)


def _graph(model: ProblemModel, fallback: float | None, place: Callable[[int], str]) -> tuple[MDP, FloatArray | None]:
    """Build the graph, and the means that the file gives."""
    if (model.low is None) != (model.high is None):
        raise ProblemError("low and high go together; give both or neither")
    limits = (0.0, 1.0) if model.law == "bernoulli" else None
    if model.low is not None and model.high is not None:
        limits = model.low, model.high
    if model.steps is not None:
        mdp = from_steps(
            model.steps,
            "previous" if model.depends is None else model.depends,
            direction=model.direction,
            reward_range=limits,
            sigma=model.sigma if model.sigma is not None or limits is not None else fallback,
            scores="every" if model.scores is None else model.scores,
            structure=model.structure,
            costs=model.costs or {},
            cost_weight=model.cost_weight or 0.0,
        )
        return mdp, None
    rows: list[dict[str, Any]] = model.edges or []
    if limits is not None:
        own = ("known", "low", "high")
        default = dict(zip(("low", "high"), limits))
        rows = [row if any(row.get(key) is not None for key in own) else row | default for row in rows]
    mdp, means = build(
        read_rows(rows, place),
        source=model.source,
        target=model.target,
        sigma=model.sigma,
        fallback=fallback,
        direction=model.direction,
        cost_weight=model.cost_weight or 0.0,
        states=model.states,
        actions=model.actions,
        step_labels=model.step_names,
        plans=model.plans,
    )
    if model.structure is not None:
        if model.scores in (None, "every"):
            raise ProblemError('structure is for scores "end" or a list of steps')
        last = model.scores == "end"
        stages = [mdp.horizon - 1] if last else sorted({mdp.step(name) for name in cast(list[str], model.scores)})
        mdp = mdp._replaced(scored=stages)
    return mdp, means


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


# Writing --------------------------------------------------------------------------------------------------------------


def save_problem(path: Path, mdp: MDP) -> None:
    """Write a JSON problem file, whole or not at all; an existing one is replaced in one step."""
    if path.suffix.lower() != ".json":
        raise ProblemError(f"a problem is saved as .json, not as {path.name}")
    text = problem_text(mdp)
    parse_json_problem(text, path.name)  # what cannot be read again is not written
    write_text(path, text)


def problem_text(mdp: MDP) -> str:
    """Write a problem as JSON text that `parse_json_problem` reads back to the same graph."""
    numbers: dict[str, FloatArray] = {} if mdp.sigma is None else {"sigma": mdp.sigma}
    if mdp.reward_range is not None:
        numbers["low"], numbers["high"] = mdp.reward_range
    shared = {}  # what is the same for all options to learn is written once, at the top
    for what, values in numbers.items():
        own = values[~mdp.is_known]
        if own.size and np.isfinite(own[0]) and (own == own[0]).all():
            shared[what] = float(own[0])
    if ("low" in shared) != ("high" in shared):
        shared.pop("low", None), shared.pop("high", None)
    head: dict[str, Any] = {"format": PROBLEM_FORMAT, "version": PROBLEM_VERSION, "direction": mdp.direction, **shared}
    if mdp.charge is not None:
        head["cost_weight"] = mdp.cost_weight
    named = {
        "states": mdp.state_labels,
        "actions": mdp.action_labels,
        "step_names": mdp.step_labels,
        "plans": mdp.plans,
    }
    head |= {field: names for field, names in named.items() if names is not None}
    if mdp.scored is not None:
        steps = mdp.step_labels or list(map(str, range(mdp.horizon)))
        head["scores"] = "end" if len(mdp.scored) == 1 else [steps[stage] for stage in mdp.scored]
        head["structure"] = "additive"
    head["source"] = _state(mdp, 0)
    edges = ",\n".join("    " + json.dumps(_edge(mdp, arc, numbers, shared)) for arc in range(mdp.n_arcs))
    return f'{json.dumps(head, indent=2)[:-2]},\n  "edges": [\n{edges}\n  ]\n}}\n'


def _edge(mdp: MDP, arc: int, numbers: dict[str, FloatArray], shared: dict[str, float]) -> dict[str, Any]:
    """Return one edge as it is written, without the numbers that stand at the top for all options to learn."""
    known = bool(mdp.is_known[arc])
    row: dict[str, Any] = {"stage": stage_of(mdp, arc), "state": _state(mdp, int(mdp.source[arc]))}
    row["action"] = int(mdp.action[arc]) if mdp.action_labels is None else mdp.action_label(arc)
    if mdp.target[arc] < mdp.n_nodes:
        row["next_state"] = _state(mdp, int(mdp.target[arc]))
    if known and mdp.known is not None:
        row["known"] = float(mdp.known[arc])
    for what, values in numbers.items():
        if np.isfinite(values[arc]) and (what != "sigma" if known else what not in shared):
            row[what] = float(values[arc])
    if mdp.cost is not None and mdp.cost[arc] > 0:
        row["cost"] = float(mdp.cost[arc])
    return row


def _state(mdp: MDP, node: int) -> int | str:
    return int(mdp.node_state[node]) if mdp.state_labels is None else mdp.state_label(node)
