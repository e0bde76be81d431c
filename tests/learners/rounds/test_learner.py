"""Rounds as a learner: rounds, places, losses, refusals, snapshots, blocks, simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surepath import MDP, Instance, Rounds, simulate
from surepath.errors import PathError, RewardError, SettingError, StoppedError
from surepath.learners.base import build
from surepath.learners.rounds.design import Round, fit_round
from surepath.learners.rounds.learner import FitTest
from surepath.model.worlds import Drawn, Shared
from surepath.model.worlds import Gaussian as Normal
from tests.learners.rounds import worlds

STEPS = {"read": ["a", "b"], "rank": ["u", "v", "w"], "answer": ["s", "t"]}


def problem(**fields: Any) -> MDP:
    return MDP.from_steps(STEPS, "none", structure="additive", **{"scores": "end", **fields})


def test_a_round_is_the_same_whatever_order_its_scores_come_in() -> None:
    mdp, rng = problem(reward_range=(0, 1)), np.random.default_rng(0)
    one, other = Rounds(mdp, 0.02, 0.1, seed=3), Rounds(mdp, 0.02, 0.1, seed=3)
    assert (one.d, one.progress, one.round, one.certified_gap()) == (5, (0, 16), 1, float("inf"))
    for _ in range(4):
        plans = one.plans
        scores = np.clip(0.1 * plans.sum(axis=1) / 6 + 0.2 * rng.random(len(plans)), 0, 1)
        for path, score in zip(one.ask(), scores):
            one.tell(path, score)
        assert np.array_equal(other.ask(5), plans[:5])
        other.ask()
        for place in rng.permutation(len(plans))[:-1]:
            other.tell(mdp.plan(plans[place]), scores[place], place=int(place))
        assert other.certified_gap() != one.certified_gap() or one.certified_gap() == float("inf")
        last = np.flatnonzero(~other._told)[0]
        other.tell(plans[last], scores[last])
        assert other.certified_gap() == one.certified_gap()
        assert np.array_equal(other.plans, one.plans)
        assert np.array_equal(other.visits, one.visits)
    again = Rounds(mdp, 0.02, 0.1, seed=3).restore(other.snapshot())
    other.ask()
    for path in again.ask()[:3]:
        again.tell(path, 0.5)
        other.tell(path, 0.5)
    assert str(again.snapshot()) == str(other.snapshot())
    assert np.array_equal(again.restore(one.snapshot()).plans, one.plans)


def test_lost_plans_are_asked_for_again_in_their_place() -> None:
    learner = Rounds(problem(sigma=0.1), 0.1, 0.1)
    plans = learner.ask()
    assert learner.ask().shape == (0, 3)
    learner.cancel(plans[4])
    learner.cancel(plans[4])  # only one was handed out, or as many as the plan is there
    again = learner.ask()
    assert all(np.array_equal(path, plans[4]) for path in again)
    assert len(again) >= 1
    assert np.array_equal(learner.plans, plans)


def test_what_would_break_the_proof_is_refused() -> None:
    learner = Rounds(problem(sigma=0.1, reward_range=(0, 1)), 0.1, 0.1)
    plan = learner.plans[0]
    count = int((learner.plans == plan).all(axis=1).sum())
    for _ in range(count):
        learner.tell(plan, 0.5)
    with pytest.raises(PathError, match=r"is no open plan of round 1: the plans of a round are fixed before its first"):
        learner.tell(plan, 0.5)
    other = next(path for path in learner.plans if not np.array_equal(path, plan))
    with pytest.raises(PathError, match=r"is no open plan of round 1 at 0"):
        learner.tell(other, 0.5, place=0)
    with pytest.raises(RewardError, match=r"the score 1.5 of a plan lies outside the declared range \[0, 1\]"):
        learner.tell(other, 1.5)
    for given, seen in (([0.1, 0.2, 0.3], r"\[0.1, 0.2, 0.3\]"), (float("nan"), "nan")):
        with pytest.raises(RewardError, match=f"one finite score here at each of step 'answer'; got {seen}. A lost"):
            learner.tell(other, given)
    with pytest.raises(RewardError, match=r"the score of a plan must be a number, not {'read': 1}"):
        learner.tell(other, {"read": 1})
    assert learner.episodes == count
    plain = MDP.from_arrays([[[0, 0]], [[0, 0]]])
    with pytest.raises(SettingError, match=r"Rounds: the noise of a plan's score is not declared"):
        Rounds(plain, 0.1, 0.1)
    with pytest.raises(SettingError, match=r"sigma of a plan's score must be above 0, not 0"):
        Rounds(plain, 0.1, 0.1, 0.0)
    with pytest.raises(SettingError, match=r"the lowest score must be below the highest; got \(1, 0\)"):
        Rounds(plain, 0.1, 0.1, reward_range=(1, 0))
    with pytest.raises(SettingError, match=r"Rounds has no place for costs in a plan's worth"):
        Rounds(plain.with_costs([1, 0, 0, 0], 1.0), 0.1, 0.1, 1.0)
    bound = Rounds(plain, 0.1, 0.1, 1.0).bound
    for change, message in (
        ({"rho": 1.0}, "rho between 0 and 1"),
        ({"weights": [0.9, 0.9, 0.9]}, "as many weights, of sum at most 1"),
        ({"more": 3}, "bound must be a dict with exactly the keys prior, rho, trials, weights"),
    ):
        with pytest.raises(SettingError, match=message):
            Rounds(plain, 0.1, 0.1, 1.0, bound={**bound, **change})
    learned = Rounds(plain, 0.1, 0.1, reward_range=(0, 1)).bound
    with pytest.raises(SettingError, match=r"\(tilts below 1\)"):
        Rounds(plain, 0.1, 0.1, reward_range=(0, 1), bound={**learned, "tilts": [1.5, *learned["tilts"][1:]]})
    with pytest.raises(SettingError, match=r"a snapshot of Rounds is a dict made by learner.snapshot\(\)"):
        learner.restore({})
    for taken in (Rounds(plain, 0.1, 0.1, 1.0), Rounds(learner.mdp, 0.1, 0.2)):
        with pytest.raises(SettingError, match=r"taken on another problem or with other settings"):
            learner.restore(taken.snapshot())


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_blocks_and_directions_end_with_the_best_plan(direction: str) -> None:
    mdp = problem(scores=["rank", "answer"], sigma=0.05, direction=direction)
    learner, rng = Rounds(mdp, 0.0, 0.1), np.random.default_rng(1)
    assert learner.d == mdp.n_effects == 6
    effect = np.array([0.2, 0.5, 0.9, 0.1, 0.4, 0.3, 0.6])
    while not learner.stopped:
        for path in learner.ask():
            scores = np.array([effect[path[:2]].sum(), effect[path[2]]]) + 0.05 * rng.normal(size=2)
            learner.tell(path, {"rank": scores[0], "answer": scores[1]})
    best = {"read": "b", "rank": "u", "answer": "t"}
    if direction == "minimize":
        best = {"read": "a", "rank": "v", "answer": "s"}
    assert mdp.plan(learner.recommend()) == best
    assert learner.certified_gap() == 0.0
    assert (learner.means == 0).nonzero()[0].tolist() == sorted(learner.recommend())
    assert (learner.widths() >= 0).all()
    with pytest.raises(StoppedError, match=r"Rounds stopped after \d+ trials; recommend"):
        learner.tell(learner.recommend(), [1, 2])


def test_simulated_runs_are_those_of_ask_and_tell_and_know_the_noise_of_sums() -> None:
    instance = worlds.free(3, 3, 1, 0.4)
    found = simulate({"name": "Rounds", "epsilon": 0.3, "delta": 0.1}, instance, 3, 5)
    assert found.settings["learner"]["sigma"] == pytest.approx(0.4)
    assert found.correct.all()
    assert not found.censored.any()
    law = Drawn(
        lambda arc, rng: instance.means[arc] + instance.sigma[arc] * rng.normal(), instance.means, instance.sigma
    )
    by_hand = simulate({"name": "Rounds", "epsilon": 0.3, "delta": 0.1}, Instance(instance.mdp, law), 3, 5)
    assert by_hand.correct.all()
    assert not by_hand.censored.any()
    shared = Instance(instance.mdp, Shared(Normal(instance.means, 0.2), 0.5))
    together = simulate({"name": "Rounds", "epsilon": 0.5, "delta": 0.1}, shared, 2, 5)
    assert together.settings["learner"]["sigma"] == pytest.approx(0.6)
    cut = simulate({"name": "Rounds", "epsilon": 0.0, "delta": 0.1}, instance, 1, 5, budget=40)
    assert cut.censored.all()
    assert cut.tau[0] == 40
    assert simulate(build(found.settings["learner"], instance.mdp), instance, 3, 5).tau.tolist() == found.tau.tolist()


def test_more_plans_than_can_be_listed() -> None:
    large = worlds.free(12, 10, 0, 0.5)
    learner = Rounds(large.mdp, 1.0, 0.1, 0.5)
    worlds.play(learner, large.means, lambda value, rng: value + 0.5 * rng.normal(size=len(value)), 0, 4_000)
    assert learner.stopped
    assert large.regret_of(learner.recommend()) <= 1.0


def test_a_declared_misfit_widens_the_gap_by_what_it_can_do() -> None:
    """Two steps of two options in an orthogonal design: one step's change weighs all scores evenly, l = 2."""
    mdp = MDP.from_arrays([[[0, 0]], [[0, 0]]])
    given: list[dict[str, Any]] = [{"sigma": 0.1}, {"reward_range": (0, 10)}]
    for noise in given:
        learner, rng = Rounds(mdp, 0.001, 0.1, **noise), np.random.default_rng(0)
        assert learner.certified_gap(gamma=0.1) == float("inf")
        learner._plans = np.tile([[0, 2], [0, 3], [1, 2], [1, 3]], (5, 1))
        gains = 5 + 0.02 * learner._plans.sum(axis=1) + 0.1 * rng.normal(size=20)
        learner._scores = np.zeros((20, 1))
        learner._play_round(gains[:, None])
        assert learner._weights_of(np.array([[-1.0, 1.0, 0.0, 0.0]]), 0)[1] == pytest.approx(2.0)
        bare = learner.certified_gap()
        assert bare + 0.01 * (2 + 2) <= learner.certified_gap(gamma=0.01) + 1e-9 <= bare + 2 * 0.01 * (2 + 2) + 1e-9
        with pytest.raises(SettingError, match=r"how far a score may be from additive: at least 0, not -1"):
            learner.certified_gap(gamma=-1.0)
    with pytest.raises(SettingError, match=r'noise="gaussian" takes misfit for noise'):
        Rounds(mdp, 0.1, 0.1, noise="gaussian").certified_gap(gamma=0.1)


