"""Small problem files shared by the tests of files."""

from __future__ import annotations

import json
from typing import Any

HEAD = {"format": "surepath-problem", "version": 1}
EDGE = {"stage": 0, "state": "a", "action": "x"}
HEADER = "state,action,next_state\n"


def problem(**fields: Any) -> str:
    return json.dumps({**HEAD, "edges": [EDGE, {**EDGE, "action": "y"}], **fields})
