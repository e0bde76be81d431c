"""Durations as people write them: "10min", "2h", "45s", "3d", a number of seconds, a timedelta."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from surepath._checks import real
from surepath.errors import SettingError

UNITS = {"s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
LONGEST = 10 * 365 * 86400.0


def seconds(value: Any, what: str = "lease") -> float:
    """Read a duration as seconds.

    Example:
        >>> seconds("10min"), seconds("1.5h"), seconds(30)
        (600.0, 5400.0, 30.0)
    """
    if isinstance(value, timedelta):
        found = value.total_seconds()
    elif isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*", value)
        unit = (match.group(2).lower() or "s") if match else ""
        if match is None or unit not in UNITS:
            raise SettingError(f'{what} must be a duration such as "10min", "2h" or "3d", not {value!r}')
        found = float(match.group(1)) * UNITS[unit]
    else:
        found = real(what, value)
    if not 0.0 < found <= LONGEST:
        raise SettingError(f"{what} must be longer than 0 and at most ten years, not {value!r}")
    return found


def in_words(duration: float) -> str:
    """Write seconds the way people say them.

    Example:
        >>> in_words(600.0), in_words(5400.0), in_words(86400.0 * 3)
        ('10min', '1.5h', '3d')
    """
    for unit in ("d", "h", "min"):
        if duration >= UNITS[unit]:
            return f"{duration / UNITS[unit]:.3g}{unit}"
    return f"{duration:.3g}s"
