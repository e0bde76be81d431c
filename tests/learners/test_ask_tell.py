"""Ask and tell: bad input leaves everything as it was; the compiled run takes the same steps; corner cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surepath import BPIUCRL, EPRL, MDP, Challenger, Gaussian, Instance, WholePlan, families, simulate
from surepath.errors import PathError, RewardError, SettingError
from tests.learners.answers import answers
from tests.learners.worlds import random_mdp, with_known
from tests.naive.draws import draw_reward

pytestmark = pytest.mark.pure

LEARNERS: list[tuple[Any, dict[str, Any]]] = [
    (EPRL, {}),
    (EPRL, {"sampling": "static-max-coverage"}),
    (EPRL, {"sampling": "max-diameter", "elimination": "both"}),
    (EPRL, {"sampling": "coverage", "schedule": "every-sa"}),
    (EPRL, {"sampling": "max-diameter", "preset": "experiment"}),
    (EPRL, {"preset": "experiment"}),
    (BPIUCRL, {}),
    (BPIUCRL, {"elimination": "value"}),
    (BPIUCRL, {"preset": "experiment"}),
    (WholePlan, {}),
    (WholePlan, {"widths": "mixture"}),
]
NAMES = ["-".join([cls.__name__, *map(str, options.values())]) for cls, options in LEARNERS]


@pytest.mark.parametrize(("cls", "options"), LEARNERS, ids=NAMES)
def test_the_run_takes_the_same_steps(cls: Any, options: dict[str, Any]) -> None:
    """One generator, drawn in the same order, through the fused run and through ask and tell: bit-equal ends."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng)
        level = np.repeat(rng.choice([0.0, 3e6 * (seed % 2)], mdp.horizon), np.diff(mdp.stage_arc))
        instance = Instance(mdp, Gaussian(level + rng.random(mdp.n_arcs), sigma=0.1))
        learner = cls(mdp, 0.15, 0.1, 0.1, **options)
        fused = simulate(learner, instance, runs=1, seed=seed, budget=3000)
        child = np.random.SeedSequence(entropy=seed, spawn_key=(0,))
        draws = np.random.Generator(np.random.PCG64(child))
        while not learner.stopped and learner.episodes < 3000:
            path = learner.ask()
            learner.tell(path, [draw_reward(instance, int(arc), draws) for arc in path])
        assert learner.episodes == fused.tau[0]
        assert (learner.stop_reason or "budget") == fused.reason[0]
        assert learner.recommend().tolist() == fused.path[0].tolist()
        assert learner.certified_gap() == fused.gap[0]
        if cls is not WholePlan:
            assert int((~learner.active).sum()) == fused.eliminated[0]


@pytest.mark.parametrize(("cls", "options"), [*LEARNERS, (Challenger, {})], ids=[*NAMES, "Challenger"])
def test_bad_input_is_refused_and_changes_nothing(cls: Any, options: dict[str, Any]) -> None:
    mdp = families.paper_random(seed=1).mdp
    learner = cls(mdp, 0.5, 0.1, 1.0, **options)
    path = learner.ask()
    learner.tell(path, [0.5, 0.5, 0.5])
    before = [*answers(learner), learner.ask().tolist()]
    other = [int(path[0]), int(path[1]), int(path[0])]
    for bad_path, rewards, error, message in [
        (path, [0.5] * 4, RewardError, "scores must be"),
        (path, [0.5, np.nan, 0.5], RewardError, "the score of step 2 is nan; scores must be finite"),
        (path, [0.5, 0.5, np.inf], RewardError, "the score of step 3 is inf; scores must be finite"),
        (path, "high", RewardError, "scores must be 3 numbers, not text; got 'high'"),
        (path[:2], [0.5] * 3, PathError, "a path is 3 arc numbers, one for each step"),
        (other, [0.5] * 3, PathError, "not a path: option"),
        ([0, 1, 99], [0.5] * 3, PathError, "arc numbers run from 0 to"),
    ]:
        with pytest.raises(error) as caught:
            learner.tell(bad_path, rewards)
        assert message in str(caught.value)
        assert [*answers(learner), learner.ask().tolist()] == before


@pytest.mark.parametrize("cls", [EPRL, BPIUCRL, WholePlan, Challenger])
@pytest.mark.parametrize(
    ("epsilon", "delta", "message"),
    [
        (-0.1, 0.1, "epsilon must be 0 or more, not -0.1"),
        (0.1, 0.0, "delta must lie strictly between 0 and 1, not 0"),
        (0.1, 1.0, "delta must lie strictly between 0 and 1, not 1"),
        (np.nan, 0.1, "epsilon must be finite"),
        ("x", 0.1, "epsilon must be a number, not 'x'"),
    ],
)
def test_bad_settings_are_refused(cls: Any, epsilon: Any, delta: Any, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        cls(families.paper_random().mdp, epsilon, delta)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampling": "max-diametre"}, "sampling 'max-diametre' is not known (did you mean \"max-diameter\"?)"),
        ({"elimination": "returns"}, "elimination 'returns' is not known (did you mean \"return\"?)"),
        ({"schedule": "weekly"}, "schedule 'weekly' is not known"),
        ({"preset": "theroy"}, '(did you mean "theory"?)'),
        ({"sigma": -1.0}, "sigma must be 0 or more, not -1"),
        ({"stopping": "never"}, "stopping must be a rule of your own, or None, not 'never'"),
    ],
)
def test_unknown_choices_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as caught:
        EPRL(families.paper_random().mdp, 0.1, 0.1, **options)
    assert message in str(caught.value)


