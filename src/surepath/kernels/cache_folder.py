"""Where compiled kernels are kept: a folder that nobody else can write to, named by all that a kernel can see.

Reading a kept kernel runs what the file says, so whoever can write there can run code as us. Every folder on the way
must be out of others' reach; without one, kernels are compiled in each process.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent

# Kernels freeze constants of whatever they import. These folders are imported by no kernel; a
# change there need not compile anything anew. All others count, those that do not exist yet too.
WITHOUT_KERNELS = ("cli", "experiments", "plots", "study", "web")


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
        if file.relative_to(PACKAGE).parts[0] in WITHOUT_KERNELS:
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
