"""Types of arrays, and the checks of numbers, settings and labels that every part makes of its input."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from decimal import ROUND_CEILING, Context, Decimal
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surepath.errors import SettingError, SurepathError

# Types ----------------------------------------------------------------------------------------------------------------
# The array types that everything is written in.

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Int32Array = NDArray[np.int32]
Uint32Array = NDArray[np.uint32]
AnyArray = NDArray[Any]


# Numbers --------------------------------------------------------------------------------------------------------------
# What counts as numbers: real numbers of any type, and nothing that only resembles them.
#
# NumPy turns much into float64 without a word: text in object arrays, dates and durations (NaT becomes -9.2e18), the
# values behind a mask, the real parts of complex numbers. Everything people pass in as numbers is read here instead.
# Taken: int, float, Decimal, Fraction, NumPy's integers and floats, and arrays, nested lists and Series of them.

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
    """Something that is not a number; the message says what, `place` its index along the first axis, if any."""

    def __init__(self, found: str, place: int | None = None) -> None:
        super().__init__(found)
        self.place = place


def read_numbers(value: Any, *, booleans: bool = False) -> FloatArray:
    """Return the numbers as a fresh float64 array of the same shape; NaN and infinities pass, all else fails.

    Args:
        value: A number, an array, a Series, or lists of numbers.
        booleans: Take True and False as 1 and 0, as for a score that says pass or fail.
    """
    refuse_masks(value, booleans=booleans)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, OverflowError) as cause:
        raise NotNumbersError(shortened(value)) from cause
    kind = array.dtype.kind
    if kind == "O":
        return _each(array, booleans)
    if (kind == "b" and not booleans) or kind not in "fiub":
        raise NotNumbersError(_KINDS.get(kind, str(array.dtype)))
    with np.errstate(over="ignore"):  # a long double may overflow; infinite is then what callers refuse
        return np.array(array, dtype=np.float64)


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


def refuse_masks(value: Any, depth: int = 0, *, booleans: bool = True) -> None:
    """Refuse values behind a mask, which np.asarray would uncover, and where asked True among numbers of a list."""
    # a plain array has no mask; looking at np.ma would import it, which takes longer than all checks of a command
    if isinstance(value, np.ndarray) and type(value) is not np.ndarray and isinstance(value, np.ma.MaskedArray):
        hidden = np.flatnonzero(np.ma.getmaskarray(value).reshape(len(value) if value.ndim else 1, -1).any(axis=1))
        if hidden.size:
            raise NotNumbersError("values hidden by a mask", int(hidden[0]))
    elif isinstance(value, (list, tuple)) and depth < _DEPTH:
        for place, item in enumerate(value):
            if not booleans and isinstance(item, (bool, np.bool_)):
                raise NotNumbersError(shortened(item), place)
            if isinstance(item, (np.ndarray, list, tuple)):
                try:
                    refuse_masks(item, depth + 1, booleans=booleans)
                except NotNumbersError as error:
                    raise NotNumbersError(str(error), place) from None


def _each(array: AnyArray, booleans: bool) -> FloatArray:
    """Read the Python objects of an array one by one as numbers."""
    out = np.empty(array.shape)
    for index in np.ndindex(array.shape):
        item: Any = array[index]
        if isinstance(item, np.ndarray) and item.ndim == 0:
            item = item[()]
        try:
            if not (is_real(item) or (booleans and isinstance(item, (bool, np.bool_)))):
                raise TypeError
            out[index] = float(item)
        except (TypeError, ValueError, OverflowError) as cause:
            text = "the text " if isinstance(item, (str, bytes)) else ""
            raise NotNumbersError(f"{text}{shortened(item)}", index[0] if index else None) from cause
    return out


def rounded_up(value: float, digits: int = 3) -> str:
    """Write a bound with so many significant digits, never smaller than it is.

    Example:
        >>> rounded_up(0.11928663261478059), rounded_up(0.3), rounded_up(1234.5), rounded_up(1.375e11), rounded_up(0.0)
        ('0.12', '0.3', '1240', '1.38e+11', '0')
    """
    if not np.isfinite(value):
        return f"{value:g}"
    up = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(float(value)))
    return f"{float(up):.{max(digits, 6)}g}"


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


# Checks ---------------------------------------------------------------------------------------------------------------
# Checks at the boundary: what people pass in is tested here, before anything changes.

# Beyond this, sums and squares of numbers come close to what a float can hold.
LARGEST = 1e150
# Below this the square of a noise is lost to rounding, and what is divided by it is not a number any more.
SMALLEST_SIGMA = 1e-100


def suggest(name: str, valid: Iterable[str]) -> str:
    """Write ' (did you mean "x"?)' for the nearest valid name, in whatever case, or the list of valid names."""
    names = list(valid)
    by_case = {one.casefold(): one for one in names}
    if close := difflib.get_close_matches(name.casefold(), by_case, n=1, cutoff=0.6):
        return f' (did you mean "{by_case[close[0]]}"?)'
    return " (valid: " + ", ".join(f'"{n}"' for n in names) + ")"


def repeated(values: Iterable[Any]) -> Any:
    """Return the first value that was there before, or None."""
    seen = set[Any]()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def one_of(what: str, value: object, valid: Iterable[str]) -> str:
    """Return the value if it is one of the valid names, else raise an error that names the nearest."""
    names = list(valid)
    if isinstance(value, str) and value in names:
        return value
    hint = suggest(value, names) if isinstance(value, str) else suggest("", names)
    raise SettingError(f"{what} {value!r} is not known{hint}")


def real(what: str, value: Any, *, error: type[SurepathError] = SettingError) -> float:
    """Return a finite real number: int, float, Decimal, Fraction or a NumPy number."""
    if not is_real(value):
        raise error(f"{what} must be a number, not {shortened(value)}")
    try:
        number = float(value)
    except ValueError as cause:  # a signalling NaN
        raise error(f"{what} must be finite, not {value}") from cause
    except OverflowError:
        number = LARGEST * 2
    if not np.isfinite(number) and not is_whole(value):
        raise error(f"{what} must be finite, not {number}")
    if not -LARGEST <= number <= LARGEST:
        raise error(f"{what} must lie within {LARGEST:g} of 0")
    return number


def positive(what: str, value: Any, *, error: type[SurepathError] = SettingError) -> float:
    """Return a finite real number above 0."""
    number = real(what, value, error=error)
    if number <= 0:
        raise error(f"{what} must be positive, not {number:g}")
    return number


MOST = 2**63 - 1  # what kernels and columns can hold


def whole(what: str, value: Any, *, low: int, high: int = MOST, error: type[SurepathError] = SettingError) -> int:
    """Return an integer from `low` to `high`."""
    if not is_whole(value):
        raise error(f"{what} must be a whole number, not {value!r}")
    if value < low:
        raise error(f"{what} must be at least {low}, not {readable(int(value))}")
    if value > high:
        raise error(f"{what} must be at most {high:,}, not {readable(int(value))}")
    return int(value)


def readable(value: int) -> str:
    """Write a whole number; of one that fills the screen, which Python may refuse to write, its length."""
    if abs(value) < 10**40:
        return f"{value:,}"
    digits = int(abs(value).bit_length() * 0.30103) + 1
    return f"a number of about {digits:,} digits"


def seed_number(value: Any, *, error: type[SurepathError] = SettingError) -> int:
    """Return a whole number from 0, as large as NumPy's own seeds are."""
    return whole("seed", value, low=0, high=2**128 - 1, error=error)