def test_epsilon_zero_stops_by_elimination() -> None:
    instance = Instance(MDP.from_arrays([[[0, 0]]]), Gaussian([0.2, 0.9], 0.05))
    result = simulate({"name": "EPRL", "epsilon": 0.0, "delta": 0.1, "sampling": "max-diameter"}, instance, 20, 0)
    assert set(result.reason) == {"single"}
    assert result.correct.all()
    assert (result.gap == 0.0).all()


def test_a_gap_of_exactly_epsilon_stops() -> None:
    """Known rewards have width 0, so the gap is exactly 0 = epsilon; the authors' strict rule goes on."""
    mdp = with_known(MDP.from_arrays([[[0, 0]]]), np.array([0.5, 0.25]))
    learner = EPRL(mdp, 0.0, 0.1)
    learner.tell([0], [np.nan])
    assert learner.stop_reason == "gap"
    assert learner.recommend().tolist() == [0]
    strict = EPRL(with_known(MDP.from_arrays([[[0, 0]]]), np.array([0.5, 0.5])), 0.0, 0.1, preset="experiment")
    for _ in range(4):
        strict.tell([0], [0.0])
    assert not strict.stopped


def test_unvisited_arcs_come_first_most_of_them_on_one_path() -> None:
    mdp = MDP.from_arrays([[[0, 1], [0, 0]], [[0, 0], [0, 0]]])
    learner = EPRL(mdp, 0.0, 0.1, 1.0, sampling="max-diameter")
    seen: set[int] = set()
    for fresh in (2, 2, 1, 1):
        path = learner.ask().tolist()
        assert len(set(path) - seen) == fresh
        seen |= set(path)
        learner.tell(path, [0.0, 0.0])
    assert seen == set(range(mdp.n_arcs))


def test_whole_plan_counts_any_path_that_is_told() -> None:
    mdp = families.paper_random(seed=1).mdp
    learner = WholePlan(mdp, 10.0, 0.1, sigma=0.1)
    plans = learner._plans.active.sum()
    learner.tell(learner.ask(), [1.0, 1.0, 1.0])
    for _ in range(3):
        learner.tell(learner.recommend(), [1.0] * 3)
    assert learner.episodes == 4
    assert learner._plans.active.sum() == plans
    while not learner.stopped:
        learner.tell(learner.ask(), [0.5, 0.5, 0.5])
    assert learner.stop_reason == "gap"


def test_choosing_beside_other_plays_leaves_no_trace() -> None:
    instance = families.chain(steps=3, options=2, seed=1, sigma=0.5)
    learner = Challenger(instance.mdp, 0.1, 0.1, 0.5)
    twin = Challenger(instance.mdp, 0.1, 0.1, 0.5)
    rng = np.random.default_rng(0)
    for _ in range(30):
        path = learner.ask()
        plays = np.array([path, path[::1], instance.best_path()])
        first = learner.ask_beside(plays, 3)
        assert learner.ask_beside(plays, 3).tolist() == first.tolist()
        assert first.shape == (3, 3)
        rewards = instance.means[path] + rng.normal(size=3)
        assert twin.ask().tolist() == path.tolist() == learner.ask().tolist()
        learner.tell(path, rewards)
        twin.tell(path, rewards)
    assert_same(learner.snapshot(), twin.snapshot())


def assert_same(a: object, b: object) -> None:
    if isinstance(a, dict):
        assert isinstance(b, dict)
        assert a.keys() == b.keys()
        for key in a:
            assert_same(a[key], b[key])
    else:
        assert np.array_equal(np.asarray(a), np.asarray(b), equal_nan=np.asarray(a).dtype.kind == "f")


@pytest.mark.parametrize(("cls", "options"), [*LEARNERS, (Challenger, {})], ids=[*NAMES, "Challenger"])
def test_settings_rebuild_the_learner(cls: Any, options: dict[str, Any]) -> None:
    mdp = families.paper_random(seed=1).mdp
    learner = cls(mdp, 0.5, 0.1, np.linspace(0.1, 0.5, mdp.n_arcs), **options)
    again = learner.fresh(0.5)
    assert again.settings() == learner.settings()
    assert again.ask().tolist() == learner.ask().tolist()
