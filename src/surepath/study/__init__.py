"""A learner made durable: real trials, many workers, a log that loses nothing, a certificate at the end."""

from surepath.study.study import Study

__all__ = ["Study"]
