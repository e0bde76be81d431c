"""The dullest possible tool: every path of a small MDP, listed."""

from __future__ import annotations

from surepath.model.mdp import MDP


def all_paths(mdp: MDP) -> list[tuple[int, ...]]:
    """Every path as a tuple of arcs, in lexicographic order."""
    found: list[tuple[int, ...]] = []

    def extend(node: int, prefix: tuple[int, ...]) -> None:
        if len(prefix) == mdp.horizon:
            found.append(prefix)
            return
        for arc in range(int(mdp.first[node]), int(mdp.first[node + 1])):
            extend(int(mdp.target[arc]), (*prefix, arc))

    extend(0, ())
    return found
