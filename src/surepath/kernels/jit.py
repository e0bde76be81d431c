"""The decorators of kernels, the folder that keeps compiled ones, and the announcement of a compilation."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numba.core import event

# Cache folder ---------------------------------------------------------------------------------------------------------
# Compiled kernels are kept in a folder named by all that a kernel can see. Reading a kept one runs what the file says,
# so nobody else may write there.

PACKAGE = Path(__file__).resolve().parent.parent

# Kernels freeze constants of whatever they import. These folders are imported by no kernel; a
# change there need not compile anything anew. All others count, those that do not exist yet too.
WITHOUT_KERNELS = ("cli", "experiments", "plots", "study", "verify", "web")
SEEN_OF_MODEL = "worlds.py"  # kernels see its kinds of laws, and nothing else of the model


def source_key(versions: Iterable[str] = ()) -> str:
    """Hash the sources that compiled code can see, the version of Python and those of what compiles it."""
    digest = hashlib.sha256("\n".join([sys.version, *versions]).encode())
    for file in sorted(PACKAGE.rglob("*.py")):
        part, *rest = file.relative_to(PACKAGE).parts
        if part in WITHOUT_KERNELS or (part == "model" and rest != [SEEN_OF_MODEL]):
            continue
        content = file.read_bytes()
        digest.update(f"{file.relative_to(PACKAGE).as_posix()}\n{len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def cache_folder(key: str) -> Path:
    """Find the folder for kernels of exactly these sources, and create it if need be.

    SUREPATH_CACHE_DIR names one; else it lies under NUMBA_CACHE_DIR where that is set, or in the user's cache.

    Raises:
        OSError: It cannot be written, or others can write there.
    """
    usual = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    base = Path(os.environ.get("SUREPATH_CACHE_DIR") or Path(usual) / "surepath")
    if not base.is_absolute():
        raise OSError(f"{base} is not an absolute path")
    base.parent.mkdir(parents=True, exist_ok=True)
    for path in (base, base / "numba", base / "numba" / key):
        path.mkdir(mode=0o700, exist_ok=True)
        info = os.stat(path)
        if hasattr(os, "geteuid") and (info.st_uid != os.geteuid() or info.st_mode & 0o022):
            raise OSError(f"others can write to {path}")
    tempfile.TemporaryFile(dir=path).close()  # can it be written?
    return path


# Compiling ------------------------------------------------------------------------------------------------------------


class Compilation(event.Listener):  # type: ignore[misc]
    """Announce the first kernel of this package that is compiled, and collect no garbage while one is.

    A compilation makes a million small objects, nearly all of which live until its end: looking for garbage among them
    takes a tenth of its time.
    """

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence
        self.depth, self.collects = 0, False

    def on_start(self, event: Any) -> None:
        """Print the sentence, the first time; the compiler's lock is held."""
        if self.sentence and event.data["dispatcher"].py_func.__module__.startswith("surepath."):
            print(f"surepath: {self.sentence}", file=sys.stderr, flush=True)
            self.sentence = ""
        if self.depth == 0:
            self.collects = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        """Collect garbage again after the outermost kernel, if that was on."""
        self.depth -= 1
        if self.depth == 0 and self.collects:
            gc.enable()


# Jit ------------------------------------------------------------------------------------------------------------------
# Numba's file cache watches only the file of the function that was called: a change in a kernel it calls, or in a
# constant that it freezes, is not seen. So the folder of the cache is named by a hash of all that kernels can see
# (`jit.py`). NUMBA_DISABLE_JIT=1 runs the same code as plain Python.
#
# Large kernels read the fields they need at their top, each once: wherever a field of a NamedTuple is read in a later
# block, the compiler loads the whole tuple, every array of it, and then has to sort that out.
#
# Compiling takes about 2 ms for each statement of Numba's own representation (some 5,000 for Challenger). What shortens
# it is less code: what an argument of None leaves out, and NumPy outside the loop. Kernels assign at most three names
# at once: four and more are packed into a tuple and taken out again, three statements for one.

F = TypeVar("F", bound=Callable[..., Any])

