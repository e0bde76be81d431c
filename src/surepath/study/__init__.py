"""A learner made durable: real trials, many workers, a log that loses nothing, a certificate at the end."""

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surepath.study.study import Study as Study

__all__ = ["Study"]

logging.getLogger("surepath.study").addHandler(
    logging.NullHandler()
)  # quiet, until the program that uses this configures logging


def __getattr__(name: str) -> Any:
    """Import `Study` on first use: opening a storage needs no learner."""
    if name != "Study":
        raise AttributeError(f"module 'surepath.study' has no attribute {name!r}")
    from surepath.study.study import Study

    return Study
