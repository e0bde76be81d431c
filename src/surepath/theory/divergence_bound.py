"""Theorem 1 for laws that are not Gaussian: gaps written as divergences.

Lemma CD_mdps of the paper: for two worlds that differ in the law of one arc e, and any event A known at the stop,

    E[visits of e] KL(law of e, its other law) >= kl(P(A), P'(A)).

Let A be "the answer goes through e". Every path passes exactly one arc of a stage; let avoid_e be the least gap among
the other arcs of e's stage. Raised by more than

    up_e = max(0, epsilon + gap_e - avoid_e),     lowered by more than     down_e = max(0, epsilon + avoid_e - gap_e),

all epsilon-optimal paths go through e, or none does. These are the least changes of one arc that do so. Hence

    off Z^epsilon (A has probability at most delta):       E[visits] >= kl(delta, 1 - delta) / K(law, mean + up_e);
    the only arc of Z^epsilon in its stage (at least 1 - delta):     >= kl(delta, 1 - delta) / K(law, mean - down_e);
    one of several (unknown: take the worse):      >= kl(1/2, delta) / max(K(law, mean + up_e), K(law, mean - down_e)).

K is the divergence to the nearest law of the class on which the algorithm must be right (`divergences.py`); where the
class has no law with such a mean it is infinite and the arc demands nothing. The paper's lemmas have 2 epsilon - gap in
the place of down_e, and log(1/(3 delta)), log(1/(4 delta)) / 2 below the two relative entropies, so on Gaussian rewards
this bound is never below theirs.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from surepath._types import FloatArray
from surepath.model.instance import Instance
from surepath.theory.case import Case, checked_case
from surepath.theory.divergences import change_of_measure, nearest
from surepath.theory.lower_bounds import LowerBound, demanded


def divergence_lower_bound(
    instance: Instance, epsilon: float, delta: float, *, sigma: ArrayLike | None = None
) -> LowerBound:
    """Compute the bound of Theorem 1 with the divergences of the arcs' own laws: Gaussian, Bernoulli, or bounded.

    It holds for algorithms that are (epsilon, delta)-PAC whatever the laws of the class: Gaussian with these sigmas,
    Bernoulli, or anything on the declared ranges.

    Args:
        instance: The problem with its true laws.
        epsilon: How far from the best an answer may be.
        delta: Allowed probability of a wrong answer.
        sigma: Replaces the instance's own factors on Gaussian arcs.

    Example:
        >>> from surepath import MDP, Bernoulli
        >>> two = Instance(MDP.from_arrays([[[0, 0]]]), Bernoulli([0.2, 0.8]))
        >>> round(divergence_lower_bound(two, 0.1, 0.05).value, 2)
        3.89
    """
    at = checked_case(instance, epsilon, delta, sigma)
    return demanded(at.mdp, divergence_visits(at))


def shifts(at: Case) -> tuple[FloatArray, FloatArray]:
    """Compute `up` and `down` of every arc, float [N] each: infinite for the only arc of a stage."""
    gap, stage_arc = at.gaps.deterministic_return, at.mdp.stage_arc
    avoid = np.full(at.mdp.n_arcs, np.inf)
    for start, stop in pairwise(stage_arc.tolist()):
        if stop - start > 1:
            least, second = np.partition(gap[start:stop], 1)[:2]
            avoid[start:stop] = least
            avoid[start + int(np.argmin(gap[start:stop]))] = second
    up = np.maximum(0.0, at.epsilon + gap - avoid)
    return np.where(np.isinf(avoid), np.inf, up), np.maximum(0.0, at.epsilon + avoid - gap)


def divergence_visits(at: Case) -> FloatArray:
    """Compute the visits each arc needs, float [N]."""
    sure, guess = change_of_measure(at.delta)
    near = at.gaps.near_optimal(at.epsilon)
    stage = np.repeat(np.arange(at.mdp.horizon), np.diff(at.mdp.stage_arc))
    alone = near & (np.bincount(stage[near], minlength=at.mdp.horizon)[stage] == 1)
    up, down = shifts(at)
    local = np.zeros(at.mdp.n_arcs)
    for e in np.flatnonzero(~at.mdp.is_known & np.isfinite(down)).tolist():
        sign, sigma = at.mdp.sign, float(at.sigma[e])
        raised = 0.0 if alone[e] else nearest(at.instance, e, sign * float(up[e]), sigma)
        lowered = nearest(at.instance, e, -sign * float(down[e]), sigma) if near[e] else 0.0
        needed, far = (guess if near[e] and not alone[e] else sure), max(raised, lowered)
        local[e] = 0.0 if needed == 0 else needed / far if far > 0 else np.inf
    return local
