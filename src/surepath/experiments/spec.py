"""An experiment as data: which instances, which learners, which epsilons and deltas, how many runs.

The same fields in a TOML file and in a Python dict. Everything is checked, learners are built once on every instance,
before anything runs; a message names the file, the path of the field ("learners[1].sampling") and the nearest valid
name. A spec is a grid of cells; a cell is one learner on one instance at one delta, and a task a range of its runs.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from surepath._checks import MOST, check_delta, check_epsilon, shortened, suggest, whole
from surepath._text import MAX_BYTES, read_text
from surepath._version import __version__
from surepath.errors import ProblemError, SettingError, SurepathError
from surepath.learners.base import LEARNERS, build, setting_names
from surepath.learners.own_rules import storable, with_rules
from surepath.model import families
from surepath.model.files import parse_problem_text
from surepath.model.worlds import Instance

MAX_SPEC_BYTES = 4 * 2**20
GRID_FIELDS = ("epsilon", "delta")
Source = dict[str, str]  # rebuilds an instance on any worker: {"id": ...}, or {"name": ..., "text": ...} of a file


class FieldError(ValueError):
    """A mistake in a field below the one that is validated: the rest of its path, and the words."""

    def __init__(self, message: str, *path: str | int) -> None:
        super().__init__(message)
        self.path = path


def _listed(value: Any) -> Any:
    if not isinstance(value, (list, tuple)) or not value:
        raise ValueError(f"must be a list with at least one entry, not {shortened(value)}")
    return tuple(value)


def _some_text(value: Any) -> Any:
    if not isinstance(value, str) or not value:
        raise ValueError(f"must be some text, not {shortened(value)}")
    return value


def _count(name: str, low: int, high: int = MOST) -> Any:
    return BeforeValidator(lambda value: whole(name, value, low=low, high=high))


MOST_RUNS = 999_999_999  # nine digits in the names of files
Text = Annotated[str, BeforeValidator(_some_text)]
Deltas = Annotated[tuple[Annotated[float, BeforeValidator(check_delta)], ...], BeforeValidator(_listed)]
Epsilons = Annotated[tuple[Annotated[float, BeforeValidator(check_epsilon)], ...], BeforeValidator(_listed)]


class LearnerSpec(BaseModel):
    """One entry of the `learners` of a spec; its further fields are settings of the learner.

    Attributes:
        name: Name of the learner's class.
        label: Its name in this experiment; unique.
    """

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    name: str
    label: str

    @property
    def settings(self) -> dict[str, Any]:
        """Return everything else that the learner takes, without epsilon and delta."""
        return dict(self.model_extra or {})

    @model_validator(mode="before")
    @classmethod
    def _checked(cls, entry: Any) -> Any:
        if isinstance(entry, str):
            entry = {"name": entry}
        if not isinstance(entry, Mapping) or "name" not in entry:
            raise ValueError(f'must be a table with a "name", not {shortened(entry)}')
        name = entry["name"]
        if not isinstance(name, str) or name not in LEARNERS:
            raise FieldError(f"no learner is called {name!r}{suggest(str(name), LEARNERS)}", "name")
        own = tuple(cls.model_fields)
        valid = [key for key in setting_names(name) if key not in GRID_FIELDS]
        for key in entry:
            if key in GRID_FIELDS:
                raise FieldError(f'{key} belongs to the whole experiment; write "{key}s" at the top', key)
            if key not in valid and key not in own:
                raise FieldError(f"not a setting of {name}{suggest(str(key), [*valid, 'label'])}", str(key))
        found = {}
        for key, value in entry.items():
            try:
                found[key] = storable(key, value)
            except SettingError as error:
                raise FieldError(str(error), key) from None
        words = {key: value.rpartition(":")[2] if isinstance(value, str) else value for key, value in found.items()}
        made = "".join(f" {key}={value}" for key, value in words.items() if key not in own)
        return {"label": name + made, **found}

    @field_validator("label", mode="before")
    @classmethod
    def _named(cls, label: Any) -> Any:
        if not isinstance(label, str) or not label or "|" in label:
            raise ValueError(f'must be some text without "|", not {shortened(label)}')
        return label


class Spec(BaseModel):
    """The spec of an experiment; build one with `Spec.load` (TOML) or `Spec.from_dict`.

    Attributes:
        name: A short name, in every row.
        seed: Main seed. Run i on an instance draws from a child keyed by (seed, instance, i), the same for every
            learner, so that learners are compared on paired runs.
        runs: Runs per cell.
        budget: Episodes after which a run is cut and marked censored.
        chunk: Runs that a worker plays at a time.
        deltas: Allowed probabilities of a wrong answer; one cell each.
        epsilons: Tolerances, absolute.
        epsilons_per_gap: In their place, tolerances in units of the instance's Delta_min.
        instances: Sources of the instances. A spec lists ids, families with seeds, and problem files.
        learners: Learners with their labels.

    Example:
        >>> spec = Spec.from_dict({
        ...     "name": "tiny", "runs": 2, "deltas": [0.1], "epsilons": [1.0],
        ...     "instances": ["chain-v1/n3k2/seed7"], "learners": [{"name": "BPIUCRL"}],
        ... })
        >>> [cell.id for cell in spec.cells()]
        ['chain-v1/n3k2/seed7 | BPIUCRL | delta 0.1']
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Text = "experiment"
    seed: Annotated[int, _count("seed", 0)] = 0
    runs: Annotated[int, _count("runs", 1, high=MOST_RUNS)]
    budget: Annotated[int, _count("budget", 1)] = 10_000_000
    chunk: Annotated[int, _count("chunk", 1)]
    deltas: Deltas
    epsilons: Epsilons | None = None
    epsilons_per_gap: Epsilons | None = None
    instances: tuple[Source, ...]
    learners: Annotated[tuple[LearnerSpec, ...], BeforeValidator(_listed)]

    @classmethod
    def load(cls, path: str | Path) -> Spec:
        """Read a TOML file; files it names are searched beside it."""
        file = Path(path)
        try:
            values = tomllib.loads(read_text(file, MAX_SPEC_BYTES))
        except ProblemError as error:
            raise SettingError(str(error)) from None
        except tomllib.TOMLDecodeError as cause:
            raise SettingError(f"{file.name} is not valid TOML: {cause}") from None
        except (ValueError, RecursionError):  # thousands of digits or brackets
            raise SettingError(f"{file.name} holds a number too long to read, or brackets nested too deeply") from None
        return _read({"name": file.stem, **values}, file.name, file.parent)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Spec:
        """Build a spec from a dict with the fields of the TOML file."""
        if not isinstance(values, Mapping):
            raise SettingError(f"a spec is a dict or a TOML file, not {values!r}")
        return _read(dict(values), None, None)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, from which `from_dict` builds an equal spec on any machine."""
        return self.model_dump(mode="json", exclude_none=True)

    @property
    def per_gap(self) -> bool:
        """Return whether epsilons are multiples of Delta_min."""
        return self.epsilons_per_gap is not None

    def cells(self) -> list[Cell]:
        """List one cell per (instance, learner, delta)."""
        found = []
        epsilons = self.epsilons_per_gap or self.epsilons or ()
        for source in self.instances:
            name, scale = name_of(source), min_gap_of(source) if self.per_gap else 1.0
            for learner in self.learners:
                for delta in self.deltas:
                    cell = Cell(
                        experiment=self.name,
                        id=f"{name} | {learner.label} | delta {exact(delta)}",
                        source=source,
                        learner={"name": learner.name, **learner.settings},
                        label=learner.label,
                        delta=delta,
                        epsilons=tuple(scale * epsilon for epsilon in epsilons),
                        multiples=epsilons if self.per_gap else None,
                        seed=instance_seed(self.seed, name),
                        budget=self.budget,
                    )
                    found.append(cell)
        return found

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, values: dict[str, Any]) -> Any:
        for key in values:
            if key not in cls.model_fields:
                raise FieldError(f"not a field of a spec{suggest(str(key), cls.model_fields)}", str(key))
        for key in ("runs", "deltas", "instances", "learners"):
            if key not in values:
                raise ValueError(f"no field {key!r}; a spec has runs, deltas, instances and learners")
        if ("epsilons" in values) == ("epsilons_per_gap" in values):
            raise ValueError('give either "epsilons" or "epsilons_per_gap" (multiples of Delta_min)')
        runs = values["runs"]
        return {"chunk": max(1, min(1000, runs // 4)) if type(runs) is int else 1, **values}

    @field_validator("deltas", "epsilons", "epsilons_per_gap")
    @classmethod
    def _different(cls, numbers: tuple[float, ...] | None) -> Any:
        for index, number in enumerate(numbers or ()):
            if number in (numbers or ())[:index]:
                raise FieldError(f"{number:g} is listed twice", index)
        return numbers

    @field_validator("instances", mode="before")
    @classmethod
    def _sources(cls, entries: Any, info: ValidationInfo) -> Any:
        found: list[Source] = []
        for index, entry in enumerate(_listed(entries)):
            try:
                sources = read_sources(entry, info.context)
            except FieldError as error:
                raise FieldError(str(error), index, *error.path) from None
            for source in sources:
                if source in found:
                    raise FieldError(f"the instance {name_of(source)} is listed twice", index)
                found.append(source)
        return tuple(found)

    @model_validator(mode="after")
    def _builds(self) -> Spec:
        """Build every learner once on every instance, so that no bad setting is found after hours of runs."""
        labels = [learner.label for learner in self.learners]
        for index, label in enumerate(labels):
            if label in labels[:index]:
                raise FieldError(f'two learners are called "{label}"; give one of them a "label"', "learners", index)
        for source in self.instances:
            instance = instance_of(source)
            if self.per_gap:
                try:
                    min_gap_of(source)
                except ProblemError as error:
                    raise FieldError(str(error), "epsilons_per_gap") from None
            for index, learner in enumerate(self.learners):
                values = {"name": learner.name, "sigma": instance.sigma, **learner.settings}
                try:
                    build({**with_rules(values), "epsilon": 1.0, "delta": 0.1}, instance.mdp)
                except SettingError as error:
                    field = _named_first(error, learner.settings)
                    raise FieldError(str(error), "learners", index, *field) from None
        return self


def _read(values: dict[str, Any], file: str | None, folder: Path | None) -> Spec:
    """Validate a spec; the first mistake becomes a `SettingError` that names the file and the field."""
    try:
        return Spec.model_validate(values, context=folder)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        cause = first.get("ctx", {}).get("error")
        path = (*first["loc"], *getattr(cause, "path", ()))
        field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
        words = str(cause) if cause is not None else first["msg"]
        if cause is None:
            words += f", not {shortened(first['input'])}"
        raise SettingError(": ".join(part for part in (file, field, words) if part)) from None


def _named_first(error: Exception, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the field whose name a message begins with, if it is one of these."""
    first = str(error).split(" ", 1)[0]
    return (first,) if first in fields else ()


