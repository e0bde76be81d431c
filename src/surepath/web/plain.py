"""Values as JSON can hold them: arrays become lists; NaN and infinity, which JSON has no word for, become null."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Return the value made of dicts, lists, texts, numbers and None.

    Example:
        >>> plain({"gap": float("inf"), "visits": np.array([1, 2])})
        {'gap': None, 'visits': [1, 2]}
    """
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # arrays, and NumPy's own numbers
        return plain(value.tolist())
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value


def rounded(values: Any, digits: int = 6) -> list[float | None]:
    """Return numbers as a list, to so many significant digits: what a drawing can show."""
    return [None if not isfinite(x) else float(f"{x:.{digits}g}") for x in np.asarray(values, dtype=float).tolist()]
