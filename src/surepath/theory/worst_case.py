"""The worst case over all problems of a size: what must be spent on some problem, and what is enough on every one.

The paper states that some MDP takes S A H^2 log(1/(4 delta)) / (72 epsilon^2) episodes. That is refuted: a list of
plays fixed in advance (`design_episodes`) needs fewer on every graph once delta is small. What the paper's own lemma
does give is of order S A H. The docs tell the story ("The worst case").
"""

from __future__ import annotations

from math import log2

from numpy.typing import ArrayLike

from surepath._checks import check_delta, check_epsilon, check_sigma, one_of, one_sigma, whole
from surepath.errors import SettingError
from surepath.kernels.flow.schedule import schedule
from surepath.model.mdp import MDP
from surepath.theory.case import divide, log_confidence

FORMULAS = ("corrected", "published")


def worst_case_lower_bound(
    states: int,
    actions: int,
    horizon: int,
    epsilon: float,
    delta: float,
    *,
    sigma: float = 1.0,
    formula: str = "corrected",
) -> float:
    """Compute the episodes that every (epsilon, delta)-PAC algorithm needs, in the mean, on some MDP of this size.

    "corrected", the default, is S A (H - log2 S) sigma^2 log(1/(4 delta)) / (8 epsilon^2), proven on `minimax_tree`: a
    tree entered at stage 1 whose leaves keep the agent. Each of the S A / 2 pairs of a leaf and an action, raised (or
    lowered, if it is the answer more often than not) by 2 epsilon / (H - log2 S) at every stage, must be distinguished
    from all means zero. That takes (H - log2 S)^2 sigma^2 log(1/(4 delta)) / (4 epsilon^2) visits over the stages, and
    an episode makes H - log2 S visits of leaves in all.

    "published" is the paper's S A H^2 sigma^2 log(1/(4 delta)) / (72 epsilon^2). It does NOT hold: see the docs.

    Raises:
        SettingError: S is not a power of two, S or A is below 2, H is too small (H > log2 S for the corrected bound,
            H >= 3 log2 S for the published one), or epsilon = 0.

    Example:
        >>> round(worst_case_lower_bound(8, 4, 9, 0.1, 0.05))
        3863
    """
    kind = one_of("formula", formula, FORMULAS)
    states, actions = whole("states", states, low=2), whole("actions", actions, low=2)
    horizon = whole("horizon", horizon, low=1)
    depth = int(log2(states))
    if 2**depth != states:
        raise SettingError(f"this bound is proved for S = 2^d states; {states} is not a power of two")
    if kind == "published" and horizon < 3 * depth:
        raise SettingError(f"this bound is stated for H >= 3 log2(S) = {3 * depth} stages, not {horizon}")
    if horizon <= depth:
        raise SettingError(f"this bound is proved for H > log2(S) = {depth} stages, not {horizon}")
    if check_epsilon(epsilon) == 0:
        raise SettingError("this bound needs epsilon above 0")
    size = states * actions * (horizon**2 / 72 if kind == "published" else (horizon - depth) / 8)
    return float(divide(one_sigma(sigma) ** 2 * log_confidence(check_delta(delta), 4) * size, epsilon))


def design_episodes(mdp: MDP, epsilon: float, delta: float, sigma: ArrayLike = 1.0) -> int:
    """Count the episodes of the best fixed list of plays that is (epsilon, delta)-PAC on this graph for any means.

    Exact: from the optimal flow and the counts it is rounded to, not from the formula
    4 N sigma^2 (log P + log(1/delta)) / epsilon^2.

    Example:
        >>> from surepath import families
        >>> design_episodes(families.minimax_hard(2, 2, 9).mdp, 1.0, 0.1)
        708
    """
    if check_epsilon(epsilon) == 0:
        raise SettingError("a design needs an epsilon above 0: with epsilon 0 no fixed number of episodes is enough")
    noise = check_sigma(sigma, mdp.n_arcs)
    noise[mdp.is_known] = 0.0
    return schedule(mdp, noise, epsilon, check_delta(delta)).episodes
