"""The learners of an experiment: a name, a label and settings, which are tried on every instance before any run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from surepath._checks import suggest
from surepath.errors import SettingError
from surepath.experiments.toml_lines import FieldLocations
from surepath.learners.registry import LEARNERS, build, setting_names
from surepath.model.instance import Instance

LEARNER_FIELDS = ("name", "label", "share")  # of a learner in a spec, besides its settings
GRID_FIELDS = ("epsilon", "delta")


@dataclass(frozen=True)
class LearnerSpec:
    """One entry of the `learners` of a spec.

    Attributes:
        name: Name of the learner's class.
        label: Its name in this experiment; unique.
        share: Whether one run at the smallest epsilon gives the stopping times of the others, or each epsilon is
            played by itself.
        settings: Everything else that the learner takes, without epsilon and delta.
    """

    name: str
    label: str
    share: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as plain data."""
        return {"name": self.name, "label": self.label, "share": self.share, **self.settings}


def read_learner(entry: Any, index: int, locate: FieldLocations) -> LearnerSpec:
    """Read one entry of `learners`, and check the names of its fields."""
    if isinstance(entry, str):
        entry = {"name": entry}
    if not isinstance(entry, Mapping) or "name" not in entry:
        raise SettingError(f'{locate("learners", index)} must be a table with a "name", not {entry!r}')
    name = entry["name"]
    if not isinstance(name, str) or name not in LEARNERS:
        at = locate("learners", index, "name")
        raise SettingError(f"{at}: no learner is called {name!r}{suggest(str(name), LEARNERS)}")
    valid = [key for key in setting_names(name) if key not in GRID_FIELDS]
    for key in entry:
        if key in GRID_FIELDS:
            at = locate("learners", index, key)
            raise SettingError(f'{at}: {key} belongs to the whole experiment; write "{key}s" at the top')
        if key not in valid and key not in LEARNER_FIELDS:
            at = locate("learners", index, str(key))
            raise SettingError(f"{at} is not a setting of {name}{suggest(str(key), [*valid, 'label', 'share'])}")
    settings = {key: value for key, value in entry.items() if key not in LEARNER_FIELDS}
    label, share = entry.get("label"), entry.get("share", True)
    if label is None:
        label = name + "".join(f" {key}={value}" for key, value in settings.items())
    if not isinstance(label, str) or not label or "|" in label:
        raise SettingError(f'{locate("learners", index, "label")} must be some text without "|", not {label!r}')
    if not isinstance(share, bool):
        raise SettingError(f"{locate('learners', index, 'share')} must be true or false, not {share!r}")
    return LearnerSpec(name, label, share, settings)


def check_on(learner: LearnerSpec, instance: Instance, index: int, locate: FieldLocations) -> None:
    """Build the learner on an instance, as `simulate` will, so that a bad value is found before anything runs."""
    settings = {"sigma": instance.sigma, **learner.settings}
    try:
        build({"name": learner.name, **settings, "epsilon": 1.0, "delta": 0.1}, instance.mdp)
    except SettingError as error:
        first = str(error).split(" ", 1)[0]
        place = (first,) if first in learner.settings else ()
        raise SettingError(f"{locate('learners', index, *place)}: {error}") from None
