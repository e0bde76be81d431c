"""T*: the limit that no algorithm for finding the best path can beat, computed without listing paths.

    1 / T* = max over flows w of value 1 of min over paths q of gap_q^2 / (2 sum over K of sigma_e^2 / w_e),

K being the arcs in exactly one of q and the best path, gap_q how much q falls short. Any algorithm that finds the best
path with probability 1 - delta plays at least T* kl(delta, 1 - delta) episodes on average (Gaussian rewards).

Every f_q(w) = gap_q^2 / (2 sum sigma^2 / w) is concave and grows in proportion to w, so f_q(w') <= <gradient at w, w'>
for all w'. Hence both sides are certified:

- from below, 1/T* >= min over q of f_q(w) at any w, the minimum bounded by branch and bound (`kernels/excursions.py`);
- from above, 1/T* <= the heaviest path under any mixture of gradients of f_q's: one dynamic program.

In between: keep the hardest q's found, maximise a smooth minimum of their f_q over flows (written as shares of the
arcs at each node, so that every point is a flow), search for harder q's, repeat; mix the gradients by a linear program.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import check_delta, real
from surepath._types import FloatArray
from surepath.errors import SettingError
from surepath.model.instance import Instance
from surepath.theory.case import Case, checked_case

MOST_SEARCHES = 60  # of searching for harder paths
SEARCH_LIMIT = 2_000_000  # nodes of the final branch and bound


@dataclass(frozen=True, eq=False)
class CharacteristicTime:
    """The limit T* with its certificate.

    Attributes:
        value: T*, between `lower` and `upper`.
        lower: Proven lower bound on T*.
        upper: Proven upper bound on T*: what `allocation` achieves.
        allocation: Share of the episodes that goes through each arc in that case, float [N], a flow of value 1.
        unique: False when several paths are optimal that differ in more than known rewards: T* is then infinite.
    """

    value: float
    lower: float
    upper: float
    allocation: FloatArray
    unique: bool

    @property
    def gap(self) -> float:
        """Return the relative distance between the two bounds."""
        if self.upper == self.lower:
            return 0.0
        return (self.upper - self.lower) / self.upper

    def bound(self, delta: float) -> float:
        """Compute the episodes any algorithm needs on average: lower bound on T* times kl(delta, 1 - delta)."""
        return self.lower * confidence(delta) if self.lower > 0 else 0.0


def confidence(delta: float) -> float:
    """Compute kl(delta, 1 - delta) = (1 - 2 delta) log((1 - delta) / delta); 0 at delta >= 1/2: guessing is allowed."""
    check_delta(delta)
    return max(0.0, (1 - 2 * delta) * log((1 - delta) / delta)) if delta < 0.5 else 0.0


def characteristic_time(
    instance: Instance, *, sigma: ArrayLike | None = None, tolerance: float = 0.01
) -> CharacteristicTime:
    """Compute T* of an instance, certified to within a relative tolerance.

    Several optimal paths make it infinite, which is said and not searched for, unless they differ in known rewards
    only: then nothing has to distinguish them. One path alone, or rewards all known, make it 0.

    Args:
        instance: The problem with its true means.
        sigma: Replaces the instance's own factors.
        tolerance: Stop once upper - lower is below this share of upper; the result says what was reached.

    Example:
        >>> from surepath import MDP, Gaussian
        >>> two = Instance(MDP.from_arrays([[[0, 0]]]), Gaussian([0.0, 1.0]))
        >>> round(characteristic_time(two).value, 2)
        8.0
    """
    if not 0 < real("tolerance", tolerance) < 1:
        raise SettingError(f"tolerance must lie strictly between 0 and 1, not {tolerance:g}")
    at = checked_case(instance, 0.0, 0.5, sigma)
    n = at.mdp.n_arcs
    if _tied(at):
        return CharacteristicTime(np.inf, np.inf, np.inf, np.full(n, np.nan), False)
    from surepath.theory.allocation import Allocation

    best = Allocation(at)
    if best.nothing_to_learn:
        return CharacteristicTime(0.0, 0.0, 0.0, best.uniform(), True)
    best.solve(tolerance, MOST_SEARCHES, SEARCH_LIMIT)
    # Gaps are differences of returns, and each arc's may have been taken for 0 within the tolerance: what a path's gap
    # may be off by, relative to the least gap, is added on both sides (twice, for its square).
    rounding = 1 + 1e-13 + 2 * instance.mdp.horizon * at.gaps.tolerance / best.least
    low, high = best.unit / best.above / rounding, best.unit / best.below * rounding
    return CharacteristicTime(sqrt(low) * sqrt(high), low, high, best.weight, True)


def _tied(at: Case) -> bool:
    """Return whether two optimal paths differ in an arc to learn: one that is not the only optimal arc of its stage."""
    best = at.gaps.deterministic_return == 0
    several = np.add.reduceat(best.astype(np.int64), at.mdp.stage_arc[:-1]) > 1
    return bool((best & (at.sigma > 0) & np.repeat(several, np.diff(at.mdp.stage_arc))).any())
