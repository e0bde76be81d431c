"""Commands as a shell runs them: in this process by default, or in a process of its own."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import surepath
from surepath.cli import main

SOURCE = Path(surepath.__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCE)}
ENVIRONMENT.pop("PYTHONSAFEPATH", None)


def shell(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the program here, with its errors as lines and exit codes: starting one takes seconds."""
    out, err, before = io.StringIO(), io.StringIO(), signal.getsignal(signal.SIGTERM)
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        patch.object(sys, "argv", ["surepath", *arguments]),
    ):
        try:
            code = main._code()
        finally:
            signal.signal(signal.SIGTERM, before)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def process(
    *arguments: str, folder: Path, way_in: tuple[str, ...] = ("-m", "surepath"), **more: object
) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own."""
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [sys.executable, *way_in, *arguments],
        cwd=folder,
        text=True,
        check=False,
        **{"capture_output": True, "env": ENVIRONMENT, **more},
    )


def begin(*arguments: str, folder: Path, **more: object) -> subprocess.Popen[str]:
    """Start the program in a process of its own, with its errors piped."""
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "surepath", *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        text=True,
        **{"stderr": subprocess.PIPE, **more},
    )
