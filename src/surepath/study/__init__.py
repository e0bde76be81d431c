"""A learner made durable: real trials, many workers, a log that loses nothing, a certificate at the end."""

import importlib
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surepath.study.performing import Cost as Cost
    from surepath.study.performing import RayExecutor as RayExecutor
    from surepath.study.study import Study as Study

_MODULES = {"Study": "study", "Cost": "performing", "RayExecutor": "performing"}

__all__ = ["Cost", "RayExecutor", "Study"]

# Quiet, until the program that uses this configures logging.
logging.getLogger("surepath.study").addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    """Import names on first use: opening a storage needs no learner."""
    if name not in _MODULES:
        raise AttributeError(f"module 'surepath.study' has no attribute {name!r}")
    return getattr(importlib.import_module(f"surepath.study.{_MODULES[name]}"), name)
