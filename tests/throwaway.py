"""Virtual environments that tests make for themselves: kept under .venv, and made again when the pins change."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def environment(place: Path, pins: str) -> Path:
    """Return the Python of a virtual environment that holds exactly the pins, which carry hashes."""
    python = place / "bin" / "python"
    stamp = place / "pins"
    mark = hashlib.sha256((pins + sys.version).encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == mark:
        return python
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    listed = place / "requirements.txt"
    listed.write_text(pins, encoding="utf-8")
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    subprocess.run([*install, "--require-hashes", "-r", str(listed)], check=True)
    stamp.write_text(mark)
    return python
