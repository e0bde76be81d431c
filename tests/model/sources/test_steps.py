"""Named steps: as many plans as choices, and states that remember what later scores need, no more."""

from __future__ import annotations

import math
import pickle
import re
from itertools import product
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepath import MDP, Challenger
from surepath.errors import PathError, ProblemError, RewardError, SettingError, SurepathError
from surepath.learners.base import read_rewards
from surepath.model.files import parse_json_problem, problem_text
from surepath.model.paths import option_arcs
from tests.naive.paths import all_paths

RAG = {
    "chunk": ["256", "512"],
    "retriever": ["bm25", "dense"],
    "model": ["small", "large"],
    "answer": ["short", "long"],
}


@st.composite
def problems(draw: st.DrawFn) -> tuple[dict[str, list[str]], Any]:
    """Some steps with options, some of them under one name, and any dependency."""
    names = draw(st.lists(st.text(max_size=4).filter(bool), min_size=1, max_size=4, unique=True))
    options = st.lists(st.sampled_from(["a", "b", "1", "=,", "'"]), min_size=1, max_size=3, unique=True)
    steps = {name: draw(options) for name in names}
    kind = draw(st.sampled_from(["previous", "none", "mapping"]))
    if kind != "mapping":
        return steps, kind
    return steps, {name: draw(st.lists(st.sampled_from(names[:i]), unique=True)) for i, name in enumerate(names) if i}


def needed(names: list[str], depends: Any, at: int) -> list[int]:
    """Earlier steps that the score of some step from `at` on depends on, written as dully as can be."""
    found = set()
    for k in range(at, len(names)):
        if depends == "previous":
            found |= {k - 1}
        elif depends != "none":
            found |= {names.index(other) for other in depends.get(names[k], [])}
    return sorted(j for j in found if 0 <= j < at)


@given(problems())
def test_plans_are_the_choices_and_states_what_they_need(given_problem: tuple[dict[str, list[str]], Any]) -> None:
    steps, depends = given_problem
    mdp, names = MDP.from_steps(steps, depends, sigma=0.1), list(steps)
    assert mdp.n_paths == prod(map(len, steps.values()))
    arc_of: dict[Any, int] = {}
    paths = set()
    for choice in product(*steps.values()):
        plan = dict(zip(names, choice))
        path = mdp.path(plan)
        assert mdp.plan(path) == plan
        paths.add(tuple(path.tolist()))
        for i, arc in enumerate(path.tolist()):
            key = (i, choice[i], *(choice[j] for j in needed(names, depends, i)))
            assert arc_of.setdefault(key, arc) == arc
    assert paths == set(all_paths(mdp))
    assert len(set(arc_of.values())) == len(arc_of) == mdp.n_arcs  # one arc for each score, no more, no less
    assert len(set(mdp.state_labels or ())) == len(mdp.state_labels or ())


@given(problems())
def test_the_layout_is_that_of_every_mdp(given_problem: tuple[dict[str, list[str]], Any]) -> None:
    mdp = MDP.from_steps(*given_problem, sigma=0.1)
    stage, state, action = mdp.arcs
    order = np.lexsort((action, state, stage))
    assert order.tolist() == list(range(mdp.n_arcs))
    assert all(mdp.arc(int(h), int(s), int(a)) == e for e, (h, s, a) in enumerate(zip(stage, state, action)))
    with TemporaryDirectory() as folder:
        mdp.save(Path(folder) / "p.json")
        assert MDP.load(Path(folder) / "p.json") == mdp


def test_noise_is_one_number_one_per_step_or_half_the_range() -> None:
    steps = {"a": ["x", "y"], "b": [128, 256, 512]}
    assert MDP.from_steps(steps, "none", sigma=2).declared_sigma.tolist() == [2.0] * 5  # type: ignore[arg-type]
    assert MDP.from_steps(steps, "none", sigma={"b": 3, "a": 1}).declared_sigma.tolist() == [1, 1, 3, 3, 3]  # type: ignore[arg-type]
    ranged = MDP.from_steps(steps, "none", reward_range=(0, 1))  # type: ignore[arg-type]
    assert ranged.declared_sigma.tolist() == [0.5] * 5
    assert ranged.reward_range is not None
    assert "Three ways to declare it" in str(MDP.from_steps(steps).noise_missing("Challenger"))  # type: ignore[arg-type]
    assert MDP.from_steps(steps).path({"a": "x", "b": 512}).tolist() == [0, 4]  # type: ignore[arg-type]


