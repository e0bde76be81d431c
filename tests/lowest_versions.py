"""The quick part of the suite with the lowest versions that pyproject.toml allows, the oldest Numba among them.

The newest Numba needs no job of its own: requirements/dev.txt, with which everything else runs, pins the newest there
is (0.68.1 when this was written; `make lock` moves it).

The lowest versions are those of the lowest Python: wheels of 2024 do not exist for later ones.
"""

from __future__ import annotations

import os
import subprocess
import sys

from tests.throwaway import ROOT, environment

PYTHON = (3, 11)
PLACE = ROOT / ".venv" / "lowest"
# Imports and the command line, ways into the model, figures, the cache of kernels, which is built on classes that Numba
# keeps to itself, and two learners step by step and in whole runs.
QUICK = (
    "tests/model",
    "tests/kernels/test_kernel_cache.py",
    "tests/plots",
    "tests/cli/test_model_commands.py",
    "tests/study/test_study.py",
    "tests/test_lowest.py",
)


def main() -> None:
    if sys.version_info[:2] != PYTHON:
        words = f"the lowest versions are pinned for Python {PYTHON[0]}.{PYTHON[1]}; this is {sys.version.split()[0]}"
        if os.environ.get("SUREPATH_STRICT") == "1":
            sys.exit(f"{words}; nothing may be skipped under SUREPATH_STRICT=1: make PYTHON=python3.11")
        print(f"skipped: {words}")
        return
    pins = (ROOT / "requirements" / "lowest.txt").read_text(encoding="utf-8")
    python = str(environment(PLACE, pins))
    clean = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    # Old releases warn of what their own dependencies have renamed since.
    command = [python, "-m", "pytest", "-n", str(os.cpu_count() or 1), "-W", "ignore", *QUICK]
    sys.exit(subprocess.run(command, env=clean, cwd=ROOT, check=False).returncode)


if __name__ == "__main__":
    main()
