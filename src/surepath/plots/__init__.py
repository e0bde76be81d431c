"""Pictures of studies and experiments: for each a data function, pure and without matplotlib, and a drawing.

A drawing takes what the data function of its name returned and gives a matplotlib figure, one column (3.3 inches) wide;
`save` writes it. The names are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surepath.plots.challengers import challengers_data as challengers_data
    from surepath.plots.challengers import draw_challengers as draw_challengers
    from surepath.plots.column_figure import save as save
    from surepath.plots.comparison import comparison_data as comparison_data
    from surepath.plots.comparison import draw_comparison as draw_comparison
    from surepath.plots.cost import cost_data as cost_data
    from surepath.plots.cost import draw_cost as draw_cost
    from surepath.plots.evidence import known as known
    from surepath.plots.gap import draw_gap as draw_gap
    from surepath.plots.gap import gap_data as gap_data
    from surepath.plots.graph import draw_graph as draw_graph
    from surepath.plots.graph import graph_layout as graph_layout
    from surepath.plots.intervals import draw_intervals as draw_intervals
    from surepath.plots.intervals import intervals_data as intervals_data
    from surepath.plots.rows import rows_of as rows_of
    from surepath.plots.stopping import draw_stopping as draw_stopping
    from surepath.plots.stopping import stopping_data as stopping_data
    from surepath.plots.visits import draw_visits as draw_visits
    from surepath.plots.visits import visits_data as visits_data

_PAIRS = ("challengers", "comparison", "cost", "gap", "intervals", "stopping", "visits")
_MODULES = {f"{name}_data": name for name in _PAIRS} | {f"draw_{name}": name for name in _PAIRS}
_MODULES |= {
    "graph_layout": "graph",
    "draw_graph": "graph",
    "known": "evidence",
    "save": "column_figure",
    "rows_of": "rows",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'surepath.plots' has no attribute {name!r}")
    return getattr(importlib.import_module(f"surepath.plots.{module}"), name)


def __dir__() -> list[str]:
    return __all__
