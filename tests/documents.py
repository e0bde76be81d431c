"""The documents as data: their fenced blocks, and a shell in which their command lines run.

A block may be marked by a remark that readers do not see: `<!-- saved as NAME -->` puts it into a file of that name
before the document's commands run, `<!-- not run: REASON -->` leaves it out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from surepath.kernels.jit import cache_folder, source_key
from tests.cli.shell import SOURCE
from tests.document_programs import HOST

STAND_INS = Path(__file__).with_name("document_programs.py")
ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
POSTGRES = "postgresql://user:password@host/database"  # what guides write; a real server takes its place
CACHE = str(cache_folder(source_key()).parents[1])
_BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>not run: |saved as )(?P<what>.+?) -->\n)?"
    r"(?P<fence>```+)(?P<language>\S*)\n(?P<body>.*?)^(?P=fence)$",
    re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    """A fenced block: its document, its language, its text, and how it is marked."""

    document: str
    language: str
    body: str
    not_run: str | None
    saved_as: str | None


def blocks() -> list[Block]:
    """All fenced blocks of the README and the guides."""
    found = []
    for file in DOCUMENTS:
        if "_build" in file.parts:
            continue
        for match in _BLOCK.finditer(file.read_text(encoding="utf-8")):
            mark, what = match["mark"] or "", match["what"]
            name = file.relative_to(ROOT).as_posix()
            not_run, saved_as = (what if mark.startswith(word) else None for word in ("not run", "saved as"))
            found.append(Block(name, match["language"], match["body"], not_run, saved_as))
    return found


def script(document: str) -> str:
    """The commands of a document as one script: its sh blocks, and what follows a $ in its console blocks."""
    lines = []
    for block in blocks():
        if block.document == document and block.not_run is None:
            if block.language == "sh":
                lines.append(block.body)
            if block.language == "console":
                lines += [line[2:] for line in block.body.splitlines() if line.startswith("$ ")]
    return "\n".join(lines)


def shown_output(document: str) -> list[str]:
    """Return the lines of output that console blocks show; `...` matches anything."""
    every = [block for block in blocks() if block.document == document and block.language == "console"]
    lines = [line.strip() for block in every if block.not_run is None for line in block.body.splitlines()]
    return [line for line in lines if line and not line.startswith("$ ")]


@contextmanager
def host(folder: Path) -> Iterator[Path]:
    """Run the process that forks commands; yields its socket."""
    place = folder / "host"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "SUREPATH_CACHE_DIR": CACHE}
    process = subprocess.Popen([sys.executable, str(STAND_INS), "host", str(place)], env=environment)
    try:
        while not place.exists():
            assert process.poll() is None
            time.sleep(0.05)
        yield place
    finally:
        process.kill()
        process.wait()


def run(
    commands: str, folder: Path, postgres: str = POSTGRES, place: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script with its own home directory, in which surepath is this checkout; it stops at the first failure.

    Args:
        commands: The script.
        folder: Where its files go.
        postgres: The address of a database, in place of the one that guides write.
        place: The socket of a `host` that runs the commands; each starts a Python of its own without one.
    """
    for name in ("home", "bin"):
        (folder / name).mkdir()
    _programs(folder / "bin")
    environment = {
        "HOME": str(folder / "home"),
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(SOURCE),
        "SUREPATH_CACHE_DIR": CACHE,  # what is compiled already need not be compiled again
        "COLUMNS": "120",
        "LANG": "C.UTF-8",
    }
    environment |= {} if place is None else {HOST: str(place)}
    work = folder / "work"
    work.mkdir(exist_ok=True)
    text = "set -eu\n" + commands.replace(POSTGRES, postgres)
    return subprocess.run(["sh", "-c", text], cwd=work, env=environment, capture_output=True, text=True, check=False)


def _programs(folder: Path) -> None:
    """Put programs on the path: surepath and python of this checkout, and stand-ins for pip and make."""
    texts = {
        "surepath": f'exec "{sys.executable}" -I -S "{STAND_INS}" surepath "$@"',
        "python": f'exec "{sys.executable}" "$@"',
        "python3": f'exec "{sys.executable}" "$@"',
        "pip": f'exec "{sys.executable}" "{STAND_INS}" pip "$@"',
        # That the target exists is all that is checked: make demo and make test are run for themselves.
        "make": f'PATH=/usr/bin:/bin exec make -C "{ROOT}" --dry-run "$@" >/dev/null',
    }
    for name, text in texts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
