"""What is known of a problem at one moment, read from a study, a learner or a certificate: what the pictures show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from surepath._types import BoolArray, FloatArray, IntArray
from surepath.errors import CertificateError, SettingError, SurepathError
from surepath.learners.base import Learner
from surepath.learners.registry import build
from surepath.model.mdp import MDP
from surepath.study.study import Study
from surepath.verify.file import checked_kind
from surepath.verify.verify import facts_of


@dataclass(frozen=True)
class Known:
    """What is known at one moment.

    Attributes:
        mdp: The graph.
        path: The current plan, int [H].
        visits: How often each arc was played, int [N].
        means: Empirical means in the user's direction, float [N]; NaN where unvisited.
        sigma: Declared noise, float [N].
        active: Arcs that may still be on a best path, bool [N].
        epsilon, delta: What is asked for.
        gap: Proven distance of the plan from the best; infinite while nothing is proven.
        learner: The learner that knows all this; None where a certificate states it.
    """

    mdp: MDP
    path: IntArray
    visits: IntArray
    means: FloatArray
    sigma: FloatArray
    active: BoolArray
    epsilon: float
    delta: float
    gap: float
    learner: Any


def known(source: Any) -> Known:
    """Read what is known from a study, a learner, or a certificate (an object or its plain values).

    Example:
        >>> from surepath import MDP, Challenger
        >>> learner = Challenger(MDP.from_steps({"a": ["x", "y"]}), epsilon=0.5, delta=0.1, sigma=0.1)
        >>> learner.tell([1], [0.9])
        >>> known(learner).visits.tolist()
        [0, 1]
    """
    if isinstance(source, Known):
        return source
    if isinstance(source, Study):
        return _of_learner(source.learner)
    if isinstance(source, Learner):
        return _of_learner(source)
    if isinstance(source, Mapping):
        return _of_certificate(dict(source))
    raise SettingError(f"a picture is made of a study, a learner or a certificate, not of {type(source).__name__}")


def _of_learner(learner: Any) -> Known:
    return Known(
        mdp=learner.mdp,
        path=learner.recommend(),
        visits=learner.visits,
        means=learner.means,
        sigma=learner.sigma,
        active=learner.active,
        epsilon=float(learner.epsilon),
        delta=float(learner.delta),
        gap=float(learner.certified_gap()),
        learner=learner,
    )


def _of_certificate(content: dict[str, Any]) -> Known:
    checked_kind(content, "this")
    try:
        facts = facts_of(content, "the certificate")
        learner: Any = build(content["settings"], facts.mdp)
        gap = content["certified_gap"]
        return Known(
            mdp=facts.mdp,
            path=facts.path,
            visits=facts.seen.visits,
            means=_means(learner, facts.seen),
            sigma=learner.sigma,
            active=facts.feasible & ~_ruled_out(content["proof"], facts.mdp),
            epsilon=float(content["epsilon"]),
            delta=float(content["delta"]),
            gap=float("inf") if gap is None else float(gap),
            learner=None,
        )
    except CertificateError:
        raise
    except (SurepathError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise CertificateError(f"the certificate cannot be read: {error}; surepath verify says more") from None


def _means(learner: Any, seen: Any) -> FloatArray:
    gain = np.where(seen.visits > 0, seen.origin + seen.sums / np.maximum(seen.visits, 1), np.nan)
    gain[learner.mdp.is_known] = learner.known_gain[learner.mdp.is_known]
    return np.asarray(learner.mdp.sign * gain)


def _ruled_out(proof: Mapping[str, Any], mdp: MDP) -> BoolArray:
    """Return the arcs that a proof rules out, at one moment or another."""
    out = np.zeros(mdp.n_arcs, dtype=bool)
    for step in proof.get("moments", ()):
        out[np.array(step["ruled_out"], dtype=np.int64)] = True
    return out
