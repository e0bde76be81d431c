"""Draw rewards in runs of the per-arc learners, many normal numbers at a time.

Where all laws are Gaussian, standard normal numbers are drawn ahead, many in a tight loop, and used in the order of the
stream: the rewards are the same numbers as drawn one by one, for a third of the time.
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Reality
from surepath.kernels.draw import draw_law, normal
from surepath.kernels.jit import inner_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.state import State


@inner_kernel
def draw_slowly(reality: Reality, e: np.uint64, rng: np.random.Generator, full: int | None) -> float:
    """Draw a reward of any law; a kernel of its own, so that `draw_law` is compiled once for these learners.

    Where `full` is given it holds beta draws, wanted or not: without them LLVM would put it into the loop of a sprint,
    which then takes a seventh more time.
    """
    return draw_law(reality, e, rng, full)


@inner_kernel
def draw_more(state: State, rng: np.random.Generator) -> None:
    """Fill the numbers drawn ahead: what is left moves to the front, new ones follow."""
    ahead, left = state.ahead, state.tally[at.LEFT_AHEAD]
    for i in range(left):
        ahead[i] = ahead[len(ahead) - left + i]
    for i in range(left, len(ahead)):
        ahead[i] = normal(rng)
    state.tally[at.LEFT_AHEAD] = len(ahead)