# Instances: an id, a family with seeds, or a problem file ------------------------------------------------------------

ENTRY_FIELDS = {"id": ("id",), "file": ("file",), "text": ("text", "name")}


def read_sources(entry: Any, folder: Path | None) -> list[Source]:
    """Read and check one entry of `instances`; it may list several sources. Raises `FieldError`."""
    if isinstance(entry, str):
        entry = {"id": entry}
    if not isinstance(entry, Mapping):
        raise FieldError(f'must be an id, or a table with "id", "family" or "file", not {shortened(entry)}')
    kinds = [kind for kind in ("id", "family", "file", "text") if kind in entry]
    if len(kinds) != 1:
        given = " and ".join(f'"{kind}"' for kind in kinds) or "none of them"
        raise FieldError(f'must have one of "id", "family" and "file"; it has {given}')
    kind = kinds[0]
    if kind == "family":
        return _from_family(entry)
    for key in entry:
        if key not in ENTRY_FIELDS[kind]:
            raise FieldError(f"not a field here{suggest(str(key), ENTRY_FIELDS[kind])}", str(key))
    if kind == "text" and not entry.get("name"):
        raise FieldError('must have a "name" for its "text", such as "problem.json"')
    source = {key: str(value) for key, value in entry.items()}
    try:
        if kind == "file":
            path = Path(source.pop("file"))
            path = path if folder is None or path.is_absolute() else folder / path
            source = {"name": path.name, "text": read_text(path, MAX_BYTES), **source}
        instance_of(source)
    except ProblemError as error:
        raise FieldError(str(error), kind) from None
    return [source]


