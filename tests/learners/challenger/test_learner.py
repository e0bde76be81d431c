"""Challenger's contract: ask and tell, workers, directions, known rewards, what it says of itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surepath import MDP, Bernoulli, Challenger, Drawn, Gaussian, Instance, families, simulate
from surepath.errors import PathError, RewardError, SettingError, StoppedError
from surepath.simulation.stepwise import draw_reward
from tests.learners.worlds import random_mdp, with_known

OPTIONS: list[dict[str, Any]] = [
    {},
    {"widths": "two-sided", "prior": "uniform"},
    {"prior": "both", "patience": 0.3},
    {"widths": "per-arc"},
    {"sampling": "max-diameter"},
    {"sampling": "separating", "prior": "excursion"},
    {"sampling": "coverage", "patience": 0.0},
]
NAMES = ["-".join(map(str, options.values())) or "default" for options in OPTIONS]


def play(learner: Challenger, instance: Instance, rng: np.random.Generator, episodes: int) -> None:
    for _ in range(episodes):
        if learner.stopped:
            return
        path = learner.ask()
        learner.tell(path, [draw_reward(instance, int(arc), rng) for arc in path])


def chain(sigma: float = 0.2) -> Instance:
    return families.chain(steps=3, options=3, sigma=sigma, seed=2)


@pytest.mark.parametrize("options", OPTIONS, ids=NAMES)
def test_the_run_takes_the_same_steps(options: dict[str, Any]) -> None:
    """One generator, drawn in the same order, through the fused run and through ask and tell: bit-equal ends."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng)
        instance = Instance(mdp, Gaussian(rng.random(mdp.n_arcs), sigma=0.1))
        learner = Challenger(mdp, 0.15, 0.1, 0.1, **options)
        fused = simulate(learner, instance, runs=1, seed=seed, budget=400)
        draws = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy=seed, spawn_key=(0,))))
        play(learner, instance, draws, 400)
        assert learner.episodes == fused.tau[0]
        assert (learner.stop_reason or "budget") == fused.reason[0]
        assert learner.recommend().tolist() == fused.path[0].tolist()
        assert learner.certified_gap() == fused.gap[0]
        assert int((~learner.active).sum()) == fused.eliminated[0]


@pytest.mark.parametrize("options", OPTIONS, ids=NAMES)
def test_every_combination_stops_with_a_good_answer(options: dict[str, Any]) -> None:
    result = simulate({"name": "Challenger", "epsilon": 0.4, "delta": 0.01, **options}, chain(), 5, seed=0)
    assert not result.censored.any()
    assert result.correct.all()
    assert (result.gap <= 0.4).all()


def test_the_number_of_workers_changes_nothing() -> None:
    spec = {"name": "Challenger", "delta": 0.1, "repeat": 0.1}
    alone, many = (simulate(spec, chain(), runs=9, seed=4, epsilons=[0.3, 0.6], workers=w) for w in (1, 3))
    assert alone.to_dict() == many.to_dict()
    apart = simulate({**spec, "epsilon": 0.6}, chain(), runs=9, seed=4)
    assert apart.tau.tolist() == alone.tau[alone.at(0.6)].tolist()


def test_a_users_function_is_played_step_by_step_to_the_same_end() -> None:
    compiled = chain()
    means = compiled.means
    drawn = Instance(compiled.mdp, Drawn(lambda arc, rng: means[arc] + 0.2 * rng.standard_normal(), means, 0.2))
    spec = {"name": "Challenger", "delta": 0.1, "sigma": 0.2}
    fast, slow = (simulate(spec, world, runs=2, seed=7, epsilons=[0.5]) for world in (compiled, drawn))
    assert fast.to_dict() == slow.to_dict()


def test_asking_again_and_reading_the_gap_change_nothing() -> None:
    rng, instance = np.random.default_rng(0), chain()
    quiet, curious = (Challenger(instance.mdp, 0.3, 0.1, 0.2) for _ in range(2))
    while not quiet.stopped:
        path = quiet.ask()
        assert curious.ask().tolist() == path.tolist()
        if quiet.episodes % 7 == 0:
            curious.certified_gap()
            curious.explain()
            curious.recommend()
        assert curious.ask().tolist() == path.tolist()
        rewards = instance.means[path] + 0.2 * rng.standard_normal(3)
        quiet.tell(path, rewards)
        curious.tell(path, rewards)
        assert quiet.stopped == curious.stopped


