"""The published shape of a JSON problem file, and its errors in words."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from surepath._checks import suggest
from surepath._numbers import shortened
from surepath.errors import ProblemError
from surepath.model.sources.edge_rows import STAGES

PROBLEM_FORMAT = "surepath-problem"
PROBLEM_VERSION = 1

Name = Annotated[str, Field(min_length=1)]
Label = Name | Annotated[int, Field(ge=0, le=2**31 - 1)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Remark = str | list[str]


class EdgeModel(BaseModel):
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
    law: Literal["gaussian", "bernoulli", "beta", "uniform"] | None = Field(
        None, description="How scores are drawn in simulation; by default beta inside ranges, else Gaussian."
    )
    concentration: Number | None = Field(None, description="a + b of the beta law; 4 by default.")
    states: list[Name] | None = Field(None, description="Names of states, in the order they are numbered.")
    actions: list[Name] | None = Field(None, description="Names of options, in the order they are numbered.")
    step_names: list[Name] | None = Field(None, description="Names of the steps, one each, in their order.")
    edges: Annotated[list[EdgeModel], Field(min_length=1)] | None = Field(
        None, description="The options, one entry for each in each state; or give steps."
    )
    steps: dict[Name, Annotated[list[Label], Field(min_length=1)]] | None = Field(
        None, description="In place of edges: the options of each step, in the order the steps are taken."
    )
    depends: Literal["previous", "none"] | dict[Name, Name | list[Name]] | None = Field(
        None,
        description="With steps: which earlier choices the score of a step depends on; the step before by default.",
    )
    scores: Literal["every", "end"] | list[Name] | None = Field(
        None,
        description="With steps: which steps are scored; end is one score for the whole plan. Every step by default.",
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


def parse_problem(data: Any, name: str) -> ProblemModel:
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
        alone = next((field for field in ("depends", "scores", "costs") if getattr(model, field) is not None), None)
        if alone is not None:
            raise ProblemError(f"{name}: {alone} belongs to steps, and this problem has none")
        return model
    beside = ("edges", "source", "target", "states", "actions", "step_names", "law", "concentration")
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
    "greater_than_equal": f"must be a whole number from 0 to {STAGES - 1:,}",  # a stage; no other number has limits
    "less_than": f"must be a whole number from 0 to {STAGES - 1:,}",
}


def _in_words(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=True)
    # A typing mistake in a field's name also makes the right name missing: report the cause.
    first = next((p for p in problems if p["type"] == "extra_forbidden"), problems[0])
    place, kind = _place(first["loc"]), first["type"]
    if kind == "extra_forbidden":
        fields = EdgeModel.model_fields if "edges" in first["loc"][:1] else ProblemModel.model_fields
        holder = _place(first["loc"][:-1])
        key = str(first["loc"][-1])
        return f"{holder + ' has an' if holder else 'there is an'} unknown field {key!r}{suggest(key, fields)}"
    if kind == "missing":
        holder = _place(first["loc"][:-1]) or "the problem"
        return f"{holder} lacks the field {str(first['loc'][-1])!r}"
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
