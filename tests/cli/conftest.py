"""A folder in which study commands run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.studies import problem


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with a problem file, in which commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SUREPATH_STORAGE", raising=False)
    problem(tmp_path)
    return tmp_path