def check_epsilon(value: Any) -> float:
    """Check that epsilon is at least 0, which asks for the exact best path."""
    number = real("epsilon", value)
    if number < 0:
        raise SettingError(f"epsilon must be 0 or more, not {number:g}; 0 asks for the exact best plan")
    return number


def check_delta(value: Any) -> float:
    """Check that delta, the allowed probability of a wrong answer, lies strictly between 0 and 1."""
    number = real("delta", value)
    if not 0 < number < 1:
        raise SettingError(f"delta must lie strictly between 0 and 1, not {number:g}; 0.05 means 95 % sure")
    if number < 1 / LARGEST:
        raise SettingError(f"delta must be at least {1 / LARGEST:g}, not {number:g}")
    return number


_EACH = "one for each option in each state"


def per_arc(what: str, value: ArrayLike, n_arcs: int, *, error: type[SurepathError] = SettingError) -> FloatArray:
    """Return one finite number for all arcs, or one per arc, as a fresh float64 array [N]."""
    if is_real(value):
        return np.full(n_arcs, real(what, value, error=error))
    try:
        array = read_numbers(value)
    except NotNumbersError as cause:
        at = "" if cause.place is None else f" at place {cause.place}"
        raise error(f"{what} must be a number, or {n_arcs} numbers, {_EACH}; not {cause}{at}") from None
    if array.ndim == 0:
        array = np.full(n_arcs, float(array))
    if array.shape != (n_arcs,):
        raise error(f"{what} must be a number, or {n_arcs} numbers, {_EACH}; got shape {array.shape}")
    bad = np.flatnonzero(~(np.abs(array) <= LARGEST))
    if bad.size:
        law = f"lie within {LARGEST:g} of 0" if np.isfinite(array[bad[0]]) else "be finite"
        raise error(f"{what} must {law}; at place {bad[0]} it is {array[bad[0]]:g}")
    return np.ascontiguousarray(array.copy())


def check_sigma(value: ArrayLike, n_arcs: int) -> FloatArray:
    """Return sub-Gaussian factors, one per arc, float [N]: each 0, or at least `SMALLEST_SIGMA`."""
    if is_real(value):
        return np.full(n_arcs, one_sigma(value))
    sigma = per_arc("sigma", value, n_arcs)
    bad = np.flatnonzero((sigma < SMALLEST_SIGMA) & (sigma != 0))
    if bad.size:
        raise SettingError(f"{sigma_law(sigma[bad[0]])}; at place {bad[0]} it is {sigma[bad[0]]:g}")
    return sigma


def one_sigma(value: Any, error: type[SurepathError] = SettingError) -> float:
    """Return a sub-Gaussian factor for all arcs."""
    sigma = real("sigma", value, error=error)
    if sigma != 0 and sigma < SMALLEST_SIGMA:
        raise error(f"{sigma_law(sigma)}, not {sigma:g}")
    return sigma


def sigma_law(value: float) -> str:
    """Say which law a sigma that is negative, or too small, breaks."""
    if value < 0:
        return "sigma must be 0 or more"
    return f"sigma must be 0 or at least {SMALLEST_SIGMA:g}, since its square would be lost to rounding"


def ways_to_declare() -> str:
    """Say in which ways the noise can be declared."""
    return (
        "Three ways to declare it: a sigma (the standard deviation of one score, or a bound on it); a range of scores "
        "(reward_range=(0, 1) in Python, low and high in a file; within it Challenger learns the noise); or a pilot: "
        "try each option a few times, see how far its scores scatter, and declare that as sigma"
    )


def frozen(array: AnyArray) -> AnyArray:
    """Return the array, made read-only."""
    array.setflags(write=False)
    return array
