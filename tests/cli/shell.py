"""A command in a process of its own, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import surepath

SOURCE = Path(surepath.__file__).parents[1]


def shell(
    *arguments: str, folder: Path, way_in: tuple[str, ...] = ("-m", "surepath"), **more: object
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    environment.pop("PYTHONSAFEPATH", None)
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [sys.executable, *way_in, *arguments],
        cwd=folder,
        env=environment,
        text=True,
        check=False,
        **{"capture_output": True, **more},
    )
