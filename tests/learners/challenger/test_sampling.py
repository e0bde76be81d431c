"""Sampling by price: no path is better by the tangent, money is saved where it can be, and nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import MDP, Challenger, Gaussian, Instance
from surepath.learners import runs as tasks
from surepath.learners.challenger.run import OTHER_ARCS, share_out
from surepath.learners.challenger.state import LEAST_PRICE, prices_differ
from tests.naive.paths import all_paths
from tests.strategies import mdps


def chosen(learner: Challenger, marks: np.ndarray) -> list[int]:
    """What is played next by these marks, all at least OTHER_ARCS: each arc has one visit, so AGAIN keeps them."""
    learner._seen.visits[:] = 1
    learner._work.mark[:] = marks
    learner._work.path[:] = learner.recommend()
    learner._act(tasks.AGAIN)
    path: list[int] = learner._work.path.tolist()
    return path


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_path_is_better_by_the_tangent_and_none_dearer_for_nothing(data: Any) -> None:
    mdp = data.draw(mdps())
    cost = np.array(data.draw(st.lists(st.just(0.0) | st.floats(1e-3, 10.0), min_size=mdp.n_arcs, max_size=mdp.n_arcs)))
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    marks = OTHER_ARCS + rng.random(mdp.n_arcs) * (rng.random(mdp.n_arcs) < 0.7)
    learner = Challenger(mdp.with_costs(cost), 0.1, 0.1, 1.0, sampling="thrifty", dependence="independent")
    price = cost + LEAST_PRICE * cost.mean()
    path = chosen(learner, marks)
    worth, paid = marks[path].sum(), price[path].sum()
    heaviest = max(all_paths(mdp), key=lambda one: marks[list(one)].sum())
    if not cost.any():
        assert worth == pytest.approx(marks[list(heaviest)].sum())
        return
    ratio = worth / np.sqrt(paid)
    assert ratio >= marks[list(heaviest)].sum() / np.sqrt(price[list(heaviest)].sum()) - 1e-9
    for other in map(list, all_paths(mdp)):
        tangent = marks[other].sum() - worth / (2 * paid) * price[other].sum()
        assert tangent <= worth / 2 + 1e-9 * (1 + worth)


def test_prices_count_only_where_plans_differ_in_them() -> None:
    mdp = MDP.from_arrays(np.zeros((2, 1, 2), dtype=int))
    assert Challenger(mdp, 0.1, 0.1, 1.0, dependence="independent").sampling == "guarded"
    even = mdp.with_costs([1.0, 1.0, 3.0, 3.0])
    assert not prices_differ(even)
    assert Challenger(even, 0.1, 0.1, 1.0, dependence="independent").sampling == "guarded"
    dear = mdp.with_costs([1.0, 2.0, 3.0, 3.0])
    assert Challenger(dear, 0.1, 0.1, 1.0, dependence="independent").sampling == "thrifty"
    assert Challenger(dear, 0.1, 0.1, 1.0, sampling="guarded", dependence="independent").sampling == "guarded"


def play(mdp: MDP, sampling: str, seed: int) -> tuple[float, list[tuple[int, ...]], bool]:
    means = np.array([0.9, 0.2, 0.5, 0.45])
    instance, rng = Instance(mdp, Gaussian(means, 0.2)), np.random.default_rng(seed)
    learner = Challenger(mdp, 0.1, 0.1, 0.2, sampling=sampling, dependence="independent")
    paths = []
    while not learner.stopped:
        path = learner.ask()
        paths.append(tuple(path.tolist()))
        learner.tell(path, means[path] + 0.2 * rng.standard_normal(2))
    return float(learner.visits @ mdp.cost), paths, instance.regret_of(learner.recommend()) <= 0.1  # type: ignore[operator]


def test_what_was_ruled_out_fills_in_where_it_is_cheaper() -> None:
    # The first step is settled soon, by its dear option; the second takes long and does not depend on it.
    mdp = MDP.from_arrays(np.zeros((2, 1, 2), dtype=int)).with_costs([10.0, 1.0, 1.0, 1.0])
    spent, right = np.zeros((2, 5)), []
    for seed in range(5):
        for i, sampling in enumerate(("guarded", "thrifty")):
            spent[i, seed], _, ok = play(mdp, sampling, seed)
            right.append(ok)
    assert all(right)
    assert spent[1].mean() < 0.6 * spent[0].mean()


def test_with_one_price_for_all_plans_the_plays_are_those_without_prices() -> None:
    mdp = MDP.from_arrays(np.zeros((2, 1, 2), dtype=int)).with_costs(2.0)
    assert play(mdp, "thrifty", 1)[1] == play(mdp, "guarded", 1)[1]


def test_excluded_options_never_fill_in() -> None:
    mdp = MDP.from_arrays(np.zeros((2, 1, 3), dtype=int)).with_costs([5.0, 1.0, 9.0, 1.0, 1.0, 1.0])
    learner = Challenger(mdp, 0.1, 0.1, 0.2, dependence="independent")
    learner.exclude(1)
    rng = np.random.default_rng(0)
    means = np.array([0.9, 0.0, 0.1, 0.5, 0.45, 0.4])
    while not learner.stopped:
        path = learner.ask()
        assert 1 not in path
        learner.tell(path, means[path] + 0.2 * rng.standard_normal(2))


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_plays_under_way_lower_marks_one_after_the_other(data: Any) -> None:
    mdp = data.draw(mdps())
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    paths = all_paths(mdp)
    plays = [paths[i] for i in data.draw(st.lists(st.integers(0, len(paths) - 1), min_size=1, max_size=8))]
    learner = Challenger(mdp, 0.1, 0.1, 1.0, dependence="independent")
    visits, marks = rng.integers(1, 9, size=mdp.n_arcs), rng.random(mdp.n_arcs)
    learner._seen.visits[:], learner._work.mark[:], learner._work.variance[:] = visits, marks, 1.0
    share_out(learner.pairs, learner._seen, learner._work, np.array(plays))
    for path in plays:
        for e in path:
            visits[e] += 1
            marks[e] *= (visits[e] - 1) / visits[e]
        learned = ~mdp.is_known
        marks[learned] = np.maximum(marks[learned], OTHER_ARCS / visits[learned])
    np.testing.assert_array_equal(learner._seen.visits + learner._seen.pending, visits)
    np.testing.assert_allclose(learner._work.mark, marks, rtol=1e-12)
