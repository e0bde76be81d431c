"""Problem files: their schema, their rows, and how a problem is loaded and saved."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema

from surepath._checks import FloatArray, check_delta, check_epsilon, repeated, shortened, suggest
from surepath.errors import NoiseError, ProblemError, SettingError
from surepath.model.edges import STAGES, build, read_rows
from surepath.model.mdp import MDP
from surepath.model.steps import from_steps
from surepath.model.text_files import (
    is_workbook,
    parse_csv,
    plain_cell,
    read_bytes,
    read_text,
    workbook_text,
    write_text,
)
from surepath.model.worlds import BERNOULLI, BETA, GAUSSIAN, KNOWN, UNIFORM, Bernoulli, Bounded, Gaussian, Instance, Law

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


def _parse_model(data: Any, name: str) -> ProblemModel:
    """Check parsed JSON against the model; the first error is raised in words."""
    if not isinstance(data, dict):
        raise ProblemError(f"{name}: a problem file is a JSON object, not {shortened(data)}")
    if data.get("format", PROBLEM_FORMAT) != PROBLEM_FORMAT:
        raise ProblemError(f'{name}: format must be "{PROBLEM_FORMAT}", not {shortened(data["format"])}')
    version = data.get("version", PROBLEM_VERSION)
    if isinstance(version, int) and not isinstance(version, bool) and version > PROBLEM_VERSION:
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
        fields = ("depends", "costs") if model.structure else ("depends", "scores", "costs")
        alone = next((field for field in fields if getattr(model, field) is not None), None)
        if alone is not None:
            raise ProblemError(f"{name}: {alone} belongs to steps, and this problem has none")
        return model
    beside = ("edges", "source", "target", "states", "actions", "step_names", "plans", "law", "concentration")
    extra = next((field for field in beside if getattr(model, field) is not None), None)
    if extra is not None:
        raise ProblemError(f"{name}: {extra} belongs to a problem of edges; this one has steps")
    return model


_KINDS = {
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be finite",
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "string_unicode": "must be valid text",
    "list_type": "must be a list",
    "too_short": "must not be empty",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
}


def _in_words(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=True)
    # A typing mistake in a field's name also makes the right name missing: report the cause.
    first = next((p for p in problems if p["type"] == "extra_forbidden"), problems[0])
    place, kind = _place(first["loc"]), first["type"]
    if kind == "extra_forbidden":
        key = str(first["loc"][-1])
        return f"there is an unknown field {key!r}{suggest(key, ProblemModel.model_fields)}"
    if kind == "missing":
        return f"the problem lacks the field {str(first['loc'][-1])!r}"
    if kind == "literal_error":
        valid = [word.strip(" '") for word in str(first["ctx"]["expected"]).replace(" or ", ", ").split(",")]
        hint = suggest(first["input"], valid) if isinstance(first["input"], str) else f" (valid: {', '.join(valid)})"
        return f"{place} {shortened(first['input'])} is not known{hint}"
    union = [p for p in problems if p["loc"][: len(first["loc"]) - 1] == first["loc"][:-1]]
    if first["loc"] and str(first["loc"][-1]) in _UNION_ARMS and len(union) > 1:
        text = f'; write it as text: "{first["input"]}"' if isinstance(first["input"], float) else ""
        return f"{_place(first['loc'][:-1])} {_UNIONS[_arms(union)]}, not {shortened(first['input'])}{text}"
    return f"{place} {_KINDS.get(kind, first['msg'])}, not {shortened(first['input'])}"


_UNION_ARMS = ("str", "int", "constrained-str", "constrained-int", "list[str]")
_UNIONS = {True: "must be text or a list of texts", False: "must be a name or a whole number from 0"}


def _arms(union: list[Any]) -> bool:
    return any("list[str]" in map(str, p["loc"]) for p in union)


def _place(loc: tuple[int | str, ...]) -> str:
    text = ""
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part not in _UNION_ARMS and not part.startswith(("literal[", "dict[", "list[")):
            text += f".{part}" if text else part
    return text


# File rows ------------------------------------------------------------------------------------------------------------
# Between an MDP and the rows of a file: what is written for each arc, and the law that a file's means follow.

CONCENTRATION = 4.0  # of the beta law of a file that does not say
_NAMES = {GAUSSIAN: "gaussian", BERNOULLI: "bernoulli", BETA: "beta", UNIFORM: "uniform"}


def _problem_fields(mdp: MDP, instance: Instance | None) -> dict[str, Any]:
    """Return all fields of a JSON problem file but its edges; numbers that all arcs share are written here once."""
    fields: dict[str, Any] = {"format": PROBLEM_FORMAT, "version": PROBLEM_VERSION, "direction": mdp.direction}
    if instance is not None:
        fields |= _law_fields(instance)
    learned = ~mdp.is_known
    for what, values in _numbers(mdp, instance).items():
        own = values[learned]
        if own.size and np.isfinite(own).all() and (own == own[0]).all():
            fields[what] = float(own[0])
    if ("low" in fields) != ("high" in fields):
        fields.pop("low", None), fields.pop("high", None)
    if mdp.charge is not None:
        fields["cost_weight"] = mdp.cost_weight
    if mdp.state_labels is not None:
        fields["states"] = list(mdp.state_labels)
    if mdp.action_labels is not None:
        fields["actions"] = list(mdp.action_labels)
    if mdp.step_labels is not None:
        fields["step_names"] = list(mdp.step_labels)
    if mdp.plans is not None:
        fields["plans"] = mdp.plans
    if mdp.scored is not None:
        names = mdp.step_labels or list(map(str, range(mdp.horizon)))
        fields["scores"] = "end" if len(mdp.scored) == 1 else [names[stage] for stage in mdp.scored]
        fields["structure"] = "additive"
    fields["source"] = _state(mdp, 0)
    return fields


def _table_rows(mdp: MDP, instance: Instance | None, *, shared: Sequence[str]) -> list[dict[str, object]]:
    """Return one row per arc, in arc order, without the numbers at the top of the file.

    What is at the top is for arcs to learn only: an arc with a known reward has its own range or none.
    """
    learned = {what: values for what, values in _numbers(mdp, instance).items() if what not in shared}
    certain = {} if mdp.reward_range is None else dict(zip(("low", "high"), mdp.reward_range))
    stage = mdp.arcs.stage
    rows: list[dict[str, object]] = []
    for arc in range(mdp.n_arcs):
        row: dict[str, object] = {"stage": int(stage[arc]), "state": _state(mdp, int(mdp.source[arc]))}
        row["action"] = int(mdp.action[arc]) if mdp.action_labels is None else mdp.action_label(arc)
        if mdp.target[arc] < mdp.n_nodes:
            row["next_state"] = _state(mdp, int(mdp.target[arc]))
        known = bool(mdp.is_known[arc])
        if known and mdp.known is not None:
            row["known"] = float(mdp.known[arc])
        for what, values in (certain if known else learned).items():
            if np.isfinite(values[arc]):
                row[what] = float(values[arc])
        if mdp.cost is not None and mdp.cost[arc] > 0:
            row["cost"] = float(mdp.cost[arc])
        if instance is not None and not known:
            row["mean"] = float(instance.means[arc])
        rows.append(row)
    return rows


def _state(mdp: MDP, node: int) -> int | str:
    return int(mdp.node_state[node]) if mdp.state_labels is None else mdp.state_label(node)


def _numbers(mdp: MDP, instance: Instance | None) -> dict[str, FloatArray]:
    """Return sigma and range of each arc as a file states them; an instance declares its own."""
    numbers: dict[str, FloatArray] = {}
    kinds = set() if instance is None else set(np.unique(instance.law.kind[~mdp.is_known]).tolist())
    if instance is not None and kinds & {BETA, UNIFORM, BERNOULLI}:
        numbers["low"], numbers["high"] = instance.law.low, instance.law.high
        if mdp.sigma is not None and (mdp.sigma > instance.sigma).any():
            numbers["sigma"] = np.maximum(mdp.sigma, instance.sigma)
    elif instance is not None:
        numbers["sigma"] = instance.sigma
    else:
        if mdp.sigma is not None:
            numbers["sigma"] = mdp.sigma
        if mdp.reward_range is not None:
            numbers["low"], numbers["high"] = mdp.reward_range
    return numbers


def _law_fields(instance: Instance) -> dict[str, Any]:
    kinds = set(np.unique(instance.law.kind).tolist()) - {KNOWN}
    if not kinds:
        return {}
    kind = kinds.pop()
    if kinds or kind not in _NAMES:
        raise ProblemError(
            "a problem file holds one law for all edges: gaussian, bernoulli, beta or uniform; "
            "save the MDP without its instance, or build the law in Python"
        )
    fields: dict[str, Any] = {"law": _NAMES[kind]}
    if kind == BETA:
        learned = ~instance.mdp.is_known
        fields["concentration"] = float(np.max((instance.law.a + instance.law.b)[learned]))
    return fields


def _declared_law(mdp: MDP, means: FloatArray, law: str | None, concentration: float | None, who: str) -> Law:
    """Return the reward law of a file that gives means: as it says, else beta inside ranges, else Gaussian.

    A Gaussian law needs a sigma; `who` names the file where there is none.
    """
    learned = ~mdp.is_known
    low, high = mdp.reward_range if mdp.reward_range is not None else (np.full(mdp.n_arcs, -np.inf),) * 2
    ranged = np.isfinite(low) & learned
    if law is None:
        law = "beta" if learned.any() and (ranged == learned).all() else "gaussian"
    if concentration is not None and law != "beta":
        raise ProblemError(f'concentration belongs to the law "beta"; this file\'s law is "{law}"')
    if law == "gaussian":
        if ranged.any():
            arc = int(np.flatnonzero(ranged)[0])
            raise ProblemError(
                f"Gaussian scores leave every range, but {mdp.describe_arc(arc)} declares one; "
                f"drop low and high, or give all edges a range and take the law beta"
            )
        missing = mdp.noise_missing(who)
        if missing is not None:
            raise NoiseError(missing)
        return Gaussian(means, mdp.declared_sigma)
    if not (ranged == learned).all():
        arc = int(np.flatnonzero(ranged != learned)[0])
        raise ProblemError(f'the law "{law}" needs low and high; {mdp.describe_arc(arc)} has none')
    if law == "bernoulli":
        bad = np.flatnonzero(ranged & ((low > 0) | (high < 1)))
        if bad.size:
            raise ProblemError(f"Bernoulli scores are 0 or 1; {mdp.describe_arc(int(bad[0]))} excludes one of them")
    half = np.where(ranged, (high - low) / 2, 0.0)
    if mdp.sigma is not None and (mdp.sigma[learned] < half[learned]).any():
        arc = int(np.flatnonzero(learned & (mdp.sigma < half))[0])
        raise ProblemError(
            f'scores drawn by the law "{law}" have a sub-Gaussian factor of up to {half[arc]:g} at '
            f"{mdp.describe_arc(arc)}, more than its sigma {mdp.sigma[arc]:g}; leave sigma out there"
        )
    if law == "bernoulli":
        return Bernoulli(np.where(learned, means, 0.0))
    inside = np.where(learned, means, 0.0)
    bounds = np.where(learned, low, 0.0), np.where(learned, high, 0.0)
    return Bounded(
        *bounds, inside, sampler=law, concentration=CONCENTRATION if concentration is None else concentration
    )


# Files ----------------------------------------------------------------------------------------------------------------
# Problems in files: JSON with a published schema, and the edge-table CSV. Text only, bounded in size.

# An edge opens one bracket; this many stop a file of empty lists long before it fills the memory.
MAX_BRACKETS = 4_000_000


@dataclass(frozen=True)
class Problem:
    """What a problem file holds.

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
    if (sheet := _steps_of_sheet(text, name)) is not None:
        return parse_json_problem(json.dumps(sheet), name, sigma=sigma)
    table = parse_csv(text, name)
    edges = read_rows(table.rows, table.place)
    mdp, means = build(edges, fallback=sigma, direction=table.direction, cost_weight=table.cost_weight)
    return Problem(mdp, _instance(mdp, means, None, None, name), name=Path(name).stem)


