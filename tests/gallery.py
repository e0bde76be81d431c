"""The pictures of the documents: `python -m tests.gallery` draws them all anew into docs/images.

Plots are of the demo with its first seed and of a small experiment; screenshots are of tests/web/site.py's.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from surepath import Study, plots
from surepath.experiments.drawing import picture_bytes
from surepath.experiments.runner import run
from surepath.experiments.spec import Spec
from surepath.experiments.stats import epsilon_column
from tests.cli.shell import shell
from tests.experiments.specs import MAX_DIAMETER

IMAGES = Path(__file__).parents[1] / "docs" / "images"
# Each screenshot: the study, its size, light or dark.
SCREENS: dict[str, tuple[str, int, int, str]] = {
    "page-light": ("support tickets", 1280, 1010, "light"),
    "page-dark": ("support tickets", 1280, 1010, "dark"),
    "page-many-steps": ("fifty steps", 768, 1010, "light"),
    "page-rounds": ("rounds", 390, 1010, "dark"),
}
POINT = """() => {
  const middle = (arc) => arc.getPointAtLength(arc.getTotalLength() / 2);
  const out = [...document.querySelectorAll('.graph path.out')];
  (out.find((arc) => middle(arc).x > 250 && middle(arc).x < 560) ?? out[0])?.focus();
}"""


def demo(folder: Path) -> Study:
    """Play the demo with its first seed."""
    file = folder / "demo.db"
    shell("demo", "--fast", "--json", "--study", str(file), folder=folder).check_returncode()
    return Study.load(f"sqlite:///{file}")


def drawn(study: Study, folder: Path) -> dict[str, Any]:
    """Return the plots as figures of matplotlib."""
    instances = ["chain-v1/n3k2/seed7", {"family": "paper_random", "seeds": [4, 5], "sigma": 0.5}]
    learners = [MAX_DIAMETER, {"name": "BPIUCRL", "label": "BPI-UCRL"}, {"name": "Challenger"}]
    few = {"runs": 10, "deltas": [0.1], "epsilons_per_gap": [1.5, 3, 5, 8]}
    run(Spec.from_dict({"name": "small", "instances": instances, "learners": learners, **few}), folder, workers=1)
    rows, learner = plots.rows_of(folder), study.learner
    column = epsilon_column(rows)
    return {
        "plot-graph": plots.draw_graph(study.mdp, study.best_path, learner.visits, learner.active),
        "plot-gap": plots.draw_gap(plots.gap_data(study)),
        "plot-intervals": plots.draw_intervals(plots.intervals_data(study, 3)),
        "plot-challengers": plots.draw_challengers(plots.challengers_data(study)),
        "plot-cost": plots.draw_cost(plots.cost_data(rows, "chain-v1/n3k2/seed7"), column),
        "plot-compare": plots.draw_comparison(plots.comparison_data(rows, "BPI-UCRL"), column),
    }


def photographed(place: str) -> dict[str, bytes]:
    """Return the screenshots."""
    from playwright.sync_api import sync_playwright

    from tests.web.conftest import ARGUMENTS
    from tests.web.site import WRITE, fifty_steps, rounds, served

    fifty_steps(place)
    rounds(place)
    found = {}
    with sync_playwright() as playwright, served(place) as site:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(ARGUMENTS))
        for name, (study, width, height, scheme) in SCREENS.items():
            looks: Any = {"viewport": {"width": width, "height": height}, "color_scheme": scheme}
            page = browser.new_context(**looks, reduced_motion="reduce").new_page()
            page.goto(f"{site.url}/#{urlencode({'token': WRITE, 'study': study})}")
            page.wait_for_selector(".gap path.line", state="attached")
            page.wait_for_timeout(2_000)
            if study == "support tickets":
                page.evaluate(POINT)
            found[name] = page.screenshot()
        browser.close()
    return found


def main() -> None:
    """Write all pictures."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        study = demo(Path(folder))
        pictures = {name: picture_bytes(figure) for name, figure in drawn(study, Path(folder) / "small").items()}
        for name, content in {**pictures, **photographed(study.storage.url)}.items():
            small = Image.open(io.BytesIO(content)).convert("RGB").quantize(64 if name in pictures else 256)
            small.save(IMAGES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
