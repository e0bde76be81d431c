"""One word for one thing: help pages and what is printed speak of trials, plans, steps, options and scores."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from surepath import Study
from surepath._text import words_of_users
from surepath.cli.main import app
from surepath.errors import ProblemError, RewardError, SettingError
from surepath.model.sources.files import problem_schema
from tests.cli.studies import call, created, facts, problem
from tests.model.sources.problem_texts import HEAD, HEADER
from tests.model.sources.test_edges import BAD
from tests.model.sources.test_file_refusals import BAD_CSV, BAD_JSON


def leaves(command: Any, words: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """List the words of every command below one."""
    if not hasattr(command, "commands"):
        return [words]
    return [found for name, below in command.commands.items() for found in leaves(below, (*words, name))]


COMMANDS = leaves(get_command(app))
THEIRS = re.compile(r"\b(episode|stage|arc|reward|incumbent)s?\b", re.IGNORECASE)


def theirs_in(message: str) -> list[str]:
    """Words of the API in a message; the fields of a file keep their names: `stage`, edges[0].stage."""
    plain = re.sub(r"`\w+`|'\w+'|\"\w+\"|\.\w+|: stage must be|\(state, action, next_state\), \(stage, .*", "", message)
    return re.findall(r"\b(episode|stage|arc|reward|incumbent|path|return)s?\b", plain, re.IGNORECASE)


def edge(row: Any) -> Any:
    """A row of a table as an edge of a JSON file; what is no row stays as it is."""
    if not isinstance(row, tuple) or len(row) < 3:
        return row
    fields = dict(zip(("stage", "state", "action", "next_state")[4 - len(row) :], row))
    return {name: value for name, value in fields.items() if value is not None}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_help_page_uses_the_words_of_users(command: tuple[str, ...]) -> None:
    answer = CliRunner().invoke(app, [*command, "--help"])
    assert answer.exit_code == 0
    assert THEIRS.findall(answer.output) == []


@pytest.mark.parametrize("command", ["show", "bound"])
def test_what_is_printed_uses_the_words_of_users(command: str) -> None:
    asked = ["--epsilon", "0.5", "--delta", "0.1", "--no-time"] if command == "bound" else []
    answer = CliRunner().invoke(app, [command, "chain-v1/n3k2/seed0", *asked])
    assert answer.exit_code == 0, answer.output
    assert THEIRS.findall(answer.output) == []
    assert "returns" not in answer.output.replace("return gaps", "")
    assert "step 0" in answer.output


@pytest.mark.parametrize("learner", ["challenger", "eprl", "design"])
def test_status_and_explanation_use_the_words_of_users(here: Path, learner: str) -> None:
    created("--learner", learner, "--epsilon", "0.01")
    said = call("status", "--explain")
    assert "after 0 trials: " in said
    assert "of 6 options ruled out" in said
    assert "6 options have no score yet" in said
    study = Study.load("sqlite:///study.db")
    for scores in ([0.5, 0.4], [0.1, 0.9], [0.9, 0.1]) * 8:
        study.tell(study.ask(), scores)
    call("exclude", "model=small")
    told = call("status", "--explain")
    assert "2 options were excluded" in told
    assert "the proof is over the plans that are left" in told
    assert "in doubt" in told  # what the watch found is in their words too
    assert THEIRS.findall(said + told) == []


def test_a_tie_is_explained_in_the_words_of_users(here: Path) -> None:
    created("--epsilon", "0")
    study = Study.load("sqlite:///study.db")
    for _ in range(12):
        study.tell(study.ask(), [0.5, 0.5])
    said = call("status", "--explain")
    assert "only if the best plan is unique. If the first challenger ties with the current plan" in said
    assert "after 12 trials: " in said
    assert THEIRS.findall(said) == []


def test_an_estimate_uses_the_words_of_users(here: Path) -> None:
    answer = CliRunner().invoke(app, ["estimate", "problem.json", "--worlds", "1"])
    assert answer.exit_code == 0, answer.output
    assert "trials" in answer.output
    assert THEIRS.findall(answer.output) == []


def test_noise_that_is_not_declared_is_said_in_the_words_of_users(here: Path) -> None:
    problem(here, sigma=None)
    answer = CliRunner().invoke(app, ["estimate", "problem.json"])
    assert answer.exit_code == 2
    said = " ".join(answer.output.replace("│", " ").split())
    assert (
        "the noise of the scores is not declared (option '256' of step 'chunk' (state 'start') and 5 other op" in said
    )
    assert "try each option a few times, see how far its scores scatter" in said
    assert THEIRS.findall(said) == []


def test_errors_of_learners_use_the_words_of_users(here: Path) -> None:
    created()
    call("exclude", "chunk=256")
    message = call("exclude", "chunk=512", error=SettingError)
    assert message == "excluding option '512' of step 'chunk' (state 'start') would leave no plan at all"
    learner = Study.load("sqlite:///study.db").learner
    with words_of_users(), pytest.raises(RewardError) as error:
        learner.tell(learner.ask(), [1e30, 0.0])
    assert "scores of size 1e+30 at step 'chunk' make the total scores of plans uncertain by" in str(error.value)
    assert "subtract the same amount from all scores of a step" in str(error.value)
    with pytest.raises(RewardError) as error:
        learner.tell(learner.ask(), [1e30, 0.0])
    assert "rewards of size 1e+30 at stage 0 ('chunk') make the returns of paths uncertain by" in str(error.value)


# Every file that the tests of the model refuse, tables of rows among them, and what only commands refuse.
BAD_FILES: dict[str, str | bytes] = {
    **{f"{i}.json": text for i, (text, _) in enumerate(BAD_JSON) if len(text) < 10_000},
    **{f"{i}.csv": data for i, (data, _) in enumerate(BAD_CSV)},
    **{
        f"rows-{i}.json": json.dumps({**HEAD, **options, "edges": [edge(row) for row in rows]})
        for i, (rows, options, _) in enumerate(BAD)
        if isinstance(rows, list)
    },
    "long.csv": HEADER
    + "".join(f"n0,j{i},n{i}\n" for i in range(2, 2000))
    + "".join(f"n{i},on,n{i + 1}\n" for i in range(1999)),
    "negative.csv": "stage," + HEADER + "0,a,x,b\n-1,b,x,\n",
    "half.csv": "stage," + HEADER + "0,a,x,b\n,b,x,\n",
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_refused_in_the_words_of_users(tmp_path: Path, name: str) -> None:
    text = BAD_FILES[name]
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    for words in (["show"], ["study", "create", "--storage", "memory"]):
        error = CliRunner().invoke(app, [*words, str(tmp_path / name)]).exception
        assert isinstance(error, (ProblemError, SettingError))
        assert theirs_in(str(error).replace(str(tmp_path), "")) == []
        assert "Input should" not in str(error)  # words of the library that checks


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "chain-v1/n99999999k9/seed0"], "this instance would have 8,099,999,919 options; at most"),
        (
            ["study", "create", "problem.json", "--learner", "design", "--epsilon", "0"],
            "no fixed number of trials is en",
        ),
        (["study", "create", "problem.json", "--set", "noise=bernstein"], "no option to learn declares a range"),
        (
            ["simulate", "chain-v1/n3k2/seed0", "--epsilon", "1", "--learner", "EPRL", "--set", "widths=bernstein"],
            "the noise of scores in a range",
        ),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_a_bad_setting_is_refused_in_the_words_of_users(here: Path, words: list[str], message: str) -> None:
    error = CliRunner().invoke(app, words).exception
    assert isinstance(error, (ProblemError, SettingError))
    assert message in str(error)
    assert theirs_in(str(error)) == []


def keys(data: Any) -> set[str]:
    """Every key of JSON data."""
    if isinstance(data, list):
        return {key for part in data for key in keys(part)}
    return set() if not isinstance(data, dict) else set(data) | {key for part in data.values() for key in keys(part)}


def api_keys(data: Any) -> set[str]:
    return {
        key
        for key in keys(data)
        if {"stage", "arc", "reward", "episode"} & set(re.findall("[a-z]+?(?=s?(?:_|$))", key))
    }


def test_keys_of_json_are_the_words_of_users_but_for_the_graph(here: Path) -> None:
    graph = json.loads(CliRunner().invoke(app, ["show", "problem.json", "--json"]).output)
    assert api_keys(graph) == {"stages", "stage", "arcs", "known_arcs", "per_stage"}
    made = facts("create", "problem.json")
    asked, told = facts("ask"), facts("tell", "1", "0.5", "0.5")
    assert api_keys([made, asked, told, facts("show", "1"), facts("show"), facts("status")]) == set()
    assert {"trials", "plan", "scores", "best_plan"} <= keys([made, asked, told, facts("show", "1"), facts("status")])


def test_the_schema_uses_the_words_of_users() -> None:
    def descriptions(part: Any) -> list[str]:
        if isinstance(part, list):
            return [text for one in part for text in descriptions(one)]
        if not isinstance(part, dict):
            return []
        own = [part["description"]] if isinstance(part.get("description"), str) else []
        return own + [text for one in part.values() for text in descriptions(one)]

    said = descriptions(problem_schema())
    assert len(said) > 30
    plain = re.sub("`[a-z_]+`", "", " ".join(said))  # keys of the file keep their names
    assert THEIRS.findall(plain) == []
    assert re.findall(r"\b(path|action)s?\b", plain) == []
