"""docs/studies.md: every command in it runs, in the order in which it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from surepath import Study
from tests.cli.shell import SOURCE

ROOT = Path(__file__).resolve().parents[2]


def commands(name: str) -> str:
    """All sh blocks of a document as one script."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE))


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in which surepath is this checkout; it stops at the first command that fails."""
    way_in = f'set -eu\nsurepath() {{ "{sys.executable}" -m surepath "$@"; }}\n'
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    environment.pop("SUREPATH_STORAGE", None)
    return subprocess.run(
        ["sh", "-c", way_in + script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["docs/studies.md", "README.md"])
def test_every_command_of_the_document_runs(name: str, tmp_path: Path) -> None:
    script = commands(name)
    assert script.count("surepath study ") >= 3
    done = run(script, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    if name == "docs/studies.md":
        assert "filled.csv: 6 recorded; 2 without scores, left as they are (trials 7, 8)\n" in done.stdout
        assert "filled.csv: 6 recorded before, nothing changed" in done.stdout
        assert "yes: the certificate holds" in done.stdout
        assert "imported 2 trials from past.csv" in done.stdout
        assert Study.load(str(tmp_path / "copy.db")).status().states["complete"] > 7


def test_the_test_sees_a_command_that_fails(tmp_path: Path) -> None:
    assert run("surepath study status\necho on", tmp_path).returncode == 3


def test_the_table_has_every_state() -> None:
    from surepath.study.states import STATES

    text = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^\| (\w+) \| .* \| .* \|$", text, re.MULTILINE)[1:]) == STATES
