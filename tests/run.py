"""What `make test` runs after lint and types: the suite, the suite without the compiler, the bare install."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def step(title: str, arguments: list[str], **environment: str) -> None:
    """Run one part and stop at the first failure."""
    print(f"== {title}", flush=True)
    begun = time.monotonic()
    code = subprocess.run(arguments, env={**os.environ, **environment}, check=False, cwd=ROOT).returncode
    if code:
        sys.exit(code)
    print(f"   {time.monotonic() - begun:.0f} s", flush=True)


def main() -> None:
    pytest = [sys.executable, "-m", "pytest", "-n", str(os.cpu_count() or 1)]
    step("suite", [*pytest, "tests"])
    step("examples in docstrings", [*pytest, "--doctest-modules", "src/surepath"])
    step("suite without the compiler", [*pytest, "-m", "pure", "tests"], NUMBA_DISABLE_JIT="1")
    step("install without extras", [sys.executable, "tests/bare_install.py"])


if __name__ == "__main__":
    main()
