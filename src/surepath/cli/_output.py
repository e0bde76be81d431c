"""What commands share: the --json option and one way to print its answer."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from surepath._text import safe_json

MOST_WORKERS = 1024

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def this_program() -> str:
    """Return how to call surepath from here: by its name where the shell finds it, else by its path."""
    if shutil.which("surepath") is not None:
        return "surepath"
    called = Path(sys.argv[0])
    if called.name != "surepath" or not called.is_file():
        return f"{sys.executable} -m surepath"
    path, here = called.absolute(), Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def colour(name: str) -> str | None:
    """Return a colour for a message, or None where the user wants none (NO_COLOR)."""
    return None if os.environ.get("NO_COLOR") else name


def print_json(data: Any) -> None:
    """Print one JSON object on standard output; NaN and infinity become null, which JSON can hold."""
    from surepath._numbers import plain

    typer.echo(safe_json(json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False)))
