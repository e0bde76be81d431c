"""When effects do not quite add up: the gap under a declared misfit, and a test of the additive model.

Let every score of a plan be a sum of effects + b with |b| <= gamma, B scores a plan. D(z) is a weighed sum of scores,
and l(z) the sum of its absolute weights: it is off by at most gamma l(z), and the value of a plan by gamma B. So
G + gamma (2 B + l) bounds the difference of two plans; excursions pay it as well, each.

Test: in a round let Q project off the additive model and Z hold the columns of the pairs of options of two steps. If
effects add up, s = (QZ)^T y / sigma is noise alone, and with M = Z^T Q Z the mean over normal coefficients of
variance k,

    exp( s^T (M + 1/k)^-1 s / 2 ) / sqrt(det(1 + k M)),

has expectation at most 1 given the rounds before; so has the product over rounds, and the mean over some k and over all
pairs of steps. 1/E is then a p-value at any time (Ville).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surepath._checks import FloatArray, IntArray, real
from surepath.errors import SettingError
from surepath.learners.rounds.check import judge, refuse_long_list
from surepath.learners.rounds.fit import Blocks, Fit, Round, fitted, rows_of
from surepath.learners.watch import REPORT_P, SURE, Finding, odds
from surepath.model.mdp import MDP
from surepath.model.paths import step_in_words

if TYPE_CHECKING:
    from surepath.learners.rounds.learner import Rounds

SIZES = (0.06, 0.2, 0.6)  # of the interactions that are looked for, in sigmas
MOST_PAIRS, MOST_CELLS = 100, 200  # of steps, and of options of two steps, that are looked at


def gap_with_misfit(learner: Rounds, gamma: float) -> float:
    """Return the proven gap of the recommended plan if every score is additive up to gamma.

    Options that were eliminated as if effects added up count again, with the rounds in which they were played.
    """
    if not real("gamma", gamma) >= 0:
        raise SettingError(f"gamma says how far a score may be from additive: at least 0, not {gamma:g}")
    if learner.noise == "gaussian":
        raise SettingError('noise="gaussian" takes misfit for noise; certified_gap(gamma=...) needs a sigma or a range')
    mdp, blocks, incumbent = learner.mdp, learner._blocks, learner.recommend()
    if not learner._history:
        return float("inf")
    everything = np.ones(mdp.n_arcs, dtype=np.bool_)
    refuse_long_list("certified_gap(gamma=...)", blocks, everything, incumbent)

    def bounds(paths: IntArray, single: bool) -> tuple[FloatArray, FloatArray]:
        lead, bound = np.zeros(len(paths)), np.zeros(len(paths))
        last = np.sum([done.active[paths].all(axis=1) for done in learner._history], axis=0)  # rounds that can tell
        for rounds in np.unique(last):
            some = np.flatnonzero(last == rounds)
            z = np.zeros((len(some), mdp.n_arcs))
            np.add.at(z, (np.arange(len(some))[:, None], paths[some]), 1.0)
            z[:, incumbent] -= 1.0
            lead[some], bound[some] = learner._bounds_of(paths[some], single, incumbent, int(rounds))
            share, length = np.zeros((2, rounds, len(some)))
            for j in range(rounds):
                share[j], length[j] = learner._weights_of(z, j)
            bound[some] += gamma * (2 * len(blocks.unit) + (share / share.sum(axis=0) * length).sum(axis=0))
        return lead, bound

    numbers = learner._prior, learner.epsilon, learner._slack()
    return float(judge(mdp, blocks, everything, incumbent, bounds, *numbers, None).gap)


def absolute_weights(blocks: Blocks, done: Round, fit: Fit, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weight 1/tau of a round for differences z, float [m], and the sum of its scores' absolute weights."""
    g = z @ fit.spread @ rows_of(blocks, done.paths, z.shape[1]).reshape(-1, z.shape[1]).T
    return 1 / (g**2).sum(axis=1), np.abs(g / np.tile(blocks.unit, len(done.paths))).sum(axis=1)


class FitTest:
    """The e-process of the additive model: one product for each pair of steps and size.

    Of many pairs of steps the nearest are tested, of many pairs of options those that a round plays most.
    """

    def __init__(self, mdp: MDP, blocks: Blocks, sigma: float) -> None:
        self.mdp, self.blocks, self.sigma = mdp, blocks, sigma  # sigma in the units of the scores
        pairs = [(g, h) for h in range(mdp.horizon) for g in range(h) if blocks.of[g] == blocks.of[h]]
        self.pairs = sorted(pairs, key=lambda pair: pair[1] - pair[0])[:MOST_PAIRS]
        self.logs: FloatArray = np.zeros((len(self.pairs), len(SIZES)))

    def add(self, done: Round, fit: Fit) -> None:
        """Take in a finished round."""
        if fit.free <= 0:
            return
        blocks, k = self.blocks, np.array(SIZES)[:, None] ** 2
        noise = done.scores - done.scores.mean(axis=0) - fitted(blocks, fit.effect, done.paths)
        for i, (g, h) in enumerate(self.pairs):
            pair, b = done.paths[:, g] * self.mdp.n_arcs + done.paths[:, h], blocks.of[h]
            _, cell, plays = np.unique(pair, return_inverse=True, return_counts=True)
            most = np.argsort(-plays, kind="stable")[:MOST_CELLS]
            rank = np.full(len(plays), -1)
            rank[most] = np.arange(len(most))
            kept = np.flatnonzero(rank[cell] >= 0)
            cell = rank[cell[kept]]
            shared = np.zeros((self.mdp.n_arcs, len(most)))  # X^T Z
            for stage in range(blocks.first[b], blocks.first[b + 1]):
                np.add.at(shared, (done.paths[kept, stage], cell), 1 / blocks.unit[b])
            values, axes = np.linalg.eigh(np.diag(plays[most]) - shared.T @ (fit.spread @ shared))
            seen = np.bincount(cell, noise[kept, b], len(most)) / self.sigma
            along, values = (axes.T @ seen) ** 2, np.maximum(values, 0.0)
            self.logs[i] += 0.5 * (along * k / (1 + k * values) - np.log1p(k * values)).sum(axis=1)

    def finding(self) -> Finding | None:
        """Return what contradicts the additive model, if anything does."""
        if not self.pairs:
            return None
        each = np.logaddexp.reduce(self.logs, axis=1) - np.log(len(SIZES))
        p_value = float(np.exp(-max(np.logaddexp.reduce(each) - np.log(len(each)), 0.0)))
        if p_value > REPORT_P:
            return None
        first, second = (step_in_words(self.mdp, stage) for stage in self.pairs[int(np.argmax(each))])
        seen = SIZES[int(np.argmax(self.logs[int(np.argmax(each))]))] * self.sigma * float(self.blocks.unit.max())
        text = f"{first} and {second} interact: their effects do not add up (typically by {seen:.2g}, {odds(p_value)})"
        certain = "does" if p_value < SURE else "may"
        return Finding(
            "dependence",
            f"at {second}",
            0.0,
            seen,
            p_value,
            f"{text}, or the noise is larger than declared; declare what depends on what: the certificate {certain} "
            f"not hold",
        )
