"""What a bound is computed from: the sums of each arc and, where noise is learned, the scores themselves."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from surepath._types import FloatArray, IntArray


class Scores:
    """The gains of each arc in the order in which their trials were asked for; they grow at the end alone.

    A moment is named by its visits: the gains up to then are the first of each arc.
    """

    def __init__(self, arcs: int, gains: Iterable[Iterable[float]] = ()) -> None:
        self.gains = [array("d", some) for some in gains] or [array("d") for _ in range(arcs)]

    def add(self, arc: int, gain: float) -> None:
        """Add one gain of an arc."""
        self.gains[arc].append(gain)

    def first(self, arc: int, number: int) -> FloatArray:
        """Return the first gains of an arc."""
        return np.array(self.gains[arc][:number])

    def lists(self, visits: IntArray) -> list[list[float]]:
        """Return the gains up to the moment of these visits; none for arcs whose reward is known."""
        return [some[:n].tolist() for some, n in zip(self.gains, visits.tolist())]


@dataclass(frozen=True)
class Sums:
    """What was seen, arc by arc, larger is better: visits, the first gain, the sum of gains minus the first.

    Where noise is learned the scores themselves are needed; those of this moment are the first `visits` of each arc.
    """

    visits: IntArray
    origin: FloatArray
    sums: FloatArray
    scores: Scores | None = None


def sum_of_squares(scores: Scores, visits: IntArray) -> tuple[float, int]:
    """Add up (X - m)^2 over all gains but the first of each arc, m the mean of those before it; and count them."""
    total, count = 0.0, 0
    for arc, number in enumerate(visits.tolist()):
        gain = scores.first(arc, number)
        if len(gain) > 1:
            before = np.cumsum(gain - gain[0])[:-1] / np.arange(1, len(gain))
            off = gain[1:] - (gain[0] + before)
            total, count = total + float(off @ off), count + len(off)
    return total, count
