"""Close choices where no good plan goes: value gaps mislead, return gaps do not."""

from __future__ import annotations

from surepath._checks import one_sigma, real
from surepath.errors import ProblemError
from surepath.model.families.ids import Family, check_size, counts, register
from surepath.model.instance import Instance
from surepath.model.mdp import MDP
from surepath.model.rewards import Gaussian

DECOYS = Family("decoys", {"bad": "b", "options": "k"})


@register(DECOYS)
def decoys(bad: int = 3, options: int = 3, gap: float = 0.5, tiny: float = 0.01, sigma: float = 1.0) -> Instance:
    """Build one good state and `bad` bad ones, whose options differ by `tiny` only.

    The first step into the good state earns `gap`, into a bad one nothing. Then option 0 earns 1 everywhere, and each
    further option `gap` less in the good state, `tiny` less in a bad one. Every arc off the best path has a return gap
    of `gap` or more, while the value gaps of bad states are `tiny`: to learn what is best there is of no use.

    Args:
        bad: Number of bad states.
        options: Options of each state of the second step.
        gap: Least return gap.
        tiny: Value gap between neighbouring options of a bad state.
        sigma: Standard deviation of the Gaussian rewards.

    Example:
        >>> decoys(2, 2).mdp.n_paths
        6
    """
    counts(bad=bad, options=options)
    check_size((bad + 1) * (options + 1))
    gap, tiny = real("gap", gap, error=ProblemError), real("tiny", tiny, error=ProblemError)
    if not 0 < tiny <= gap:
        raise ProblemError(f"decoys needs 0 < tiny <= gap, not tiny {tiny:g} and gap {gap:g}")
    sigma = one_sigma(sigma, ProblemError)
    names = ["good", *(f"bad {i + 1}" for i in range(bad))]
    rows = [(0, "start", f"to {name}", name) for name in names]
    rows += [(1, name, f"option {j}", "end") for name in names for j in range(options)]
    means = [gap, *[0.0] * bad, *(1.0 - gap * j for j in range(options))]
    means += [1.0 - tiny * j for _ in range(bad) for j in range(options)]
    name = DECOYS.id(bad=bad, options=options, gap=gap, tiny=tiny, sigma=sigma)
    return Instance(MDP.from_edges(rows), Gaussian(means, sigma), id=name)
