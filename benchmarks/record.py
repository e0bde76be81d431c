"""Figures of a benchmark as data: `record` notes one, `part` collects those of a benchmark while it runs."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from surepath import __version__


@dataclass
class Figure:
    """One number with its name, its unit ("x" for a ratio) and what it should reach, in words."""

    name: str
    value: float
    unit: str = ""
    target: str = ""


@dataclass
class Part:
    """What one benchmark measured, when and where."""

    name: str
    begun: str
    load: float  # processes that wanted to run when it began; above the number of cores, times are too long
    machine: str
    seconds: float = 0.0
    figures: list[Figure] = field(default_factory=list)


_current: list[Part] = []


def record(name: str, value: float, unit: str = "", target: str = "") -> None:
    """Record a figure of the benchmark that runs now; does nothing when a benchmark is run by itself."""
    if _current:
        _current[-1].figures.append(Figure(name, float(value), unit, target))


@contextlib.contextmanager
def part(name: str) -> Iterator[Part]:
    """Collect what a benchmark records while it runs."""
    found = Part(name, datetime.now(UTC).isoformat(timespec="seconds"), os.getloadavg()[0], machine())
    _current.append(found)
    started = time.monotonic()
    try:
        yield found
    finally:
        _current.pop()
        found.seconds = time.monotonic() - started


def machine() -> str:
    """Describe this machine without naming it: processor, cores, memory, system, versions."""
    import numba
    import numpy

    processor = _line("/proc/cpuinfo", "model name") or platform.processor() or platform.machine()
    kibibytes = _line("/proc/meminfo", "MemTotal").split()
    memory = f", {int(kibibytes[0]) / 2**20:.0f} GiB" if kibibytes else ""
    versions = f"Numba {numba.__version__}, NumPy {numpy.__version__}, surepath {__version__}"
    return (
        f"{processor}, {os.cpu_count()} cores{memory}; {platform.system()}; "
        f"Python {platform.python_version()}, {versions}"
    )


def _line(file: str, key: str) -> str:
    """Read the value of a key in one of Linux' tables; empty elsewhere."""
    with contextlib.suppress(OSError):
        for line in Path(file).read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(key):
                return line.partition(":")[2].strip()
    return ""
