"""Changing certificates, as an accident or a forger would; the plain bound of a learner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

from surepath.errors import CertificateError
from surepath.learners.challenger.state import planned_shares
from surepath.study.certificate import verify
from surepath.verify.bound import PlainBound
from surepath.verify.file import content_hash
from surepath.verify.noise import checker_of

Place = tuple[Any, ...]


def leaves(value: Any, place: Place = ()) -> Iterator[Place]:
    """Every place of a JSON value that holds a number, a text or nothing; empty lists and objects too."""
    items = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    if not items:
        yield place
    for key, item in items:
        yield from leaves(item, (*place, key))


def at(content: Any, place: Place) -> Any:
    for key in place:
        content = content[key]
    return content


def put(content: Any, place: Place, value: Any) -> None:
    at(content, place[:-1])[place[-1]] = value


def changed(value: Any, draw: Callable[[Any], Any]) -> Any:
    """Another value of the same kind, close to it."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + draw(st.sampled_from([-1, 1, 10]))
    if isinstance(value, float):
        return draw(st.sampled_from([np.nextafter(value, 9e9).item(), -value or 1.0, value / 2 + 1e-9, value + 1]))
    if isinstance(value, str):
        i = draw(st.integers(0, max(0, len(value) - 1)))
        return (
            value[:i]
            + draw(st.sampled_from("0123456789abcxyz").filter(lambda c: c != value[i : i + 1]))
            + value[i + 1 :]
        )
    return [0] if isinstance(value, list) else {"0": 1} if isinstance(value, dict) else 0.5


def says_no(content: Any, **more: Any) -> bool:
    try:
        return verify(content, **more).answer == "no"
    except CertificateError:
        return True


def mended(content: dict[str, Any]) -> dict[str, Any]:
    """The same with a right hash, as a forger would have it."""
    return {**content, "sha256": content_hash(content)}


def plain_of(learner: Any) -> Any:
    """The plain bound of a Challenger."""
    spec = learner.settings()
    design = any(entry.get("flow") == "design" for entry in spec["bound"])
    planned = planned_shares(learner.mdp, learner.sigma, "design") if design else None
    plain, why = checker_of(learner.mdp, spec, planned)
    assert isinstance(plain, PlainBound), why
    return plain
