"""Renew the pictures of the page that the documentation shows: `python -m tests.web.pictures`.

It plays the demo with its first seed, serves the study that this leaves behind, and points at an option that was ruled
out, in light and in dark.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import ViewportSize, sync_playwright

from tests.cli.shell import shell
from tests.web.conftest import ARGUMENTS
from tests.web.site import WRITE, served

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SIZE = ViewportSize(width=1280, height=1010)
POINT = """() => {
  const middle = (arc) => arc.getPointAtLength(arc.getTotalLength() / 2);
  const out = [...document.querySelectorAll('.graph path.out')];
  (out.find((arc) => middle(arc).x > 250 && middle(arc).x < 560) ?? out[0]).focus();
}"""


def main() -> None:
    """Write page-light.png and page-dark.png."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "demo.db"
        shell("demo", "--fast", "--json", "--study", str(file), folder=Path(folder)).check_returncode()
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(ARGUMENTS))
        with served(f"sqlite:///{file}") as site:
            schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
            for scheme in schemes:
                page = browser.new_context(viewport=SIZE, color_scheme=scheme, reduced_motion="reduce").new_page()
                page.goto(f"{site.url}/#{urlencode({'token': WRITE})}")
                page.wait_for_selector(".gap path.line", state="attached")
                page.wait_for_timeout(2_000)
                page.evaluate(POINT)
                picture = Image.open(io.BytesIO(page.screenshot()))
                picture.convert("RGB").quantize(256).save(IMAGES / f"page-{scheme}.png", optimize=True)
            browser.close()


if __name__ == "__main__":
    main()