def _from_family(entry: Mapping[str, Any]) -> list[Source]:
    name = entry["family"]
    if not isinstance(name, str) or name not in families.FAMILIES:
        raise FieldError(f"no family is called {name!r}{suggest(str(name), sorted(families.FAMILIES))}", "family")
    family = families.FAMILIES[name]
    defaults = family.defaults
    valid = [*defaults, *(["seeds"] if "seed" in defaults else [])]
    for key in entry:
        if key != "family" and key not in valid:
            raise FieldError(f"not a parameter of {name}{suggest(str(key), valid)}", str(key))
    if "seeds" in entry and "seed" in entry:
        raise FieldError('give "seed" or "seeds", not both', "seed")
    values = {key: value for key, value in entry.items() if key not in ("family", "seeds")}
    variants = [{**values, "seed": seed} for seed in _seeds(entry["seeds"])] if "seeds" in entry else [values]
    found = []
    for variant in variants:
        try:
            found.append({"id": str(family.build(**variant).id)})
        except SurepathError as error:
            raise FieldError(str(error), *_named_first(error, variant)) from None
    return found


def _seeds(value: Any) -> list[int]:
    if isinstance(value, str):
        match = re.fullmatch(r"(\d{1,9})\.\.(\d{1,9})", value)
        if match and int(match[1]) <= int(match[2]):
            return list(range(int(match[1]), int(match[2]) + 1))
    elif isinstance(value, list) and value and all(type(seed) is int and seed >= 0 for seed in value):
        return value
    words = 'must be a list of whole numbers from 0, or a range such as "0..9"'
    raise FieldError(f"{words}, not {shortened(value)}", "seeds")


