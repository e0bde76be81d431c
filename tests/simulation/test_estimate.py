"""estimate: worlds drawn from the range asked for, the same for the same seed, honest about cut runs."""

from __future__ import annotations

import numpy as np
import pytest

from surepath import MDP, Bounded, Instance, families
from surepath.errors import SettingError
from surepath.simulation.estimate import WORST_NOISE, estimate

GRAPH = families.chain(3, 2).mdp


def test_scaling_means_noise_and_epsilon_together_changes_nothing() -> None:
    one = estimate(GRAPH, 0.25, 0.1, 0.25, worlds=3)
    four = estimate(GRAPH, 1.0, 0.1, 1.0, worlds=3, spread=(0.0, 4.0))
    assert one.trials["Challenger"].tolist() == four.trials["Challenger"].tolist()


def test_the_declared_range_is_taken_where_there_is_one() -> None:
    n = GRAPH.n_arcs
    low, high = np.full(n, 2.0), np.full(n, 5.0)
    low[0], high[0] = -np.inf, np.inf
    mdp = MDP(
        first=GRAPH.first,
        target=GRAPH.target,
        stage_node=GRAPH.stage_node,
        node_state=GRAPH.node_state,
        action=GRAPH.action,
        reward_range=(low, high),
    )
    guess = estimate(mdp, 2.0, 0.1, 0.5, worlds=1)
    low, high = guess.worlds.low, guess.worlds.high
    assert (low[0], high[0], low[1], high[1]) == (0.0, 1.0, 2.0, 5.0)
    assert estimate(mdp, 2.0, 0.1, 0.5, worlds=1, spread=(-1.0, 1.0)).worlds.low.tolist() == [-1.0] * n


def test_time_that_runs_out_is_said_and_bounds_what_was_seen() -> None:
    """A hundred thousand arcs, of which a hundred trials do not see a tenth: nobody is done in two seconds."""
    mdp = families.layered(1000, 10, 10).mdp
    seen: list[tuple[int, int]] = []
    guess = estimate(mdp, 0.01, 0.1, 1.0, worlds=3, seconds=2.0, progress=lambda done, all: seen.append((done, all)))
    assert guess.settings["out_of_time"]
    assert list(guess.trials) == ["Challenger"]
    assert guess.censored["Challenger"].tolist() == [True]
    assert guess.quantile("Challenger", 0.5) == np.inf
    assert guess.at_least("Challenger", 0.5) == guess.trials["Challenger"][0] >= 1
    assert seen == []
    assert estimate(mdp, 0.01, 0.1, 1.0, worlds=3, seconds=0.0).trials["Challenger"].tolist() == [0]


def test_the_curve_answers_both_questions() -> None:
    guess = estimate(GRAPH, 0.3, 0.1, 0.2, worlds=16)
    assert len(guess.trials["Challenger"]) == 16
    assert guess.quantile("Challenger", 0.1) <= guess.quantile("Challenger", 0.5) <= guess.quantile("Challenger", 0.9)
    epsilons, medians = [point[0] for point in guess.curve], [point[1] for point in guess.curve]
    assert 0.3 in epsilons
    assert epsilons == sorted(epsilons, reverse=True)
    at = epsilons.index(0.3)
    assert medians[at] == guess.quantile("Challenger", 0.5)  # the same runs
    assert medians == sorted(medians)  # the same worlds for every epsilon
    bought = guess.epsilon_for(medians[at])
    assert bought is not None
    assert epsilons[at + 1] <= bought <= epsilons[at - 1]
    assert guess.epsilon_for(min(medians) - 1) is None
    assert guess.epsilon_for(10 * max(medians)) == pytest.approx(epsilons[-1])


