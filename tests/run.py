"""Run what `make test` runs after lint and types or, with --all, what `make check-all` adds to it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIMES: list[tuple[str, float]] = []


def step(title: str, arguments: list[str], **environment: str) -> None:
    """Run one part and stop at the first failure."""
    print(f"== {title}", flush=True)
    begun = time.monotonic()
    code = subprocess.run(arguments, env={**os.environ, **environment}, check=False, cwd=ROOT).returncode
    if code:
        sys.exit(code)
    TIMES.append((title, time.monotonic() - begun))
    print(f"   {TIMES[-1][1]:.0f} s", flush=True)


def main() -> None:
    python = [sys.executable, "-m"]
    # What shares a browser, a server or a host of commands runs in one worker (the marker xdist_group).
    pytest = [*python, "pytest", "-n", str(os.cpu_count() or 1), "--dist", "loadgroup"]
    if "--all" in sys.argv:
        step("rare tests", [*pytest, "-m", "rare", "tests"])
        step("suite without the compiler", [*pytest, "-m", "pure", "tests"], NUMBA_DISABLE_JIT="1")
        step("install without extras", [*python, "tests.bare_install"])
        step("lowest versions", [*python, "tests.lowest_versions"])
        step("beside DSPy and MLflow", [*python, "tests.beside_dspy"])
    else:
        with tempfile.TemporaryDirectory() as pages:
            # Read everything anew (-E), so that a warning shows every time and not only once.
            step("documents", [*python, "sphinx", "-W", "--keep-going", "-E", "-q", "-b", "html", "docs", pages])
        step("compile the kernels, once", [*python, "tests.warm"])
        step("suite", [*pytest, "-m", "not rare", "tests"])
        step("examples in docstrings", [*pytest, "--doctest-modules", "src/surepath"])
    print("== times")
    for title, seconds in [*TIMES, ("all", sum(seconds for _, seconds in TIMES))]:
        print(f"   {seconds:5.0f} s  {title}")


if __name__ == "__main__":
    main()
