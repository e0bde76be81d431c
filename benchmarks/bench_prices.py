"""What a proof costs where trials have prices: sampling by price against sampling by trials alone, in money.

Prices differ by a factor of ten. Each line gives the mean spending of both over RUNS runs and their ratio, with the
trials; the last one the geometric mean of the ratios.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.record import record
from surepath import MDP, Challenger, Gaussian, Instance, families
from surepath.kernels.sweeps import reality_of
from surepath.learners.challenger import state as at
from surepath.learners.challenger.run import play

RUNS = 12
DELTA = 0.1
PROMPTS = {f"p{i}": (mean, 0.1) for i, mean in enumerate([0.5, 0.45, 0.4, 0.38, 0.3, 0.2])}
RETRIEVERS = {"bm25": (0.3, 0.1), "dense": (0.5, 1.0), "hybrid": (0.55, 1.1)}
MODELS = {"large": (0.9, 10.0), "medium": (0.6, 3.0), "small": (0.3, 1.0)}
CHEAP = {"large": (0.3, 10.0), "small": (0.9, 1.0)}


def priced(name: str, instance: Instance, epsilon: float, cost: Any) -> tuple[str, Instance, float]:
    """Return the same world with costs."""
    mdp = instance.mdp.with_costs(cost)
    return name, Instance(mdp, Gaussian(instance.means, instance.sigma)), epsilon


def pipeline(name: str, steps: dict[str, Any], depends: str, epsilon: float) -> tuple[str, Instance, float]:
    """Build a pipeline of named steps, {step: {option: (mean, cost)}}."""
    costs = {step: {option: cost for option, (_, cost) in table.items()} for step, table in steps.items()}
    mdp = MDP.from_steps({step: list(table) for step, table in steps.items()}, depends, sigma=0.3, costs=costs)
    tables, rng = list(steps.values()), np.random.default_rng(0)
    jitter = 0.0 if depends == "none" else 0.1 * rng.standard_normal(mdp.n_arcs)
    means = np.array([tables[h][mdp.action_label(e)][0] for e, h in enumerate(mdp.arcs.stage)]) + jitter
    return name, Instance(mdp, Gaussian(means, 0.3)), epsilon


def worlds() -> Iterator[tuple[str, Instance, float]]:
    """Yield worlds whose options cost 1 or 10, or anything between, and three pipelines."""
    rng, arms = np.random.default_rng(5), MDP.from_arrays(np.zeros((1, 1, 10), dtype=int))
    for kind in ("1 or 10", "1 to 10"):
        plain = [
            ("chain of 4 x 3", families.chain(steps=4, options=3, seed=2, sigma=0.3), 0.1),
            ("chain of 6 x 4", families.chain(steps=6, options=4, seed=3, sigma=0.3), 0.2),
            ("random graph", families.paper_random(states=3, actions=3, horizon=4, seed=4, sigma=0.5), 0.2),
            ("ten arms", Instance(arms, Gaussian(rng.random(10), 0.3)), 0.05),
            ("ten even arms", Instance(arms, Gaussian(np.where(np.arange(10) == 3, 0.6, 0.5), 0.3)), 0.05),
        ]
        for name, instance, epsilon in plain:
            size = instance.mdp.n_arcs
            cost = rng.choice([1.0, 10.0], size) if kind == "1 or 10" else 10 ** rng.uniform(0, 1, size)
            yield priced(f"{name}, {kind}", instance, epsilon, cost)
    steps = {"retriever": RETRIEVERS, "model": MODELS, "prompt": PROMPTS}
    yield pipeline("pipeline, steps apart", steps, "none", 0.08)
    yield pipeline("pipeline, each on the one before", steps, "previous", 0.1)
    yield pipeline("pipeline, best model cheap", {**steps, "model": CHEAP}, "none", 0.08)


def spending(instance: Instance, epsilon: float, sampling: str) -> tuple[float, float]:
    """Return the mean spending and the mean trials of a rule."""
    learner = Challenger(instance.mdp, epsilon, DELTA, instance.sigma, sampling=sampling, dependence="independent")
    reality, paid, trials = reality_of(instance), [], []
    for seed in range(RUNS):
        seen, work, rng = learner._new_evidence(), learner._new_scratch(), np.random.default_rng(seed)
        play(learner.graph, learner.pairs, seen, work, reality, rng, 2_000_000, np.inf, epsilon)
        assert instance.mdp.cost is not None
        paid.append(float(seen.visits @ instance.mdp.cost))
        trials.append(float(seen.memo[at.EPISODES]))
    return float(np.mean(paid)), float(np.mean(trials))


def main() -> None:
    """Print the table."""
    ratios = []
    for name, instance, epsilon in worlds():
        plain, thrifty = (spending(instance, epsilon, rule) for rule in ("guarded", "thrifty"))
        ratios.append(thrifty[0] / plain[0])
        print(
            f"{name:34} guarded {plain[0]:8,.0f} in {plain[1]:5,.0f} trials   "
            f"thrifty {thrifty[0]:8,.0f} in {thrifty[1]:5,.0f} trials   ratio {ratios[-1]:.3f}",
            flush=True,
        )
    mean = float(np.exp(np.mean(np.log(ratios))))
    print(f"geometric mean of the ratios {mean:.3f}")
    record("spending of thrifty sampling over guarded, geometric mean", mean, "x")
