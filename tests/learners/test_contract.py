"""What every learner promises: workers, failures, exclusions, results after the stop, threads, snapshots, copies."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from typing import Any

import numpy as np
import pytest

from surepath import BPIUCRL, EPRL, MDP, Challenger, Gaussian, Instance, Uniform, WholePlan, families
from surepath.errors import RewardError, SettingError, StoppedError
from surepath.learners.base import Learner
from tests.learners.answers import answers
from tests.learners.worlds import random_mdp, with_known
from tests.naive.paths import all_paths

LEARNERS: list[tuple[Any, dict[str, Any]]] = [
    (Challenger, {}),
    (Challenger, {"dependence": "independent", "sampling": "max-diameter"}),
    (EPRL, {}),
    (EPRL, {"sampling": "static-max-coverage"}),
    (EPRL, {"sampling": "max-diameter", "elimination": "both"}),
    (BPIUCRL, {}),
    (Uniform, {}),
    (WholePlan, {}),
]
NAMES = ["-".join([cls.name, *map(str, options.values())]) for cls, options in LEARNERS]
each = pytest.mark.parametrize(("cls", "options"), LEARNERS, ids=NAMES)
challenger = pytest.mark.parametrize(("cls", "options"), LEARNERS[:2], ids=NAMES[:2])


def play(learner: Learner, truth: np.ndarray, rng: np.random.Generator, trials: int, sigma: float = 0.1) -> None:
    for _ in range(trials):
        if learner.stopped:
            return
        path = learner.ask()
        learner.tell(path, truth[path] + sigma * rng.normal(size=len(path)))


@challenger
def test_the_first_steps_of_a_failed_trial_count(cls: Any, options: dict[str, Any]) -> None:
    learner = cls(families.chain(steps=3, options=2, seed=1).mdp, 0.1, 0.1, 0.5, missing="unrelated", **options)
    path = learner.ask()
    learner.tell(path, [0.25, 0.5])
    assert learner.episodes == 1
    assert learner.visits[path].tolist() == [1, 1, 0]
    assert learner.sums[path].tolist() == [0.25, 0.5, 0.0]
    learner.tell(path, [])
    assert learner.episodes == 2
    assert learner.visits.sum() == 2
    assert learner.failures[path].tolist() == [1, 0, 1]
    assert not learner.stopped


@challenger
def test_a_plan_that_keeps_failing_is_left_alone_for_a_while(cls: Any, options: dict[str, Any]) -> None:
    mdp = MDP.from_arrays(np.zeros((2, 1, 3), dtype=int))
    learner = cls(mdp, 0.05, 0.1, 1.0, **options)
    rng, broken = np.random.default_rng(0), 4
    asked = 0
    for _ in range(200):
        path = learner.ask()
        asked += int(broken in path)
        rewards = 0.5 + 0.1 * rng.normal(size=2)
        learner.tell(path, rewards[:1] if broken in path else rewards)
    assert 3 <= asked <= 16  # 3, then after rests of 5, 6, 8, 10, 13, ...
    assert (learner.visits[[3, 5]] > 20).all()


@challenger
def test_an_excluded_option_is_never_asked_for_again(cls: Any, options: dict[str, Any]) -> None:
    instance = families.chain(steps=3, options=3, seed=2, sigma=0.1)
    learner = cls(instance.mdp, 0.3, 0.1, 0.1, **options)
    rng = np.random.default_rng(1)
    play(learner, instance.means, rng, 15)
    best = instance.best_path()
    learner.exclude(int(best[1]))
    assert learner.excluded.sum() == 1
    assert learner.exclusions == [{"arcs": [int(best[1])], "episodes": learner.episodes}]
    while not learner.stopped and learner.episodes < 100_000:
        path = learner.ask()
        assert not learner.excluded[path].any()
        learner.tell(path, instance.means[path] + 0.1 * rng.normal(size=3))
    assert learner.stopped
    answer = learner.recommend()
    assert not learner.excluded[answer].any()
    left = [p for p in all_plans(instance.mdp) if best[1] not in p]
    assert instance.means[answer].sum() >= max(instance.means[p].sum() for p in left) - 0.3


def all_plans(mdp: MDP) -> list[np.ndarray]:
    return [np.array(path) for path in all_paths(mdp)]


@challenger
def test_what_an_infeasible_plan_ruled_out_comes_back(cls: Any, options: dict[str, Any]) -> None:
    """Three options, the best one turns out not to be feasible: the second, ruled out by it, must win."""
    mdp = MDP.from_arrays(np.zeros((1, 1, 3), dtype=int))
    learner = cls(mdp, 0.05, 0.1, 0.05, **options)
    rng, truth = np.random.default_rng(0), np.array([2.0, 1.0, 0.0])
    play(learner, truth, rng, 3000, 0.05)
    assert learner.stopped
    assert learner.recommend().tolist() == [0]
    learner.exclude({0: 0})
    play(learner, truth, rng, 3000, 0.05)
    assert learner.stopped
    assert learner.recommend().tolist() == [1]
    assert learner.certified_gap() <= 0.05
    with pytest.raises(SettingError, match="would leave no plan at all"):
        learner.exclude([1, 2])


@pytest.mark.parametrize(("cls", "options"), LEARNERS[2:], ids=NAMES[2:])
def test_what_only_challenger_does_is_refused_in_words(cls: Any, options: dict[str, Any]) -> None:
    learner = cls(families.chain(steps=3, options=2, seed=1).mdp, 0.1, 0.1, 0.5, **options)
    path = learner.ask()
    with pytest.raises(SettingError, match=rf"{cls.name} gives one plan at a time: only Challenger has ask\(n\)"):
        learner.ask(2)
    with pytest.raises(RewardError, match=rf"{cls.name} takes whole trials, 3 scores, not 2: only Challenger takes"):
        learner.tell(path, [0.5, 0.5])
    assert learner.episodes == learner.visits.sum() == 0


@each
def test_results_after_the_stop_only_improve_the_answer(cls: Any, options: dict[str, Any]) -> None:
    """Stages far from 0, some arcs known, any paths told: the gap never grows, and it holds."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng)
        level = np.repeat(rng.choice([0.0, 0.0, 1e5, -1e5], mdp.horizon), np.diff(mdp.stage_arc))
        truth = level + rng.random(mdp.n_arcs)
        mdp = with_known(mdp, np.where(rng.random(mdp.n_arcs) < 0.2 * (seed % 2), truth, np.nan))
        instance, learner = Instance(mdp, Gaussian(truth, 0.1)), cls(mdp, 1.0, 0.01, 0.1, **options)
        play(learner, truth, rng, 100_000)
        with pytest.raises(StoppedError, match=rf"{cls.name} stopped after"):
            learner.ask()
        gap, told = learner.certified_gap(), learner.episodes
        for _ in range(60):
            path = rng.choice(all_plans(mdp))
            learner.tell(path, truth[path] + 0.1 * rng.normal(size=len(path)))
            assert learner.stopped
            assert learner.certified_gap() <= gap
            gap = learner.certified_gap()
        assert learner.episodes == told + 60
        assert instance.regret_of(learner.recommend()) <= gap + 1e-9


