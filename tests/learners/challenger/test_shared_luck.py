"""The guarantee under any dependence, where plans share no step and one draw moves all scores of a trial."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from surepath import MDP, Bernoulli, Challenger, Gaussian, Instance, Shared
from surepath.kernels.sweeps import reality_of
from surepath.learners.challenger.run import DONE, PAUSED, least_gap, play
from surepath.learners.challenger.state import EPISODES, OWN, RIVAL
from tests.learners.challenger.test_guarantee import from_a_broken_build
from tests.learners.rates import DELTAS, is_above

pytestmark = pytest.mark.guarantee

BUDGET = 20_000
NOISES = (
    "comonotone",
    "shared 0.3",
    "shared 0.8",
    "signs by the best plan",
    "alternating",
    "Bernoulli",
    "signs by the best plan, totals",
)


def lines(steps: int, noise: str, plans: int = 4, gap: float = 1.0) -> tuple[Instance, float]:
    """Plans that share no step, the second one best; and an epsilon that leaves every other just outside."""
    available = np.zeros((steps, plans, plans), dtype=bool)
    available[0, 0], available[1:, :, 0] = True, True
    following = np.tile(np.arange(plans)[:, None], (steps, 1, plans))
    following[0, 0] = np.arange(plans)
    bounded = noise == "Bernoulli"
    mdp = MDP.from_arrays(following, available=available, reward_range=(0, 1) if bounded else None)
    line = mdp.node_state[mdp.target % mdp.n_nodes]
    line[mdp.stage_arc[-2] :] = mdp.node_state[mdp.source[mdp.stage_arc[-2] :]]
    best, stage = line == 1, mdp.arcs.stage
    gap = 0.3 * steps if bounded else gap
    means = 0.35 + np.where(best, gap / steps, 0.0)
    loading = np.ones(mdp.n_arcs)
    if noise.startswith("shared"):
        loading *= float(noise.split()[1]) ** 0.5
    elif noise.startswith("signs"):
        loading = np.where(best, 1.0, -1.0)
    elif noise == "alternating":
        loading = np.where(stage % 2 == 0, 1.0, -1.0)
    law = Bernoulli(means) if bounded else Gaussian(means, 1.0 / steps)
    return Instance(mdp, Shared(law, loading)), 0.98 * gap


def broken(learner: Challenger, instance: Instance, runs: int, budget: int = BUDGET) -> tuple[int, int]:
    """Runs whose answer is wrong, and runs in which anything stated was ever false.

    Looked at: the certified gap whenever the trials have grown by half, the bounds kept of the best plan's options, and
    whether one of these was ever ruled out.
    """
    best, gains, reality = instance.best_path(), instance.gains, reality_of(instance)
    wrong = false = 0
    for run in range(runs):
        rng, seen, work = np.random.default_rng([7, run]), learner._new_evidence(), learner._new_scratch()
        pause, answer, below = 8.0, PAUSED, False
        while answer == PAUSED:
            arrays = learner.graph, learner.pairs, seen, work
            answer = play(*arrays, reality, rng, budget, pause, learner.epsilon)
            path = work.incumbent.copy()
            if answer == PAUSED:
                gap = least_gap(*arrays)
                below |= gap < instance.regret_of(work.incumbent) - 1e-9
            pause = 1.5 * seen.memo[EPISODES] + 1
        mistaken = answer == DONE and not instance.is_within(path, learner.epsilon)
        other = seen.kept_of[best] if len(seen.kept) else np.full(len(best), -1)
        kept = other >= 0
        below |= (
            bool((seen.kept[best[kept]] < (gains[best] - gains[other])[kept] - 1e-9).any()) if kept.any() else False
        )
        wrong += mistaken
        false += bool(mistaken or below or not seen.alive[best].all())
    return wrong, false


def rates(steps: int, noise: str, delta: float, runs: int, dependence: str = "any") -> tuple[int, int]:
    """Wrong answers and false statements of so many runs."""
    instance, epsilon = lines(steps, noise)
    sigma = None if noise == "Bernoulli" else instance.sigma
    total = 1.0 if noise.endswith("totals") and dependence == "any" else None
    learner = Challenger(instance.mdp, epsilon, delta, sigma, dependence=dependence, total_sigma=total)
    return broken(learner, instance, runs)


def tight(delta: float = 0.1) -> tuple[Challenger, Instance]:
    """Two plans of twenty steps that all but tie, and a bound of one entry: it has little to spare."""
    instance = lines(20, "signs by the best plan", plans=2, gap=1e-3)[0]
    bound = Challenger(instance.mdp, 0.0, delta, instance.sigma).bound
    entry = {**bound[0], "weight": 1.0, "scale": 16.0}
    learner = Challenger(instance.mdp, 0.0, delta, instance.sigma, bound=[entry])
    learner.pairs.c[OWN] = learner.pairs.c[RIVAL]
    return learner, instance


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("noise", NOISES)
def test_nothing_false_is_stated_more_often_than_delta(noise: str, delta: float) -> None:
    """`python -m benchmarks guarantee` plays 2,000 runs of each, and of longer lines."""
    runs = 20 if noise == "Bernoulli" else 100
    wrong, false = rates(8, noise, delta, runs)
    assert wrong <= false
    assert not is_above(false, runs, delta)


def test_nothing_false_is_stated_where_the_bound_has_little_to_spare() -> None:
    false = broken(*tight(), 100, 3000)[1]
    assert false > 0
    assert not is_above(false, 100, 0.1)


@pytest.mark.parametrize("noise", ["comonotone", "shared 0.8", "signs by the best plan"])
def test_a_product_over_the_steps_of_a_trial_fails(noise: str) -> None:
    assert is_above(rates(20, noise, 0.1, 60, "independent")[0], 60, 0.1)


def test_without_the_cost_of_the_prior_it_fails() -> None:
    learner, instance = tight()
    assert learner.pairs.stages is not None
    bare = learner.pairs.stages._replace(far=0.0, near=np.zeros_like(learner.pairs.stages.near))
    learner.pairs = learner.pairs._replace(stages=bare)
    assert is_above(broken(learner, instance, 100, 3000)[1], 100, 0.1)


KEPT = """bound[row, x] = min(plain, difference + best)
                if keep == 1 and row == (at.FIRST_KAPPA + rows) // 2:
                    kept[x] = min(kept[x], difference + best)
"""


@pytest.mark.rare
@pytest.mark.parametrize(
    ("term", "instead"),
    [("return float(kappa / stages.delta) if kappa > 0.0", "return 0.0 if kappa > 0.0"), (KEPT.splitlines()[0], KEPT)],
    ids=["without kappa / delta", "bounds by kappa kept stage by stage"],
)
def test_a_broken_build_fails(term: str, instead: str, tmp_path: Path) -> None:
    program = "print(broken(*tight(), 200, 3000)[1])"
    assert is_above(from_a_broken_build(tmp_path, "stages.py", term, instead, __name__, program), 200, 0.1)
