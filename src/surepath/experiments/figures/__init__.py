"""The paper's figures, one file each with its experiment, its panels and its claims.

`FIGURES` lists them in the order of the report. Every file has TITLE, READING (how to read the picture),
make(options) that plays the experiment and judges the claims, and panels(frames) with the numbers to draw.
"""

from surepath.experiments.figures import bounds, cases, cover, hard, ratios, tree
from surepath.experiments.figures.common import PRESETS, Claim, Found, Options

FIGURES = {
    "figure-cases": cases,
    "figure-ratios": ratios,
    "figure-hard": hard,
    "figure-cover": cover,
    "figure-tree": tree,
    "figure-bounds": bounds,
}

__all__ = ["FIGURES", "PRESETS", "Claim", "Found", "Options"]
