"""The one kernel decorator, and the place where compiled code is cached.

Numba's file cache watches only the file of the function that was called: a change in a kernel it calls is not
seen. So the cache directory is keyed by a hash of every source file under `engine/` and `rules/`, set here before
Numba is imported. NUMBA_DISABLE_JIT=1 runs the same code as plain Python.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

# A whole number handed from kernel to kernel. Numba compiles a callee anew for each literal it is given, so literals
# are passed as np.int64(...).
Whole = int | np.int64


def source_key() -> str:
    """Hash of the sources that compiled code comes from, the Python version and the package's place."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256(sys.version.encode())
    for folder in ("engine", "rules", "learners"):
        for file in sorted((package / folder).rglob("*.py")):
            digest.update(file.relative_to(package).as_posix().encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def cache_dir() -> Path:
    """A directory the user can write, for compiled kernels of exactly these sources."""
    chosen = os.environ.get("SUREPATH_CACHE_DIR")
    if chosen:
        base = Path(chosen)
    else:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        base = Path(home) / "surepath"
    path = base / "numba" / source_key()
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError:
        path = Path(tempfile.gettempdir()) / f"surepath-numba-{os.getuid()}" / source_key()
        path.mkdir(parents=True, exist_ok=True)
    return path


def _set_up() -> tuple[Any, dict[str, Any], dict[str, Any]]:
    if "NUMBA_CACHE_DIR" not in os.environ:
        os.environ["NUMBA_CACHE_DIR"] = str(cache_dir())
        if "numba" in sys.modules:  # imported by somebody else before us: tell it directly
            import numba.core.config as config

            config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]
    import numba

    from surepath.engine import _compiling

    _compiling.listen()
    if numba.__version__.startswith("0.68."):  # _linking.py looks inside Numba: only where it was seen to work
        from surepath.engine._linking import InnerCompiler, OuterCompiler

        return numba, {"pipeline_class": InnerCompiler}, {"pipeline_class": OuterCompiler}
    return numba, {}, {}


_numba, _inside, _outside = _set_up()


_PLAIN: dict[str, Any] = {"cache": True, "nogil": True, "fastmath": False, "error_model": "numpy"}
_PLAIN["no_cfunc_wrapper"] = True  # the way in from C, which nobody takes


def kernel(function: F) -> F:
    """Compile a function: no Python objects, no GIL, cached on disk, IEEE infinities kept (no fastmath)."""
    compiled: F = _numba.njit(**_PLAIN)(function)
    return compiled


# Rewriting serves array expressions and raised errors, which bare kernels have none of, and takes time to compile.
_BARE: dict[str, Any] = {**_PLAIN, "_nrt": False, "no_rewrites": True}
_INNER: dict[str, Any] = {**_BARE, "no_cpython_wrapper": True, **_inside}


def bare_kernel(function: F) -> F:
    """A kernel without reference counting: it may not allocate, and its arguments cost nothing to hand on.

    Numba counts references to every array of a NamedTuple at every call and use, with atomic instructions; on loops
    of a tenth of a microsecond that is most of the time, and threads that share arrays would wait for each other.
    """
    compiled: F = _numba.njit(**_BARE, **_outside)(function)
    return compiled


def inner_kernel(function: F) -> F:
    """A bare kernel that only other kernels call, with no way in from Python (see `_linking.py`)."""
    compiled: F = _numba.njit(**_INNER)(function)
    return compiled


def hot_kernel(function: F) -> F:
    """An inner kernel that is compiled into its callers."""
    compiled: F = _numba.njit(forceinline=True, **_INNER)(function)
    return compiled


def is_compiled() -> bool:
    """False under NUMBA_DISABLE_JIT=1."""
    return not bool(_numba.config.DISABLE_JIT)
