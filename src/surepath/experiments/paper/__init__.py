"""The paper's experiments in our own words, one file per figure; `FIGURES` lists them in the order of the report."""

from surepath.experiments.paper import bounds, cases, cover, hard, ratios, tree
from surepath.experiments.paper.common import PRESETS, Claim, Found, Options

FIGURES = {
    "figure-cases": cases,
    "figure-ratios": ratios,
    "figure-hard": hard,
    "figure-cover": cover,
    "figure-tree": tree,
    "figure-bounds": bounds,
}

__all__ = ["FIGURES", "PRESETS", "Claim", "Found", "Options"]
