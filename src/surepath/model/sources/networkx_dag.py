"""Problems from networkx graphs."""

from __future__ import annotations

from typing import Any

from surepath._optional import need
from surepath.errors import ProblemError
from surepath.model.mdp import MDP
from surepath.model.sources.edge_rows import NUMBERS
from surepath.model.sources.edges import EdgeTable, read_edges


def from_networkx(
    graph: Any,
    source: Any,
    target: Any,
    *,
    sigma: float | None = None,
    direction: str = "maximize",
    attributes: dict[str, str] | None = None,
) -> MDP:
    """Build an MDP whose plans are the paths from source to target in a directed acyclic graph.

    An edge's action is its attribute `action`, else its key in a multigraph when that is text, else the name of the
    node it leads to. The edge attributes `known`, `sigma`, `low`, `high` and `mean` are read where present. Paths
    of unequal length are padded with pass-through arcs of known reward 0.

    Args:
        graph: A networkx DiGraph or MultiDiGraph.
        source, target: Nodes where plans start and end; parts of the graph between them only are kept.
        sigma: Sub-Gaussian factor of the edges that give none of their own.
        direction: "maximize" or "minimize".
        attributes: Other names for edge attributes, such as {"known": "toll"}.

    Example:
        >>> import networkx as nx
        >>> mdp = from_networkx(nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")]), "a", "c")
        >>> mdp.horizon, mdp.n_paths
        (2, 2)
    """
    return read_networkx(graph, source, target, sigma=sigma, direction=direction, attributes=attributes or {}).mdp


def read_networkx(
    graph: Any,
    source: Any,
    target: Any,
    *,
    sigma: float | None = None,
    direction: str = "maximize",
    attributes: dict[str, str] | None = None,
) -> EdgeTable:
    """Build as `from_networkx` does; return also the means."""
    networkx = need("networkx", "graph")
    if not isinstance(graph, networkx.Graph):
        raise ProblemError(f"a networkx graph is needed, not {type(graph).__name__}")
    if not graph.is_directed():
        raise ProblemError("the graph has no directions; a plan needs a DiGraph or a MultiDiGraph")
    names = {column: column for column in ("action", *NUMBERS)}
    for column, attribute in (attributes or {}).items():
        if column not in names:
            raise ProblemError(f"attributes may rename {', '.join(names)}; not {column!r}")
        names[column] = attribute
    labels = _labels(graph)
    for what, node in (("source", source), ("target", target)):
        if node not in labels:
            raise ProblemError(f"the {what} {node!r} is not a node of the graph")
    rows = [_row(edge, labels, names, graph.is_multigraph()) for edge in _edges(graph)]
    return read_edges(
        rows,
        source=labels[source],
        target=labels[target],
        sigma=sigma,
        direction=direction,
        place=lambda i: f"edge {i + 1} of the graph",
    )


def _edges(graph: Any) -> list[tuple[Any, Any, Any, dict[str, Any]]]:
    if graph.is_multigraph():
        return list(graph.edges(keys=True, data=True))
    return [(u, v, None, data) for u, v, data in graph.edges(data=True)]


def _labels(graph: Any) -> dict[Any, str]:
    labels: dict[Any, str] = {}
    taken: dict[str, Any] = {}
    for node in graph:
        name = str(node)
        if name in taken:
            raise ProblemError(f"two nodes of the graph are both called {name!r}: {taken[name]!r} and {node!r}")
        labels[node], taken[name] = name, node
    return labels


def _row(
    edge: tuple[Any, Any, Any, dict[str, Any]], labels: dict[Any, str], names: dict[str, str], multi: bool
) -> dict[str, Any]:
    u, v, key, data = edge
    action = data.get(names["action"])
    if action is None:
        if isinstance(key, str):
            action = key
        else:
            action = f"{labels[v]} ({key})" if multi and key else labels[v]
    row = {"state": labels[u], "action": action, "next_state": labels[v]}
    return row | {column: data[names[column]] for column in NUMBERS if data.get(names[column]) is not None}
