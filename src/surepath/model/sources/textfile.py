"""Files in and out: refused by size before they are read, replaced whole when they are written."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path

from surepath.errors import FileError, ProblemError

# A problem of a million edges fits; larger ones are better built from arrays.
MAX_BYTES = 64 * 2**20
PARTIAL_ENDING = ".partial"  # how the name of a file ends that is not yet whole


def read_text(path: Path, max_bytes: int = MAX_BYTES) -> str:
    """Return the text of a plain UTF-8 file of bounded size."""
    data = read_bytes(path, max_bytes)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        raise ProblemError(f"{path} is not UTF-8 text (byte {cause.start}); problem files are text only") from cause


def read_bytes(path: Path, max_bytes: int = MAX_BYTES, kind: str = "problem files") -> bytes:
    """Return the content of a plain file of bounded size."""
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            raise ProblemError(f"{path} is not a plain file")
        if info.st_size > max_bytes:
            raise ProblemError(
                f"{path} has {info.st_size:,} bytes; {kind} may have {max_bytes:,}."
                + (" Build larger problems with MDP.from_arrays" if kind == "problem files" else "")
            )
        with path.open("rb") as file:
            return file.read(max_bytes + 1)
    except FileNotFoundError as cause:
        raise ProblemError(f"there is no file {path}") from cause
    except OSError as cause:
        raise ProblemError(f"cannot read {path}: {cause.strerror or cause}") from cause
    except ValueError as cause:  # a name that no file can have
        raise ProblemError(f"cannot read {str(path)!r}: {cause}") from cause


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as cause:
        raise ProblemError(f"a name holds a character that is not valid text: {cause.object[cause.start]!r}") from cause
    write_bytes(path, data)


def write_bytes(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write a file whole or not at all: to a temporary file beside it, which then replaces it atomically.

    Nothing is ever written through a link: one at `path` is itself replaced.
    """
    try:
        mode = _mode(path)
        handle, name = tempfile.mkstemp(prefix=".surepath-", suffix=PARTIAL_ENDING, dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines([data] if isinstance(data, bytes) else data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, mode)
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as cause:
        raise FileError(f"cannot write {path}: {cause.strerror or cause}") from cause


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, where they are missing."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise FileError(f"cannot make the folder {path}: {cause.strerror or cause}") from cause


def _mode(path: Path) -> int:
    """Return the permissions of the plain file to replace, else those of any new file; refuse devices and the like."""
    try:
        found = path.lstat().st_mode
    except FileNotFoundError:
        return 0o666 & ~_umask()
    if stat.S_ISREG(found):
        return stat.S_IMODE(found)
    if stat.S_ISLNK(found):
        return 0o666 & ~_umask()
    raise OSError("it is not a plain file")


def _umask() -> int:
    """Return the process's file mode mask; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
