"""surepath finds the best plan when every trial is noisy and costly, and proves it.

Public names are imported on first use, so that `import surepath` stays quick and needs no compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from surepath._version import __version__

if TYPE_CHECKING:
    from surepath import theory as theory
    from surepath.learners.challenger.learner import Challenger as Challenger
    from surepath.learners.per_arc.eprl import BPIUCRL as BPIUCRL
    from surepath.learners.per_arc.eprl import EPRL as EPRL
    from surepath.learners.per_arc.eprl import Uniform as Uniform
    from surepath.learners.rounds.learner import Rounds as Rounds
    from surepath.learners.whole_plan import Design as Design
    from surepath.learners.whole_plan import WholePlan as WholePlan
    from surepath.model import families as families
    from surepath.model.adapters import Discovery as Discovery
    from surepath.model.mdp import MDP as MDP
    from surepath.model.worlds import Bernoulli as Bernoulli
    from surepath.model.worlds import Bounded as Bounded
    from surepath.model.worlds import Drawn as Drawn
    from surepath.model.worlds import Empirical as Empirical
    from surepath.model.worlds import Gaussian as Gaussian
    from surepath.model.worlds import Instance as Instance
    from surepath.model.worlds import Shared as Shared
    from surepath.simulation.simulate import check_rule as check_rule
    from surepath.simulation.simulate import simulate as simulate
    from surepath.study.study import Study as Study
    from surepath.web.client import connect as connect

_PLACES = {
    "learners.challenger.learner": ("Challenger",),
    "learners.per_arc.eprl": ("BPIUCRL", "EPRL", "Uniform"),
    "learners.rounds.learner": ("Rounds",),
    "learners.whole_plan": ("Design", "WholePlan"),
    "model.adapters": ("Discovery",),
    "model.families": ("families",),
    "model.mdp": ("MDP",),
    "model.worlds": ("Bernoulli", "Bounded", "Drawn", "Empirical", "Gaussian", "Instance", "Shared"),
    "simulation.simulate": ("check_rule", "simulate"),
    "study.study": ("Study",),
    "theory": ("theory",),
    "web.client": ("connect",),
}
_MODULES = {name: f"surepath.{place}" for place, names in _PLACES.items() for name in names}

__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> Any:
    where = _MODULES.get(name)
    if where is None:
        raise AttributeError(f"module 'surepath' has no attribute {name!r}")
    module = importlib.import_module(where)
    value = getattr(module, name, module) if name != "simulate" else module.simulate
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
