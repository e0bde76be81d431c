"""The contract of EPRL, BPI-UCRL, Uniform and WholePlan where it says more than that of every learner."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from surepath import BPIUCRL, EPRL, MDP, Gaussian, Instance, Uniform, WholePlan, families
from surepath.errors import SettingError
from surepath.learners.base import Learner
from surepath.learners.own_rules import SamplingRule, View
from surepath.model.paths import on_open_paths
from tests.learners.answers import answers
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
    """A path to tell and its rewards: mostly what is asked for, at times another one, at times broken off."""
    path = learner.ask() if not learner.stopped and rng.random() < 0.8 else some_path(learner.mdp, rng)
    rewards = truth[path] + 0.1 * rng.normal(size=len(path))
    return path, rewards[: int(rng.integers(len(path) + 1)) if rng.random() < 0.2 else len(path)]


def some_path(mdp: MDP, rng: np.random.Generator) -> np.ndarray:
    paths = np.array(all_paths(mdp))
    return np.array(paths[rng.integers(len(paths))])


def try_to_exclude(learner: Learner, rng: np.random.Generator) -> list[int]:
    """Exclude some arcs if a plan is left without them."""
    arcs = rng.choice(learner.mdp.n_arcs, size=int(rng.integers(1, 3))).tolist()
    if not on_open_paths(learner.mdp, ~np.isin(np.arange(learner.mdp.n_arcs), arcs) & ~learner.excluded).any():
        return []
    learner.exclude(arcs)
    return arcs


@each
def test_a_snapshot_goes_on_bit_for_bit_whatever_happened_before(cls: Any, options: dict[str, Any]) -> None:
    """Trials that break off, other paths than asked for, exclusions, tightening; saved at any moment, several times."""
    for seed in range(12):
        rng, mdp, truth = world(seed)
        learner = cls(mdp, 0.5, 0.2, 0.1, **options)
        for _ in range(3):
            for _ in range(int(rng.integers(1, 30))):
                learner.tell(*step(learner, truth, rng))
            if rng.random() < 0.5:
                try_to_exclude(learner, rng)
            if rng.random() < 0.3:
                learner.tighten(learner.epsilon / 2)
        other = Learner.from_snapshot(mdp, pickle.loads(pickle.dumps(learner.snapshot())))
        for t in range(60):
            assert answers(other) == answers(learner)
            assert learner.stopped or other.ask().tolist() == learner.ask().tolist()
            path, rewards = step(learner, truth, rng)
            learner.tell(path, rewards)
            other.tell(path, rewards)
            if t == 30:
                excluded = try_to_exclude(learner, rng)
                if excluded:
                    other.exclude(excluded)
                other = Learner.from_snapshot(mdp, other.snapshot())


@pytest.mark.parametrize("elimination", ["return", "value"])
def test_after_an_exclusion_every_arc_is_judged_anew_on_the_plans_that_are_left(elimination: str) -> None:
    """Beside the list of all plans: what an excluded plan ruled out comes back, what is still behind does not."""
    came_back = stayed_out = 0
    for seed in range(150):
        rng, mdp, truth = world(seed)
        learner = EPRL(mdp, 0.0, 0.2, 0.1, sampling="max-diameter", elimination=elimination)
        for _ in range(120):
            learner.tell(*step(learner, truth, rng))
        before = learner.active
        if not try_to_exclude(learner, rng):
            continue
        view = View(learner)
        left = [p for p in all_paths(mdp) if not learner.excluded[list(p)].any()]
        for e in range(mdp.n_arcs):
            mine = [p for p in left if e in p]
            if not mine:
                assert not learner.active[e]
                continue
            h = mine[0].index(e)
            here = [p for p in left if mdp.source[p[h]] == mdp.source[e]] if elimination == "value" else left
            rest = slice(h, None) if elimination == "value" else slice(None)
            through = max(view.upper[list(p[rest])].sum() for p in mine)
            floor = max(view.lower[list(p[rest])].sum() for p in here)
            if abs(through - floor) > 1e-6 or np.isinf(through):
                assert learner.active[e] == (through >= floor)
            came_back += int(learner.active[e] and not before[e])
            stayed_out += int(not learner.active[e])
        assert not learner.excluded[learner.recommend()].any()
    assert came_back > 5
    assert stayed_out > 20


@each
def test_a_told_trial_of_an_excluded_option_is_counted_and_no_more(cls: Any, options: dict[str, Any]) -> None:
    mdp = MDP.from_arrays(np.zeros((2, 1, 3), dtype=int))
    rng, truth = np.random.default_rng(0), np.array([5.0, 0.5, 0.2, 0.5, 0.3, 0.1])
    learner = cls(mdp, 0.3, 0.1, 0.1, **options)
    learner.exclude(0)
    for _ in range(50):
        learner.tell([0, 3], [5.0, 0.5])
        assert not learner.active[0]
        assert not learner.stopped
    assert learner.visits[0] == 50
    assert learner.means[0] == 5.0
    while not learner.stopped:
        assert learner.episodes < 50_000
        path = learner.ask()
        assert 0 not in path
        learner.tell(path, truth[path] + 0.1 * rng.normal(size=2))
    assert learner.recommend().tolist() == [1, 3]


@pytest.mark.parametrize("sampling", ["max-coverage", "static-max-coverage", "max-diameter", "coverage", "uniform"])
def test_plays_under_way_are_chosen_beside_as_if_they_had_been_told(sampling: str) -> None:
    """These rules look at visits alone while nothing is eliminated: ask(n) is what n single asks would be."""
    for seed in range(20):
        rng, mdp, truth = world(seed)
        both = [
            Uniform(mdp, 0.0, 0.1, 1.0, seed=seed)
            if sampling == "uniform"
            else EPRL(mdp, 0.0, 0.1, 1.0, sampling=sampling, elimination="none")
            for _ in range(2)
        ]
        for _ in range(int(rng.integers(0, 20))):
            if both[0].stopped:
                break
            path = both[0].ask()
            assert both[1].ask().tolist() == path.tolist()
            for learner in both:
                learner.tell(path, truth[path])
        if both[0].stopped:
            continue
        for path in both[0].ask(7):
            if both[1].stopped:
                break
            assert both[1].ask().tolist() == path.tolist()
            both[1].tell(path, truth[path])


def test_uniform_gives_every_worker_a_choice_of_its_own() -> None:
    learner = Uniform(MDP.from_arrays(np.zeros((3, 1, 5), dtype=int)), 0.1, 0.1, 1.0)
    paths = [tuple(path) for path in learner.ask(40).tolist()]
    assert len(set(paths)) > 25


def test_uniform_plays_what_is_left_alike() -> None:
    mdp = MDP.from_arrays(np.zeros((1, 1, 5), dtype=int))
    learner = Uniform(mdp, 0.0, 0.1, 1.0, seed=1)
    learner.exclude([1, 3])
    for _ in range(900):
        learner.tell(learner.ask(), [0.0])
    assert learner.visits[[1, 3]].tolist() == [0, 0]
    assert (np.abs(learner.visits[[0, 2, 4]] - 300) < 5 * (900 * 2 / 9) ** 0.5).all()


def test_a_trial_that_breaks_off_gives_a_plan_no_return() -> None:
    learner = WholePlan(MDP.from_arrays(np.zeros((2, 1, 2), dtype=int)), 0.1, 0.1, 1.0)
    for rewards in ([], [0.5]):
        learner.tell([0, 2], rewards)
    assert learner._plans.visits.tolist() == [0, 0, 0, 0]
    assert learner.visits.tolist() == [1, 0, 0, 0]
    learner.tell([0, 2], [0.7, 0.1])
    assert learner._plans.visits.tolist() == [1, 0, 0, 0]
    assert learner.means[:3].tolist() == pytest.approx([0.6, np.nan, 0.1], nan_ok=True)


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


def test_a_pickle_leaves_out_the_table_of_widths() -> None:
    learner = EPRL(families.paper_random().mdp, 0.1, 0.1, 1.0)
    learner._table_for(500_000)
    learner.tell(learner.ask(), [0.5, 0.5, 0.5])
    data = pickle.dumps(learner)
    assert len(data) < 100_000
    again = pickle.loads(data)
    assert again.widths_now().tolist() == learner.widths_now().tolist()


class First(SamplingRule):
    """Always the first arc."""

    def choose(self, view: View) -> np.ndarray:
        return np.array([0, 2])


class Widest(SamplingRule):
    """The widest of what is left."""

    def choose(self, view: View) -> np.ndarray:
        return view.best_path(np.minimum(view.widths, 100.0), only_active=False)


def test_rules_written_in_python_see_what_is_excluded_and_cannot_use_it() -> None:
    mdp = MDP.from_arrays(np.zeros((2, 1, 2), dtype=int))
    learner = EPRL(mdp, 0.1, 0.1, 1.0, sampling=First())
    learner.exclude(0)
    with pytest.raises(SettingError, match=r"First\.choose returned arc 0 .*, which was excluded; view\.best_path"):
        learner.ask()
    learner = EPRL(mdp, 0.5, 0.1, 0.1, sampling=Widest())
    learner.exclude(0)
    assert View(learner).excluded.tolist() == [True, False, False, False]
    assert learner.ask(2).tolist() == [[1, 2], [1, 2]]
    while not learner.stopped:
        path = learner.ask()
        assert path[0] == 1
        learner.tell(path, [0.5, 0.5])
    with pytest.raises(SettingError, match="EPRL with a rule written in Python cannot be saved as numbers"):
        learner.snapshot()
