"""What Challenger fixes before the data; most of all its grid: how precise the prior of each arc's tilt is.

The bound is tightest on an arc when its c is about a tenth to a half of the visits the arc will have had at the stop.
Any choice keeps the guarantee, so this one is a guess, made of three parts:

- how many visits a typical arc will need: n = 6 H sigma^2 (log(2/delta) + log P) / epsilon^2 covers paths that tie with
  the best; paths of an instance usually need a tenth of that, and far less where epsilon is small beside the gaps.
  Entries n / 20 with most of the weight, n / 2500, and one halfway. With epsilon = 0 there is no such scale: 16384,
  512 and 16; and where epsilon is far below the gaps, which n cannot tell, the last entry is never above 100.
- how the visits spread: an arc of a wide stage is visited less often than one of a narrow stage. c is proportional to
  the arc's share of the visits when every state picks its actions evenly, with mean 1 over the arcs.
- whose arc it is: all rivals are compared with the one incumbent, so its arcs are visited more often, as the best of m
  arms is played sqrt(m - 1) times as often as the others, and more evenly. An arc of the incumbent has sqrt(N / H)
  for the others' factor 1, and the root of its share for its share.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from surepath._types import FloatArray
from surepath.learners.challenger import state as at
from surepath.learners.challenger.bound_numbers import ENTRY_PRIORS, KINDS
from surepath.learners.challenger.conjugate import conjugate_table
from surepath.learners.challenger.noise.gaussian_size import size_of
from surepath.learners.challenger.noise.learned import BERNSTEIN, learned_of, rounded
from surepath.learners.challenger.sampling import prices_of
from surepath.learners.challenger.stages import stages_of
from surepath.learners.challenger.state import Pairs, Walks
from surepath.learners.challenger.ties import crowd_limits, planned_shares
from surepath.learners.declared_noise import ranges_of
from surepath.model.mdp import MDP
from surepath.model.paths import even_flow

VISITS_PER_SQUARE = 25.0  # where c counts squares of rewards in [0, 1], an arc with a declared sigma counts visits


def even_shares(mdp: MDP) -> FloatArray:
    """Return each arc's share of the visits under evenly picked actions, scaled to mean 1."""
    share = even_flow(mdp)
    return np.asarray(share / share.mean())


def precisions(mdp: MDP, bound: Mapping[str, Any]) -> FloatArray:
    """Compute c of every arc on either side of a pair, [2, entries, N], but for entries of the shifted kind."""
    shares = even_shares(mdp)
    scales = [entry.get("scale", 1.0) for entry in bound["entries"]]
    sides = [bound["rival"], bound["incumbent"]]
    c = np.stack([side["factor"] * np.outer(scales, _power(shares, side["power"])) for side in sides])
    return np.asarray(np.clip(c, bound["least"], bound["most"]))


def _power(shares: FloatArray, power: float) -> FloatArray:
    return np.asarray(np.sqrt(shares) if power == 0.5 else shares**power)


def choices(mdp: MDP) -> tuple[FloatArray, FloatArray]:
    """Return the most nodes with a choice before each node, and from it on, it counted; both [n_nodes + 1]."""
    counts = np.append(np.diff(mdp.first) > 1, False).astype(np.float64)
    before, after = np.zeros(mdp.n_nodes + 1), np.zeros(mdp.n_nodes + 1)
    stages = [slice(mdp.stage_arc[h], mdp.stage_arc[h + 1]) for h in range(mdp.horizon)]
    for arcs in stages:
        source = mdp.source[arcs]
        np.maximum.at(before, mdp.target[arcs], before[source] + counts[source])
    for arcs in reversed(stages):
        source = mdp.source[arcs]
        np.maximum.at(after, source, counts[source] + after[mdp.target[arcs]])
    return before, after


def tolls(mdp: MDP, prior: str, rho: float, most_choices: float) -> float:
    """Return the part of -log prior that every pair pays.

    Only wrong answers are drawn. There are P - 1 of them; the detour walk ends at the right one itself with probability
    (1 - rho)^b, b its choices, so dividing by 1 - (1 - rho)^(most choices) leaves at most 1 for the others; and an
    excursion starts at one of b choices.
    """
    if most_choices == 0 or prior == "stages":
        return 0.0
    if prior == "detour":
        return float(np.log(-np.expm1(most_choices * np.log1p(-rho))))
    if prior == "excursion":
        return float(np.log(most_choices))
    return float(mdp.log_paths + np.log1p(-np.exp(-mdp.log_paths)))


def pairs_of(
    mdp: MDP,
    sigma: FloatArray,
    delta: float,
    bound: Mapping[str, Any],
    noise: str,
    unknown: bool,
    thrifty: bool,
    sampling: int,
    dependence: str,
) -> Pairs:
    """Build the settings that kernels read; the part of delta that the entries leave bounds an unknown sigma."""
    c, entries = precisions(mdp, bound), bound["entries"]
    ranges = ranges_of(mdp, noise)
    spare = 1.0 - sum(entry["weight"] for entry in entries)
    cost = np.log(1 / delta) + np.log(1 / np.array([entry["weight"] for entry in entries]))
    kind = np.array([KINDS[entry["kind"]] for entry in entries], dtype=np.int64)
    learning = kind >= BERNSTEIN
    scale = c[at.RIVAL].mean(axis=1)
    if learning.any():
        scale[~learning] *= -1.0  # held beside the others
        c[:, learning] = np.where(ranges.learns, rounded(c[:, learning]), VISITS_PER_SQUARE * c[:, learning])
    before, after = choices(mdp)
    flow, planned, ties = np.zeros(mdp.n_arcs), np.inf, -1
    tilt, plan = np.zeros(c.shape[1:]), np.ones((len(entries), 2))
    for j in np.flatnonzero(kind == at.SHIFTED):
        entry = entries[j]
        visits = entry["trials"] * planned_shares(mdp, sigma, entry["flow"])
        c[:, j] = entry["steadiness"] * visits
        tilt[j] = sigma / (entry["slope"] * visits)
        scale[j], plan[j] = np.inf, (entry["slope"], entry["steadiness"])
        flow, planned, ties = visits / entry["trials"], entry["trials"], int(j)
    crowd, crowd_from = crowd_limits(mdp, entries[ties], delta, flow) if ties >= 0 else (np.inf, np.inf)
    return Pairs(
        sigma=sigma.copy(),
        is_known=mdp.is_known.copy(),
        kind=kind,
        c=np.ascontiguousarray(c),
        tilt=tilt,
        plan=plan,
        scale=scale,
        prior=np.array([ENTRY_PRIORS[entry["prior"]] for entry in entries], dtype=np.int64),
        cost=cost,
        toll=np.array([tolls(mdp, entry["prior"], bound["rho"], float(after[0])) for entry in entries]),
        log_paths=mdp.log_paths,
        walks=None if dependence == "any" else Walks(before, after, bound["rho"]),
        ratio=bound["ratio"],
        conjugate=conjugate_table(),
        learned=learned_of(ranges, kind, c),
        size=size_of(spare * delta) if unknown else None,
        flow=flow,
        planned=planned,
        ties=ties,
        crowd=crowd,
        crowd_from=crowd_from,
        price=prices_of(mdp, thrifty),
        sampling=sampling,
        stages=stages_of(mdp, delta) if dependence == "any" else None,
    )
