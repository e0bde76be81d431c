"""The announcer: once, for kernels of ours alone, and where they are kept; the compiler is left as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numba
import pytest
from numba.core import event

from surepath.kernels.jit import Announcer
from tests.kernels.compiled import compiled_only

pytestmark = compiled_only


@pytest.fixture
def announce() -> Iterator[Callable[[str], None]]:
    """Registers an announcer of its own for this test."""
    made: list[Announcer] = []

    def register(sentence: str) -> None:
        made.append(Announcer(sentence))
        event.register("numba:compile", made[-1])

    yield register
    for announcer in made:
        event.unregister("numba:compile", announcer)


def compile_one(module: str) -> None:
    """Compile a function that says it lives in this module, and one that it calls."""

    def inside(x: float) -> float:
        return x + 1.0

    inner: Any = numba.njit(inside)

    def outer(x: float) -> float:
        return 2.0 * inner(x)  # type: ignore[no-any-return]

    inside.__module__ = outer.__module__ = module
    assert numba.njit(outer)(3.0) == 8.0


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line for line in capsys.readouterr().err.splitlines() if line.startswith("surepath: compiling")]


def test_said_once_for_ours(announce: Callable[[str], None], capsys: pytest.CaptureFixture[str]) -> None:
    compile_one("surepath.kernels.somewhere")  # the package's own announcer has spoken
    said(capsys)
    announce("compiling kernels, once")
    compile_one("surepath.kernels.somewhere")
    compile_one("surepath.learners.elsewhere")
    assert said(capsys) == ["surepath: compiling kernels, once"]
