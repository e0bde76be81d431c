"""The gallery shows every picture that there is, as the code draws it now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.gallery import IMAGES, SCREENS, demo, drawn

pytest.importorskip("polars")
pytest.importorskip("matplotlib")


def test_the_gallery_shows_what_is_drawn(tmp_path: Path) -> None:
    Image = pytest.importorskip("PIL.Image")
    figures = drawn(demo(tmp_path), tmp_path / "small")
    shown = re.findall(r"\(images/(.+)\.png\)", (IMAGES.parent / "gallery.md").read_text(encoding="utf-8"))
    assert set(shown) == {file.stem for file in IMAGES.iterdir()} == {*figures, *SCREENS}
    sizes = {name: (width, height) for name, (_, width, height, _) in SCREENS.items()}
    for name, figure in figures.items():
        assert figure.get_figwidth() == 3.3  # one column of a paper
        sizes[name] = int(200 * figure.get_figwidth()), int(200 * figure.get_figheight())
    assert {name: Image.open(IMAGES / f"{name}.png").size for name in shown} == sizes  # else: python -m tests.gallery
    assert sum(file.stat().st_size for file in IMAGES.iterdir()) < 1_000_000