# A whole number passed from kernel to kernel. Numba compiles a callee anew for each literal it is given, so literals
# are passed as np.int64(...).
Whole = int | np.int64


def _set_up() -> tuple[Any, Any]:
    """Import Numba; return it and the cache class for its kernels, or None."""
    import llvmlite
    import numba

    cache, sentence = None, "compiling kernels, once; this takes a few seconds"
    try:  # the cache object is Numba's own affair; where it has changed, kernels are compiled in every process
        from surepath.kernels.kernel_cache import FolderLocator, KernelCache

        FolderLocator.folder = cache_folder(source_key([numba.__version__, llvmlite.__version__, np.__version__]))
        cache = KernelCache
    except (OSError, RuntimeError, ImportError, AttributeError) as cause:
        sentence = (
            f"compiling kernels; this takes a few seconds in every process, since they cannot be kept ({cause}); "
            "name a private folder with SUREPATH_CACHE_DIR"
        )
    numba.core.event.register("numba:compile", Compilation(sentence))
    return numba, cache


_numba, _cache = _set_up()


def _made(function: F, options: dict[str, Any]) -> F:
    """Wrap a function so that it is compiled when first called, and kept in our folder."""
    compiled: Any = _numba.njit(**options)(function)
    if _cache is not None and compiled is not function:  # the same under NUMBA_DISABLE_JIT=1
        with contextlib.suppress(Exception):  # a folder that went away: compiled in this process
            compiled._cache = _cache(function)
    found: F = compiled
    return found


_PLAIN: dict[str, Any] = {"nogil": True, "fastmath": False, "error_model": "numpy"}
_PLAIN["no_cfunc_wrapper"] = True  # the entry point from C, which nobody uses


def kernel(function: F) -> F:
    """Compile a function: no Python objects, no GIL, cached on disk, IEEE infinities kept (no fastmath)."""
    return _made(function, _PLAIN)


# Rewriting serves array expressions and raised errors, which bare kernels have none of, and takes time to compile.
_BARE: dict[str, Any] = {**_PLAIN, "_nrt": False, "no_rewrites": True}
_INNER: dict[str, Any] = {**_BARE, "no_cpython_wrapper": True}


def bare_kernel(function: F) -> F:
    """Compile without reference counting: the kernel may not allocate, and its arguments cost nothing to pass on.

    Numba counts references to every array of a NamedTuple at every call and use, with atomic instructions; on loops
    of a tenth of a microsecond that is most of the time, and threads that share arrays would wait for each other.
    """
    return _made(function, _BARE)


def inner_kernel(function: F) -> F:
    """Compile a bare kernel that only other kernels call: it has no entry point from Python."""
    return _made(function, _INNER)


def hot_kernel(function: F) -> F:
    """Compile an inner kernel into each of its callers."""
    return _made(function, {"forceinline": True, **_INNER})


def optional_kernel(function: F) -> F:
    """Compile a hot kernel of which nothing is left where an argument is None.

    It asks `if x is None: return` first. Numba cuts off what cannot be reached, with rewriting on, before it infers
    types: what a problem does not use is not compiled for it.
    """
    return _made(function, {**_INNER, "forceinline": True, "no_rewrites": False})


def folded_kernel(function: F) -> F:
    """Write a kernel into its caller before that is compiled: for kernels called from one place, and tiny ones.

    It is never compiled by itself, and its arguments are not packed and unpacked.
    """
    return _made(function, {"inline": "always", **_INNER})


def helper_kernel(function: F) -> F:
    """Compile a bare kernel into each of its callers, with an entry point from Python as well."""
    return _made(function, {"forceinline": True, **_BARE})


def rule_kernel(function: F) -> F:
    """Compile a rule of the user's own: it may allocate, becomes part of its run, and is not kept on disk."""
    made: F = _numba.njit(**{"forceinline": True, **_PLAIN})(function)
    return made


def fresh_kernel(function: F) -> F:
    """Compile a bare kernel that is not kept on disk, such as one around rules of the user's own."""
    made: F = _numba.njit(**_BARE)(function)
    return made
