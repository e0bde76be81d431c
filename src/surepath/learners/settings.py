"""A learner's settings, derived from the signature of its constructor: everything that rebuilds it on the same MDP."""

from __future__ import annotations

import inspect
from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surepath.learners.base import Learner


def setting_parameters(learner: type[Learner]) -> dict[str, inspect.Parameter]:
    """List the parameters of a learner's constructor in their order, without the MDP."""
    return dict(list(inspect.signature(learner).parameters.items())[1:])


def current_settings(learner: Learner) -> dict[str, Any]:
    """Read the name of a learner and the value of each setting, by name, in the order of the constructor.

    A setting is kept in the attribute of its name, checked and with defaults filled in; what stayed None is left out.
    Two differ from their attributes: epsilon is the one the learner was built with, which `tighten` does not change,
    and sigma is what `sigma_setting` makes of the array.
    """
    settings: dict[str, Any] = {"name": learner.name}
    for name in setting_parameters(type(learner)):
        if name == "epsilon":
            settings[name] = learner._first_epsilon
        elif name == "sigma":
            settings[name] = learner.sigma_setting()
        elif getattr(learner, name) is not None:
            value = getattr(learner, name)
            settings[name] = deepcopy(value) if isinstance(value, dict) else value  # numbers belong to the learner
    return settings
