"""The scores that a certificate holds where noise is learned, and the numbers of any certificate as they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from surepath.errors import CertificateError
from surepath.model.mdp import MDP
from surepath.study.plain_bound.evidence import Scores, Sums


def whole(value: Any) -> int:
    """Read a count."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**62:
        raise CertificateError(f"{value!r} is no count")
    return value


def real(value: Any) -> float:
    """Read a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise CertificateError(f"{value!r} is no finite number")
    return float(value)


def scores_of(evidence: Mapping[str, Any], mdp: MDP) -> Scores | None:
    """Read the scores of each arc, where the evidence holds them."""
    if not {"visits", "origin", "sums"} <= set(evidence) <= {"visits", "origin", "sums", "scores"}:
        raise CertificateError("the evidence must hold visits, origin and sums, and scores where noise is learned")
    if "scores" not in evidence:
        return None
    if len(evidence["scores"]) != mdp.n_arcs:
        raise CertificateError(f"there must be a list of scores for each of the {mdp.n_arcs} arcs")
    return Scores(mdp.n_arcs, [[real(score) for score in some] for some in evidence["scores"]])


def check_scores(mdp: MDP, seen: Sums, wrong: list[str]) -> None:
    """Compare the sums of a moment with its scores, and these with their declared ranges."""
    assert seen.scores is not None
    for arc in np.flatnonzero((seen.visits > 0) & ~mdp.is_known).tolist():
        gains = seen.scores.first(arc, int(seen.visits[arc]))
        off = float(seen.origin[arc] + seen.sums[arc] / seen.visits[arc] - gains.mean())
        if seen.origin[arc] not in (0.0, gains[0]) or not abs(off) <= 1e-12 * float(np.abs(gains).max()):
            wrong.append(f"the scores of {mdp.describe_arc(arc)} do not add up to its sum")
        if mdp.gain_range is not None:
            low, high = (float(end[arc]) for end in mdp.gain_range)
            if not ((gains >= low) & (gains <= high)).all():
                wrong.append(f"a score of {mdp.describe_arc(arc)} lies outside its declared range")