def test_options_that_are_real_numbers_have_their_text_as_name() -> None:
    mdp = MDP.from_steps({"temperature": [0.2, np.float64(0.7)], "top": [1, 2.5]}, sigma=0.1)
    assert mdp.plan([0, 2]) == {"temperature": "0.2", "top": "1"}
    assert (
        mdp.path({"temperature": 0.7, "top": 2.5}).tolist() == mdp.path({"temperature": "0.7", "top": "2.5"}).tolist()
    )
    whole = MDP.from_steps({"temperature": [0.2, 0.7], "top": [1, 2.5]}, sigma=0.1, scores="end")
    assert whole.plan(whole.path({"temperature": 0.7, "top": 1})) == {"temperature": "0.7", "top": "1"}


@pytest.mark.parametrize(
    ("steps", "options", "message"),
    [
        ({}, {}, "steps must be a mapping {step: options} with at least one step, not {}"),
        ({1: ["x"]}, {}, "the name of a step must be text and not empty, not 1"),
        ({"a": "xy"}, {}, "step 'a' needs a list of at least one option, not 'xy'"),
        ({"a": [1, "1"]}, {}, "step 'a' has the option '1' twice"),
        ({"a": [0.5, float("nan")]}, {}, "an option of step 'a' must be finite, not nan"),
        ({"a": ["x"]}, {"depends": "previus"}, "depends 'previus' is not known (did you mean \"previous\"?)"),
        (RAG, {"depends": {"anser": ["model"]}}, "depends names no step 'anser' (did you mean \"answer\"?)"),
        (
            RAG,
            {"depends": {"chunk": ["model"]}},
            "step 'chunk' cannot depend on 'model', which does not come before it",
        ),
        (RAG, {"depends": {"answer": 3}}, "depends of step 'answer' must be a list of earlier steps, not 3"),
        (RAG, {"sigma": {"chunk": 1, "modle": 1}}, "sigma is that of a score, and 'modle' has none (did you"),
        (RAG, {"sigma": {"chunk": 1}}, "sigma lacks step 'retriever'; give every scored step one"),
        (RAG, {"sigma": {"chunk": 1}, "scores": "end"}, 'with scores="end" sigma is one number: the noise of the one'),
        (RAG, {"structure": "additive"}, 'structure="additive" is for scores="end" or a list of some steps'),
        (RAG, {"structure": "additive", "scores": list(RAG)[:1]}, "must be scored"),
        (
            {"a": ["x"], "b": ["y"]},
            {"structure": "additive", "scores": "end", "sigma": [1.0, 2.0]},
            "sigma and range are those of a score, one for all options it covers; the score of step 'b' has several",
        ),
        (
            {"a": ["x"], "b": ["y"]},
            {"structure": "additive", "scores": "end", "costs": {"a": 1.0}, "cost_weight": 1.0},
            "worth is the score alone so far; leave out cost_weight",
        ),
    ],
)
def test_bad_steps_are_refused_in_words(steps: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SurepathError, match=re.escape(message)):
        MDP.from_steps(steps, **options)


def test_a_dependency_that_blows_up_is_told_before_it_is_built() -> None:
    steps = {f"s{i}": ["a", "b"] for i in range(40)}
    with pytest.raises(
        ProblemError,
        match=re.escape("options, counted in every state, 1,099,511,627,776 of them at step 's39', which has to remem"),
    ):
        MDP.from_steps(steps, {"s39": list(steps)[:39]})
    fewer = {f"s{i}": ["a", "b"] for i in range(17)}
    message = (
        "these steps make 262,142 options, counted in every state, 131,072 of them at step 's16', "
        "which has to remember: s0, s1"
    )
    with pytest.warns(UserWarning, match=message) as seen:
        mdp = MDP.from_steps(fewer, {"s16": list(fewer)[:16]}, sigma=1)
    assert seen[0].filename == __file__
    assert mdp.n_arcs == 262_142


def test_too_many_plans_with_one_score_are_refused_before_any_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = {f"s{i}": ["a", "b"] for i in range(24)}
    message = "these steps make 16,777,216 plans; at most 20,000 are taken"
    monkeypatch.setattr("surepath.model.steps.product", lambda *_: pytest.fail("the plans were listed"))
    with pytest.raises(ProblemError, match=message):
        MDP.from_steps(steps, sigma=0.1, scores="end", costs={"s0": 1.0})


