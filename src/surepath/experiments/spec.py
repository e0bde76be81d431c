"""A study as data: which instances, which learners, which epsilons and deltas, how many runs.

The same fields in a TOML file and in a Python dict. Everything is checked, learners are built once on every instance,
before anything runs; a message names the file, the line, the field and the nearest valid name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from surepath._checks import MOST, check_delta, check_epsilon, suggest, whole
from surepath.errors import ProblemError, SettingError
from surepath.experiments.cells import MOST_RUNS, Cell, cells_of
from surepath.experiments.learner_specs import LearnerSpec, check_on, read_learner
from surepath.experiments.places import Places, read_toml
from surepath.experiments.sources import Source, instance_of, min_gap_of, name_of, read_sources
from surepath.model.sources.textfile import read_text

FIELDS = (
    "name", "seed", "runs", "budget", "chunk", "deltas", "epsilons", "epsilons_per_gap", "instances", "learners",
)  # fmt: skip
MAX_BYTES = 4 * 2**20


@dataclass(frozen=True)
class Spec:
    """What a study plays; build one with `Spec.load` (TOML) or `Spec.from_dict`.

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
        """Read a TOML file; files it names are looked for beside it."""
        file = Path(path)
        try:
            text = read_text(file, MAX_BYTES)
        except ProblemError as error:
            raise SettingError(str(error)) from None
        values, place = read_toml(text, file.name)
        values.setdefault("name", file.stem)
        return _read(values, place, file.parent)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Spec:
        """From a dict with the fields of the TOML file."""
        if not isinstance(values, Mapping):
            raise SettingError(f"a spec is a dict or a TOML file, not {values!r}")
        return _read(dict(values), Places(), None)

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain data, from which `from_dict` builds an equal spec on any machine."""
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

    def with_runs(self, runs: int) -> Spec:
        """The same study with another number of runs; rows already stored keep their place in it."""
        return replace(self, runs=whole("runs", runs, low=1, high=MOST_RUNS))

    def cells(self) -> list[Cell]:
        """One cell per (instance, learner, delta), and per epsilon for learners that do not share runs."""
        found = []
        for source in self.instances:
            least = min_gap_of(source) if self.per_gap else None
            found += cells_of(self, source, least)
        return found


def _read(values: dict[str, Any], place: Places, folder: Path | None) -> Spec:
    for key in values:
        if key not in FIELDS:
            raise SettingError(f"{place(str(key))} is not a field of a spec{suggest(str(key), FIELDS)}")
    for key in ("runs", "deltas", "instances", "learners"):
        if key not in values:
            raise SettingError(f"{place()} has no field {key!r}; it must have runs, deltas, instances and learners")
    runs = _whole(values, "runs", place, low=1, high=MOST_RUNS)
    per_gap = "epsilons_per_gap" in values
    if per_gap == ("epsilons" in values):
        raise SettingError(f'{place()} must have either "epsilons" or "epsilons_per_gap" (multiples of Delta_min)')
    name = values.get("name", "study")
    if not isinstance(name, str) or not name:
        raise SettingError(f"{place('name')} must be some text, not {name!r}")
    sources: list[Source] = []
    for index, entry in enumerate(_list(values, "instances", place)):
        for source in read_sources(entry, index, place, folder):
            if source in sources:
                raise SettingError(f"{place('instances', index)}: the instance {name_of(source)} stands here twice")
            sources.append(source)
    learners: list[LearnerSpec] = []
    for index, entry in enumerate(_list(values, "learners", place)):
        learner = read_learner(entry, index, place)
        if any(learner.label == other.label for other in learners):
            raise SettingError(
                f'{place("learners", index)}: two learners are called "{learner.label}"; give one of them a "label"'
            )
        learners.append(learner)
    spec = Spec(
        name=name,
        seed=_whole(values, "seed", place, low=0, default=0),
        runs=runs,
        budget=_whole(values, "budget", place, low=1, default=10_000_000),
        chunk=_whole(values, "chunk", place, low=1, default=max(1, min(1000, runs // 10))),
        deltas=_numbers(values, "deltas", place, check_delta),
        epsilons=_numbers(values, "epsilons_per_gap" if per_gap else "epsilons", place, check_epsilon),
        per_gap=per_gap,
        instances=tuple(sources),
        learners=tuple(learners),
    )
    _try(spec, place)
    return spec


def _try(spec: Spec, place: Places) -> None:
    """Build every learner once on every instance, so that nothing fails after hours of work."""
    for source in spec.instances:
        instance = instance_of(source)
        if spec.per_gap:
            try:
                min_gap_of(source)
            except ProblemError as error:
                raise SettingError(f"{place('epsilons_per_gap')}: {error}") from None
        for index, learner in enumerate(spec.learners):
            check_on(learner, instance, index, place)


def _whole(
    values: Mapping[str, Any], key: str, place: Places, *, low: int, high: int = MOST, default: int | None = None
) -> int:
    try:
        return whole(key, values.get(key, default), low=low, high=high)
    except SettingError as error:
        raise SettingError(f"{place(key)}: {error}") from None


def _list(values: Mapping[str, Any], key: str, place: Places) -> Sequence[Any]:
    entries = values[key]
    if not isinstance(entries, (list, tuple)) or not entries:
        raise SettingError(f"{place(key)} must be a list with at least one entry, not {entries!r}")
    return entries


def _numbers(values: Mapping[str, Any], key: str, place: Places, check: Any) -> tuple[float, ...]:
    found: list[float] = []
    for index, value in enumerate(_list(values, key, place)):
        try:
            number = check(value)
        except SettingError as error:
            raise SettingError(f"{place(key, index)}: {error}") from None
        if number in found:
            raise SettingError(f"{place(key, index)}: {number:g} stands twice in {key}")
        found.append(number)
    return tuple(found)