def test_ties_make_options_equal_and_the_problems_own_means_are_taken() -> None:
    tied = estimate(GRAPH, 0.3, 0.1, 0.2, worlds=1, ties=1.0).worlds[0]
    for node in range(GRAPH.n_nodes):
        assert len(set(tied.means[GRAPH.first[node] : GRAPH.first[node + 1]].tolist())) == 1
    own = families.chain(3, 2, seed=4, sigma=0.2)
    guess = estimate(own.mdp, 0.3, 0.1, worlds=2, instance=own)
    assert guess.worlds[1] is own
    assert "the means of the problem itself" in guess.worlds.in_words()
    assert estimate(own.mdp, 0.3, 0.1, worlds=1, instance=own, ties=0.5).worlds[0] is not own
    with pytest.raises(SettingError, match=r"\(MDP\(horizon=3, .*\), not MDP\(horizon=4, .*\); pass instance\.mdp"):
        estimate(families.chain(4, 2).mdp, 0.3, 0.1, 0.2, instance=own)
    with pytest.raises(SettingError, match=r"\(other arcs, names, noise or costs\); pass instance\.mdp"):
        estimate(GRAPH.with_costs(1.0), 0.3, 0.1, 0.2, instance=own)
    with pytest.raises(SettingError, match="ties is a share of the options, from 0 to 1, not 2"):
        estimate(GRAPH, 0.3, 0.1, 0.2, ties=2.0)


def test_means_of_the_problem_leave_the_noise_to_be_learned_as_in_a_study() -> None:
    mdp = MDP.from_steps({"a": ["x", "y"]}, reward_range=(0.0, 10.0), direction="minimize")
    own = Instance(mdp, Bounded(0.0, 10.0, [3.0, 5.0], concentration=40.0))
    guess = estimate(mdp, 1.0, 0.1, worlds=5, instance=own)
    assert guess.worlds[3] is own
    assert guess.settings["learned"]
    assert guess.quantile("Challenger", 0.5) < guess.quantile(WORST_NOISE, 0.5) / 2
    assert guess.worlds.worst[0].means.tolist() == [3.0, 5.0]
    narrow = Instance(mdp, Bounded(2.0, 6.0, [3.0, 5.0]))
    assert estimate(mdp, 1.0, 0.1, worlds=1, instance=narrow).worlds.worst[0].sigma.tolist() == [
        5.0,
        5.0,
    ]  # half the range
    calm = estimate(mdp, 1.0, 0.1, worlds=1, instance=own, scatter=0.1)
    assert calm.worlds[0].means.tolist() == [3.0, 5.0]
    assert "of the problem itself" in calm.worlds.in_words()
    assert not estimate(mdp, 1.0, 0.1, 5.0, worlds=1, instance=own).settings["learned"]  # a sigma was declared


def test_refusals() -> None:
    with pytest.raises(SettingError, match="worlds must be at most 1,000,000, not 1,000,000,000,000"):
        estimate(GRAPH, 0.3, 0.1, 1.0, worlds=10**12)
    with pytest.raises(SettingError, match="seconds must be finite, not nan"):
        estimate(GRAPH, 0.3, 0.1, 1.0, seconds=float("nan"))
    with pytest.raises(SettingError, match="spread goes from the least mean to the largest, not from 1 to 1"):
        estimate(GRAPH, 0.3, 0.1, spread=(1.0, 1.0))
    with pytest.raises(SettingError, match="an estimate needs an MDP, not Instance; take"):
        estimate(families.chain(3, 2), 0.3, 0.1)  # type: ignore[arg-type]


def test_scores_in_a_range_are_simulated_with_the_scatter_to_expect() -> None:
    mdp = MDP.from_steps({"a": ["x", "y"], "b": ["u", "v"]}, reward_range=(0.0, 1.0))
    calm, middling = (estimate(mdp, 0.2, 0.1, worlds=6, scatter=scatter) for scatter in (0.05, None))
    assert calm.worlds.scatter is not None
    world = calm.worlds[0].law
    spread = np.sqrt(world.a * world.b / ((world.a + world.b) ** 2 * (world.a + world.b + 1)))
    inside = (calm.worlds[0].means > 0.1) & (calm.worlds[0].means < 0.9)
    assert np.allclose(spread[inside], 0.05)
    assert (middling.settings["scatter"], middling.settings["scatter_given"]) == ([0.2, 0.2], False)
    worst = calm.quantile(WORST_NOISE, 0.5)
    assert calm.quantile("Challenger", 0.5) < middling.quantile("Challenger", 0.5) <= worst
    told = next(median for epsilon, median, _, _ in calm.curve if epsilon == 0.2)
    assert told == calm.quantile("Challenger", 0.5)  # one number for one epsilon
    with pytest.raises(SettingError, match="the noise is declared, or no range is"):
        estimate(mdp, 0.2, 0.1, 0.3, scatter=0.1)
    with pytest.raises(SettingError, match=r"at most half the narrowest range, 0\.5; got 0\.7"):
        estimate(mdp, 0.2, 0.1, scatter=0.7)
