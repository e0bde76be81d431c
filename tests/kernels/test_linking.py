"""Kernels put together: inner ones have no machine code, outer ones own what they took in, the cache serves both."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numba
import pytest

from surepath.kernels.jit import is_compiled

pytestmark = [
    pytest.mark.skipif(not is_compiled(), reason="nothing is compiled"),
    pytest.mark.skipif(not numba.__version__.startswith("0.68."), reason="this Numba compiles them as any other"),
]

KERNELS = """
from surepath.kernels.jit import bare_kernel, hot_kernel, inner_kernel

@hot_kernel
def deepest(x):
    return x + 1.0

@inner_kernel
def inside(x):
    return 2.0 * deepest(x)

@bare_kernel
def first(x):
    return inside(x) + deepest(x)

@bare_kernel
def second(x):
    return inside(x) - deepest(x)
"""

ASK = """
import sys
import kernels
print(getattr(kernels, sys.argv[1])(3.0))
for kernel in (kernels.inside, kernels.deepest):
    print(sum(kernel.stats.cache_hits.values()), len(kernel.overloads))
    for compiled in kernel.overloads.values():
        print(type(compiled.library).__name__)
"""


WHOSE = """
import kernels
kernels.first(3.0)
(compiled,) = kernels.first.overloads.values()
print(type(compiled.library).__name__)
for function in compiled.library.get_defined_functions():
    print(function.linkage.name)
"""


@pytest.fixture
def tell(tmp_path: Path) -> Callable[..., list[str]]:
    """What a fresh process prints, the kernels above beside it and a cache of its own."""
    (tmp_path / "kernels.py").write_text(KERNELS)
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    environment["SUREPATH_CACHE_DIR"] = str(tmp_path)
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), environment.get("PYTHONPATH", "")])

    def run(program: str, *arguments: str) -> list[str]:
        words = [sys.executable, "-c", program, *arguments]
        return subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stdout.split()

    return run


def test_a_kernel_that_python_calls_owns_what_it_took_in(tell: Callable[..., list[str]]) -> None:
    library, *linkages = tell(WHOSE)
    assert library == "OuterLibrary"
    assert "linkonce_odr" not in linkages  # nothing that somebody else might call


def test_inner_kernels_are_right_and_can_be_taken_from_the_cache(tell: Callable[..., list[str]]) -> None:
    compiled, loaded = ["0", "1", "InnerLibrary"], ["1", "1", "JITCodeLibrary"]
    assert tell(ASK, "first") == ["12.0", *compiled, *compiled]
    assert tell(ASK, "first") == ["12.0", "0", "0", "0", "0"]  # the way in holds all it needs
    assert tell(ASK, "second")[:4] == ["4.0", *loaded]
