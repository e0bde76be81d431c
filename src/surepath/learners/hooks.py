"""What a learner implements behind the public methods of `base.Learner`.

Every hook is called with the learner's lock held and with input that was checked; none of them locks or checks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from surepath._types import BoolArray, FloatArray, IntArray
from surepath.kernels.arrays import Reality
from surepath.kernels.streams import Children
from surepath.learners.runs import RunRecord, joined


class Hooks(ABC):
    """The methods that make one learner differ from another."""

    @abstractmethod
    def _active(self) -> BoolArray:
        """Return which arcs may still be on a best path, a fresh bool [N]."""

    @abstractmethod
    def _choose(self) -> IntArray:
        """Return the path to play next."""

    @abstractmethod
    def _choose_beside(self, index: int) -> IntArray:
        """Return the path to play next beside those under way, for place `index` of one ask(n); nothing is changed."""

    def _add_under_way(self, paths: IntArray) -> None:  # noqa: B027 (most need nothing)
        """Count plays of these paths, int [k, H], as under way."""

    def _remove_under_way(self, path: IntArray) -> None:  # noqa: B027 (most need nothing)
        """Count a play of this path as under way no longer."""

    def _hold(self) -> Any:  # noqa: B027 (most change nothing)
        """Return what choosing beside other plays may change, for `_put_back`; most change nothing."""

    def _put_back(self, kept: Any) -> None:  # noqa: B027 (most change nothing)
        """Undo what choosing beside other plays has changed."""

    @abstractmethod
    def _absorb(self, path: IntArray, gains: FloatArray) -> None:
        """Take in the first len(gains) stages of a play of the path; eliminate; decide whether to stop.

        After the stop it only takes in what was seen: `stopped` stays.
        """

    @abstractmethod
    def _recommend(self) -> IntArray:
        """Return the path to recommend by the present statistics."""

    @abstractmethod
    def _gap(self) -> float:
        """Return the certified gap of `_recommend()` by the present statistics."""

    @abstractmethod
    def _epsilon_changed(self) -> None:
        """Test again whether to stop, with a smaller epsilon."""

    @abstractmethod
    def _excluded_changed(self) -> None:
        """Take `_excluded` out of the graph, revive everything else, and judge anew from the evidence.

        An arc may have been ruled out by a path that turned out to be infeasible.
        """

    @abstractmethod
    def _evidence(self) -> dict[str, Any]:
        """Return what decides beyond the settings, as arrays and numbers."""

    @abstractmethod
    def _load(self, evidence: Mapping[str, Any]) -> None:
        """Take in what `_evidence` gave, on a learner of the same settings."""

    @abstractmethod
    def _begin(self, rng: np.random.Generator) -> None:
        """Draw what this learner draws for itself, before a simulated run that is played step by step."""

    @abstractmethod
    def _run(self, reality: Reality, rng: np.random.Generator, budget: int, epsilons: FloatArray) -> RunRecord:
        """Play a whole run from scratch in compiled code (the state of this object is not touched)."""

    def _run_many(self, reality: Reality, children: Children, budget: int, epsilons: FloatArray) -> RunRecord:
        """Play several whole runs, each with the stream of its own; the entries of all runs in order."""
        runs = range(children.number)
        records = [self._run(reality, children.generator(i), budget, epsilons) for i in runs]
        return records[0] if len(records) == 1 else joined(records)
