"""Problem files: exact round trips, writing that is all or nothing, and the published schema."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from surepath import MDP, Bernoulli, Bounded, Drawn, Empirical, Gaussian, Instance, families
from surepath.errors import FileError, ProblemError
from surepath.model.files import (
    load_problem,
    parse_json_problem,
    parse_problem_text,
    problem_schema,
    problem_text,
    save_problem,
)
from tests.model.sources.problem_texts import EDGE, problem
from tests.strategies import arc_values, mdps

pytestmark = pytest.mark.pure


@given(mdps())
def test_a_file_gives_back_the_same_mdp(tmp_path_factory: pytest.TempPathFactory, mdp: MDP) -> None:
    file = tmp_path_factory.getbasetemp() / "problem.json"
    mdp.save(file)
    assert MDP.load(file) == mdp


@pytest.mark.parametrize("law", ["gaussian-each", "bernoulli", "beta", "uniform"])
def test_an_instance_comes_back_with_its_laws(tmp_path: Path, law: str) -> None:
    mdp = MDP.from_edges([(0, "s", "x", "t"), (0, "s", "toll", "t", 3)[:4], (1, "t", "x", None), (1, "t", "y", None)])
    means = arc_values(mdp, 3)
    laws = {
        "gaussian-each": Gaussian(means, [0.1, 0.2, 0.3, 0.4]),
        "bernoulli": Bernoulli(means),
        "beta": Bounded(-1, 2, means, concentration=7.0),
        "uniform": Bounded(-1, 2, means, sampler="uniform"),
    }
    instance = Instance(mdp, laws[law])
    save_problem(tmp_path / "p.json", mdp, instance, epsilon=0.1, delta=0.05, name="five", about="text")
    loaded = load_problem(tmp_path / "p.json")
    assert loaded.instance is not None
    for field in ("kind", "mean", "sigma", "low", "high", "a", "b"):
        assert getattr(loaded.instance.law, field) == pytest.approx(getattr(instance.law, field)), field
    assert loaded.mdp.declared_sigma == pytest.approx(instance.sigma)
    assert (loaded.epsilon, loaded.delta, loaded.name, loaded.about) == (0.1, 0.05, "five", ("text",))


def test_padding_prices_ranges_and_direction_survive(tmp_path: Path) -> None:
    mdp = MDP.from_edges(
        [
            {"state": "home", "action": "taxi", "next_state": "work", "known": 20},
            {"state": "home", "action": "walk", "next_state": "park", "sigma": 2},
            {"state": "park", "action": "bus", "next_state": "work", "low": 1, "high": 9},
        ],
        direction="minimize",
    )
    mdp.save(tmp_path / "routes.json")
    assert MDP.load(tmp_path / "routes.json") == mdp


@pytest.mark.parametrize("toll", [{}, {"low": 0, "high": 1}])
@pytest.mark.parametrize("head", [{"low": 0, "high": 1, "sigma": 1.0}, {"law": "bernoulli"}])
def test_declared_sigma_and_ranges_of_known_edges_survive(
    tmp_path: Path, head: dict[str, Any], toll: dict[str, Any]
) -> None:
    edges = [
        {**EDGE, "mean": 0.3},
        {**EDGE, "action": "toll", "known": 0.5, **toll},
        {**EDGE, "action": "y", "mean": 1},
    ]
    first = parse_json_problem(problem(edges=edges, **head))
    for instance in (None, first.instance):
        save_problem(tmp_path / "p.json", first.mdp, instance)
        again = load_problem(tmp_path / "p.json")
        assert again.mdp == first.mdp
        assert again.instance == instance


def test_writing_is_all_or_nothing(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    mdp = MDP.from_arrays([[[0, 0]]])
    mdp.save(file)
    before = file.read_text()
    with pytest.raises(ProblemError, match="epsilon must be a number"):
        save_problem(file, mdp, epsilon="small")  # type: ignore[arg-type]
    assert file.read_text() == before
    MDP.from_arrays([[[0, 0, 0]]]).save(file)
    assert MDP.load(file).n_arcs == 3
    assert [entry.name for entry in tmp_path.iterdir()] == ["p.json"]
    with pytest.raises(FileError, match=re.escape("cannot write")):
        mdp.save(tmp_path / "missing" / "p.json")


def test_what_a_file_cannot_hold_is_refused(tmp_path: Path) -> None:
    mdp = MDP.from_arrays([[[0, 0]]])
    for law in (Empirical([[1, 2], [3]]), Drawn(lambda arc, rng: 0.0, 0.0, 1.0)):
        with pytest.raises(ProblemError, match="one law for all edges: gaussian, bernoulli, beta or uniform"):
            save_problem(tmp_path / "p.json", mdp, Instance(mdp, law))
    with pytest.raises(ProblemError, match="the instance has another graph"):
        save_problem(tmp_path / "p.json", mdp, families.bandit(3))
    with pytest.raises(ProblemError, match=re.escape("a problem is saved as .json, not as p.csv")):
        mdp.save(tmp_path / "p.csv")
    assert not list(tmp_path.iterdir())


# The schema ----------------------------------------------------------------------------------------------------


def test_what_the_schema_cannot_say_is_still_checked() -> None:
    for fields, message in (
        ({"mean": 1e160}, "edges[0]: mean must lie within 1e+150 of 0, not 1e+160"),
        ({"low": 1.0}, "edges[0] (state 'a', option 'x'): low and high go together; give both or neither"),
    ):
        with pytest.raises(ProblemError, match=re.escape(message)):
            parse_json_problem(problem(edges=[{"state": "a", "action": "x", **fields}]))


def test_the_published_schema_is_the_one_in_use() -> None:
    published = Path(__file__).parents[3] / "docs" / "problem.schema.json"
    assert json.loads(published.read_text(encoding="utf-8")) == problem_schema()
    jsonschema.Draft202012Validator.check_schema(problem_schema())


COSTS = "state,action,next_state,time,sigma\nhome,bus,work,30,5\nhome,car,work,20,5\n"


def test_a_table_of_costs_must_say_its_direction() -> None:
    with pytest.raises(
        ProblemError, match="has a column 'time', and nothing says whether less is better; write the line"
    ):
        parse_problem_text(COSTS, "r.csv")
    told = parse_problem_text("#direction = minimize\n" + COSTS, "r.csv").instance
    assert told is not None
    assert (told.means.tolist(), told.optimal_return) == ([30, 20], 20)
    with pytest.raises(ProblemError, match="line 1: the direction is maximize or minimize, not 'less'"):
        parse_problem_text("# direction: less\n" + COSTS, "r.csv")


STEPS = {"format": "surepath-problem", "version": 1, "sigma": 0.1, "steps": {"chunk": [256, 512], "model": ["s", "l"]}}


def test_a_file_may_list_steps() -> None:
    found = parse_json_problem(json.dumps({**STEPS, "depends": {"model": "chunk"}, "epsilon": 0.1}))
    assert found.mdp == MDP.from_steps({"chunk": [256, 512], "model": ["s", "l"]}, sigma=0.1)
    assert found.epsilon == 0.1
    assert parse_json_problem(problem_text(found.mdp)).mdp == found.mdp
    ranged = {key: value for key, value in STEPS.items() if key != "sigma"}
    bounded = parse_json_problem(json.dumps({**ranged, "low": 0, "high": 1, "scores": ["model"]})).mdp
    assert bounded.declared_sigma.tolist() == [0, 0, 0.5, 0.5, 0.5, 0.5]
    assert parse_json_problem(json.dumps({**STEPS, "scores": "end"})).mdp.n_arcs == 4


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"steps": None}, "the problem lacks the field 'edges' (or 'steps')"),
        ({"steps": {"a": []}}, "steps.a must not be empty"),
        ({"steps": {"a": "x"}}, "steps.a must be a list"),
        ({"depends": "next"}, "depends 'next' is not known"),
        ({"depends": {"chunk": "model"}}, "step 'chunk' cannot depend on 'model'"),
        ({"scores": ["answer"]}, "scores names no step 'answer'"),
        ({"states": ["a"]}, "states belongs to a problem of edges; this one has steps"),
        ({"steps": None, "edges": [{"state": "a", "action": "b"}], "scores": "end"}, "scores belongs to steps"),
    ],
)
def test_steps_that_make_no_problem_are_refused(fields: dict[str, object], words: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(words)):
        parse_json_problem(json.dumps({**STEPS, **fields}))