def test_a_misfit_of_every_score_counts_in_the_gap() -> None:
    """Two scores off by gamma each move the values of two plans by 4 gamma, beside what they do to the estimates."""
    steps = {"a": ["1", "2"], "b": ["1"], "c": ["1"]}
    mdp = MDP.from_steps(steps, "none", scores=["a", "c"], structure="additive", sigma=0.1)
    learner = Rounds(mdp, 0.001, 0.1)
    learner._play_round(np.zeros((len(learner.plans), 2)))
    length = learner._weights_of(np.array([[-1.0, 1.0, 0.0, 0.0]]), 0)[1][0]
    assert learner.certified_gap(gamma=0.01) == pytest.approx(learner.certified_gap() + 0.01 * (4 + length))


def test_lists_that_do_not_fit_into_memory_are_refused() -> None:
    """Ten steps of ten options that depend on the one before: 4e9 ways to leave a plan and come back."""
    options = [str(i) for i in range(10)]
    mdp = MDP.from_steps({f"step {i}": options for i in range(10)}, "previous", scores="end", structure="additive")
    message = r"compares all changes .* at most 1,000,000; here are about 4e\+09"
    with pytest.raises(SettingError, match=message):
        Rounds(mdp, 0.1, 0.1, reward_range=(0, 1))
    with pytest.raises(SettingError, match=message):
        Rounds(mdp, 0.1, 0.1, noise="gaussian")
    learner = Rounds(mdp, 0.1, 0.1, 0.1)
    learner._history.append(Round(learner.plans, np.zeros((1, 1)), learner.active))
    with pytest.raises(SettingError, match=message):
        learner.certified_gap(gamma=0.1)


