"""What is spared while kernels are compiled comes back afterwards, after an error too."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numba
import pytest
from numba.core import config, event

from surepath.kernels.jit import is_compiled

pytestmark = pytest.mark.skipif(not is_compiled(), reason="nothing is compiled")


class Heard(event.Listener):
    """What the settings are when each kernel is begun and ended."""

    def __init__(self) -> None:
        self.at: list[tuple[str, int, bool]] = []

    def on_start(self, event: Any) -> None:
        self.at.append((event.data["dispatcher"].py_func.__name__, int(config.OPT), gc.isenabled()))

    def on_end(self, event: Any) -> None:
        pass


@pytest.fixture
def heard() -> Iterator[list[tuple[str, int, bool]]]:
    listener = Heard()
    event.register("numba:compile", listener)
    yield listener.at
    event.unregister("numba:compile", listener)


def made(function: Callable[..., Any], **options: Any) -> Any:
    function.__module__ = "surepath.kernels.somewhere"
    return numba.njit(**options)(function)


def test_kernels_inside_others_are_touched_lightly(heard: list[tuple[str, int, bool]]) -> None:
    def inside(x: float) -> float:
        return x + 1.0

    def way_in(x: float) -> float:
        return 2.0 * x

    inner, other = made(inside, no_cpython_wrapper=True), made(way_in)

    def outer(x: float) -> float:
        return inner(x) + other(x)  # type: ignore[no-any-return]

    usual = (int(config.OPT), config.LOOP_VECTORIZE, config.SLP_VECTORIZE)
    assert made(outer)(3.0) == 10.0
    assert heard == [("outer", 3, False), ("inside", 1, False), ("way_in", 3, False)]
    assert (int(config.OPT), config.LOOP_VECTORIZE, config.SLP_VECTORIZE) == usual
    assert gc.isenabled()


def test_an_error_leaves_nothing_behind() -> None:
    def wrong(x: float) -> float:
        return x.nothing  # type: ignore[attr-defined, no-any-return]

    inner = made(wrong, no_cpython_wrapper=True)

    def outer(x: float) -> float:
        return inner(x)  # type: ignore[no-any-return]

    with pytest.raises(numba.TypingError):
        made(outer)(3.0)
    assert int(config.OPT) == 3
    assert gc.isenabled()


def test_other_peoples_kernels_are_left_alone(heard: list[tuple[str, int, bool]]) -> None:
    @numba.njit
    def theirs(x: float) -> float:
        return 3.0 * x

    assert theirs(1.0) == 3.0
    assert heard == [("theirs", 3, True)]
