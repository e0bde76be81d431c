"""figure-3: why max-coverage may walk through arcs that are already ruled out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surepath import theory
from surepath.experiments.drawing import Panel, Series
from surepath.experiments.figures.common import Claim, Found, Frames, Options
from surepath.model import families

if TYPE_CHECKING:
    import polars

TITLE = "Figure 3: covers with and without the eliminated shortcut"
READING = (
    "How many paths it takes to visit every arc but the shortcut, as minimum flows with their proving cuts. With the "
    "shortcut still open, m + 1; with it closed, 2 m: closing ruled-out arcs can double the cost of coverage."
)
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)


def make(options: Options) -> Found:
    """Compute exact minimum flows; nothing is simulated, so both presets agree."""
    import polars as pl

    rows = []
    for m in SIZES:
        mdp = families.cover_gap(m).mdp
        shortcut = mdp.arc(1, "first hub", "shortcut")
        demand = np.ones(mdp.n_arcs)
        demand[shortcut] = 0
        capacity = np.full(mdp.n_arcs, np.inf)
        free = theory.minimum_flow(mdp, demand, integer=True)
        capacity[shortcut] = 0
        closed = theory.minimum_flow(mdp, demand, capacity, integer=True)
        arcs = [e for e in range(mdp.n_arcs) if e != shortcut]
        rows.append(
            {"m": m, "open": int(free.value), "closed": int(closed.value), "cover": len(theory.policy_cover(mdp, arcs))}
        )
    covers = pl.DataFrame(rows)
    return Found({"covers": covers}, claims(covers), {"family": "cover_gap", "m": list(SIZES)})


def panels(frames: Frames) -> list[Panel]:
    """Return the sizes of covers over m."""
    data = frames["covers"]
    m = [float(value) for value in data["m"].to_list()]
    series = [
        Series("shortcut closed: 2 m", m, [float(value) for value in data["closed"].to_list()]),
        Series("shortcut open: m + 1", m, [float(value) for value in data["open"].to_list()]),
    ]
    return [Panel("paths that cover all arcs but the shortcut", "m", "paths", series, x_log=False, y_log=False)]


def claims(covers: polars.DataFrame) -> list[Claim]:
    """Judge the two sizes that the paper gives."""
    exact = bool((covers["open"] == covers["m"] + 1).all() and (covers["cover"] == covers["m"] + 1).all())
    return [
        Claim(
            "with the shortcut open, a minimum cover of all other arcs has m + 1 paths",
            f"flows and covers for m = {SIZES[0]} to {SIZES[-1]}: {covers['open'].to_list()}",
            exact,
        ),
        Claim(
            "with the shortcut closed it takes 2 m",
            f"{covers['closed'].to_list()}",
            bool((covers["closed"] == 2 * covers["m"]).all()),
        ),
    ]
