"""`python -m benchmarks [name ...] [--keep]`: run every benchmarks/bench_<name>.py, or those named.

With --keep their figures replace those in kept.json and in docs/benchmarks.md.
"""

from __future__ import annotations

import importlib
import platform
import sys
from pathlib import Path

from benchmarks import keep, record
from surepath import __version__
from surepath._checks import suggest


def names() -> list[str]:
    """List the benchmarks."""
    return sorted(file.stem.removeprefix("bench_") for file in Path(__file__).parent.glob("bench_*.py"))


def main(arguments: list[str]) -> None:
    """Run the chosen benchmarks, all of them by default; what was measured is kept even if a later one fails."""
    there, chosen = names(), [name for name in arguments if name != "--keep"]
    for name in chosen:
        if name not in there:
            sys.exit(f"no benchmark is called {name!r}{suggest(name, there)}")
    print(f"surepath {__version__}, Python {platform.python_version()}, {platform.machine()}")
    for name in chosen or there:
        module = importlib.import_module(f"benchmarks.bench_{name}")
        print(f"\n== {name}: {(module.__doc__ or '').strip().splitlines()[0]}", flush=True)
        with record.part(name) as part:
            module.main()
        if "--keep" in arguments:
            keep.update([part])


if __name__ == "__main__":
    main(sys.argv[1:])
