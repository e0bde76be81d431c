"""Small problem files shared by the tests of files."""

from __future__ import annotations

import json
from typing import Any

from surepath import Instance
from surepath.model.files import problem_text

HEAD = {"format": "surepath-problem", "version": 1}
EDGE = {"stage": 0, "state": "a", "action": "x"}
HEADER = "state,action,next_state\n"


def problem(**fields: Any) -> str:
    return json.dumps({**HEAD, "edges": [EDGE, {**EDGE, "action": "y"}], **fields})


def with_means(instance: Instance, **fields: Any) -> str:
    """A problem file that gives the means of a world, and the law it follows where it is not Gaussian."""
    data = json.loads(problem_text(instance.mdp))
    for edge, mean, sigma in zip(data["edges"], instance.means.tolist(), instance.sigma.tolist()):
        if "known" not in edge:
            edge |= {"mean": mean} | ({} if {"law", "low"} & fields.keys() else {"sigma": sigma})
    return json.dumps({**data, **fields})
