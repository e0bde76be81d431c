"""A learner made durable: real trials, many workers, a log that loses nothing, a certificate at the end."""

import logging

from surepath.study.study import Study

__all__ = ["Study"]

logging.getLogger("surepath.study").addHandler(
    logging.NullHandler()
)  # quiet, until the program that uses this configures logging
