"""The errors surepath raises on purpose: one small tree, so that `except SurepathError` catches them all.

Each message states the law, the value, the place and the remedy.
"""

from __future__ import annotations


class SurepathError(Exception):
    """Base of every error raised on purpose by surepath."""


class ProblemError(SurepathError, ValueError):
    """A problem (graph, rewards, problem file, environment) that breaks a law of the model."""


class NotDeterministicError(ProblemError):
    """The same (stage, state, action) led to two different next states."""


class NoiseError(ProblemError):
    """A problem whose noise is declared nowhere, where it is needed."""


class SettingError(SurepathError, ValueError):
    """A setting of a learner, a bound or an experiment outside its range, or an unknown name."""


class RewardError(SurepathError, ValueError):
    """Rewards that cannot be taken in: wrong count, not finite, outside the declared range."""


class PathError(SurepathError, ValueError):
    """Arcs that do not form a path from the initial state to the last stage."""


class StoppedError(SurepathError, RuntimeError):
    """A call that a learner refuses because it has already stopped."""


class StudyError(SurepathError):
    """A request that a study cannot fulfil: unknown or duplicate names, a trial in another state, a closed lease."""


class UnknownError(StudyError):
    """A study or a trial that does not exist."""


class BudgetError(StudyError):
    """A trial that would cost more than what is left of the budget; no trial was assigned."""


class WaitingError(StudyError):
    """A trial that cannot be assigned yet: every plan of the round is, and the next one begins when all are scored."""


class ConflictError(StudyError, ValueError):
    """Rewards that differ from those already recorded for the same trial; a recorded trial never changes."""


class StorageError(StudyError, OSError):
    """A database that cannot be opened, read or written; nothing was half-written."""


class CertificateError(StudyError, ValueError):
    """A certificate that cannot be read at all (one that is read and found false is a verdict, not an error)."""


class LogError(CertificateError):
    """A file that is no exported log: it says nothing about the certificate that was to be compared with it."""


class InfeasibleError(SurepathError, ValueError):
    """A flow problem without a solution; `cut` holds the arcs that show why."""

    def __init__(self, message: str, cut: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.cut = cut


class FileError(SurepathError, OSError):
    """A file or folder that cannot be written: a full disk, no permission, a link where a file of ours would be."""


class MissingExtraError(SurepathError, ImportError):
    """An optional dependency is not installed; the message names the extra to install."""
