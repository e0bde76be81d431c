"""Names for states that people hold as any value: readable, and different for different values.

Types count: 1, "1", True, (1,) and [1] are five names. Text is written as it is where nothing else is written that way
("start", "chapter 2"), else in quotes ("'1'", "'(end)'"). Arrays are named by type, shape and content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from surepath._numbers import is_whole

LONGEST_LABEL = 80  # characters of a name; longer ones end in a hash
SMALL_ARRAY = 64  # entries of an array that are written out
_MARKS = frozenset("'\"()[]{}<>\\")


def state_name(value: Any) -> str:
    """Return the name of a value; two values that differ, in type or content, never share one.

    Integers of Python and NumPy are alike, and so are their floats.

    Example:
        >>> [state_name(value) for value in (1, "1", "start", ("a, b", "c"), ("a", "b, c"))]
        ['1', "'1'", 'start', "('a, b', 'c')", "('a', 'b, c')"]
    """
    text = value if isinstance(value, str) and _bare(value) else _text(value)
    if len(text) <= LONGEST_LABEL:
        return str(text)
    return f"{text[:48]}... {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _bare(text: str) -> bool:
    """Return whether the text cannot be taken for a number, a constant, or anything that is written with brackets."""
    if not text or not text.isprintable() or "..." in text or text in ("True", "False", "None"):
        return False
    if not _MARKS.isdisjoint(text):
        return False
    try:
        complex(text)
    except ValueError:
        return True
    return False


def _text(value: Any) -> str:
    if value is None or isinstance(value, (bool, np.bool_)):
        return str(value)
    if isinstance(value, (str, bytes)):
        return repr(bytes(value)) if isinstance(value, bytes) else repr(str(value))
    if is_whole(value):
        return str(int(value))
    if isinstance(value, (float, np.floating)) and not isinstance(value, np.longdouble):
        return repr(float(value))
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_text, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, Mapping):
        items = sorted((_text(key), _text(item)) for key, item in value.items())
        return "{" + ", ".join(f"{key}: {item}" for key, item in items) + "}"
    if isinstance(value, Set):
        return "set(" + ", ".join(sorted(map(_text, value))) + ")"
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__"):
        return _array(value)
    kind = type(value)
    return f"<{kind.__module__}.{kind.__qualname__} {value!r}>"


def _array(value: Any) -> str:
    if isinstance(value, np.ma.MaskedArray):
        return f"masked({_array(value.filled())}, {_array(np.ma.getmaskarray(value))})"
    array = np.asarray(value)
    if array.dtype.hasobject or array.size <= SMALL_ARRAY:
        shape = "" if array.size else f", shape {array.shape}"
        return f"array({_text(array.tolist())}{shape}, {array.dtype})"
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:32]
    return f"array({'x'.join(map(str, array.shape))}, {array.dtype}, {digest})"
