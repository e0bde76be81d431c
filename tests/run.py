"""What `make test` runs after lint and types: the suite, the suite without the compiler, the bare install."""

from __future__ import annotations

import os
import subprocess
import sys


def step(title: str, arguments: list[str], **environment: str) -> None:
    """Run one part and stop at the first failure."""
    print(f"== {title}", flush=True)
    code = subprocess.run(arguments, env={**os.environ, **environment}, check=False).returncode
    if code:
        sys.exit(code)


def main() -> None:
    workers = str(os.cpu_count() or 1)
    pytest = [sys.executable, "-m", "pytest"]
    step("suite", [*pytest, "-n", workers, "tests"])
    step("suite without the compiler", [*pytest, "-n", workers, "-m", "pure", "tests"], NUMBA_DISABLE_JIT="1")


if __name__ == "__main__":
    main()
