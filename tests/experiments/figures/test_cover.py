"""figure-cover: covers are exact."""

from __future__ import annotations

from pathlib import Path

import pytest

from surepath.experiments.figures import cover
from surepath.experiments.figures.common import Options

pytest.importorskip("polars")


def test_covers_are_exact(tmp_path: Path) -> None:
    found = cover.make(Options(folder=tmp_path))
    assert all(claim.holds for claim in found.claims)
    assert found.frames["covers"].columns == ["m", "open", "closed", "cover"]
