"""What commands share: the --json option and one way to print its answer."""

from __future__ import annotations

import json
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


def print_json(data: Any) -> None:
    """Print one JSON object on standard output; NaN and infinity become null, which JSON can hold."""
    typer.echo(safe_json(json.dumps(_plain(data), indent=2, ensure_ascii=False, allow_nan=False)))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value
