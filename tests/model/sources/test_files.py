"""Problem files: exact round trips, writing that is all or nothing, and the published schema."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from surepath import MDP, Bernoulli, Bounded, Gaussian, Instance
from surepath.errors import FileError, ProblemError
from surepath.model.files import parse_json_problem, parse_problem_text, problem_schema, problem_text
from surepath.model.worlds import Law
from tests.model.sources.problem_texts import EDGE, problem, with_means
from tests.strategies import mdps

pytestmark = pytest.mark.pure


@given(mdps())
def test_a_file_gives_back_the_same_mdp(tmp_path_factory: pytest.TempPathFactory, mdp: MDP) -> None:
    file = tmp_path_factory.getbasetemp() / "problem.json"
    mdp.save(file)
    assert MDP.load(file) == mdp


@pytest.mark.parametrize(
    ("law", "fields"),
    [
        (Gaussian([0.2, 0.4, 0.6, 0.8], [0.1, 0.2, 0.3, 0.4]), {}),
        (Bernoulli([0.2, 0.4, 0.6, 0.8]), {"law": "bernoulli"}),
        (Bounded(-1, 2, [0.2, 0.4, 0.6, 0.8], concentration=7.0), {"low": -1, "high": 2, "concentration": 7}),
        (Bounded(-1, 2, [0.2, 0.4, 0.6, 0.8], sampler="uniform"), {"low": -1, "high": 2, "law": "uniform"}),
    ],
)
def test_a_file_with_means_is_a_world_of_its_law(law: Law, fields: dict[str, Any]) -> None:
    mdp = MDP.from_edges([(0, "s", "x", "t"), (0, "s", "toll", "t"), (1, "t", "x", None), (1, "t", "y", None)])
    instance = Instance(mdp, law)
    loaded = parse_json_problem(with_means(instance, epsilon=0.1, delta=0.05, name="five", about="text", **fields))
    assert loaded.instance is not None
    for field in ("kind", "mean", "sigma", "low", "high", "a", "b"):
        assert getattr(loaded.instance.law, field) == pytest.approx(getattr(instance.law, field)), field
    assert loaded.mdp.declared_sigma == pytest.approx(instance.sigma)
    assert (loaded.epsilon, loaded.delta, loaded.name, loaded.about) == (0.1, 0.05, "five", ("text",))


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
    first = parse_json_problem(problem(edges=edges, direction="minimize", **head)).mdp
    first.save(tmp_path / "p.json")
    assert MDP.load(tmp_path / "p.json") == first


def test_writing_is_all_or_nothing(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    mdp = MDP.from_arrays([[[0, 0]]])
    mdp.save(file)
    before = file.read_text()
    with pytest.raises(ProblemError, match=r"step_names\.0 must be a valid string"):
        mdp._replaced(step_labels=["\ud800"]).save(file)
    assert file.read_text() == before
    MDP.from_arrays([[[0, 0, 0]]]).save(file)
    assert MDP.load(file).n_arcs == 3
    assert [entry.name for entry in tmp_path.iterdir()] == ["p.json"]
    with pytest.raises(FileError, match=re.escape("cannot write")):
        mdp.save(tmp_path / "missing" / "p.json")


def test_a_problem_is_saved_as_json(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=re.escape("a problem is saved as .json, not as p.csv")):
        MDP.from_arrays([[[0, 0]]]).save(tmp_path / "p.csv")
    assert not list(tmp_path.iterdir())


# The schema ----------------------------------------------------------------------------------------------------


def test_what_the_schema_cannot_say_is_still_checked() -> None:
    message = "edges[0] (state 'a', option 'x'): low and high go together; give both or neither"
    with pytest.raises(ProblemError, match=re.escape(message)):
        parse_json_problem(problem(edges=[{"state": "a", "action": "x", "low": 1.0}]))


def test_the_published_schema_is_the_one_in_use() -> None:
    published = Path(__file__).parents[3] / "docs" / "problem.schema.json"
    assert json.loads(published.read_text(encoding="utf-8")) == problem_schema()
    jsonschema.Draft202012Validator.check_schema(problem_schema())


def test_a_table_of_edges_has_the_settings_of_a_file() -> None:
    head = "# direction: minimize\n#epsilon = 0.5\n# a remark; of two parts: 3\n"
    found = parse_problem_text(
        head + "state;action;next_state;mean;sigma\nhome;bus;work;30;5\nhome;car;;20;5\n", "r.csv"
    )
    assert found.instance is not None
    assert (found.instance.means.tolist(), found.instance.optimal_return, found.epsilon) == ([30, 20], 20, 0.5)
    with pytest.raises(ProblemError, match=r"r\.csv: direction must be 'maximize' or 'minimize', not 'less'"):
        parse_problem_text("# direction: less\nstate,action,next_state\na,x,\n", "r.csv")


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
        ({"steps": {"a": []}}, "steps.a must have at least 1 item, not []"),
        ({"depends": "next"}, "depends must be 'previous' or 'none' or be a valid dictionary, not 'next'"),
        ({"scores": ["answer"]}, "scores names no step 'answer'"),
        ({"states": ["a"]}, "states belongs to a problem of edges; this one has steps"),
        ({"steps": None, "edges": [{"state": "a", "action": "b"}], "scores": "end"}, "scores belongs to steps"),
    ],
)
def test_steps_that_make_no_problem_are_refused(fields: dict[str, object], words: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(words)):
        parse_json_problem(json.dumps({**STEPS, **fields}))
