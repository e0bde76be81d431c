"""Every example runs from a shell and says something."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parent.parent / "examples").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_an_example_runs(file: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(file)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=300)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip()
