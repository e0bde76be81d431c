"""What Challenger fixes before the data; most of all its grid: how precise the prior of each arc's tilt is.

The bound is tightest on an arc when its c is about a tenth to a half of the visits the arc will have had at the stop.
Any choice keeps the guarantee, so this one is a guess, made of three parts:

- how many visits a typical arc will need: n = 6 H sigma^2 (log(2/delta) + log P) / epsilon^2 covers plans that tie with
  the best; plans of an instance usually need a tenth of that, and far less where epsilon is small beside the gaps.
  Entries n / 20 with most of the weight, n / 2500, and one halfway. With epsilon = 0 there is no such scale: 25600,
  1600 and 100; and where epsilon is far below the gaps, which n cannot tell, the last entry is 100 as well.
- how the visits spread: an arc of a wide stage is visited less often than one of a narrow stage. c is proportional to
  the arc's share of the visits when every state picks its actions evenly, with mean 1 over the arcs.
- whose arc it is: all rivals are compared with the one incumbent, so its arcs are visited more often, as the best of m
  arms is played sqrt(m - 1) times as often as the others, and more evenly. An arc of the incumbent has sqrt(N / H)
  for the others' factor 1, and the root of its share for its share.
"""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray
from surepath.learners.challenger.conjugate import conjugate_table
from surepath.learners.challenger.state import DETOUR, ONE_SIDED, OWN, PER_ARC, RIVAL, TWO_SIDED, UNIFORM_PRIOR, Pairs
from surepath.model.mdp import MDP

WIDTHS = {"one-sided": ONE_SIDED, "two-sided": TWO_SIDED, "per-arc": PER_ARC}
PRIORS = {"detour": (DETOUR,), "uniform": (UNIFORM_PRIOR,), "both": (DETOUR, UNIFORM_PRIOR)}

DIVISORS = (20.0, 2500.0)
WEIGHTS: tuple[float, ...] = (0.8, 0.12, 0.08)
EXACT = (25600.0, 1600.0, 100.0)
EXACT_WEIGHTS: tuple[float, ...] = (0.1, 0.35, 0.55)


def even_shares(mdp: MDP) -> FloatArray:
    """Each arc's share of the visits under evenly picked actions, scaled to mean 1."""
    at_node = np.zeros(mdp.n_nodes + 1)
    at_node[0] = 1.0
    share = np.zeros(mdp.n_arcs)
    degree = np.diff(mdp.first)
    for h in range(mdp.horizon):
        arcs = slice(mdp.stage_arc[h], mdp.stage_arc[h + 1])
        source = mdp.source[arcs]
        share[arcs] = at_node[source] / degree[source]
        np.add.at(at_node, mdp.target[arcs], share[arcs])
    return np.asarray(share / share.mean())


def precisions(mdp: MDP, sigma: FloatArray, epsilon: float, delta: float) -> tuple[FloatArray, FloatArray]:
    """The grid: c of every arc, [2, entries, N], rival's and incumbent's; weights of the entries, which sum to 1."""
    shares = even_shares(mdp)
    if epsilon > 0:
        noisy = sigma[sigma > 0]
        spread = float(np.sqrt((noisy**2).mean())) if noisy.size else 1.0
        ratio = min(max(spread / epsilon, 1e-6), 1e9)  # beyond, c meets its own limits below
        need = 6 * mdp.horizon * ratio**2 * (np.log(2 / delta) + mdp.log_paths)
        high, low = (need / d for d in DIVISORS)
        scales, weights = np.geomspace(high, min(low, EXACT[-1]), len(WEIGHTS)).tolist(), WEIGHTS
    else:
        scales, weights = list(EXACT), EXACT_WEIGHTS
    rival, own = np.outer(scales, shares), np.sqrt(mdp.n_arcs / mdp.horizon) * np.outer(scales, np.sqrt(shares))
    return np.clip(np.stack([rival, own]), 1.0, 1e15), np.array(weights)


def pairs_of(
    mdp: MDP,
    sigma: FloatArray,
    epsilon: float,
    delta: float,
    widths: str,
    prior: str,
    sampling: int,
    repeat: float,
    patience: float,
) -> Pairs:
    """The settings as the kernels read them: each entry of the grid once for every prior over plans."""
    c, weight = precisions(mdp, sigma, epsilon, delta)
    per_arc = widths == "per-arc"
    if per_arc:  # an interval for each arc knows no sides
        c[OWN] = c[RIVAL]
    kinds = (UNIFORM_PRIOR,) if per_arc else PRIORS[prior]  # per-arc widths have no prior over plans
    cost = np.log(1 / delta) + np.log(1 / np.repeat(weight, len(kinds))) + np.log(len(kinds))
    if per_arc:
        cost = cost + np.log(max(1, int((~mdp.is_known).sum())))
    return Pairs(
        sigma=sigma.copy(),
        is_known=mdp.is_known.copy(),
        c=np.ascontiguousarray(np.repeat(c, len(kinds), axis=1)),
        scale=np.repeat(c[RIVAL].mean(axis=1), len(kinds)),
        prior=np.tile(np.array(kinds, dtype=np.int64), len(weight)),
        cost=np.ascontiguousarray(cost),
        sides=WIDTHS[widths],
        log_paths=mdp.log_paths,
        rho=0.4,
        ratio=1.2,
        conjugate=conjugate_table(),
        sampling=sampling,
        repeat=repeat,
        patience=patience,
    )
