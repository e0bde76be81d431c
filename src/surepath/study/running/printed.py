"""Scores as a command prints them: numbers, or one line of JSON."""

from __future__ import annotations

import json
from typing import Any

from surepath._text import shown
from surepath.errors import ProblemError
from surepath.model.mdp import MDP

LONGEST_LINE = 200  # characters of a line that a message repeats


class NotScoresError(ValueError):
    """What was printed cannot be read as scores; the message says why."""


def read_scores(mdp: MDP, text: str) -> list[float] | dict[str, Any]:
    """Read scores from what a command printed; fewer than H say that it failed after them.

    The last line that is not empty counts: a JSON array or object, or numbers separated by spaces or commas. When that
    line has fewer than H numbers, lines of numbers right before it belong to it, so that a command may print each score
    as soon as it has it. A null in JSON is the step that failed.

    Example:
        >>> mdp = MDP.from_steps({"model": ["a", "b"], "prompt": ["c", "d"]})
        >>> read_scores(mdp, "loading\\n0.5, 0.25\\n"), read_scores(mdp, "0.5\\n0.25\\n"), read_scores(mdp, "0.5")
        ([0.5, 0.25], [0.5, 0.25], [0.5])
        >>> read_scores(mdp, '{"model": 0.5, "prompt": null}')
        {'model': 0.5}
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return []
    if lines[-1][0] in "[{":
        return _json(mdp, lines[-1])
    found: list[float] = []
    for line in reversed(lines):
        numbers = _numbers(line)
        if numbers is None or (found and len(numbers) + len(found) > mdp.horizon):
            break
        found = numbers + found
        if len(found) >= mdp.horizon:
            break
    if not found:
        raise NotScoresError(f"its last line is {shown(lines[-1][:LONGEST_LINE])!r}, not {mdp.horizon} numbers")
    if len(found) > mdp.horizon:
        raise NotScoresError(f"it printed {len(found)} numbers, not {mdp.horizon}: {shown(lines[-1][:LONGEST_LINE])!r}")
    return found


def _numbers(line: str) -> list[float] | None:
    try:
        return [float(word) for word in line.replace(",", " ").split()]
    except ValueError:
        return None


def _json(mdp: MDP, line: str) -> list[float] | dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise NotScoresError(f"its last line is no JSON: {shown(line[:LONGEST_LINE])!r}") from None
    items: list[tuple[Any, Any]] = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    if len(items) > mdp.horizon:
        raise NotScoresError(f"it printed {len(items)} scores, not {mdp.horizon}: {shown(line[:LONGEST_LINE])!r}")
    by_step: dict[int, tuple[Any, Any]] = {}
    for key, score in items:
        try:
            step = mdp.step(key) if isinstance(value, dict) else key
        except ProblemError as error:
            raise NotScoresError(str(error)) from None
        by_step[step] = (key, score)
    kept: dict[Any, Any] = {}
    for step in sorted(by_step):  # a failed step ends the trial, whatever is printed for those after it
        key, score = by_step[step]
        if score is None:
            break
        kept[key] = score
    return kept if isinstance(value, dict) else list(kept.values())
