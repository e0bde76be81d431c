"""What counts as numbers: real numbers of any type, and nothing that only resembles them.

NumPy turns much into float64 without a word: text in object arrays, dates and durations (NaT becomes -9.2e18), the
values behind a mask, the real parts of complex numbers. Everything people pass in as numbers is read here instead.
Taken: int, float, Decimal, Fraction, NumPy's integers and floats, and arrays, nested lists and Series of them.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from surepath._types import AnyArray, FloatArray

_KINDS = {
    "c": "complex numbers",
    "M": "dates",
    "m": "durations",
    "U": "text",
    "S": "text",
    "T": "text",
    "V": "records",
    "b": "True or False",
}
_DEPTH = 8  # lists nested deeper than this hold no table of ours


class NotNumbersError(ValueError):
    """Something that is no number; the message says what, `place` its index along the first axis, where it has one."""

    def __init__(self, found: str, place: int | None = None) -> None:
        super().__init__(found)
        self.place = place


def read_numbers(value: Any, *, booleans: bool = False) -> FloatArray:
    """Return the numbers as a fresh float64 array of the same shape; NaN and infinities pass, all else fails.

    Args:
        value: A number, an array, a Series, or lists of numbers.
        booleans: Take True and False as 1 and 0, as for a score that says pass or fail.
    """
    refuse_masks(value)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, OverflowError) as cause:
        raise NotNumbersError(shortened(value)) from cause
    kind = array.dtype.kind
    if kind == "O":
        return _each(array, booleans)
    if (kind == "b" and not booleans) or kind not in "fiub":
        raise NotNumbersError(_KINDS.get(kind, str(array.dtype)))
    if array.size and not isinstance(value, np.ndarray) and kind != "b" and not booleans:
        _refuse_booleans(value)
    with np.errstate(over="ignore"):  # a long double may overflow; infinite is then what callers refuse
        return np.array(array, dtype=np.float64)


def is_boolean(value: object) -> bool:
    """Return whether this is True or False, Python's or NumPy's."""
    return isinstance(value, (bool, np.bool_))


def is_whole(value: object) -> bool:
    """Return whether this is an integer; NumPy counts its durations among them, Python True and False."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def is_real(value: object) -> bool:
    """Return whether this is one real number: int, float, Decimal, Fraction, or NumPy's."""
    return isinstance(value, (Real, Decimal)) and not isinstance(value, (bool, np.timedelta64))


def shortened(value: object) -> str:
    """Return the value's repr, cut to a readable length."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def refuse_masks(value: Any, depth: int = 0) -> None:
    """Refuse values behind a mask, which are no values; np.asarray would uncover them."""
    if isinstance(value, np.ma.MaskedArray):
        hidden = np.flatnonzero(np.ma.getmaskarray(value).reshape(len(value) if value.ndim else 1, -1).any(axis=1))
        if hidden.size:
            raise NotNumbersError("values hidden by a mask", int(hidden[0]))
    elif isinstance(value, (list, tuple)) and depth < _DEPTH:
        for place, item in enumerate(value):
            if isinstance(item, (np.ma.MaskedArray, list, tuple)):
                try:
                    refuse_masks(item, depth + 1)
                except NotNumbersError as error:
                    raise NotNumbersError(str(error), place) from None


def _refuse_booleans(value: Any, depth: int = 0) -> None:
    """Refuse lists that mix True with numbers: NumPy makes numbers of them."""
    if isinstance(value, (list, tuple)) and depth < _DEPTH:
        for place, item in enumerate(value):
            if is_boolean(item):
                raise NotNumbersError(shortened(item), place)
            if isinstance(item, (list, tuple)):
                _refuse_booleans(item, depth + 1)


def _each(array: AnyArray, booleans: bool) -> FloatArray:
    """Read the Python objects of an array one by one as numbers."""
    out = np.empty(array.shape)
    for index in np.ndindex(array.shape):
        item: Any = array[index]
        if isinstance(item, np.ndarray) and item.ndim == 0:
            item = item[()]
        place = index[0] if index else None
        if not (is_real(item) or (booleans and is_boolean(item))):
            raise NotNumbersError(_described(item), place)
        try:
            out[index] = float(item)
        except (TypeError, ValueError, OverflowError) as cause:
            raise NotNumbersError(_described(item), place) from cause
    return out


def _described(item: object) -> str:
    if item is None:
        return "None"
    if isinstance(item, (str, bytes)):
        return f"the text {shortened(item)}"
    return shortened(item)


def rounded_up(value: float, digits: int = 3) -> str:
    """Write a bound with so many significant digits, never smaller than it is.

    Example:
        >>> rounded_up(0.11928663261478059), rounded_up(0.3), rounded_up(1234.5), rounded_up(0.0)
        ('0.12', '0.3', '1240', '0')
    """
    if not np.isfinite(value):
        return f"{value:g}"
    up = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(float(value)))
    return f"{float(up):.{max(digits, 15)}g}"


def plain(value: Any) -> Any:
    """Return the value as JSON can hold it: of dicts, lists, texts and numbers, and None for NaN and infinity.

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