def test_interactions_are_found_and_nothing_is_found_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surepath.learners.rounds.learner.FIRST", 40)
    mdp, found = problem(sigma=0.1), []
    for size in (0.0, 0.3):
        learner, rng = Rounds(mdp, 0.0, 0.1), np.random.default_rng(2)
        while not learner.stopped and learner.round <= 3:
            plans = learner._plans
            clash = size * ((plans[:, 0] == 1) & (plans[:, 1] == 4))
            learner._play_round((clash + 0.1 * rng.normal(size=len(plans)))[:, None])
        found.append(learner.findings())
    assert found[0] == []
    assert (found[1][0].kind, found[1][0].p_value < 1e-6) == ("dependence", True)
    assert found[1][0].message.startswith("step 'read' and step 'rank' interact: their effects do not add up")


def test_the_test_of_the_fit_has_mean_at_most_one() -> None:
    """Over many first rounds of Gaussian scores; effects that are there do not count."""
    mdp = problem(sigma=1.0)
    learner, rng, values = Rounds(mdp, 0.1, 0.1), np.random.default_rng(3), []
    effect = rng.random(mdp.n_arcs)
    for _ in range(600):
        test = FitTest(mdp, learner._blocks, 1.0)
        scores = effect[learner._plans].sum(axis=1)[:, None] + rng.normal(size=(len(learner._plans), 1))
        done = Round(learner._plans, scores, np.ones(mdp.n_arcs, dtype=bool))
        test.add(done, fit_round(learner._blocks, done))
        values.append(np.exp(test.logs).mean())
    assert abs(np.mean(values) - 1) < 4 * np.std(values) / np.sqrt(600)
