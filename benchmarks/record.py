"""Figures of a benchmark as data: `record` notes one, and a run keeps them with what was printed, as JSON."""

from __future__ import annotations

import contextlib
import io
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from surepath import __version__

FORMAT = 1


@dataclass
class Figure:
    """One number with its name, its unit ("x" for a ratio) and what it should reach, in words."""

    name: str
    value: float
    unit: str = ""
    target: str = ""


@dataclass
class Part:
    """What one benchmark measured and printed."""

    name: str
    about: str
    command: str
    begun: str
    load: float  # processes that wanted to run when it began; above the number of cores, times are too long
    seconds: float = 0.0
    figures: list[Figure] = field(default_factory=list)
    printed: str = ""


_current: list[Part] = []


def record(name: str, value: float, unit: str = "", target: str = "") -> None:
    """Record a figure of the benchmark that runs now; outside of a kept run it does nothing."""
    if _current:
        _current[-1].figures.append(Figure(name, float(value), unit, target))


@contextlib.contextmanager
def part(name: str, about: str) -> Iterator[Part]:
    """Keep what a benchmark records and prints while it runs; it still prints where it did."""
    begun = datetime.now(UTC).isoformat(timespec="seconds")
    found = Part(name, about, f"python -m benchmarks {name}", begun, os.getloadavg()[0])
    _current.append(found)
    copy, started = _Copy(sys.stdout), time.monotonic()
    try:
        with contextlib.redirect_stdout(copy):
            yield found
    finally:
        _current.pop()
        found.seconds = time.monotonic() - started
        found.printed = copy.kept.getvalue()


class _Copy(io.TextIOBase):
    """A stream that passes everything on and keeps it."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.kept = stream, io.StringIO()

    def write(self, text: str) -> int:
        self.kept.write(text)
        return int(self.stream.write(text))

    def flush(self) -> None:
        self.stream.flush()


def machine() -> dict[str, Any]:
    """Describe this machine without naming it: processor, cores, memory, system, versions."""
    import numba
    import numpy

    return {
        "processor": _line("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "memory": _memory(),
        "system": platform.system(),
        "python": platform.python_version(),
        "numba": numba.__version__,
        "numpy": numpy.__version__,
        "surepath": __version__,
    }


def _memory() -> str:
    words = _line("/proc/meminfo", "MemTotal").split()
    return f"{int(words[0]) / 2**20:.0f} GiB" if words else "memory unknown"


def _line(file: str, key: str) -> str:
    """Read the value of a key in one of Linux' tables; empty elsewhere."""
    with contextlib.suppress(OSError):
        for line in Path(file).read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(key):
                return line.partition(":")[2].strip()
    return ""


def save(parts: list[Part], folder: Path) -> Path:
    """Write a run as JSON, named by its date."""
    folder.mkdir(parents=True, exist_ok=True)
    now = datetime.now(UTC)
    content = {"format": FORMAT, "date": now.isoformat(timespec="seconds"), "machine": machine()}
    content["parts"] = [asdict(one) for one in parts]
    file = folder / f"{now:%Y-%m-%dT%H%M%S}.json"
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return file


def load_all(folder: Path) -> list[dict[str, Any]]:
    """Read the kept runs, oldest first; files that are none are left out."""
    found = []
    for file in sorted(folder.glob("*.json")):
        with contextlib.suppress(OSError, ValueError):
            content = json.loads(file.read_text(encoding="utf-8"))
            if isinstance(content, dict) and content.get("format") == FORMAT:
                found.append(content)
    return found