def test_one_score_at_the_end_makes_every_plan_an_option() -> None:
    steps = {"a": ["x", "y, z"], "b": ['u"', "v"]}
    mdp = MDP.from_steps(steps, sigma=0.1, scores="end")
    assert (mdp.horizon, mdp.n_arcs) == (1, 4)
    plans = [mdp.plan([arc]) for arc in range(4)]
    assert plans == [{"a": a, "b": b} for a in steps["a"] for b in steps["b"]]
    assert [mdp.path(plan).tolist() for plan in plans] == [[0], [1], [2], [3]]
    assert mdp.path({"b": "v", "a": "x"}).tolist() == [1]
    assert mdp.plans == tuple(plans)
    assert mdp != mdp._replaced(plans=None)
    assert option_arcs(mdp, {"a": "x"}).tolist() == [0, 1]  # in every plan
    assert parse_json_problem(problem_text(mdp)).mdp == mdp
    with pytest.raises(PathError, match="a plan here has the steps 'a', 'b'"):
        mdp.path({"a": "x"})
    with pytest.raises(PathError, match="step 'b' has no option 'vv'"):
        mdp.path({"a": "x", "b": "vv"})
    learner = Challenger(mdp, 0.1, 0.1)
    learner.tell({"a": "x", "b": "v"}, 0.5)
    assert learner.sums.tolist() == [0, 0.5, 0, 0]
    with pytest.raises(RewardError, match=r"must be one number, one per (stage|step), or fewer; got 2"):
        learner.tell([0], [1.0, 2.0])


@pytest.mark.parametrize("more", [{"sigma": 0.1}, {"reward_range": (0, 1)}, {"sigma": 0.1, "reward_range": (0, 1)}])
@pytest.mark.parametrize(
    ("depends", "scores", "scored", "effects"),
    [
        ("none", "end", (2,), 5),
        ("previous", "end", (2,), 9),
        ({"c": ["a"]}, "end", (2,), 8),
        ("none", ["a", "c"], (0, 2), 6),
        ("previous", ["c", "a"], (0, 2), 11),
    ],
)
def test_effects_that_add_up_are_counted_as_a_design_can_tell_them_apart(
    depends: Any, scores: Any, scored: tuple[int, ...], effects: int, more: dict[str, Any]
) -> None:
    steps = {"a": ["x", "y"], "b": ["u", "v", "w"], "c": ["s", "t"]}
    mdp = MDP.from_steps(steps, depends, scores=scores, structure="additive", **more)
    assert (mdp.scored, mdp.n_effects) == (scored, effects)
    assert parse_json_problem(problem_text(mdp)).mdp == mdp == pickle.loads(pickle.dumps(mdp))
    assert mdp != MDP.from_steps(steps, depends, **more)
    paths = all_paths(mdp)
    seen = np.zeros((len(paths), len(scored), mdp.n_arcs))  # what each score of each plan adds up
    for row, path in zip(seen, paths):
        for stage, arc in enumerate(path):
            row[next(b for b, last in enumerate(scored) if last >= stage), arc] = 1
    assert np.linalg.matrix_rank(seen.reshape(-1, mdp.n_arcs)) == effects


def test_scores_that_cover_several_steps_are_read_in_their_places() -> None:
    steps = {"a": ["x", "y"], "b": ["u", "v"], "c": ["s", "t"]}
    mdp = MDP.from_steps(steps, "none", scores="end", structure="additive", reward_range=(0.5, 1.0))
    path = mdp.path({"a": "x", "b": "v", "c": "t"})
    for scores in (0.75, [0.75], {"c": 0.75}, [7.0, math.nan, 0.75]):
        assert read_rewards(mdp, path, scores).tolist() == [0.0, 0.0, 0.75]
    with pytest.raises(RewardError, match=re.escape("the score 0.2 of step 'c' lies outside the declared range")):
        read_rewards(mdp, path, 0.2)
    with pytest.raises(SettingError, match=r"Challenger needs a score of every step.*Rounds is the learner"):
        Challenger(mdp, 0.1, 0.1)
    two = MDP.from_steps(steps, "none", scores=["a", "c"], structure="additive", sigma={"a": 0.1, "c": 0.2})
    assert two.sigma is not None
    assert two.sigma.tolist() == [0.1] * 2 + [0.2] * 4
    assert read_rewards(two, path, [0.25, 0.5]).tolist() == [0.25, 0.0, 0.5]
    assert read_rewards(two, path, [0.25]).tolist() == [0.25]


class Counted(str):
    """A name that counts how often names are compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__

    def __str__(self) -> str:
        return self


@pytest.mark.parametrize("depends", ["none", "previous"])
def test_many_options_are_not_compared_with_each_other(depends: str) -> None:
    options = [Counted(f"option {i}") for i in range(2_000)]
    mdp = MDP.from_steps({"a": options, "b": ["x"]}, depends, costs={"a": dict.fromkeys(options, 1.0)})
    assert mdp.n_arcs == 2_000 + (2_000 if depends == "previous" else 1)
    assert Counted.compared < 20 * len(options)
