"""Worlds with one score for a whole plan, and how often a bound is ever violated in them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import norm

from surepath import MDP, Gaussian, Instance, Rounds, families
from surepath.learners.rounds.bound import Bets, Entries, evidence_of, h_inverse, pair_bounds
from surepath.learners.rounds.design import Fit, Round, fit_round, fitted
from surepath.model.paths import best_path

Scores = Callable[[np.ndarray, np.random.Generator], np.ndarray]  # scores of plans, given their values


def free(steps: int, options: int, seed: int, sigma: float) -> Instance:
    """Independent steps, means uniform on [0, 1], all of the noise in the last step."""
    mdp = MDP.from_arrays(np.zeros((steps, 1, options), dtype=int))
    return noisy_at_the_end(mdp, np.random.default_rng([steps, options, seed]).random(mdp.n_arcs), sigma)


def chain(steps: int, options: int, seed: int, sigma: float) -> Instance:
    """The option before is the state."""
    base = families.chain(steps, options, seed=seed)
    return noisy_at_the_end(base.mdp, base.means, sigma)


def layered(states: int, options: int, steps: int, seed: int, sigma: float) -> Instance:
    """Options lead to random states."""
    rng = np.random.default_rng([states, options, steps, seed])
    mdp = MDP.from_arrays(rng.integers(states, size=(steps, states, options)))
    return noisy_at_the_end(mdp, rng.random(mdp.n_arcs), sigma)


def noisy_at_the_end(mdp: MDP, means: np.ndarray, sigma: float) -> Instance:
    noise = np.zeros(mdp.n_arcs)
    noise[mdp.stage_arc[mdp.horizon - 1] :] = sigma
    return Instance(mdp, Gaussian(means, noise))


def in_range(instance: Instance, spread: float = 0.1, best: float = 0.8) -> np.ndarray:
    """Effects of 0 to `spread` a step, moved so that the best plan has the value `best`."""
    effect = spread * instance.means
    top = effect[best_path(instance.mdp, effect)].sum()
    return np.asarray(effect + (best - top) / instance.mdp.horizon)


def beta(sd: float) -> Scores:
    def draw(value: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        size = value * (1 - value) / sd**2 - 1
        return rng.beta(value * size, (1 - value) * size)

    return draw


def answers(m: int) -> Scores:
    """The share of m right answers; 1: binary scores."""
    return lambda value, rng: rng.binomial(m, value) / m


def losses(chance: float) -> Scores:
    """Plans below 0.79 fall to 0 with this chance; else nothing varies. While no loss is seen they look better."""

    def draw(value: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        lost = rng.random(len(value)) < chance
        return np.where(value > 0.79, value, np.where(lost, 0.0, value / (1 - chance)))

    return draw


def play(learner: Rounds, effect: np.ndarray, law: Scores, seed: int, most: int = 10**7) -> Rounds:
    """Play whole rounds until the learner stops."""
    rng = np.random.default_rng(seed)
    while not learner.stopped and learner.episodes < most:
        learner._play_round(law(effect[learner._plans].sum(axis=1), rng)[:, None])
    return learner


class OwnScore(Bets):
    """A mutant: every score is its own prediction, as far as that is allowed."""

    def guess(self, done: Round, fit: Fit) -> np.ndarray:
        return np.clip(done.scores, 0.2, 0.8) if not self.parts else done.scores


class InSample(Bets):
    """A mutant: scores are predicted by the fit of their own round."""

    def guess(self, done: Round, fit: Fit) -> np.ndarray:
        own = fitted(self.blocks, fit.effect, done.paths)
        return (
            np.clip(done.scores.mean() + own - own.mean(), 0.2, 0.8)
            if not self.parts
            else np.clip(done.scores.mean() + own - own.mean(), 0, 1)
        )


def pair_violated(
    bets: type[Bets], law: Scores, deltas: list[float], size: int, rounds: int, rng: np.random.Generator
) -> np.ndarray:
    """Whether the bound of one pair, gap 0.02, is ever below it in this many rounds, for each delta.

    It has one tilt alone, so that nothing is lost to a mixture and mutants show.
    """
    mdp = MDP.from_arrays([[[0, 0]]])
    bound = {**Rounds(mdp, 0.1, 0.1, reward_range=(0, 1)).bound, "tilts": [0.95], "weights": [1.0]}
    learner = Rounds(mdp, 0.1, 0.1, reward_range=(0, 1), bound=bound)
    evidence, effect = bets(learner._blocks, learner.bound, 0.1), np.array([0.78, 0.8])
    paths = (1 - np.arange(size) % 2)[:, None]
    hit = np.zeros(len(deltas), dtype=bool)
    for _ in range(rounds):
        value = law(effect[paths[:, 0]], rng)
        done = Round(paths, value[:, None], np.ones(2, dtype=bool))
        evidence.add(done, fit_round(learner._blocks, done))
        for i, delta in enumerate(deltas):
            evidence.delta = delta
            hit[i] |= evidence.bounds(learner._prior, np.array([0]), np.array([[1]]), False)[1][0] < 0.02
    return hit


def union_violated(
    deltas: list[float], options: int, rounds: int, rng: np.random.Generator, mutant: str = ""
) -> np.ndarray:
    """Whether the best of many options that tie is ever proven worse than another, for each delta; sigma is known.

    Mutants: "prior" does not pay for the number of options, "mixture" not 1/2 log(1 + I/c), and "pooled" looks at all
    rounds together after each, as if at the only one.
    """
    learner = Rounds(MDP.from_arrays(np.zeros((1, 1, options), dtype=int)), 0.1, 0.1, 1.0)
    prior, trials = learner._prior, np.array(learner.bound["trials"])
    if mutant == "prior":
        prior = prior._replace(leave=0 * prior.leave, fixed=0.0)
    costs = -np.log(np.array(deltas)[:, None] * learner.bound["weights"])
    fits: list[Fit] = []
    information, hit = 0.0, np.zeros(len(deltas), dtype=bool)
    best, others = np.zeros(1, dtype=np.int64), np.arange(1, options)[:, None]
    for _ in range(rounds):
        plays = 3 + int(0.15 * 2 * information)  # a round grows with all before it
        paths = np.repeat(np.arange(options), plays)[:, None]
        done = Round(paths, rng.normal(size=(len(paths), 1)), np.ones(options, dtype=bool))
        information += plays / 2
        fits.append(fit_round(learner._blocks, done))
        seen = evidence_of(fits)
        for i, (delta, cost) in enumerate(zip(deltas, costs)):
            if mutant in ("mixture", "pooled"):
                lead = np.average([fit.effect[0] - fit.effect[1:] for fit in fits], axis=0, weights=[f.n for f in fits])
                c = trials / (2 * options)
                factor = [h_inverse(y) for y in cost + prior.leave[0] + prior.fixed]
                width = (np.sqrt(information + c) / information * factor).min()
                if mutant == "pooled":
                    width = norm.isf(delta / (options - 1)) / np.sqrt(information)
            else:  # what another pays against the best is what the best pays against it
                entries = Entries(learner._scale, trials, cost, np.zeros(0))
                lead, bound = pair_bounds(learner._blocks, prior, entries, seen, best, others, 0)
                lead, width = -lead, bound - lead
            hit[i] |= bool((lead + width < 0).any())
    return hit
