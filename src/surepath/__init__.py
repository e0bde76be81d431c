"""surepath finds the best plan when every trial is noisy and costly, and proves it.

Public names are imported on first use, so that `import surepath` stays quick and needs no compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from surepath._version import __version__

if TYPE_CHECKING:
    from surepath import theory as theory
    from surepath.learners.challenger import Challenger as Challenger
    from surepath.learners.design.learner import Design as Design
    from surepath.learners.per_arc.bpi_ucrl import BPIUCRL as BPIUCRL
    from surepath.learners.per_arc.eprl import EPRL as EPRL
    from surepath.learners.per_arc.uniform import Uniform as Uniform
    from surepath.learners.whole_plan.learner import WholePlan as WholePlan
    from surepath.model import families as families
    from surepath.model.instance import Instance as Instance
    from surepath.model.mdp import MDP as MDP
    from surepath.model.rewards import Bernoulli as Bernoulli
    from surepath.model.rewards import Bounded as Bounded
    from surepath.model.rewards import Drawn as Drawn
    from surepath.model.rewards import Empirical as Empirical
    from surepath.model.rewards import Gaussian as Gaussian
    from surepath.model.sources.discovery import Discovery as Discovery
    from surepath.simulation.check_rule import check_rule as check_rule
    from surepath.simulation.simulate import simulate as simulate
    from surepath.study.study import Study as Study
    from surepath.web.client import connect as connect

_MODULES = {
    "MDP": "surepath.model.mdp",
    "Instance": "surepath.model.instance",
    "Gaussian": "surepath.model.rewards",
    "Bernoulli": "surepath.model.rewards",
    "Bounded": "surepath.model.rewards",
    "Empirical": "surepath.model.rewards",
    "Drawn": "surepath.model.rewards",
    "Discovery": "surepath.model.sources.discovery",
    "families": "surepath.model.families",
    "theory": "surepath.theory",
    "EPRL": "surepath.learners.per_arc.eprl",
    "BPIUCRL": "surepath.learners.per_arc.bpi_ucrl",
    "Challenger": "surepath.learners.challenger",
    "Design": "surepath.learners.design.learner",
    "Uniform": "surepath.learners.per_arc.uniform",
    "WholePlan": "surepath.learners.whole_plan.learner",
    "simulate": "surepath.simulation.simulate",
    "check_rule": "surepath.simulation.check_rule",
    "Study": "surepath.study.study",
    "connect": "surepath.web.client",
}

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
