"""Known costs: a deterministic shift of worth that no decision can tell from shifted rewards, kept by every file."""

from __future__ import annotations

import copy
import json
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import MDP, Bernoulli, Bounded, Challenger, Empirical, Gaussian, Instance
from surepath.errors import ProblemError
from surepath.kernels.sweeps import reality_of
from surepath.model.files import load_problem, parse_json_problem, problem_text
from surepath.model.paths import in_words
from surepath.model.worlds import Law
from tests.model.test_rewards import fill
from tests.naive.draws import draw_reward
from tests.naive.paths import all_paths
from tests.strategies import mdps

STEPS = {"model": ["small", "large"], "prompt": ["short", "long"]}
COSTS = {"model": {"small": 0.25, "large": 2.0}, "prompt": 0.5}


def numbers(size: int, low: float, high: float) -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(low, high), min_size=size, max_size=size)


@given(st.data())
def test_the_best_path_is_the_one_of_most_worth(data: Any) -> None:
    mdp = data.draw(mdps())
    means, cost = (np.array(data.draw(numbers(mdp.n_arcs, low, 3.0))) for low in (-3.0, 0.0))
    weight = data.draw(st.floats(0.0, 3.0)) if cost.any() else 0.0
    priced = mdp.with_costs(cost, weight)
    instance = Instance(priced, Gaussian(means, 1.0))
    worth = {tuple(path): sum(mdp.sign * means[e] - weight * cost[e] for e in path) for path in all_paths(mdp)}
    best = max(worth.values())
    assert worth[tuple(instance.best_path().tolist())] == pytest.approx(best, abs=1e-9)
    assert instance.optimal_return == pytest.approx(mdp.sign * best, abs=1e-9)
    for path, value in worth.items():
        assert instance.regret_of(list(path)) == pytest.approx(best - value, abs=1e-9)
        assert priced.price(path) == pytest.approx(sum(cost[list(path)]))


@settings(max_examples=25, deadline=None)
@given(st.data(), st.sampled_from(["maximize", "minimize"]), st.booleans())
def test_a_learner_decides_as_one_that_is_told_the_worth(data: Any, direction: str, ranged: bool) -> None:
    limits = (0.0, 1.0) if ranged else None
    shape = np.zeros((2, 1, 2), dtype=int)
    plain = MDP.from_arrays(shape, direction=direction, reward_range=limits)
    cost = np.array(data.draw(numbers(4, 0.0, 2.0)))
    weight = data.draw(st.floats(0.0, 2.0)) if cost.any() else 0.0
    shift = -plain.sign * weight * cost
    moved = None if limits is None else (limits[0] + shift, limits[1] + shift)
    shifted = MDP.from_arrays(shape, direction=direction, reward_range=moved)
    options: dict[str, Any] = {"sampling": "guarded"} | ({"noise": "bernstein"} if ranged else {"sigma": 0.3})
    mine = Challenger(plain.with_costs(cost, weight), 0.2, 0.1, **options)
    theirs = Challenger(shifted, 0.2, 0.1, **options)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    for _ in range(25):
        if mine.stopped:
            break
        path = mine.ask()
        assert path.tolist() == theirs.ask().tolist()
        scores = rng.random(2)
        mine.tell(path, scores)
        theirs.tell(path, scores + shift[path])
        assert np.array_equal(mine.means, theirs.means, equal_nan=True)
        assert mine.certified_gap() == pytest.approx(theirs.certified_gap(), rel=1e-9)
    assert mine.stopped == theirs.stopped
    assert mine.recommend().tolist() == theirs.recommend().tolist()


def test_a_known_score_and_a_cost_make_a_known_worth() -> None:
    rows = [
        {"state": "a", "action": "x", "next_state": "", "known": 1.0, "cost": 3.0},
        {"state": "a", "action": "y", "next_state": "", "sigma": 0.1, "cost": 0.5},
    ]
    mdp = MDP.from_edges(rows, cost_weight=2.0)
    assert mdp.known_gain.tolist() == [-5.0, 0.0]
    learner = Challenger(mdp, 0.1, 0.1)
    learner.tell([1], 0.75)
    assert learner.means.tolist() == [-5.0, -0.25]
    assert learner.sums[1] == -0.25


