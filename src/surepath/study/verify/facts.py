"""A certificate as the checks read it: its numbers, checked one by one, and its parts as arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from surepath._text import word
from surepath._types import BoolArray, IntArray
from surepath.errors import CertificateError
from surepath.model.mdp import MDP
from surepath.model.paths import on_open_paths
from surepath.model.sources.files import parse_json_problem
from surepath.study.plain_bound.evidence import Scores, Sums
from surepath.study.storage import ActionRow

CERTIFICATE_FIELDS = {
    *("kind", "format", "statement", "certified_gap", "plan", "path", "done", "epsilon", "delta", "assumptions"),
    *("warnings", "trials", "actions", "log", "proof", "evidence", "settings", "problem", "problem_hash", "study"),
    *("version", "created", "sha256"),
}


@dataclass(frozen=True)
class Facts:
    """A certificate as the checks read it."""

    mdp: MDP
    path: IntArray
    seen: Sums
    excluded: BoolArray
    feasible: BoolArray
    prefix: int
    actions: list[ActionRow]
    seed: str
    on_failure: str
    file: str = "certificate.json"


def facts_of(content: Mapping[str, Any], file: str = "certificate.json") -> Facts:
    """Read a certificate into arrays, or raise an error that says what is missing."""
    if set(content) != CERTIFICATE_FIELDS:
        odd = ", ".join(sorted(map(str, set(content) ^ CERTIFICATE_FIELDS)))
        raise CertificateError(f"its fields are not those of a certificate: check {odd}")
    mdp = parse_json_problem(json.dumps(content["problem"]), "its problem").mdp
    actions = [
        ActionRow(whole(a["number"]), whole(a["after"]), a["kind"], json.dumps(a["content"]), 0.0)
        for a in content["actions"]
    ]
    excluded = np.zeros(mdp.n_arcs, dtype=bool)
    for action in actions:
        if action.kind == "exclude":
            excluded[arcs_of(json.loads(action.content), mdp)] = True
    options = content["study"]["options"]
    return Facts(
        mdp=mdp,
        path=mdp.check_path([whole(arc) for arc in content["path"]]),
        seen=sums_of(content["evidence"], mdp, scores_of(content["evidence"], mdp)),
        excluded=excluded,
        feasible=on_open_paths(mdp, ~excluded),
        prefix=whole(content["log"]["trials"]),
        actions=actions,
        seed=f"{content['problem_hash']}\n{json.dumps(content['settings'])}\n{json.dumps(options)}",
        on_failure=str(options["on_failure"]),
        file=file,
    )


def sums_of(parts: Mapping[str, Any], mdp: MDP, scores: Scores | None) -> Sums:
    """Read visits, origin and sums, one per arc, of a moment at which these scores or the first of them were known."""
    visits = np.array([whole(n) for n in parts["visits"]], dtype=np.int64)
    origin, sums = (np.array([real(x) for x in parts[name]]) for name in ("origin", "sums"))
    if not len(visits) == len(origin) == len(sums) == mdp.n_arcs:
        raise CertificateError(f"visits, origin and sums must have one number for each of the {mdp.n_arcs} options")
    return Sums(visits, origin, sums, scores)


def arcs_of(values: Any, mdp: MDP) -> IntArray:
    """Read a list of arc numbers, or raise an error that names their range."""
    arcs = np.array([whole(arc) for arc in values], dtype=np.int64)
    if arcs.size and arcs.max() >= mdp.n_arcs:
        raise CertificateError(f"{word('arc', 'option')} numbers run from 0 to {mdp.n_arcs - 1}; got {int(arcs.max())}")
    return arcs


def whole(value: Any) -> int:
    """Read a whole number of at least 0, or raise an error."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**62:
        raise CertificateError(f"{value!r} is no count")
    return value


def real(value: Any) -> float:
    """Read a finite number, or raise an error."""
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
        raise CertificateError(f"there must be a list of scores for each of the {mdp.n_arcs} options")
    return Scores(mdp.n_arcs, [[real(score) for score in some] for some in evidence["scores"]])
