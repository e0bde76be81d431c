"""The contract of EPRL, BPI-UCRL, Uniform and WholePlan where it says more than that of every learner."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from surepath import BPIUCRL, EPRL, MDP, Gaussian, Instance, Uniform, WholePlan
from surepath.learners.base import Learner
from tests.learners.worlds import random_mdp, with_known
from tests.naive.paths import all_paths

RULED: list[tuple[Any, dict[str, Any]]] = [
    (EPRL, {"sampling": sampling, "elimination": elimination, "schedule": schedule, "widths": "mixture"})
    for sampling, schedule in (
        ("max-coverage", "every-episode"),
        ("static-max-coverage", "end-of-period"),
        ("static-max-coverage", "geometric"),
        ("max-diameter", "every-sa"),
        ("coverage", "geometric"),
    )
    for elimination in ("return", "value", "both")
]
RULED += [(EPRL, {"preset": "experiment"}), (EPRL, {"preset": "experiment", "sampling": "max-diameter"})]
RULED += [(BPIUCRL, {}), (BPIUCRL, {"elimination": "value"}), (BPIUCRL, {"preset": "experiment"})]
RULED += [(EPRL, {"recommendation": "cautious", "sampling": "max-diameter"}), (Uniform, {"seed": 3})]
RULED += [(WholePlan, {}), (WholePlan, {"widths": "mixture"})]
NAMES = ["-".join([cls.name, *map(str, options.values())]) for cls, options in RULED]
each = pytest.mark.parametrize(("cls", "options"), RULED, ids=NAMES)


def world(seed: int) -> tuple[np.random.Generator, MDP, np.ndarray]:
    """A small graph whose stages may lie far from 0, some arcs known in one case of two."""
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng)
    level = np.repeat(rng.choice([0.0, 0.0, 1e5, -1e5], mdp.horizon), np.diff(mdp.stage_arc))
    truth = level + rng.random(mdp.n_arcs)
    known = np.where(rng.random(mdp.n_arcs) < 0.2, truth, np.nan) if seed % 2 else np.full(mdp.n_arcs, np.nan)
    return rng, with_known(mdp, known), truth


def step(learner: Learner, truth: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A path to tell and its rewards: mostly what is asked for, at times another one."""
    path = learner.ask() if not learner.stopped and rng.random() < 0.8 else some_path(learner.mdp, rng)
    return path, truth[path] + 0.1 * rng.normal(size=len(path))


def some_path(mdp: MDP, rng: np.random.Generator) -> np.ndarray:
    paths = np.array(all_paths(mdp))
    return np.array(paths[rng.integers(len(paths))])


@each
def test_the_answer_keeps_getting_better_after_the_stop(cls: Any, options: dict[str, Any]) -> None:
    for seed in range(6):
        rng, mdp, truth = world(seed)
        instance = Instance(mdp, Gaussian(truth, 0.1))
        learner = cls(mdp, 1.0, 0.01, 0.1, **options)
        while not learner.stopped:
            path = learner.ask()
            learner.tell(path, truth[path] + 0.1 * rng.normal(size=len(path)))
        gaps = [learner.certified_gap()]
        for _ in range(60):
            learner.tell(*step(learner, truth, rng))
            gaps.append(learner.certified_gap())
            assert learner.stopped
        assert all(later <= earlier for earlier, later in pairwise(gaps))
        if options.get("preset") != "experiment":
            assert instance.regret_of(learner.recommend()) <= gaps[-1] + 1e-9


def test_uniform_plays_every_option_alike() -> None:
    learner = Uniform(MDP.from_arrays(np.zeros((1, 1, 3), dtype=int)), 0.0, 0.1, 1.0, seed=1)
    for _ in range(900):
        learner.tell(learner.ask(), [0.0])
    assert (np.abs(learner.visits - 300) < 5 * (900 * 2 / 9) ** 0.5).all()