LAWS: dict[str, Law] = {
    "gaussian": Gaussian([0.2, 0.5, 0.1, 0.9], 0.2),
    "bernoulli": Bernoulli([0.2, 0.5, 0.1, 0.9]),
    "beta": Bounded(0.0, 2.0, [0.2, 0.5, 0.1, 0.9]),
    "uniform": Bounded(0.0, 2.0, [0.2, 0.5, 0.1, 0.9], sampler="uniform"),
    "table": Empirical([[0.1, 0.3], [0.5], [0.0, 0.2], [0.8, 1.0]]),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_compiled_draws_are_the_scores_less_their_costs(law: str, direction: str) -> None:
    cost = np.array([0.0, 1.0, 2.0, 0.25])
    mdp = MDP.from_arrays(np.zeros((2, 1, 2), dtype=int), direction=direction).with_costs(cost, 0.5)
    instance = Instance(mdp, LAWS[law])
    reality = reality_of(instance)
    one, two = np.random.default_rng(3), np.random.default_rng(3)
    for arc in (0, 1, 2, 3, 3, 2):
        gain = np.empty(1)
        fill(reality, arc, one, gain)
        score = draw_reward(instance, arc, two)
        assert gain[0] == pytest.approx(mdp.sign * score - 0.5 * cost[arc], abs=1e-12)


def test_steps_have_costs_by_option_or_by_step_and_whole_plans_their_sum() -> None:
    mdp = MDP.from_steps(STEPS, sigma=0.1, costs=COSTS, cost_weight=0.5)
    assert mdp.cost is not None
    assert mdp.price(mdp.path({"model": "large", "prompt": "long"})) == 2.5
    assert mdp.charge is not None
    assert mdp.charge.tolist() == [0.125, 1.0, 0.25, 0.25, 0.25, 0.25]
    whole = MDP.from_steps(STEPS, sigma=0.1, costs=COSTS, scores="end")
    for model, prompt in (("small", "short"), ("large", "long")):
        plan = {"model": model, "prompt": prompt}
        assert whole.price(whole.path(plan)) == mdp.price(mdp.path(plan))
    assert whole.charge is None
    assert in_words(mdp) == "worth = score - 0.5 x cost"
    less = MDP.from_steps(STEPS, sigma=0.1, costs=COSTS, cost_weight=1.0, direction="minimize")
    assert in_words(less) == "worth = score + cost"


def test_files_pickles_and_copies_keep_costs(tmp_path: Path) -> None:
    mdp = MDP.from_steps(STEPS, sigma=0.1, costs=COSTS, cost_weight=0.5)
    assert parse_json_problem(problem_text(mdp)).mdp == mdp
    assert pickle.loads(pickle.dumps(mdp)) == copy.deepcopy(mdp) == mdp
    edges = MDP.from_edges([("a", "x", "b"), ("b", "y", "")], sigma=1.0).with_costs([0.1, 0.0], 0.3)
    edges.save(tmp_path / "q.json")
    assert MDP.load(tmp_path / "q.json") == edges
    assert mdp.with_costs(None).content_hash == MDP.from_steps(STEPS, sigma=0.1).content_hash
    hashes = [m.content_hash for m in (mdp, mdp.with_costs(mdp.cost), mdp.with_costs(None), mdp.with_costs(1.0))]
    assert all(a != b for a, b in pairwise(hashes))
    steps = {"format": "surepath-problem", "version": 1, "steps": STEPS, "sigma": 0.1, "costs": COSTS}
    assert parse_json_problem(json.dumps({**steps, "cost_weight": 0.5})).mdp == mdp


def test_a_column_cost_of_a_table_is_a_known_cost(tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    file.write_text("state,action,next_state,mean,cost,sigma\na,x,,1,0.5,0.1\na,y,,2,4,0.1\n")
    problem = load_problem(file)
    assert problem.mdp.cost is not None
    assert problem.mdp.cost.tolist() == [0.5, 4.0]
    assert problem.instance is not None
    assert problem.instance.means.tolist() == [1.0, 2.0]
    file.write_text("# cost_weight: 0.5\nstate,action,next_state,cost,sigma\na,x,,0.5,0.1\na,y,,4,0.1\n")
    assert load_problem(file).mdp.cost_weight == 0.5


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MDP.from_steps(STEPS, costs={"modle": 1}), "costs names no step 'modle'"),
        (lambda: MDP.from_steps(STEPS, cost_weight=0.5), "cost_weight is 0.5, but no option has a cost"),
        (lambda: MDP.from_steps(STEPS, costs=COSTS, cost_weight=-1), "cost_weight says what one unit"),
        (lambda: MDP.from_arrays([[[0, 0]]]).with_costs([1, -2]), "a cost is a number of at least 0, not -2"),
        (
            lambda: MDP.from_edges([{"state": "a", "action": "x", "next_state": "", "cost": -1}]),
            r"row 1 \(state 'a', option 'x'\): a cost is a number of at least 0, not -1",
        ),
    ],
)
def test_costs_that_make_no_sense_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        make()