SHEET_SETTINGS = ("direction", "low", "high", "sigma", "epsilon", "delta", "depends", "scores", "structure")


def _steps_of_sheet(text: str, name: str) -> dict[str, Any] | None:
    """Read a sheet with a column for each step, its options below its name, as the fields of a problem file.

    Lines such as "# low: 0" set what is the same for all. None for a table of edges, which has a column `action`.
    """
    fields: dict[str, Any] = {"format": "surepath-problem", "version": 1, "name": Path(name).name.partition(".")[0]}
    steps: dict[str, list[str]] | None = None
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    for line in csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count)):
        cells = [plain_cell(cell.strip()) for cell in line]
        if not any(cells) or cells[0].startswith("#"):
            said = re.fullmatch(r"#\s*(\w+)\s*:\s*(.+?)\s*", ",".join(cell for cell in cells if cell))
            if said and said[1] in SHEET_SETTINGS:
                try:
                    fields[said[1]] = json.loads(said[2])
                except ValueError:
                    fields[said[1]] = said[2]
        elif steps is None:
            if {"action", "state"} & set(cells):
                return None
            if (twice := repeated(cell for cell in cells if cell)) is not None:
                raise ProblemError(f"{name} names the step {twice!r} twice; each step has one column")
            heads, steps = cells, {cell: [] for cell in cells if cell}
        else:
            for head, cell in zip(heads, cells):
                if cell and head:
                    steps[head].append(cell)
                elif cell:
                    raise ProblemError(f"{name} has the option {cell!r} in a column without a step; name it above")
    return None if steps is None else {**fields, "steps": steps}


