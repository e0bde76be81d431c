"""`python -m benchmarks [name ...]`: run every benchmarks/bench_<name>.py, or those named."""

from __future__ import annotations

import importlib
import platform
import sys
from pathlib import Path

from surepath import __version__
from surepath._checks import suggest


def names() -> list[str]:
    """Every benchmark that is there."""
    return sorted(file.stem.removeprefix("bench_") for file in Path(__file__).parent.glob("bench_*.py"))


def main(chosen: list[str]) -> None:
    """Run the chosen benchmarks, all of them by default."""
    there = names()
    for name in chosen:
        if name not in there:
            sys.exit(f"no benchmark is called {name!r}{suggest(name, there)}")
    print(f"surepath {__version__}, Python {platform.python_version()}, {platform.machine()}")
    for name in chosen or there:
        module = importlib.import_module(f"benchmarks.bench_{name}")
        print(f"\n== {name}: {(module.__doc__ or '').strip().splitlines()[0]}", flush=True)
        module.main()


if __name__ == "__main__":
    main(sys.argv[1:])
