"""Pictures of studies and experiments: for each a data function, pure and without matplotlib, and a drawing.

A drawing takes what the data function of its name returned and gives a matplotlib figure, one column (3.3 inches) wide;
`save` writes it. The names are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surepath.experiments.drawing import save as save
    from surepath.experiments.pictures import comparison_data as comparison_data
    from surepath.experiments.pictures import cost_data as cost_data
    from surepath.experiments.pictures import draw_comparison as draw_comparison
    from surepath.experiments.pictures import draw_cost as draw_cost
    from surepath.experiments.pictures import draw_stopping as draw_stopping
    from surepath.experiments.pictures import rows_of as rows_of
    from surepath.experiments.pictures import stopping_data as stopping_data
    from surepath.plots.graph import draw_graph as draw_graph
    from surepath.plots.graph import graph_layout as graph_layout
    from surepath.plots.report import write_report as write_report
    from surepath.plots.studies import challengers_data as challengers_data
    from surepath.plots.studies import draw_challengers as draw_challengers
    from surepath.plots.studies import draw_gap as draw_gap
    from surepath.plots.studies import draw_intervals as draw_intervals
    from surepath.plots.studies import draw_visits as draw_visits
    from surepath.plots.studies import gap_data as gap_data
    from surepath.plots.studies import intervals_data as intervals_data
    from surepath.plots.studies import known as known
    from surepath.plots.studies import visits_data as visits_data

_MODULES = {
    "surepath.plots.graph": ("draw_graph", "graph_layout"),
    "surepath.plots.report": ("write_report",),
    "surepath.plots.studies": (
        "challengers_data",
        "draw_challengers",
        "draw_gap",
        "draw_intervals",
        "draw_visits",
        "gap_data",
        "intervals_data",
        "known",
        "visits_data",
    ),
    "surepath.experiments.drawing": ("save",),
    "surepath.experiments.pictures": (
        "comparison_data",
        "cost_data",
        "draw_comparison",
        "draw_cost",
        "draw_stopping",
        "rows_of",
        "stopping_data",
    ),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'surepath.plots' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