def instance_of(source: Mapping[str, str]) -> Instance:
    """Build the instance of a source; the last few are cached."""
    return _build(tuple(sorted(source.items())))


def name_of(source: Mapping[str, str]) -> str:
    """Return the name of an instance in rows and seeds: its id, or the file's name and a hash of its content."""
    if "id" in source:
        return source["id"]
    digest = hashlib.sha256(source["text"].encode()).hexdigest()
    return f"file:{source['name']}#{digest[:12]}"


def min_gap_of(source: Mapping[str, str]) -> float:
    """Compute Delta_min, the least positive value gap.

    Of the paper's random instances it is taken over ALL states, as its authors count it; of every other instance over
    the reachable ones.
    """
    from surepath import theory

    if source.get("id", "").startswith("paper_random-"):
        return families.paper_min_gap(source["id"])
    value = theory.gaps(instance_of(source)).value
    if not (value > 0).any():
        raise ProblemError(f"{name_of(source)} has no positive value gap, so nothing can be a multiple of it")
    return float(value[value > 0].min())


@lru_cache(maxsize=32)
def _build(items: tuple[tuple[str, str], ...]) -> Instance:
    source = dict(items)
    if "id" in source:
        return families.from_id(source["id"])
    problem = parse_problem_text(source["text"], source["name"])
    if problem.instance is None:
        raise ProblemError(f"{source['name']} gives no means, so there is nothing to simulate; add a mean to each edge")
    problem.instance.id = name_of(source)
    return problem.instance


# Cells and tasks ------------------------------------------------------------------------------------------------------

ROWS_FORMAT = 4  # of the stored columns; part of every key, so that rows of two formats are never mixed


@dataclass(frozen=True)
class Cell:
    """One learner on one instance at one delta, for one or more epsilons.

    Attributes:
        experiment: Name of the experiment.
        id: For people: instance | label | delta.
        source: Rebuilds the instance.
        learner: Name and settings, without epsilon and delta.
        label: The learner's label.
        delta: Allowed probability of a wrong answer.
        epsilons: Absolute tolerances; one run at the smallest serves all.
        multiples: The same in units of Delta_min when the spec gave them so, else None.
        seed: Seed of all runs on this instance, the same for all learners.
        budget: Episodes after which a run is cut.
    """

    experiment: str
    id: str
    source: Source
    learner: dict[str, Any]
    label: str
    delta: float
    epsilons: tuple[float, ...]
    multiples: tuple[float, ...] | None
    seed: int
    budget: int

    @cached_property
    def key(self) -> str:
        """Hash everything that decides the rows or is written in them, the format and the version included."""
        parts = [ROWS_FORMAT, self.experiment, self.id, name_of(self.source), self.learner, self.label, self.delta]
        parts += [self.epsilons, self.multiples, self.seed, self.budget, __version__]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Task:
    """A range of runs of a cell, plain data that any worker can play."""

    cell: Cell
    first: int
    count: int


def instance_seed(seed: int, instance: str) -> int:
    """Derive the seed of all runs on an instance from the main seed and the instance, never from the learner."""
    digest = hashlib.sha256(f"{seed}\n{instance}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1  # below 2^63: it goes into a column of int64


def exact(number: float) -> str:
    """Write a number as short as it can be read back exactly."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)
