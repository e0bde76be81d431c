"""What a sampling rule can ask for in an episode.

A rule only says which path is due; the kernels that find it are shared (`walks.py`, `covering.py`, `cover_paths.py`),
because each copy of them takes time to compile.
"""

# The active policy of largest diameter, or of largest upper value; a path with most undersampled arcs, judged on the
# arcs that were active when the period began or are active now; the next path of the period's cover; random actions.
WIDEST_PATH, HIGHEST_PATH, COVER_STARTED, COVER_ACTIVE, NEXT_OF_COVER, RANDOM_PATH = range(6)
