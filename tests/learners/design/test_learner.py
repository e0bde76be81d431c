"""Design: its list, its one look, its guarantee."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from surepath import MDP, Design, Gaussian, Instance, families, simulate, theory
from surepath.errors import SettingError, StoppedError
from surepath.kernels.flow import design_flow, split_flow
from surepath.kernels.sweeps import graph_of
from surepath.learners import whole_plan as design
from surepath.model.paths import values_to_go
from tests.naive.design import best, proven_gap
from tests.naive.draws import draw_reward
from tests.strategies import mdps


@settings(max_examples=60, deadline=None)
@given(mdps(max_states=4, max_actions=3, max_horizon=5), st.integers(0, 2**32 - 1))
def test_the_flow_is_the_best_spread(mdp: MDP, seed: int) -> None:
    """At the optimum every path has the same sum of c / w, the sum of all c: the optimality condition itself."""
    c = np.random.default_rng(seed).uniform(0.1, 3.0, mdp.n_arcs)
    graph = graph_of(mdp)
    w = design_flow(graph, c)
    total = float(c.sum())
    assert values_to_go(mdp, c / w)[0] == pytest.approx(total, rel=1e-6)
    assert -values_to_go(mdp, -c / w)[0] == pytest.approx(total, rel=1e-6)
    paths, shares = split_flow(graph, w)
    assert len(paths) <= mdp.n_arcs
    assert shares.sum() == pytest.approx(1.0)
    back = np.zeros(mdp.n_arcs)
    np.add.at(back, paths.ravel(), np.repeat(shares, mdp.horizon))
    np.testing.assert_allclose(back, w, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    mdps(max_states=3, max_actions=3, max_horizon=4),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.2, 1.0]),
    st.sampled_from([0.01, 0.5]),
)
def test_the_list_proves_epsilon_and_wastes_little(mdp: MDP, seed: int, epsilon: float, delta: float) -> None:
    rng = np.random.default_rng(seed)
    sigma = rng.choice([0.0, 0.1, 0.5, 1.0], mdp.n_arcs)
    learner = Design(mdp, epsilon, delta, sigma)
    visits = np.zeros(mdp.n_arcs)
    np.add.at(visits, learner.schedule.paths.ravel(), np.repeat(learner.schedule.plays, mdp.horizon))
    assert proven_gap(mdp, sigma, visits, delta) <= learner.schedule.gap * (1 + 1e-9)
    assert learner.schedule.gap <= epsilon
    enough = 4 * float((sigma**2).sum()) * (mdp.log_paths + np.log(1 / delta)) / epsilon**2
    assert learner.schedule.episodes <= 1.01 * enough + len(learner.schedule.paths) + 2


def test_runs_and_steps_agree() -> None:
    for seed in range(6):
        instance = families.paper_random(3, 2, 4, min_gap=0.0, seed=seed, sigma=0.4)
        learner = Design(instance.mdp, 0.7, 0.1, 0.4)
        fused = simulate(learner, instance, runs=1, seed=seed)
        draws = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy=seed, spawn_key=(0,))))
        while not learner.stopped:
            path = learner.ask()
            assert learner.certified_gap() == np.inf
            learner.tell(path, [draw_reward(instance, int(arc), draws) for arc in path])
        assert learner.episodes == fused.tau[0] == learner.schedule.episodes
        assert learner.recommend().tolist() == fused.path[0].tolist()
        assert learner.certified_gap() == fused.gap[0] <= 0.7
        gains = learner.means[learner.recommend()].sum()
        assert gains == pytest.approx(best(instance.mdp, learner.means))


@pytest.mark.guarantee
@pytest.mark.parametrize("delta", [0.1, pytest.param(0.5, marks=pytest.mark.rare)])
def test_wrong_answers_stay_below_delta(delta: float) -> None:
    """Every wrong plan lies just outside epsilon: as hard as it gets."""
    runs, wrong = 0, 0
    for stages, actions in ((1, 2), (1, 8), (2, 3), (4, 2)):
        means = np.zeros((stages, 1, actions))
        means[:, :, 0] = 1.02
        mdp = MDP.from_arrays(np.zeros((stages, 1, actions), dtype=int))
        found = simulate(
            {"name": "Design", "epsilon": 1.0, "delta": delta}, Instance(mdp, Gaussian(means, 1.0)), 500, 1
        )
        runs, wrong = runs + 500, wrong + int((~found.correct).sum())
    assert binomtest(wrong, runs, delta, alternative="greater").pvalue > 1e-3


def test_with_a_tenth_of_the_plays_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guarantee test can fail: a list too short by a factor of ten is wrong more often than delta."""
    mdp = MDP.from_arrays(np.zeros((1, 1, 8), dtype=int))
    instance = Instance(mdp, Gaussian([1.02] + [0.0] * 7, 1.0))
    whole = Design(mdp, 1.0, 0.1, 1.0).schedule
    short = whole._replace(plays=np.maximum(whole.plays // 10, 1))
    monkeypatch.setattr(design, "schedule", lambda *_: short)
    found = simulate(Design(mdp, 1.0, 0.1, 1.0), instance, 500, 1)
    assert binomtest(int((~found.correct).sum()), 500, 0.1, alternative="greater").pvalue < 1e-3


def test_only_the_list_counts() -> None:
    mdp = MDP.from_arrays(np.zeros((2, 1, 2), dtype=int))
    learner = Design(mdp, 1.0, 0.1, 0.5)
    listed = {tuple(path) for path in learner.schedule.paths.tolist()}
    stray = next([a, b] for a in (0, 1) for b in (2, 3) if (a, b) not in listed)
    learner.tell(stray, [100.0, 100.0])
    assert learner.episodes == 1
    assert learner._due.sum() == learner.schedule.episodes
    while not learner.stopped:
        path = learner.ask()
        learner.tell(path, [float(path[0] == 1), float(path[1] == 2)])
    assert learner.recommend().tolist() == [1, 2]
    with pytest.raises(StoppedError):
        learner.ask()


@settings(max_examples=40, deadline=None)
@given(mdps(max_states=3, max_actions=3, max_horizon=4), st.integers(0, 2**32 - 1))
def test_rewards_without_noise_must_be_seen_once(mdp: MDP, seed: int) -> None:
    """No noise is not the same as known: with sigma 0 everywhere the list covers all arcs, in the fewest plays."""
    means = np.random.default_rng(seed).integers(-5, 6, mdp.n_arcs).astype(float)
    learner = Design(mdp, 0.5, 0.1, 0.0)
    while not learner.stopped:
        path = learner.ask()
        learner.tell(path, means[path])
    assert (learner.visits > 0).all()
    assert learner.certified_gap() == 0.0
    assert means[learner.recommend()].sum() == best(mdp, means)
    assert learner.episodes == len(theory.policy_cover(mdp, range(mdp.n_arcs)))
    assert simulate(learner, Instance(mdp, Gaussian(means, 0.0)), 1, 0).correct.all()


def test_known_rewards_need_no_play_of_their_own() -> None:
    rows = [{"stage": 0, "state": "s", "action": a, "next_state": "t", "known": 1.0} for a in "ab"]
    rows += [{"stage": 0, "state": "s", "action": "c", "next_state": "t", "sigma": 0.0}]
    learner = Design(MDP.from_edges(rows), 0.5, 0.1)
    learner.tell(learner.ask(), [3.0])
    assert learner.stopped
    assert learner.recommend().tolist() == [2]


def test_an_arc_without_noise_beside_very_many_noisy_ones_is_seen() -> None:
    """Its part of the flow is next to nothing; it is played once all the same."""
    arcs = 3000
    sigma = np.ones(arcs)
    sigma[-1] = 0.0
    learner = Design(MDP.from_arrays(np.zeros((1, 1, arcs), dtype=int)), 50.0, 0.5, sigma)
    assert set(learner.schedule.paths.ravel().tolist()) == set(range(arcs))


def test_it_needs_an_epsilon() -> None:
    with pytest.raises(SettingError, match="a design needs an epsilon above 0"):
        Design(MDP.from_arrays([[[0, 0]]]), 0.0, 0.1, 1.0)
    with pytest.raises(SettingError, match=r"takes more than 1,000,000,000 trials"):
        Design(MDP.from_arrays([[[0, 0]]]), 1e-6, 0.1, 1.0)
