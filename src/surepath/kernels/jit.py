"""The decorators of kernels, the folder that keeps compiled ones, and the announcement of a compilation."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba.core import event

# Cache folder ---------------------------------------------------------------------------------------------------------
# Where compiled kernels are kept: a folder that nobody else can write to, named by all that a kernel can see.
#
# Reading a kept kernel runs what the file says, so whoever can write there can run code as us. Every folder on the way
# must be out of others' reach; without one, kernels are compiled in each process.

PACKAGE = Path(__file__).resolve().parent.parent

# Kernels freeze constants of whatever they import. These folders are imported by no kernel; a
# change there need not compile anything anew. All others count, those that do not exist yet too.
WITHOUT_KERNELS = ("cli", "experiments", "plots", "study", "verify", "web")
SEEN_OF_MODEL = "worlds.py"  # kernels see its kinds of laws, and nothing else of the model


class Folder(NamedTuple):
    """Name the folder that keeps kernels, or None, and what was wrong with the folders tried first."""

    path: Path | None
    trouble: str = ""

    def announcement(self) -> str:
        """Write what is said when kernels are compiled: once, or in every process and why."""
        if self.path is None:
            return (
                "compiling kernels; this takes a few seconds in every process, for want of a private folder to keep "
                f"them in ({self.trouble}); name one with SUREPATH_CACHE_DIR"
            )
        where = f", kept in {self.path} because {self.trouble}" if self.trouble else ""
        return f"compiling kernels, once; this takes a few seconds{where}"


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


def cache_folder(key: str) -> Folder:
    """Find the folder for kernels of exactly these sources, and create it if need be.

    SUREPATH_CACHE_DIR names one; else it lies under NUMBA_CACHE_DIR where that is set, or in the user's cache. Where
    that cannot be written, or where others can, a private one in the temporary folder serves.
    """
    try:
        return Folder(_make(_base(), "numba", key))
    except OSError as cause:
        trouble = _words(cause)
    try:
        uid = os.geteuid() if hasattr(os, "geteuid") else 0
        return Folder(_make(Path(tempfile.gettempdir()), f"surepath-{uid}", key, shut=0o077), trouble)
    except OSError as cause:
        return Folder(None, f"{trouble}, and {_words(cause)}")


def _base() -> Path:
    chosen = os.environ.get("SUREPATH_CACHE_DIR")
    if chosen:
        return Path(chosen)
    common = Path(
        os.environ.get("NUMBA_CACHE_DIR")
        or os.environ.get("XDG_CACHE_HOME")
        or os.path.join(os.path.expanduser("~"), ".cache")
    )
    if not common.is_absolute():  # never in the current folder
        raise OSError(f"{common} is no place for a cache")
    return common / "surepath"


def _make(base: Path, *names: str, shut: int = 0o022) -> Path:
    """Create base/names..., each a folder of ours (no link) that others cannot write to or replace."""
    base.parent.mkdir(parents=True, exist_ok=True)
    base.mkdir(mode=0o700, exist_ok=True)
    path = Path(os.path.realpath(base))
    for folder in (path, *path.parents):
        _check_reach(folder)
    if shut == 0o022:
        _check_own(path, shut)
    for name in names:
        path = path / name
        path.mkdir(mode=0o700, exist_ok=True)
        _check_own(path, shut)
    tempfile.TemporaryFile(dir=path).close()  # can it be written?
    return path


def _check_own(path: Path, shut: int) -> None:
    """Refuse a folder that is a link, somebody else's, or open to others."""
    info = os.lstat(path)
    if not stat.S_ISDIR(info.st_mode):
        raise OSError(f"{path} is not a folder")
    if not hasattr(os, "geteuid"):  # elsewhere a user's folders are the user's by default
        return
    if info.st_uid != os.geteuid():
        raise OSError(f"{path} belongs to somebody else")
    if info.st_mode & shut:
        raise OSError(f"{path} is open to others")


def _check_reach(folder: Path) -> None:
    """Refuse a folder in which somebody else could exchange ours for another."""
    info = os.stat(folder)
    if not hasattr(os, "geteuid"):
        return
    if info.st_uid not in (0, os.geteuid()):
        raise OSError(f"{folder} belongs to somebody else")
    if info.st_mode & stat.S_IWOTH and not info.st_mode & stat.S_ISVTX:
        raise OSError(f"{folder} is open to others")


def _words(cause: OSError) -> str:
    return f"{cause.filename}: {cause.strerror}" if cause.filename else str(cause.strerror or cause)


# Compiling ------------------------------------------------------------------------------------------------------------
# Announce compilation, once in a process and only when a kernel of this package is compiled.
#
# Numba's events are a documented part of it; nothing else of the compiler is touched.


class Announcer(event.Listener):  # type: ignore[misc]
    """Print a sentence on stderr when the first kernel of this package is compiled."""

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence

    def on_start(self, event: Any) -> None:
        """Print the sentence, the first time."""
        if self.sentence and event.data["dispatcher"].py_func.__module__.startswith("surepath."):
            print(f"surepath: {self.sentence}", file=sys.stderr, flush=True)
            self.sentence = ""

    def on_end(self, event: Any) -> None:
        """Do nothing when a compilation ends."""


# Jit ------------------------------------------------------------------------------------------------------------------
# The decorators of kernels, and what kernels have in common.
#
# Numba's file cache watches only the file of the function that was called: a change in a kernel it calls, or in a
# constant that it freezes, is not seen. So the folder of the cache is named by a hash of all that kernels can see
# (`jit.py`). NUMBA_DISABLE_JIT=1 runs the same code as plain Python.
#
# Large kernels read the fields they need at their top, each once: wherever a field of a NamedTuple is read in a later
# block, the compiler loads the whole tuple, every array of it, and then has to sort that out.
#
# Compiling takes about 2 ms for each statement of Numba's own representation (some 5,000 for Challenger), wherever it
# is: sixteen more arrays in an argument added two per cent, and folding a kernel in or out of its caller changed less
# than can be measured. What shortens it is less code: what an argument of None leaves out, and NumPy outside the
# loop. Kernels assign at most three names at once: four and more are packed into a tuple and taken out again, three
# statements for one.

F = TypeVar("F", bound=Callable[..., Any])

# A whole number passed from kernel to kernel. Numba compiles a callee anew for each literal it is given, so literals
# are passed as np.int64(...).
Whole = int | np.int64


def _set_up() -> tuple[Any, Any]:
    """Import Numba; return it and the cache class for its kernels, or None."""
    import llvmlite
    import numba

    folder = cache_folder(source_key([numba.__version__, llvmlite.__version__, np.__version__]))
    cache: Any = None
    if folder.path is not None:
        try:  # the cache object is Numba's own affair; where it has changed, kernels are compiled in every process
            from surepath.kernels.kernel_cache import FolderLocator, KernelCache

            FolderLocator.folder, cache = folder.path, KernelCache
        except (ImportError, AttributeError) as cause:
            folder = Folder(None, f"this Numba has another cache ({cause})")
    numba.core.event.register("numba:compile", Announcer(folder.announcement()))
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


def pruned_kernel(function: F) -> F:
    """Compile a bare kernel of which `if x is not None` leaves out what follows where the argument x is None.

    As in an `optional_kernel`: what is not used is not compiled.
    """
    return _made(function, {**_BARE, "no_rewrites": False})


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
