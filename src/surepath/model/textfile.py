"""Text files in and out: refused by size before they are read, replaced whole when they are written."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from surepath.errors import ProblemError

# A problem of a million edges fits; larger ones are better built from arrays.
MAX_BYTES = 64 * 2**20


def read_text(path: Path, max_bytes: int = MAX_BYTES) -> str:
    """The text of a plain UTF-8 file of bounded size."""
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            raise ProblemError(f"{path} is not a plain file")
        if info.st_size > max_bytes:
            raise ProblemError(
                f"{path} has {info.st_size:,} bytes; problem files may have {max_bytes:,}. "
                f"Build larger problems with MDP.from_arrays"
            )
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except FileNotFoundError as cause:
        raise ProblemError(f"there is no file {path}") from cause
    except OSError as cause:
        raise ProblemError(f"cannot read {path}: {cause.strerror or cause}") from cause
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        raise ProblemError(f"{path} is not UTF-8 text (byte {cause.start}); problem files are text only") from cause


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all: to a neighbour first, then over the old one in one step."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as cause:
        raise ProblemError(f"a name holds a character that is not valid text: {cause.object[cause.start]!r}") from cause
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask()
            os.chmod(name, mode)
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
            raise
    except OSError as cause:
        raise ProblemError(f"cannot write {path}: {cause.strerror or cause}") from cause


def _umask() -> int:
    """The process's file mode mask; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
