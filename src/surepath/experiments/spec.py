"""An experiment as data: which instances, which learners, which epsilons and deltas, how many runs.

The same fields in a TOML file and in a Python dict. Everything is checked, learners are built once on every instance,
before anything runs; a message names the file, the line, the field and the nearest valid name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surepath._checks import MOST, check_delta, check_epsilon, suggest, whole
from surepath.errors import ProblemError, SettingError
from surepath.experiments.cells import MOST_RUNS, Cell, cells_of
from surepath.experiments.instance_sources import Source, instance_of, min_gap_of, name_of, read_sources
from surepath.experiments.learner_specs import LearnerSpec, check_on, read_learner
from surepath.experiments.toml_lines import FieldLocations, read_toml
from surepath.model.sources.textfile import read_text

SPEC_FIELDS = (
    "name", "seed", "runs", "budget", "chunk", "deltas", "epsilons", "epsilons_per_gap", "instances", "learners",
)  # fmt: skip
MAX_SPEC_BYTES = 4 * 2**20


@dataclass(frozen=True)
class Spec:
    """What an experiment plays; build one with `Spec.load` (TOML) or `Spec.from_dict`.

    Attributes:
        name: A short name, in every row.
        seed: Main seed. Run i on an instance draws from a child keyed by (seed, instance, i), the same for every
            learner, so that learners are compared on paired runs.
        runs: Runs per cell.
        budget: Episodes after which a run is cut and marked censored.
        chunk: Runs that are played and stored together; a kill loses at most those in flight.
        deltas: Allowed probabilities of a wrong answer; one cell each.
        epsilons: Tolerances, absolute, or in units of the instance's Delta_min when `per_gap` is true.
        per_gap: Whether epsilons are multiples of Delta_min.
        instances: Sources of the instances.
        learners: Learners with their labels.

    Example:
        >>> spec = Spec.from_dict({
        ...     "name": "tiny", "runs": 2, "deltas": [0.1], "epsilons": [1.0],
        ...     "instances": ["chain-v1/n3k2/seed7"], "learners": [{"name": "BPIUCRL"}],
        ... })
        >>> [cell.id for cell in spec.cells()]
        ['chain-v1/n3k2/seed7 | BPIUCRL | delta 0.1']
    """

    name: str
    seed: int
    runs: int
    budget: int
    chunk: int
    deltas: tuple[float, ...]
    epsilons: tuple[float, ...]
    per_gap: bool
    instances: tuple[Source, ...]
    learners: tuple[LearnerSpec, ...]

    @classmethod
    def load(cls, path: str | Path) -> Spec:
        """Read a TOML file; files it names are searched beside it."""
        file = Path(path)
        try:
            text = read_text(file, MAX_SPEC_BYTES)
        except ProblemError as error:
            raise SettingError(str(error)) from None
        values, locate = read_toml(text, file.name)
        values.setdefault("name", file.stem)
        return _read(values, locate, file.parent)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Spec:
        """Build a spec from a dict with the fields of the TOML file."""
        if not isinstance(values, Mapping):
            raise SettingError(f"a spec is a dict or a TOML file, not {values!r}")
        return _read(dict(values), FieldLocations(), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, from which `from_dict` builds an equal spec on any machine."""
        return {
            "name": self.name,
            "seed": self.seed,
            "runs": self.runs,
            "budget": self.budget,
            "chunk": self.chunk,
            "deltas": list(self.deltas),
            "epsilons_per_gap" if self.per_gap else "epsilons": list(self.epsilons),
            "instances": [dict(source) for source in self.instances],
            "learners": [learner.to_dict() for learner in self.learners],
        }

    def cells(self) -> list[Cell]:
        """List one cell per (instance, learner, delta), and per epsilon for learners that do not share runs."""
        found = []
        for source in self.instances:
            least = min_gap_of(source) if self.per_gap else None
            found += cells_of(self, source, least)
        return found


def _read(values: dict[str, Any], locate: FieldLocations, folder: Path | None) -> Spec:
    for key in values:
        if key not in SPEC_FIELDS:
            raise SettingError(f"{locate(str(key))} is not a field of a spec{suggest(str(key), SPEC_FIELDS)}")
    for key in ("runs", "deltas", "instances", "learners"):
        if key not in values:
            raise SettingError(f"{locate()} has no field {key!r}; it must have runs, deltas, instances and learners")
    runs = _whole(values, "runs", locate, low=1, high=MOST_RUNS)
    per_gap = "epsilons_per_gap" in values
    if per_gap == ("epsilons" in values):
        raise SettingError(f'{locate()} must have either "epsilons" or "epsilons_per_gap" (multiples of Delta_min)')
    name = values.get("name", "experiment")
    if not isinstance(name, str) or not name:
        raise SettingError(f"{locate('name')} must be some text, not {name!r}")
    sources: list[Source] = []
    for index, entry in enumerate(_list(values, "instances", locate)):
        for source in read_sources(entry, index, locate, folder):
            if source in sources:
                raise SettingError(f"{locate('instances', index)}: the instance {name_of(source)} is listed twice")
            sources.append(source)
    learners: list[LearnerSpec] = []
    for index, entry in enumerate(_list(values, "learners", locate)):
        learner = read_learner(entry, index, locate)
        if any(learner.label == other.label for other in learners):
            raise SettingError(
                f'{locate("learners", index)}: two learners are called "{learner.label}"; give one of them a "label"'
            )
        learners.append(learner)
    spec = Spec(
        name=name,
        seed=_whole(values, "seed", locate, low=0, default=0),
        runs=runs,
        budget=_whole(values, "budget", locate, low=1, default=10_000_000),
        chunk=_whole(values, "chunk", locate, low=1, default=max(1, min(1000, runs // 10))),
        deltas=_numbers(values, "deltas", locate, check_delta),
        epsilons=_numbers(values, "epsilons_per_gap" if per_gap else "epsilons", locate, check_epsilon),
        per_gap=per_gap,
        instances=tuple(sources),
        learners=tuple(learners),
    )
    _check_builds(spec, locate)
    return spec


def _check_builds(spec: Spec, locate: FieldLocations) -> None:
    """Build every learner once on every instance, so that no bad setting is found after hours of runs."""
    for source in spec.instances:
        instance = instance_of(source)
        if spec.per_gap:
            try:
                min_gap_of(source)
            except ProblemError as error:
                raise SettingError(f"{locate('epsilons_per_gap')}: {error}") from None
        for index, learner in enumerate(spec.learners):
            check_on(learner, instance, index, locate)


def _whole(
    values: Mapping[str, Any],
    key: str,
    locate: FieldLocations,
    *,
    low: int,
    high: int = MOST,
    default: int | None = None,
) -> int:
    try:
        return whole(key, values.get(key, default), low=low, high=high)
    except SettingError as error:
        raise SettingError(f"{locate(key)}: {error}") from None


def _list(values: Mapping[str, Any], key: str, locate: FieldLocations) -> Sequence[Any]:
    entries = values[key]
    if not isinstance(entries, (list, tuple)) or not entries:
        raise SettingError(f"{locate(key)} must be a list with at least one entry, not {entries!r}")
    return entries


def _numbers(values: Mapping[str, Any], key: str, locate: FieldLocations, check: Any) -> tuple[float, ...]:
    found: list[float] = []
    for index, value in enumerate(_list(values, key, locate)):
        try:
            number = check(value)
        except SettingError as error:
            raise SettingError(f"{locate(key, index)}: {error}") from None
        if number in found:
            raise SettingError(f"{locate(key, index)}: {number:g} is listed twice in {key}")
        found.append(number)
    return tuple(found)
