"""Learners by name: a spec is a dict with a name and settings, such as {"name": "EPRL", "sampling": "max-diameter"}."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from surepath._checks import one_of, suggest
from surepath.errors import SettingError
from surepath.learners.base import Learner, setting_parameters
from surepath.model.mdp import MDP

# Name of each learner and the module that holds it; modules are imported when asked for.
LEARNERS = {
    "EPRL": "surepath.learners.per_arc.eprl",
    "BPIUCRL": "surepath.learners.per_arc.bpi_ucrl",
    "Challenger": "surepath.learners.challenger",
    "Design": "surepath.learners.design.learner",
    "Uniform": "surepath.learners.per_arc.uniform",
    "WholePlan": "surepath.learners.whole_plan.learner",
}


def learner_name(given: str) -> str:
    """Return the name of a learner that was written in any case, with or without dashes."""
    names = {name.lower(): name for name in LEARNERS}
    return names.get(given.lower().replace("-", "").replace("_", "")) or one_of("learner", given, LEARNERS)


def learner_class(name: str) -> type[Learner]:
    """Import and return the learner class of this name."""
    module = LEARNERS[one_of("learner", name, LEARNERS)]
    found: type[Learner] = getattr(importlib.import_module(module), name)
    return found


def setting_names(name: str) -> list[str]:
    """List the settings that a learner takes, in the order of its constructor."""
    return list(setting_parameters(learner_class(name)))


def build(spec: Mapping[str, Any], mdp: MDP) -> Learner:
    """Build a learner from its spec.

    Example:
        >>> from surepath import MDP
        >>> build({"name": "BPIUCRL", "epsilon": 0.1, "delta": 0.05, "sigma": 1.0}, MDP.from_arrays([[[0, 0]]])).name
        'BPIUCRL'
    """
    if not isinstance(spec, Mapping):
        raise SettingError(f'a learner spec is a dict such as {{"name": "EPRL", "epsilon": 0.1}}, not {spec!r}')
    settings = dict(spec)
    if "name" not in settings:
        raise SettingError("a learner spec needs a name, one of " + ", ".join(f'"{n}"' for n in LEARNERS))
    found = learner_class(settings.pop("name"))
    valid = setting_names(found.name)
    for key in settings:
        if key not in valid:
            raise SettingError(f"{found.name} has no setting {key!r}{suggest(str(key), valid)}")
    for key in ("epsilon", "delta"):
        if key not in settings:
            raise SettingError(f"the spec of {found.name} needs {key}")
    return found(mdp, **settings)