@challenger
def test_tightening_goes_on_with_all_data(cls: Any, options: dict[str, Any]) -> None:
    mdp = MDP.from_arrays(np.zeros((2, 1, 2), dtype=int))
    learner = cls(mdp, 1.5, 0.1, 0.1, **options)
    rng, truth = np.random.default_rng(0), np.array([0.9, 0.85, 0.9, 0.85])
    play(learner, truth, rng, 3000)
    first = learner.episodes
    learner.tighten(0.2)
    assert learner.epsilon == 0.2
    assert not learner.stopped
    play(learner, truth, rng, 100_000)
    assert learner.stopped
    assert learner.episodes > first
    assert learner.certified_gap() <= 0.2
    with pytest.raises(SettingError, match=r"tighten needs an epsilon below 0\.2, not 0\.2"):
        learner.tighten(0.2)
    with pytest.raises(AttributeError):
        learner.epsilon = 0.1


@challenger
def test_a_snapshot_goes_on_bit_for_bit(cls: Any, options: dict[str, Any]) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        mdp, long = random_mdp(rng), seed > 3
        if long:  # quick checks come after 200 trials
            mdp = MDP.from_steps({"a": [0, 1, 2], "b": [0, 1, 2], "c": [0, 1]})
        truth = 0.5 * rng.random(mdp.n_arcs)
        learner = cls(mdp, 0.05, 0.1, 0.5, **options)
        play(learner, truth, rng, int(rng.integers(210, 600) if long else rng.integers(1, 60)), 0.5)
        if not learner.stopped and seed % 2:
            learner.ask(3)
        snapshot = pickle.loads(pickle.dumps(learner.snapshot()))
        assert plain(snapshot)
        other, unread = (Challenger.from_snapshot(mdp, snapshot) for _ in range(2))
        assert other.__class__ is cls
        for _ in range(60):
            assert answers(other) == answers(learner)
            if learner.stopped:
                break
            path = learner.ask()
            assert other.ask().tolist() == unread.ask().tolist() == path.tolist()
            assert other.ask(2).tolist() == unread.ask(2).tolist() == learner.ask(2).tolist()
            rewards = truth[path] + 0.5 * rng.normal(size=len(path))
            for one in (learner, other, unread):
                one.tell(path, rewards)