def test_bad_input_is_refused_and_changes_nothing() -> None:
    learner = Challenger(chain().mdp, 0.3, 0.1, 0.2)
    path = learner.ask()
    learner.tell(path, [0.5] * 3)
    before = [learner.visits.tolist(), learner.sums.tolist(), learner.ask().tolist(), learner.episodes]
    for bad_path, rewards, error, message in [
        (path, [0.5] * 4, RewardError, "rewards must be 3 numbers, one per stage, or fewer; got 4"),
        (path, [0.5, np.nan, 0.5], RewardError, "the reward at stage 1 is nan; rewards must be finite"),
        (path[:2], [0.5] * 3, PathError, "a path is 3 arc numbers, one per stage"),
        (path[::-1], [0.5] * 3, PathError, "not a path: arc"),
    ]:
        with pytest.raises(error) as caught:
            learner.tell(bad_path, rewards)
        assert message in str(caught.value)
        assert [learner.visits.tolist(), learner.sums.tolist(), learner.ask().tolist(), learner.episodes] == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"widths": "onesided"}, "widths 'onesided' is not known (did you mean \"one-sided\"?)"),
        ({"prior": "detours"}, "prior 'detours' is not known (did you mean \"detour\"?)"),
        ({"sampling": "separate"}, "sampling 'separate' is not known (did you mean \"separating\"?)"),
        ({"repeat": -0.1}, "repeat must lie between 0 and 1, not -0.1"),
        ({"patience": 2}, "patience must lie between 0 and 1, not 2"),
        ({"repeat": "often"}, "repeat must be a number, not 'often'"),
        ({"sigma": -1.0}, "sigma must be 0 or more; arc 0 has -1"),
        ({"epsilon": -1.0}, "epsilon must be 0 or more, not -1"),
        ({"delta": 1.0}, "delta must lie strictly between 0 and 1, not 1"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as caught:
        Challenger(chain().mdp, **{"epsilon": 0.1, "delta": 0.1, "sigma": 1.0, **options})
    assert message in str(caught.value)


def test_nothing_is_asked_after_the_stop() -> None:
    learner = Challenger(MDP.from_arrays([[[0, 0]]]), 10.0, 0.1, 0.01)
    learner.tell([0], [1.0])
    learner.tell([1], [1.0])
    assert learner.stopped
    assert learner.stop_reason == "cleared"
    for n in (None, 2):
        with pytest.raises(StoppedError, match=r"Challenger stopped after 2 episodes; recommend\(\) has its answer"):
            learner.ask(n)


@pytest.mark.parametrize("told", [0, 8, 9, 16])
def test_a_plate_of_trials_is_no_single_plan(told: int) -> None:
    """Also where one option is still unseen: plays on their way to it are enough."""
    mdp = MDP.from_steps({"a": ["1", "2", "3"], "b": ["1", "2", "3"], "c": ["1", "2"]}, reward_range=(0, 1))
    learner, rng = Challenger(mdp, epsilon=0.2, delta=0.05), np.random.default_rng(0)
    means = 0.2 + 0.6 * rng.random(mdp.n_arcs)
    for _ in range(told):
        path = learner.ask()
        learner.tell(path, np.clip(means[path] + 0.05 * rng.standard_normal(3), 0, 1))
    assert (learner.visits == 0).any() == (told < 9)
    plans, plays = np.unique(learner.ask(96), axis=0, return_counts=True)
    assert len(plans) >= 10
    assert plays.max() <= 32


def test_plays_for_workers_spread_and_pending_ones_count() -> None:
    mdp = MDP.from_arrays(np.zeros((1, 1, 4), dtype=int))
    learner = Challenger(mdp, 0.1, 0.1, 1.0)
    first = learner.ask(4)
    assert sorted(first[:, 0].tolist()) == [0, 1, 2, 3]  # every arc once before any is known
    assert learner._seen.pending.tolist() == [1, 1, 1, 1]
    for path in first:
        learner.tell(path, [0.5])
    assert learner._seen.pending.tolist() == [0, 0, 0, 0]
    batch = learner.ask(12)
    assert batch.shape == (12, 1)
    assert learner._seen.pending.sum() == 12
    assert len(set(batch[:, 0].tolist())) >= 2  # arcs alike in all they know: no worker repeats one for ever
    for path in batch:
        learner.cancel(path)
    assert learner._seen.pending.sum() == 0
    learner.cancel(batch[0])
    assert learner._seen.pending.sum() == 0
    assert learner.episodes == 4
    with pytest.raises(SettingError, match="n must be"):
        learner.ask(0)
    with pytest.raises(PathError, match="arc numbers run from 0 to 3"):
        learner.cancel([9])


def test_cancelled_plays_that_covered_are_asked_for_again() -> None:
    learner = Challenger(MDP.from_arrays(np.zeros((2, 1, 3), dtype=int)), 0.5, 0.1, 0.1)
    for path in learner.ask(3):
        learner.cancel(path)
    for _ in range(200):
        if learner.stopped:
            break
        path = learner.ask()
        learner.tell(path, np.where(path % 3 == 1, 1.0, 0.0))
    assert learner.stopped
    assert learner.recommend().tolist() == [1, 4]


def test_costs_are_minimised() -> None:
    mdp = MDP.from_arrays([[[0, 0]]], direction="minimize")
    result = simulate({"name": "Challenger", "epsilon": 0.4, "delta": 0.1}, Instance(mdp, Bernoulli([0.9, 0.1])), 10, 0)
    assert (result.path == 1).all()


def test_costs_and_gains_take_the_same_steps() -> None:
    rng, table = np.random.default_rng(1), np.zeros((2, 2, 3), dtype=int)
    gains, costs = (
        Challenger(MDP.from_arrays(table, direction=direction), 0.3, 0.1, 0.3) for direction in ("maximize", "minimize")
    )
    means = rng.random(gains.mdp.n_arcs)
    while not gains.stopped:
        path = gains.ask()
        assert costs.ask().tolist() == path.tolist()
        rewards = means[path] + 0.3 * rng.standard_normal(2)
        gains.tell(path, rewards)
        costs.tell(path, -rewards)
        assert gains.certified_gap() == costs.certified_gap()
    assert costs.stopped
    assert costs.recommend().tolist() == gains.recommend().tolist()


def test_a_quiet_arc_needs_fewer_visits_than_a_noisy_one() -> None:
    mdp = MDP.from_arrays(np.zeros((1, 1, 3), dtype=int))
    instance = Instance(mdp, Gaussian([0.5, 0.4, 0.3], sigma=[0.01, 1.0, 1.0]))
    learner = Challenger(mdp, 0.3, 0.1, instance.sigma)
    play(learner, instance, np.random.default_rng(0), 100_000)
    assert learner.stopped
    assert learner.visits[0] * 10 < learner.visits[1:].min()


def test_known_arcs_need_no_visit() -> None:
    known = np.array([0.5, 0.2, 0.7, np.nan, np.nan, np.nan])
    mdp = with_known(MDP.from_arrays(np.zeros((2, 1, 3), dtype=int)), known)
    instance = Instance(mdp, Gaussian([0, 0, 0, 0.1, 0.9, 0.3], sigma=0.1))
    learner = Challenger(mdp, 0.1, 0.1, 0.1)
    for _ in range(3):
        learner.tell(learner.ask(), [np.nan, 0.5])
    assert np.isfinite(learner.certified_gap())  # three of the arcs 0..5 were never played
    fresh = Challenger(mdp, 0.1, 0.1, 0.1)
    play(fresh, instance, np.random.default_rng(0), 10_000)
    assert fresh.stopped
    assert fresh.recommend().tolist() == [2, 4]
    assert (fresh.visits[:3] == 0).any()


def test_when_everything_is_known_no_trial_is_needed() -> None:
    mdp = with_known(MDP.from_arrays(np.zeros((2, 1, 2), dtype=int)), np.array([0.5, 0.5, 0.2, 0.8]))
    learner = Challenger(mdp, 0.0, 0.1)
    assert learner.stopped
    assert learner.episodes == 0
    assert learner.recommend().tolist() == [0, 3]
    assert learner.certified_gap() == 0.0


def test_a_known_tie_stays_and_does_not_hold_up_the_stop() -> None:
    """Noisy stages of several sizes before a known tie: what they share must cancel to the last digit."""
    known = np.array([np.nan] * 6 + [0.5, 0.5])
    mdp = with_known(MDP.from_arrays(np.zeros((4, 1, 2), dtype=int)), known)
    instance = Instance(mdp, Gaussian([1, 0, 1, 0, 1, 0, 0.5, 0.5], sigma=[0.1, 0.3, 0.7, 0.2, 0.9, 0.5, 0, 0]))
    learner = Challenger(mdp, 0.0, 0.1, instance.sigma)
    play(learner, instance, np.random.default_rng(0), 5000)
    assert learner.stopped
    assert learner.active[6:].all()
    assert learner.certified_gap() == 0.0


@pytest.mark.parametrize("start", [0.0, 0.5])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_best_itself_is_proven_with_a_gap_of_zero(start: float, direction: str) -> None:
    """Built for epsilon 0, or for more and then tightened to it; with an option excluded on the way."""
    mdp = MDP.from_arrays(np.zeros((3, 1, 3), dtype=int), direction=direction)
    means = np.array([0.9, 0.5, 0.0, 0.2, 0.8, 0.4, 0.1, 0.6, 0.5]) * mdp.sign
    instance, rng = Instance(mdp, Gaussian(means, 0.1)), np.random.default_rng(1)
    learner = Challenger(mdp, start, 0.1, 0.1)
    play(learner, instance, rng, 20_000)
    if start > 0:
        learner.tighten(0.0)
        play(learner, instance, rng, 20_000)
    assert learner.stopped
    assert learner.recommend().tolist() == [0, 4, 7]
    assert learner.certified_gap() == 0.0
    assert all(rival.bound == 0.0 for rival in learner.explain().rivals)
    learner.exclude(4)
    play(learner, instance, rng, 20_000)
    assert learner.stopped
    assert learner.recommend().tolist() == [0, 5, 7]
    assert learner.certified_gap() == 0.0


def test_a_single_path_is_known_to_be_best_once_played() -> None:
    learner = Challenger(MDP.from_arrays(np.zeros((3, 1, 1), dtype=int)), 0.0, 0.1, 1.0)
    if not learner.stopped:
        learner.tell(learner.ask(), [0.1, 0.2, 0.3])
    assert learner.stopped
    assert learner.certified_gap() == 0.0
    assert learner.recommend().tolist() == [0, 1, 2]


def test_any_path_may_be_told() -> None:
    instance = chain(sigma=0.05)
    learner = Challenger(instance.mdp, 0.2, 0.1, 0.05)
    rng = np.random.default_rng(3)
    while not learner.stopped and learner.episodes < 5000:
        path, node = [], 0
        for _ in range(3):
            path.append(int(rng.integers(instance.mdp.first[node], instance.mdp.first[node + 1])))
            node = int(instance.mdp.target[path[-1]])
        learner.tell(path, instance.means[path] + 0.05 * rng.standard_normal(3))
    assert learner.stopped
    assert instance.regret_of(learner.recommend()) <= 0.2


def test_the_gap_told_for_a_path_never_grows() -> None:
    instance = chain(sigma=0.5)
    learner = Challenger(instance.mdp, 0.05, 0.1, 0.5)
    rng = np.random.default_rng(5)
    told: dict[Any, Any] = {}
    assert learner.certified_gap() == np.inf
    for _ in range(60):
        play(learner, instance, rng, 4)
        path, gap = learner.recommend().tobytes(), learner.certified_gap()
        assert gap <= told.get(path, np.inf)
        told[path] = gap
    assert len(told) > 1
    assert min(told.values()) < np.inf


def test_the_answer_and_its_certificate_have_one_source() -> None:
    """Each leaves the path it is about in the same place: recommending never computes a path of its own."""
    instance = chain(sigma=0.5)
    learner = Challenger(instance.mdp, 0.05, 0.1, 0.5)
    rng = np.random.default_rng(5)
    for _ in range(30):
        play(learner, instance, rng, 1)
        learner._work.incumbent[:] = 0  # as if nothing had been looked for yet
        recommended = learner.recommend()
        assert learner._work.incumbent.tolist() == recommended.tolist()
        learner._work.incumbent[:] = 0
        learner.certified_gap()
        assert learner._work.incumbent.tolist() == recommended.tolist()


def test_settings_rebuild_the_learner() -> None:
    mdp = chain().mdp
    learner = Challenger(mdp, 0.5, 0.1, np.linspace(0.1, 0.5, mdp.n_arcs), widths="two-sided", repeat=0.2)
    again = learner.fresh(0.5)
    assert again.settings() == learner.settings()
    assert again.ask().tolist() == learner.ask().tolist()


def test_the_explanation_names_challengers_and_what_is_missing() -> None:
    instance = chain()
    learner = Challenger(instance.mdp, 0.1, 0.1, 0.2)
    early = learner.explain()
    assert early.rivals == []
    assert f"{instance.mdp.n_arcs} arcs have no score yet" in early.remark
    play(learner, instance, np.random.default_rng(0), 40)
    now = learner.explain(challengers=2)
    assert now.incumbent == learner.recommend().tolist()
    assert now.certified_gap == learner.certified_gap()
    assert len(now.rivals) == 2
    assert now.rivals[0].bound >= now.rivals[1].bound
    assert now.rivals[0].bound <= now.certified_gap * 1.02 + 1e-9
    assert all(rival.path != now.incumbent and rival.separating for rival in now.rivals)
    assert now.to_dict()["rivals"][0]["path"] == now.rivals[0].path
    text = str(now)
    assert "after 40 episodes: " in text
    assert "may be better by up to" in text
    assert "told apart by: " in text
    assert now.remark == ""


def test_the_explanation_says_that_a_tie_cannot_be_settled_at_epsilon_zero() -> None:
    instance = Instance(MDP.from_arrays([[[0, 0]]]), Gaussian([0.5, 0.5], 0.1))
    learner = Challenger(instance.mdp, 0.0, 0.1, 0.1)
    play(learner, instance, np.random.default_rng(0), 50)
    assert not learner.stopped
    assert "epsilon is 0: this stops only if the best plan is unique" in str(learner.explain())


@pytest.mark.parametrize("unit", [1e-13, 1e9])
def test_the_unit_of_the_rewards_changes_no_decision(unit: float) -> None:
    """Farads or dollars: rewards, sigma and epsilon in another unit give the same trials, up to the last bits."""
    plain = chain()
    noise = np.random.default_rng(5).normal(size=(400, plain.mdp.horizon))
    stopped = []
    for scale in (1.0, unit):
        learner = Challenger(plain.mdp, 0.2 * scale, 0.1, 0.2 * scale)
        while not learner.stopped and learner.episodes < 400:
            path = learner.ask()
            learner.tell(path, scale * (plain.means[path] + 0.2 * noise[learner.episodes]))
        stopped.append((learner.episodes, learner.recommend().tolist(), round(learner.certified_gap() / scale, 6)))
    assert stopped[0][0] < 400
    assert stopped[0] == stopped[1]


def test_a_declared_range_gives_sigma() -> None:
    mdp = chain().mdp
    ends = (np.zeros(mdp.n_arcs), np.full(mdp.n_arcs, 100.0))
    fields = ("first", "target", "stage_node", "node_state", "action")
    ranged = type(mdp)(**{field: getattr(mdp, field) for field in fields}, reward_range=ends)
    assert Challenger(ranged, 1.0, 0.1).sigma.tolist() == [50.0] * mdp.n_arcs


def test_a_tiny_epsilon_costs_little_more_than_none() -> None:
    means = np.tile([0.0, 0.3, 0.6], 3)
    world = Instance(MDP.from_arrays(np.zeros((3, 1, 3), dtype=int)), Gaussian(means, 0.5))
    exact, *tiny = (
        simulate({"name": "Challenger", "epsilon": epsilon, "delta": 0.1}, world, 4, seed=0, budget=20_000).mean_tau()
        for epsilon in (0.0, 1e-2, 1e-3, 1e-6)
    )
    assert max(tiny) < 2.5 * exact
