"""Problem files: exact round trips, every refusal in words, and a loader that only ever says yes or ProblemError."""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepath import MDP, Bernoulli, Bounded, Drawn, Empirical, Gaussian, Instance, families
from surepath.errors import ProblemError
from surepath.model.files import Problem, load_problem, parse_json_problem, problem_schema, save_problem
from tests.strategies import arc_values, mdps

pytestmark = pytest.mark.pure

HEAD = {"format": "surepath-problem", "version": 1}
EDGE = {"stage": 0, "state": "a", "action": "x"}


def problem(**fields: Any) -> str:
    return json.dumps({**HEAD, "edges": [EDGE, {**EDGE, "action": "y"}], **fields})


# Round trips ---------------------------------------------------------------------------------------------------


@given(mdps())
def test_json_and_csv_give_back_the_same_mdp(tmp_path_factory: pytest.TempPathFactory, mdp: MDP) -> None:
    folder = tmp_path_factory.getbasetemp()
    for name in ("problem.json", "problem.csv"):
        mdp.save(folder / name)
        assert MDP.load(folder / name) == mdp


@pytest.mark.parametrize("law", ["gaussian", "gaussian-each", "bernoulli", "beta", "uniform"])
def test_an_instance_comes_back_with_its_laws(tmp_path: Path, law: str) -> None:
    mdp = MDP.from_edges([(0, "s", "x", "t"), (0, "s", "toll", "t", 3)[:4], (1, "t", "x", None), (1, "t", "y", None)])
    means = arc_values(mdp, 3)
    laws = {
        "gaussian": Gaussian(means, 0.3),
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
    assert loaded.mdp.sigma is not None
    assert loaded.mdp.sigma == pytest.approx(instance.sigma)
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
    assert load_problem(tmp_path / "routes.json", direction="minimize").mdp == mdp


def test_a_range_given_to_arrays_survives(tmp_path: Path) -> None:
    mdp = MDP.from_arrays([[[0, 1], [0, 0]], [[0, 0], [0, 0]]], reward_range=(0, [1, 1, 3, 1, 1, 1]))
    assert mdp.sigma is not None
    assert mdp.sigma.tolist() == [0.5, 0.5, 1.5, 0.5, 0.5, 0.5]
    for name in ("p.json", "p.csv"):
        mdp.save(tmp_path / name)
        assert MDP.load(tmp_path / name) == mdp


@pytest.mark.parametrize("toll", [{}, {"low": 0, "high": 1}])
@pytest.mark.parametrize("head", [{"low": 0, "high": 1}, {"low": 0, "high": 1, "sigma": 1.0}, {"law": "bernoulli"}])
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


def test_csv_with_remarks_means_and_direction(tmp_path: Path) -> None:
    text = "\ufeff# from home to work\nstate,action,next_state,mean,known\n\nhome,bus,work,12,\nhome, taxi ,work,,30\n"
    (tmp_path / "routes.csv").write_text(text, encoding="utf-8")
    loaded = load_problem(tmp_path / "routes.csv", direction="minimize")
    assert loaded.instance is not None
    assert loaded.instance.optimal_return == 12
    assert loaded.mdp.action_labels == ("bus", "taxi")
    assert MDP.from_edges(tmp_path / "routes.csv", direction="minimize") == loaded.mdp
    save_problem(tmp_path / "again.csv", MDP.from_edges(tmp_path / "routes.csv"))
    assert MDP.load(tmp_path / "again.csv") == MDP.from_edges(tmp_path / "routes.csv")


def test_named_rows_come_back_from_csv_in_the_same_order(tmp_path: Path) -> None:
    mdp = families.support_tickets().mdp
    mdp.save(tmp_path / "t.csv")
    assert MDP.load(tmp_path / "t.csv") == mdp


def test_defaults_of_the_file_reach_its_edges() -> None:
    loaded = parse_json_problem(problem(low=0, high=4, edges=[EDGE, {**EDGE, "action": "y", "low": 1, "high": 2}]))
    assert loaded.mdp.reward_range is not None
    assert loaded.mdp.reward_range[1].tolist() == [4, 2]
    assert loaded.mdp.sigma is not None
    assert loaded.mdp.sigma.tolist() == [2.0, 0.5]
    assert loaded.instance is None


def test_means_inside_ranges_are_drawn_by_a_beta_law() -> None:
    loaded = parse_json_problem(problem(low=0, high=1, edges=[{**EDGE, "mean": 0.25}]))
    assert loaded.instance is not None
    assert (loaded.instance.law.a[0], loaded.instance.law.b[0]) == (1.0, 3.0)


def test_writing_is_all_or_nothing(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    mdp = MDP.from_arrays([[[0, 0]]])
    mdp.save(file)
    os.chmod(file, 0o640)
    before = file.read_text()
    with pytest.raises(ProblemError, match="epsilon must be a number"):
        save_problem(file, mdp, epsilon="small")
    assert file.read_text() == before
    MDP.from_arrays([[[0, 0, 0]]]).save(file)
    assert MDP.load(file).n_arcs == 3
    assert file.stat().st_mode & 0o777 == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["p.json"]
    with pytest.raises(ProblemError, match=re.escape("cannot write")):
        mdp.save(tmp_path / "missing" / "p.json")


def test_what_a_file_cannot_hold_is_refused(tmp_path: Path) -> None:
    mdp = MDP.from_arrays([[[0, 0]]])
    for law in (Empirical([[1, 2], [3]]), Drawn(lambda arc, rng: 0.0, 0.0, 1.0)):
        with pytest.raises(ProblemError, match="one law for all edges: gaussian, bernoulli, beta or uniform"):
            save_problem(tmp_path / "p.json", mdp, Instance(mdp, law))
    with pytest.raises(ProblemError, match="the instance stands on another graph"):
        save_problem(tmp_path / "p.json", mdp, families.bandit(3))
    with pytest.raises(ProblemError, match=re.escape("cannot say that returns are minimised; save as .json")):
        families.grid(2, 2).mdp.save(tmp_path / "p.csv")
    with pytest.raises(ProblemError, match=re.escape("has no place for epsilon; save as .json")):
        save_problem(tmp_path / "p.csv", mdp, epsilon=0.1)
    with pytest.raises(ProblemError, match=re.escape("the action name ' x' cannot stand in a CSV table")):
        MDP.from_edges([("a", " x", None)]).save(tmp_path / "p.csv")
    assert not list(tmp_path.iterdir())


def test_a_csv_is_refused_a_law_that_it_would_change(tmp_path: Path) -> None:
    mdp, file = MDP.from_arrays([[[0, 0]]]), tmp_path / "p.csv"
    for law in (
        Bernoulli(0.5),
        Bounded(0, 1, sampler="uniform"),
        Bounded(0, 1, concentration=40),
        Empirical([[1, 2], [3]]),
        Drawn(lambda arc, rng: 0.0, 0.0, 1.0),
    ):
        with pytest.raises(ProblemError, match=re.escape("cannot name the law of its rewards")):
            save_problem(file, mdp, Instance(mdp, law))
    assert not file.exists()
    for law in (Gaussian([0.1, 0.7], 0.3), Bounded(-1, 2, [0.1, 0.7])):
        instance = Instance(mdp, law)
        save_problem(file, mdp, instance)
        loaded = load_problem(file).instance
        assert loaded is not None
        for field in ("kind", "mean", "sigma", "a", "b"):
            assert getattr(loaded.law, field) == pytest.approx(getattr(instance.law, field)), field


def test_only_the_extra_fields_may_be_added_and_they_are_checked(tmp_path: Path) -> None:
    mdp, file = MDP.from_arrays([[[0, 0]]]), tmp_path / "p.json"
    for field, value in (("edges", []), ("direction", "minimize"), ("law", "beta")):
        with pytest.raises(ProblemError, match=f"save_problem has no field '{field}'"):
            save_problem(file, mdp, **{field: value})
    with pytest.raises(ProblemError, match=re.escape("no field 'epsilonn' (did you mean \"epsilon\"?)")):
        save_problem(file, mdp, epsilonn=0.1)
    with pytest.raises(ProblemError, match="epsilon must be 0 or more, not -1"):
        save_problem(file, mdp, epsilon=-1)
    with pytest.raises(ProblemError, match="delta must lie strictly between 0 and 1"):
        save_problem(file, mdp, delta=2.0)
    assert not file.exists()


# Refusals ------------------------------------------------------------------------------------------------------

MEAN = {**EDGE, "mean": 0.5}
BAD_JSON: list[tuple[str, str]] = [
    ("", "p is not valid JSON at line 1, column 1: Expecting value; the file seems to be cut off"),
    (problem()[:-20], "the file seems to be cut off"),
    ("{]", "p is not valid JSON at line 1, column 2: Expecting property name enclosed in double quotes"),
    ("[" * 100_000, "p is nested too deeply to be a problem file"),
    ('{"a":' * 100_000, "p is nested too deeply to be a problem file"),
    ("[" + "[]," * 4_000_001 + "]", "p opens more than 4,000,000 brackets; no problem file needs so many"),
    ("[1]", "p: a problem file is a JSON object, not [1]"),
    ('{"format": "other"}', "p: format must be \"surepath-problem\", not 'other'"),
    ('{"version": 2}', "p has version 2, written for a newer surepath; this one reads version 1"),
    ('{"a": 1, "a": 2}', "p: the field 'a' stands twice in one object"),
    ('{"epsilon": NaN}', "p: NaN is not a number a problem file may hold; numbers must be finite"),
    ('{"epsilon": -Infinity}', "p: -Infinity is not a number a problem file may hold"),
    ('{"version": ' + "9" * 5000 + "}", "p holds a number too long to read"),
    (json.dumps({"version": 1, "edges": [EDGE]}), "p: the problem lacks the field 'format'"),
    (json.dumps(HEAD), "p: the problem lacks the field 'edges'"),
    (problem(edges=[]), "p: edges must not be empty, not []"),
    (problem(edges=7), "p: edges must be a list, not 7"),
    (problem(edges=[7]), "p: edges[0] must be an object, not 7"),
    (problem(epsilonn=1), "p: there is an unknown field 'epsilonn' (did you mean \"epsilon\"?)"),
    (
        problem(edges=[{"state": "a", "acton": "x"}]),
        "p: edges[0] has an unknown field 'acton' (did you mean \"action\"?)",
    ),
    (problem(edges=[{"state": "a"}]), "p: edges[0] lacks the field 'action'"),
    (problem(edges=[{**EDGE, "stage": 0.5}]), "p: edges[0].stage must be a whole number, not 0.5"),
    (problem(edges=[{**EDGE, "stage": True}]), "p: edges[0].stage must be a whole number, not True"),
    (problem(edges=[{**EDGE, "stage": -1}]), "p: edges[0].stage"),
    (problem(edges=[{**EDGE, "state": 0.5}]), "p: edges[0].state must be a name or a whole number from 0, not 0.5"),
    (problem(edges=[{**EDGE, "state": ""}]), "p: edges[0].state must be a name or a whole number from 0, not ''"),
    (problem(edges=[{**EDGE, "mean": "0.5"}]), "p: edges[0].mean must be a number, not '0.5'"),
    (problem(edges=[{**EDGE, "mean": 1e999}]).replace("Infinity", "1e999"), "p: edges[0].mean must be finite, not inf"),
    (problem(edges=[{**EDGE, "known": 1e200}]), "p: edges[0]: known must lie within 1e+150 of 0, not 1e+200"),
    (problem(edges=[{**EDGE, "low": -1e308, "high": 1e308}]), "p: edges[0]: low must lie within 1e+150 of 0"),
    (problem(edges=[{**EDGE, "sigma": 1e151}]), "p: edges[0]: sigma must lie within 1e+150 of 0"),
    (problem(about=7), "p: about must be text or a list of texts, not 7"),
    (problem(direction="maximise"), "p: direction 'maximise' is not known (did you mean \"maximize\"?)"),
    (problem(law="normal"), "p: law 'normal' is not known"),
    (problem(epsilon=-1), "p: epsilon must be 0 or more, not -1"),
    (problem(delta=1), "p: delta must lie strictly between 0 and 1, not 1"),
    (problem(low=1), "p: low and high go together; give both or neither"),
    (problem(edges=[EDGE, EDGE]), "p: edges[1] (stage 0, state 'a', action 'x') repeats edges[0]"),
    (problem(states=["b"]), "p: state 'a' is not in the list of states"),
    (
        problem(edges=[{**MEAN, "low": 0, "high": 1}], law="gaussian"),
        "p: Gaussian rewards leave every range",
    ),
    (problem(edges=[MEAN], law="beta"), "p: the law \"beta\" needs low and high; arc 0 (stage 0, state 'a'"),
    (problem(edges=[MEAN], law="uniform", concentration=3), 'p: concentration belongs to the law "beta"'),
    (problem(edges=[MEAN], law="bernoulli", low=0.2, high=1), "p: Bernoulli rewards are 0 or 1; arc 0"),
    (
        problem(edges=[MEAN], law="beta", low=0, high=1, sigma=0.1),
        'p: rewards drawn by the law "beta" have a sub-Gaussian factor of up to 0.5 at arc 0',
    ),
    (problem(edges=[MEAN], low=0, high=1, concentration=-1), "p: concentration must be positive, not -1.0"),
]


@pytest.mark.parametrize(("text", "message"), BAD_JSON, ids=[message[:40] for _, message in BAD_JSON])
def test_bad_json_is_refused_in_words(text: str, message: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(message)):
        parse_json_problem(text, "p")


HEADER = "state,action,next_state\n"
BAD_CSV: list[tuple[bytes, str]] = [
    (b"", "p.csv is empty; an edge table starts with a header line such as state,action,next_state"),
    (HEADER.encode(), "the edge table is empty"),
    (
        b"state;action;next_state\n",
        "p.csv, line 1 has an unknown column 'state;action;next_state'; separate",
    ),
    (b"state,action,nextstate\n", "p.csv, line 1 has an unknown column 'nextstate' (did you mean \"next_state\"?)"),
    (b"state,action\n", "p.csv, line 1 lacks the column 'next_state'"),
    (b"state,action,next_state,state\n", "p.csv, line 1 names the column 'state' twice"),
    (b"# why\n" + HEADER.encode() + b"a,x\n", "p.csv, line 3 has 2 cells; the header has 3 columns"),
    (HEADER.encode() + b'a,"x,b\n', "p.csv, line 2 is not valid CSV"),
    (HEADER.encode() + b"a,x\0,b\n", "p.csv, line 2 holds a NUL byte; an edge table is plain text"),
    (HEADER.encode() + b"a,x,b\na,x,c\n", "p.csv, line 3 (state 'a', action 'x') repeats p.csv, line 2"),
    (
        b"stage," + HEADER.encode() + b"0.0,a,x,b\n",
        "p.csv, line 2: stage must be a whole number",
    ),
    (
        b"state,action,next_state,mean\na,x,b,-1e151\n",
        "p.csv, line 2: mean must lie within 1e+150 of 0, not -1e+151",
    ),
    (b"\xff\xfe", "is not UTF-8 text (byte 0); problem files are text only"),
]


@pytest.mark.parametrize(("data", "message"), BAD_CSV, ids=[message[:40] for _, message in BAD_CSV])
def test_bad_csv_is_refused_in_words(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "p.csv").write_bytes(data)
    with pytest.raises(ProblemError, match=re.escape(message)):
        load_problem(tmp_path / "p.csv")


def test_files_are_refused_before_they_are_read(tmp_path: Path) -> None:
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(2 * 2**30)  # a sparse file: two gigabytes that nobody should read
    with pytest.raises(ProblemError, match=r"has 2,147,483,648 bytes; problem files may have 67,108,864"):
        load_problem(huge)
    with pytest.raises(ProblemError, match="is not a plain file"):
        load_problem(tmp_path)
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(ProblemError, match="is not a plain file"):
        load_problem(tmp_path / "pipe.json")
    with pytest.raises(ProblemError, match="there is no file"):
        load_problem(tmp_path / "absent.json")
    MDP.from_arrays([[[0]]]).save(tmp_path / "p.json")
    with pytest.raises(ProblemError, match='says "maximize"; direction is for CSV tables'):
        load_problem(tmp_path / "p.json", direction="minimize")


# The schema ----------------------------------------------------------------------------------------------------


def test_the_published_schema_is_the_one_in_use() -> None:
    published = Path(__file__).parents[2] / "docs" / "problem.schema.json"
    assert json.loads(published.read_text(encoding="utf-8")) == problem_schema()
    jsonschema.Draft202012Validator.check_schema(problem_schema())


@given(mdps())
def test_saved_files_obey_the_schema(tmp_path_factory: pytest.TempPathFactory, mdp: MDP) -> None:
    file = tmp_path_factory.getbasetemp() / "schema.json"
    save_problem(file, mdp, Instance(mdp, Gaussian(arc_values(mdp, 1), 0.2)))
    jsonschema.validate(json.loads(file.read_text()), problem_schema())


# Fuzz ----------------------------------------------------------------------------------------------------------

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.integers(),
    st.floats(),
    st.sampled_from(["a", "b", "x", "", "maximize", "beta", "bernoulli", "0", "\ud800", "\0", "#"]),
    st.text(max_size=4),
)
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)
edge_fields = ["stage", "state", "action", "next_state", "known", "sigma", "low", "high", "mean", "about"]
top_fields = ["format", "version", "name", "about", "direction", "source", "target", "sigma", "low", "high"]
top_fields += ["epsilon", "delta", "law", "concentration", "states", "actions"]
edges = st.fixed_dictionaries(
    {"state": st.sampled_from(["a", "b", "c", 0, 1]), "action": st.sampled_from(["x", "y", 0])},
    optional={key: scalars for key in edge_fields if key not in ("state", "action")},
)
plain_edges = st.fixed_dictionaries(
    {"state": st.sampled_from("abc"), "action": st.sampled_from("xy"), "next_state": st.sampled_from("bcd")},
    optional={"mean": st.floats(0, 1), "sigma": st.sampled_from([0, 0.5, 2]), "known": st.floats(-1, 1)},
)


