"""Inner kernels: no machine code of their own, the same answers, and a cache that other kernels can take them from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from surepath.engine._jit import is_compiled

pytestmark = [
    pytest.mark.skipif(not is_compiled(), reason="nothing is compiled"),
    pytest.mark.skipif(not numba.__version__.startswith("0.68."), reason="this Numba compiles them as any other"),
]

KERNELS = """
from surepath.engine._jit import bare_kernel, hot_kernel, inner_kernel

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


def test_inner_kernels_are_right_and_can_be_taken_from_the_cache(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(KERNELS)
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    environment["SUREPATH_CACHE_DIR"] = str(tmp_path)
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), environment.get("PYTHONPATH", "")])

    def answers(name: str) -> list[str]:
        words = [sys.executable, "-c", ASK, name]
        return subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stdout.split()

    compiled, loaded = ["0", "1", "InnerLibrary"], ["1", "1", "JITCodeLibrary"]
    assert answers("first") == ["12.0", *compiled, *compiled]
    assert answers("first") == ["12.0", "0", "0", "0", "0"]  # the way in holds all it needs
    assert answers("second")[:4] == ["4.0", *loaded]
