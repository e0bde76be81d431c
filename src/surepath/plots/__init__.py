"""Pictures of studies and experiments: for each a data function, pure and without matplotlib, and a drawing.

A drawing takes what the data function of its name returned and gives a matplotlib figure, one column (3.3 inches) wide;
`save` writes it. The names are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import Any

_NAMES = {
    "surepath.plots.graph": "draw_graph graph_layout",
    "surepath.plots.studies": (
        "challengers_data draw_challengers draw_gap draw_intervals gap_data intervals_data unit_of write_report"
    ),
    "surepath.experiments.drawing": "save",
    "surepath.experiments.report": ("comparison_data cost_data draw_comparison draw_cost rows_of"),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'surepath.plots' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
