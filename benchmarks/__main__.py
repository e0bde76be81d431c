"""`python -m benchmarks [name ...]`: run every benchmarks/bench_<name>.py, or those named, and keep the figures.

Each run is kept as JSON in benchmarks/results/, beside a page with the newest figures of every benchmark.
"""

from __future__ import annotations

import importlib
import platform
import sys
from pathlib import Path

from benchmarks import page, record
from surepath import __version__
from surepath._checks import suggest

RESULTS = Path(__file__).parent / "results"


def names() -> list[str]:
    """List the benchmarks."""
    return sorted(file.stem.removeprefix("bench_") for file in Path(__file__).parent.glob("bench_*.py"))


def main(chosen: list[str], results: Path = RESULTS) -> None:
    """Run the chosen benchmarks, all of them by default; what was measured is kept even if a later one fails."""
    there = names()
    for name in chosen:
        if name not in there:
            sys.exit(f"no benchmark is called {name!r}{suggest(name, there)}")
    print(f"surepath {__version__}, Python {platform.python_version()}, {platform.machine()}")
    parts: list[record.Part] = []
    try:
        for name in chosen or there:
            module = importlib.import_module(f"benchmarks.bench_{name}")
            about = (module.__doc__ or "").strip().splitlines()[0]
            print(f"\n== {name}: {about}", flush=True)
            with record.part(name, about) as part:
                module.main()
            parts.append(part)
    finally:
        if parts:
            record.save(parts, results)
            print(f"\nkept; the page is {page.write(record.load_all(results), results)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
