"""Settings: read from the constructor's signature, and exactly what rebuilds the learner."""

from __future__ import annotations

from typing import Any

import pytest

from surepath import MDP, Challenger
from surepath.learners.base import build

MDP_OF_TWO = MDP.from_arrays([[[0, 0]]])
COMMON = {"epsilon": 0.5, "delta": 0.1, "sigma": 2.0}

EPRL = {
    **COMMON,
    "sampling": "max-coverage",
    "elimination": "return",
    "schedule": "every-episode",
    "preset": "theory",
}
EXPERIMENT = {"sampling": "max-diameter", "elimination": "both", "schedule": "paper", "preset": "experiment"}
PINNED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"name": "EPRL"}, EPRL),
    (
        {"name": "EPRL", "preset": "experiment", "sampling": "max-diameter"},
        {**EPRL, **EXPERIMENT},
    ),
    ({"name": "BPIUCRL"}, {**COMMON, "elimination": "none", "preset": "theory"}),
    ({"name": "WholePlan"}, {**COMMON, "widths": "paper", "max_plans": 100_000, "prior": 20.0}),
    (
        {"name": "Challenger"},
        {
            **COMMON,
            "sigma": [2.0, 2.0],
            "sampling": "guarded",
            "noise": "sigma",
            "dependence": "any",
            "missing": "related",
        },
    ),
]


@pytest.mark.parametrize(("spec", "expected"), PINNED, ids=lambda value: str(value.get("name", "")))
def test_settings_are_pinned_in_their_order_with_epsilon_as_built(
    spec: dict[str, Any], expected: dict[str, Any]
) -> None:
    learner = build({**COMMON, **spec}, MDP_OF_TWO)
    if isinstance(learner, Challenger):
        learner.tighten(0.25)
    settings = learner.settings()
    assert settings.pop("bound", None) == getattr(
        learner, "bound", None
    )  # many numbers, pinned by test_bound_numbers.py
    assert list(settings.items()) == [("name", spec["name"]), *expected.items()]
