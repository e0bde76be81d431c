"""Programs that the command lines of documents call: surepath of this checkout, and a pip that only checks.

Run as a file, so it imports nothing of the tests.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path


def pip(arguments: list[str]) -> None:
    """Check a pip install without a network: it installs this project, with extras that exist."""
    verb, what = arguments
    found = re.fullmatch(r"(?:surepath|\.)(?:\[([\w,]+)\])?", what)
    if verb != "install" or found is None:
        sys.exit(f"pip {arguments} installs something else than this project")
    file = Path(__file__).resolve().parent.parent / "pyproject.toml"
    extras = tomllib.loads(file.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    if missing := {*(found[1] or "all").split(",")} - {*extras}:
        sys.exit(f"pip {arguments}: no extra {missing}")


def surepath(arguments: list[str]) -> None:
    """Run the command; one that serves is interrupted once it has said where."""
    command = [sys.executable, "-m", "surepath", *arguments]
    if not {"serve", "--serve"} & {*arguments}:
        os.execv(sys.executable, command)
    serving = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
    assert serving.stdout is not None
    if not any("http://127.0.0.1:" in line for line in serving.stdout):
        sys.exit(serving.wait() or 1)
    serving.send_signal(signal.SIGINT)
    sys.exit(serving.wait(timeout=60) not in (0, 130))


if __name__ == "__main__":
    {"pip": pip, "surepath": surepath}[sys.argv[1]](sys.argv[2:])
