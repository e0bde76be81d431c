"""Named, versioned, seeded instances. Each has an `id`, such as "paper_random-v1/s2a2h3/seed7", that `from_id` turns
back into exactly the same instance.
"""

from surepath.model.families.chains import chain, support_tickets
from surepath.model.families.decoys import decoys
from surepath.model.families.ids import FAMILIES, Family, from_id, names
from surepath.model.families.paper_random import paper_min_gap, paper_random
from surepath.model.families.shapes import bandit, grid, layered, tree
from surepath.model.families.special import cover_gap, minimax_hard, minimax_tree, twin_optimal

__all__ = [
    "FAMILIES",
    "Family",
    "bandit",
    "chain",
    "cover_gap",
    "decoys",
    "from_id",
    "grid",
    "layered",
    "minimax_hard",
    "minimax_tree",
    "names",
    "paper_min_gap",
    "paper_random",
    "support_tickets",
    "tree",
    "twin_optimal",
]
