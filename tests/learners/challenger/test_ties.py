"""Where many plans are about equal: the planned entry, the guard, and the bound on the number of trials."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.ties_bound import most_trials

from surepath import MDP, Challenger, Design, Gaussian, Instance, families, simulate
from surepath.kernels.flow import design_flow
from surepath.kernels.sweeps import graph_of
from surepath.learners.challenger import state as at
from surepath.learners.challenger.run import EVEN, FLOW, FREE
from surepath.learners.challenger.state import MOST_LOGS, pair_need, planned_shares
from tests.naive.paths import all_paths


def some_mdp(rng: np.random.Generator) -> MDP:
    """A small layered graph with a choice everywhere."""
    states, actions, horizon = (int(rng.integers(low, 4)) for low in (1, 2, 1))
    return MDP.from_arrays(rng.integers(states, size=(horizon, states, actions)))


def flat(stages: int, actions: int, sigma: float = 1.0) -> Instance:
    """Every plan is as good as every other."""
    mdp = MDP.from_arrays(np.zeros((stages, 1, actions), dtype=int))
    return Instance(mdp, Gaussian(np.zeros(mdp.n_arcs), sigma))


def fan(plans: int, stages: int) -> MDP:
    """A choice at the start, and then a chain for each option."""
    rows = [(0, "start", f"{i}", f"{i}") for i in range(plans)]
    rows += [(h, f"{i}", "on", f"{i}") for h in range(1, stages) for i in range(plans)]
    return MDP.from_edges(rows)


def most_logarithms(learner: Challenger) -> float:
    """The largest sum of log(1 + n/c) along a path, by listing all paths that are left."""
    logs, alive = np.log1p(learner.visits / learner.pairs.c[at.OWN, learner.pairs.ties]), learner._seen.alive
    return max(float(logs[list(path)].sum()) for path in all_paths(learner.mdp) if alive[list(path)].all())


def whose_turn(learner: Challenger, limit: float) -> int:
    """Whose turn the next trial is, by the definition."""
    planned, t, covered = learner.pairs.planned, learner.episodes, learner.episodes >= learner.mdp.n_arcs
    if covered and most_logarithms(learner) > limit:
        return FLOW
    return FREE if t < planned / 2 or t % 2 == 0 else FLOW if covered and t >= 2 * planned else EVEN


@pytest.mark.parametrize(
    ("instance", "epsilon"),
    [
        (families.minimax_hard(2, 2, 9), 1.0),
        (families.minimax_hard(2, 2, 18), np.sqrt(18) / 3),
        (flat(12, 3), 2.0),
        (flat(30, 2), 3.0),
    ],
)
def test_ties_take_no_more_trials_than_the_design(instance: Instance, epsilon: float) -> None:
    design = Design(instance.mdp, epsilon, 0.1, 1.0).schedule.episodes
    result = simulate({"name": "Challenger", "delta": 0.1}, instance, 6, seed=1, epsilons=[epsilon], budget=20_000)
    assert not result.censored.any()
    assert result.mean_tau() < 1.2 * design
    without = Challenger(instance.mdp, epsilon, 0.1, 1.0, dependence="independent").settings()
    without["bound"].pop()
    plain = simulate({**without, "sampling": "separating"}, instance, 6, seed=1, budget=20_000)
    assert result.mean_tau() < plain.mean_tau()


def test_the_plan_is_that_of_the_optimal_design() -> None:
    instance = families.minimax_hard(2, 2, 9)
    mdp, learner = instance.mdp, Challenger(instance.mdp, 1.0, 0.1, 2.0, dependence="independent")
    entry = learner.bound[-1]
    assert entry["kind"] == "shifted"
    assert learner.pairs.flow == pytest.approx(design_flow(graph_of(mdp), np.ones(mdp.n_arcs)), rel=1e-7)
    wrong = np.log(np.expm1(mdp.log_paths))
    need = wrong + np.log(1 / 0.1) + np.log(1 / entry["weight"]) + 9 * np.log(1 + 1 / entry["per_visit"])
    assert entry["trials"] == pytest.approx(4 * mdp.n_arcs * 2.0**2 * need / 1.0**2)
    visits = entry["trials"] * learner.pairs.flow
    assert learner.pairs.tilt[-1] == pytest.approx(2.0 / (1.0 / (2 * need) * visits))
    assert learner.pairs.c[:, -1] == pytest.approx(np.stack([entry["per_visit"] * visits] * 2))
    for absent in (Challenger(mdp, 0.0, 0.1, 1.0, dependence="independent"),):
        assert absent.pairs.planned == np.inf
        assert all(entry["kind"] != "shifted" for entry in absent.bound)


@pytest.mark.parametrize("seed", range(6))
def test_no_adversary_makes_it_take_more_trials_than_the_theorem_says(seed: int) -> None:
    """On its own turns the guard plays; on all others somebody plays one and the same path for ever."""
    rng = np.random.default_rng(seed)
    mdp = some_mdp(rng) if seed % 3 else (flat(3, 2).mdp if seed else fan(30, 30))
    arcs, horizon = mdp.n_arcs, mdp.horizon
    sigma, epsilon = 0.5, (0.4 if seed else 0.9) * np.sqrt(horizon)
    shifted = {**Challenger(mdp, epsilon, 0.1, sigma, dependence="independent").bound[-1], "weight": 1.0}
    learner = Challenger(mdp, epsilon, 0.1, sigma, bound=[shifted], dependence="independent")
    limit = MOST_LOGS * pair_need(mdp, 0.1, 1.0, shifted["per_visit"])
    most, steady, planned = most_trials(mdp, shifted, 0.1, sampled=1.0), shifted["per_visit"], shifted["trials"]
    stubborn, means = learner.ask(), rng.random(mdp.n_arcs)
    flowing, crowded = 0, False
    while not learner.stopped and learner.episodes <= most:
        whose = whose_turn(learner, limit)
        path = learner.ask() if whose == FLOW or (learner.visits == 0).any() else stubborn
        flowing += whose == FLOW
        crowded = crowded or (whose == FLOW and learner.episodes < 2 * planned)
        learner.tell(path, means[path] + sigma * rng.standard_normal(len(path)))
        assert learner._seen.guarded[: int(mdp.first[1])].sum() == flowing
        last, after = arcs**2 / (steady * planned * horizon), learner.episodes / (steady * planned)
        after += 2 * last
        assert most_logarithms(learner) <= limit + horizon * (np.log1p(last) + np.log1p(after)) + 1e-9
    assert learner.stopped
    assert flowing > 0
    assert crowded == (seed == 0)
    guarded = learner._seen.guarded
    assert (guarded >= flowing * learner.pairs.flow - mdp.n_arcs).all()
    assert np.abs(guarded - flowing * learner.pairs.flow).max() < 1 + mdp.horizon


@pytest.mark.parametrize("seed", range(4))
def test_the_number_of_trials_is_the_theorems_own(seed: int) -> None:
    """The least t of the statement, found anew, with N over the least w for the first N^2."""
    mdp = some_mdp(np.random.default_rng(seed))
    entry = Challenger(mdp, 0.7, 0.05, 0.5, dependence="independent").bound[-1]
    arcs, stages, phi, paths = mdp.n_arcs, mdp.horizon, 8.0, float(mdp.n_paths)
    need = np.log(paths - 1) + np.log(1 / 0.05) + np.log(1 / entry["weight"]) + stages * np.log(1 + 1 / phi)
    planned = 4 * arcs * 0.5**2 * need / 0.7**2

    def holds(t: float, reserve: float) -> bool:
        u = np.log(1 + t / planned * arcs / (phi * stages))
        square = arcs**2 / (phi * planned * stages)
        v = 4 * need / stages + np.log(1 + square) + np.log(1 + t / (phi * planned) + 2 * square)
        r = (phi + 1) / 2 + stages / need * min(u, v)
        return bool(t >= 2 * (1 + r) * planned + 2 * reserve + arcs + 3)

    least = float(planned_shares(mdp, np.ones(arcs), "design").min())
    found = (most_trials(mdp, entry, 0.05) - 1) / 1.01
    assert holds(found * (1 + 1e-9), arcs / least)
    assert not holds(found * (1 - 1e-6), arcs / least)
    assert arcs / least <= arcs**2 * (1 + 1e-6)


def test_excluded_options_are_never_played_by_the_guard() -> None:
    mdp = flat(2, 3).mdp
    entry = {**Challenger(mdp, 1.2, 0.1, 0.5, dependence="independent").bound[-1], "weight": 1e-12}
    learner = Challenger(mdp, 1.2, 0.1, 0.5, bound=[entry], dependence="independent")
    learner.exclude(0)
    rng = np.random.default_rng(0)
    for _ in range(400):
        if learner.stopped:
            break
        path = learner.ask()
        assert path[0] != 0
        learner.tell(path, rng.standard_normal(2))
    assert learner.episodes > 2 * learner.pairs.planned