def plain(value: Any) -> bool:
    """Nothing but numbers, text, arrays, lists and dicts."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(plain, value))
    return value is None or isinstance(value, (bool, int, float, str, np.ndarray))


def test_a_snapshot_fits_its_own_problem_and_settings_only() -> None:
    mdp = families.chain(steps=2, options=2, seed=1).mdp
    snapshot = Challenger(mdp, 0.1, 0.1, 0.5).snapshot()
    with pytest.raises(SettingError, match="taken on another problem"):
        Challenger(families.chain(steps=2, options=3, seed=1).mdp, 0.1, 0.1, 0.5).restore(snapshot)
    with pytest.raises(SettingError, match=r"taken with delta 0\.1, this learner has 0\.2"):
        Challenger(mdp, 0.1, 0.2, 0.5).restore(snapshot)
    for nothing in ({}, None, {**snapshot, "excluded": 0}):
        if isinstance(nothing, dict) and "excluded" in nothing:
            del nothing["excluded"]
        with pytest.raises(SettingError, match=r"a snapshot is a dict made by|the snapshot lacks excluded"):
            Challenger.from_snapshot(mdp, nothing)  # type: ignore[arg-type]
    as_text = json.loads(json.dumps(snapshot, default=lambda array: array.tolist()))
    assert Challenger.from_snapshot(mdp, as_text).ask().tolist() == Challenger(mdp, 0.1, 0.1, 0.5).ask().tolist()
    with pytest.raises(SettingError, match="snapshots have format 2 here, not 9"):
        Challenger(mdp, 0.1, 0.1, 0.5).restore({**snapshot, "format": 9})


def out_of_band(learner: Learner) -> Any:
    """A pickle whose buffers stay outside and come back read-only."""
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(learner, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers])


@each
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, out_of_band], ids=["copy", "deepcopy", "protocol-5"])
def test_copies_share_nothing(cls: Any, options: dict[str, Any], way: Any) -> None:
    rng = np.random.default_rng(1)
    mdp = random_mdp(rng)
    truth = rng.random(mdp.n_arcs)
    learner = cls(mdp, 0.05, 0.1, 0.1, **options)
    play(learner, truth, rng, 10)
    before, other = answers(learner), way(learner)
    assert answers(other) == before
    play(other, truth, rng, 10)
    assert answers(learner) == before


@each
def test_threads_share_one_learner(cls: Any, options: dict[str, Any]) -> None:
    """Eight threads call everything at once: no crash, and every told trial is counted once."""
    instance = families.chain(steps=4, options=3, seed=1, sigma=0.3)
    learner = cls(instance.mdp, 0.0, 0.1, 0.3, **options)
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for i in range(25):
                many = i % 2 and isinstance(learner, Challenger)
                path = learner.ask(1)[0] if many else learner.ask()
                if i % 7 == 3:
                    learner.recommend()
                    learner.certified_gap()
                    if isinstance(learner, Challenger):
                        learner.explain()
                learner.tell(path, instance.means[path] + 0.3 * rng.normal(size=4))
        except StoppedError:
            pass
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert learner.visits.sum() == 4 * learner.episodes
    if not learner.stopped:
        assert learner.episodes == 200


@pytest.mark.guarantee
def test_eight_threads_keep_the_guarantee() -> None:
    """200 runs, each shared by eight threads that do not wait for each other: counts are exact, answers are right."""
    instance, delta = families.chain(steps=2, options=3, seed=4, sigma=0.3), 0.3
    wrong = 0
    for run in range(200):
        learner = Challenger(instance.mdp, 0.4, delta, 0.3)
        told = [0] * 8

        def work(seed: int, learner: Challenger = learner, told: list[int] = told, run: int = run) -> None:
            rng = np.random.default_rng([run, seed])
            while not learner.stopped:
                try:
                    path = learner.ask(1)[0]
                except StoppedError:
                    return
                rewards = instance.means[path] + 0.3 * rng.normal(size=2)
                learner.tell(path, rewards)
                told[seed] += 1
                if told[seed] % 10 == 0:
                    learner.explain()
                    learner.recommend()

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert learner.episodes == sum(told)
        assert learner.visits.sum() == 2 * sum(told)
        assert not learner._under_way
        wrong += int(instance.regret_of(learner.recommend()) > 0.4)
    assert wrong <= 200 * delta * 0.5