def only_a_problem_or_a_refusal(text: str) -> Problem | None:
    try:
        loaded = parse_json_problem(text, "p")
    except ProblemError:
        return None
    assert loaded.mdp.n_paths >= 1
    assert np.isfinite(loaded.mdp.log_paths)
    if loaded.instance is not None:
        assert np.isfinite(loaded.instance.optimal_return)
    return loaded


@given(st.text() | json_values.map(json.dumps))
def test_any_text_is_a_problem_or_a_refusal(text: str) -> None:
    only_a_problem_or_a_refusal(text)


@given(st.dictionaries(st.sampled_from(top_fields), json_values), st.lists(edges | json_values, max_size=4))
def test_any_fields_are_a_problem_or_a_refusal(fields: dict[str, Any], rows: list[Any]) -> None:
    only_a_problem_or_a_refusal(json.dumps({**HEAD, **fields, "edges": rows}))


@given(st.lists(plain_edges, min_size=1, max_size=6), st.integers(0, 400), st.binary(max_size=3))
def test_near_misses_are_a_problem_or_a_refusal(rows: list[Any], at: int, junk: bytes) -> None:
    whole = json.dumps({**HEAD, "source": "a", "edges": rows})
    only_a_problem_or_a_refusal(whole)
    only_a_problem_or_a_refusal(whole[:at])
    only_a_problem_or_a_refusal(whole[:at] + junk.decode("latin-1") + whole[at + len(junk) :])


@given(
    st.binary(max_size=200) | st.text(alphabet='abx01,"\n#;', max_size=60).map(lambda t: HEADER.encode() + t.encode())
)
def test_any_csv_is_a_problem_or_a_refusal(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "fuzz.csv"
    file.write_bytes(data)
    with contextlib.suppress(ProblemError):
        assert load_problem(file).mdp.n_paths >= 1