def parse_json_problem(text: str, name: str = "problem", *, sigma: float | None = None) -> Problem:
    """Parse a problem from JSON text; `name` is the file in messages, `sigma` the noise it does not declare."""
    model = _parse_model(_parse_json(text, name), name)
    about = (model.about,) if isinstance(model.about, str) else tuple(model.about or ())
    try:
        epsilon = None if model.epsilon is None else check_epsilon(model.epsilon)
        delta = None if model.delta is None else check_delta(model.delta)
        mdp, means = _graph(model, sigma)
    except (ProblemError, SettingError) as error:
        kind = type(error) if isinstance(error, ProblemError) else ProblemError
        raise kind(f"{name}: {error}") from None
    instance = _instance(mdp, means, model.law, model.concentration, name)
    return Problem(mdp, instance, epsilon, delta, model.name, about, model.dependence, model.missing)


def _graph(model: ProblemModel, fallback: float | None) -> tuple[MDP, FloatArray | None]:
    """Build the graph of a JSON file, and the means that it gives."""
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
        read_rows(rows, lambda i: f"edges[{i}]"),
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
        mdp = mdp.with_blocks(stages)
    return mdp, means


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
    """Write a JSON problem file, whole or not at all.

    Args:
        path: The file; an existing one is replaced in one step.
        mdp: The graph.
        instance: Also write its means and its law; it must have the same graph.
        name: What the problem is called.
        about: A remark, or several, for those who read the file.
        epsilon: How far from the best an answer may be.
        delta: Allowed probability that it is farther away.
    """
    file = Path(path)
    if file.suffix.lower() != ".json":
        raise ProblemError(f"a problem is saved as .json, not as {file.name}")
    given = {"name": name, "about": about, "epsilon": epsilon, "delta": delta}
    fields = {field: value for field, value in given.items() if value is not None}
    if instance is not None and instance.mdp != mdp:
        raise ProblemError("the instance has another graph; pass instance.mdp as the MDP to save")
    text = _json_text(mdp, instance, fields)
    parse_json_problem(text, file.name)  # what cannot be read again is not written
    write_text(file, text)


def problem_text(mdp: MDP) -> str:
    """Write a problem, without any means, as JSON text that `parse_json_problem` reads back to the same graph."""
    return _json_text(mdp, None, {})


def _json_text(mdp: MDP, instance: Instance | None, fields: dict[str, Any]) -> str:
    head = {**_problem_fields(mdp, instance), **fields}
    shared = tuple(key for key in ("sigma", "low", "high") if key in head)
    edges = ",\n".join("    " + json.dumps(row) for row in _table_rows(mdp, instance, shared=shared))
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


def _instance(
    mdp: MDP, means: FloatArray | None, law: str | None, concentration: float | None, name: str
) -> Instance | None:
    """Build the world that a file describes by its means; None where it gives none."""
    if means is None:
        return None
    try:
        return Instance(mdp, _declared_law(mdp, means, law, concentration, f"the problem file {name}"))
    except NoiseError:
        raise  # names the file itself
    except ProblemError as error:
        raise ProblemError(f"{name}: {error}") from None
