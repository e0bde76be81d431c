"""Challenger's guarantee, measured where it is hardest to keep; found broken when a term of the bound is left out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import surepath
from surepath import MDP, Challenger, Gaussian, Instance, simulate
from surepath.learners.challenger.state import OWN, RIVAL, UNIFORM_PRIOR
from tests.learners.rates import DELTAS, is_above

pytestmark = pytest.mark.guarantee


def options(stages: int, actions: int, gap: float, sigma: float = 1.0) -> Instance:
    """One state, several actions at each stage: every action but the first costs `gap`, so every wrong path does."""
    mdp = MDP.from_arrays(np.zeros((stages, 1, actions), dtype=int))
    return Instance(mdp, Gaussian(np.where(np.arange(mdp.n_arcs) % actions, -gap, 0.0), sigma))


def two_roads(stages: int, gap: float, sigma: float = 1.0) -> Instance:
    """Two paths that share nothing, `gap` apart in sum: many arcs to be wrong about."""
    available = np.zeros((stages, 2, 2), dtype=bool)
    available[:, :, 0] = available[0, 0, 1] = True
    next_state = np.repeat([[[0, 0], [1, 1]]], stages, axis=0)
    next_state[0, 0] = [0, 1]
    mdp = MDP.from_arrays(next_state, available=available)
    second = mdp.node_state[mdp.source] == 1
    second[1] = True  # the arc that leaves the first road
    return Instance(mdp, Gaussian(np.where(second, -gap / stages, 0.0), sigma))


def wrong(learner: Challenger, instance: Instance, runs: int) -> int:
    result = simulate(learner, instance, runs, seed=7, budget=200_000, workers=1)
    assert not result.censored.any()
    return int((~result.correct).sum())


# Instance, epsilon, runs, settings. Every wrong path lies just outside epsilon.
CASES: list[tuple[Instance, float, int, dict[str, Any]]] = [
    (options(1, 2, 0.102), 0.1, 2000, {}),
    (options(1, 2, 0.31), 0.3, 2500, {}),
    (options(1, 3, 0.51), 0.5, 500, {"sampling": "max-diameter"}),
    (options(1, 2, 0.3), 0.0, 700, {}),
    (options(3, 2, 0.51), 0.5, 1000, {}),
    (options(10, 2, 1.02, 0.5), 1.0, 150, {}),
    (options(10, 2, 0.5, 0.2), 0.0, 50, {}),
    (two_roads(10, 1.02), 1.0, 700, {}),
]


def ties_alone(instance: Instance, epsilon: float, delta: float) -> list[dict[str, Any]]:
    """The entry for ties alone, with all of delta."""
    bound = Challenger(instance.mdp, epsilon, delta, instance.sigma, dependence="independent").bound
    return [{**bound[-1], "weight": 1.0}]


# Instance, epsilon, runs: the best itself by single excursions, where every wrong path is one or more of them away; and
# the entry for ties by itself, on small gaps.
BY_EXCURSIONS = [
    (options(1, 2, 0.5), 2000),
    (options(1, 4, 0.8), 1000),
    (options(3, 2, 0.7), 1500),
    (options(6, 2, 1.0), 700),
    (two_roads(4, 1.0), 700),
]
BY_TIES = [(options(1, 2, 0.31), 0.3, 2500), (options(3, 2, 0.51), 0.5, 1500), (two_roads(6, 1.02), 1.0, 1000)]


@pytest.mark.parametrize("delta", DELTAS)
def test_single_excursions_keep_the_guarantee(delta: float) -> None:
    failed = runs = 0
    for instance, count in BY_EXCURSIONS:
        learner = Challenger(instance.mdp, 0.0, delta, instance.sigma, dependence="independent")
        own = wrong(learner, instance, count)
        assert not is_above(own, count, delta), instance.mdp
        failed, runs = failed + own, runs + count
    assert binomtest(failed, runs, delta, alternative="less").pvalue < 1e-6


@pytest.mark.parametrize("delta", DELTAS)
def test_the_entry_for_ties_keeps_the_guarantee_alone(delta: float) -> None:
    for instance, epsilon, count in BY_TIES:
        bound = ties_alone(instance, epsilon, delta)
        learner = Challenger(instance.mdp, epsilon, delta, instance.sigma, bound=bound, dependence="independent")
        own = wrong(learner, instance, count)
        assert not is_above(own, count, delta), instance.mdp
        assert binomtest(own, count, delta, alternative="less").pvalue < 1e-6


def test_without_the_constant_of_an_excursion_it_fails() -> None:
    """Sixty stages, each decided by itself: what each pays must allow for all of them."""
    instance, delta, runs = options(60, 2, 0.3), 0.5, 60
    default = Challenger(instance.mdp, 0.0, delta, 1.0, dependence="independent").bound
    # One entry of small c with all the weight: a bound that has little to spare when trials are few.
    bound = [{**default[0], "weight": 1.0, "scale": 2.0}]
    learner = Challenger(instance.mdp, 0.0, delta, 1.0, bound=bound, dependence="independent")
    learner.pairs.c[OWN] = learner.pairs.c[RIVAL]
    assert not is_above(wrong(learner, instance, runs), runs, delta)
    learner.pairs = learner.pairs._replace(prior_cost=np.zeros_like(learner.pairs.prior_cost))
    assert is_above(wrong(learner, instance, runs), runs, delta)


@pytest.mark.parametrize("delta", DELTAS)
def test_the_failure_rate_stays_below_delta(delta: float) -> None:
    failed = runs = 0
    for instance, epsilon, count, settings in CASES:
        learner = Challenger(instance.mdp, epsilon, delta, instance.sigma, dependence="independent", **settings)
        own = wrong(learner, instance, count)
        assert not is_above(own, count, delta), (instance.mdp, epsilon, settings)
        failed, runs = failed + own, runs + count
    assert runs >= 7_500
    assert binomtest(failed, runs, delta, alternative="less").pvalue < 1e-6


def in_delayed_batches(instance: Instance, epsilon: float, delta: float, rng: np.random.Generator) -> Challenger:
    """Workers that answer late: a batch is told only after the next two were handed out, and one play is lost."""
    learner = Challenger(instance.mdp, epsilon, delta, instance.sigma, dependence="independent")
    waiting: deque[np.ndarray] = deque()
    while not learner.stopped:
        while len(waiting) < 3:
            waiting.append(learner.ask(3))
        batch = waiting.popleft()
        learner.cancel(batch[0])
        for path in batch[1:]:
            if not learner.stopped:
                learner.tell(path, instance.means[path] + instance.sigma[path] * rng.standard_normal(len(path)))
    return learner


@pytest.mark.parametrize("delta", [0.1, pytest.param(0.5, marks=pytest.mark.rare)])
def test_delayed_batches_keep_the_guarantee(delta: float) -> None:
    instance, runs, rng = options(2, 2, 0.82), 250, np.random.default_rng(3)
    failed = 0
    for _ in range(runs):
        learner = in_delayed_batches(instance, 0.8, delta, rng)
        failed += int(instance.regret_of(learner.recommend()) > 0.8)
    assert not is_above(failed, runs, delta)
    assert binomtest(failed, runs, delta, alternative="less").pvalue < 1e-3


def test_the_certified_gap_holds_at_all_times_at_once() -> None:
    """Looked at again and again: how often it is EVER below the true gap; and the best path is EVER ruled out."""
    instance, delta, runs, rng = options(2, 2, 0.6), 0.3, 150, np.random.default_rng(4)
    best, broken, lost = instance.best_path(), 0, 0
    for _ in range(runs):
        learner, below = Challenger(instance.mdp, 0.0, delta, instance.sigma, dependence="independent"), False
        while not learner.stopped and learner.episodes < 120:
            path = learner.ask()
            learner.tell(path, instance.means[path] + rng.standard_normal(2))
            if learner.episodes % 6 == 4:
                below |= learner.certified_gap() < instance.regret_of(learner.recommend()) - 1e-9
        broken += int(below)
        lost += int(not learner.active[best].all())
    for count in (broken, lost):
        assert not is_above(count, runs, delta)
        assert binomtest(count, runs, delta, alternative="less").pvalue < 1e-3


def test_without_the_union_over_paths_it_fails() -> None:
    """Two hundred actions, and a bound that holds for one of them only: wrong more often than delta allows."""
    instance, delta, runs = options(1, 200, 2.04), 0.5, 250
    learner = Challenger(instance.mdp, 2.0, delta, 1.0, dependence="independent")
    # Any c keeps the guarantee; with the same on both sides the bound of this one pair has little to spare.
    learner.pairs.c[OWN] = learner.pairs.c[RIVAL]
    assert not is_above(wrong(learner, instance, runs), runs, delta)
    entries = np.ones_like(learner.pairs.cost)
    bare = learner.pairs._replace(
        prior=np.full_like(learner.pairs.prior, UNIFORM_PRIOR), prior_cost=0 * entries, cost=entries * np.log(1 / delta)
    )
    learner.pairs = bare
    assert is_above(wrong(learner, instance, runs), runs, delta)


def test_a_build_without_the_log_term_fails(tmp_path: Path) -> None:
    """Two roads of ten arcs each: without 1/2 log(1 + n/c) of every arc the bound is far too tight."""
    instance, delta, runs = two_roads(10, 1.02), 0.1, 400
    learner = Challenger(instance.mdp, 1.0, delta, instance.sigma, dependence="independent")
    assert not is_above(wrong(learner, instance, runs), runs, delta)
    program = (
        "instance = two_roads(10, 1.02)\n"
        f"learner = Challenger(instance.mdp, 1.0, {delta}, instance.sigma, dependence='independent')\n"
        f"print(wrong(learner, instance, {runs}))\n"
    )
    found = from_a_broken_build(tmp_path, "run.py", "0.5 * np.log1p(n / c)", "0.0", __name__, program)
    assert is_above(found, runs, delta)


def from_a_broken_build(tmp_path: Path, name: str, term: str, instead: str, module: str, program: str) -> int:
    """What a program prints that has all names of a module, where one term of a file of Challenger was replaced."""
    home = Path(surepath.__file__).parent
    shutil.copytree(home, tmp_path / "surepath", ignore=shutil.ignore_patterns("__pycache__"))
    file = tmp_path / "surepath" / "learners" / "challenger" / name
    text = file.read_text(encoding="utf-8")
    assert text.count(term) == 1
    file.write_text(text.replace(term, instead), encoding="utf-8")
    checked = f"import surepath\nassert surepath.__file__.startswith({str(tmp_path)!r})\n"
    root = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}", "SUREPATH_CACHE_DIR": str(tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", f"from {module} import *\n{checked}{program}"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)
