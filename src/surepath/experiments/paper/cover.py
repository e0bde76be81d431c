"""figure-cover: why max-coverage may walk through arcs that are already ruled out."""

from __future__ import annotations

import numpy as np

from surepath import theory
from surepath.experiments.paper.common import Claim, Found, Options
from surepath.model import families

TITLE = "Covers with and without the eliminated shortcut"
READING = (
    "How many paths it takes to visit every arc but the shortcut, as minimum flows with their proving cuts. With the "
    "shortcut still open, m + 1; with it closed, 2 m: closing ruled-out arcs can double the cost of coverage."
)
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)


def make(options: Options) -> Found:
    """Exact minimum flows; nothing is simulated, so both presets agree."""
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
            {
                "m": m,
                "open": int(free.value),
                "closed": int(closed.value),
                "cover": len(theory.policy_cover(mdp, arcs)),
            }
        )
    data = pl.DataFrame(rows)
    exact = bool((data["open"] == data["m"] + 1).all() and (data["cover"] == data["m"] + 1).all())
    claims = [
        Claim(
            "with the shortcut open, a minimum cover of all other arcs has m + 1 paths",
            f"flows and covers for m = {SIZES[0]} to {SIZES[-1]}: {data['open'].to_list()}",
            exact,
        ),
        Claim(
            "with the shortcut closed it takes 2 m",
            f"{data['closed'].to_list()}",
            bool((data["closed"] == 2 * data["m"]).all()),
        ),
    ]
    return Found({"covers": data}, claims, {"family": "cover_gap", "m": list(SIZES)})
