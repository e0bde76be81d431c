"""Trials run by a command: how the plan goes in, how scores come out, how children end."""

from __future__ import annotations

import json
import re
import shlex
import sys
from typing import Any

import numpy as np
import pytest

from surepath import MDP
from surepath.errors import RewardError, SettingError, StudyError
from surepath.study.performing import rewards_of
from surepath.study.runner import Command, read_output
from surepath.study.trial import Trial
from tests.study.worlds import STEPS

MDP_2 = MDP.from_steps(STEPS, sigma=0.1)


def trial(plan: dict[Any, Any] | None = None) -> Trial:
    return Trial(7, plan or {"model": "large", "prompt": "long"}, np.zeros(2, dtype=np.int64), 0.0, "asked", "me")


def python(program: str, *more: str) -> str:
    """A command that runs a Python program."""
    return shlex.join([sys.executable, "-c", program.replace("{", "{{").replace("}", "}}")]) + " " + " ".join(more)


# Scores ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "scores"),
    [
        ("0.5 0.25", [0.5, 0.25]),
        ("epoch 1\n3 of 7\n-0.5\t1e-3\n", [-0.5, 1e-3]),
        ("model: fine\n0.5\n0.25\n", [0.5, 0.25]),
        ("9\n0.5\n0.25\n", [0.5, 0.25]),
        ("8 9\n0.5\n", [0.5]),  # two and one make three: the line before is not part of it
        ("", []),
        ("[0.5, 0.25]", [0.5, 0.25]),
        ('{"prompt": 0.25, "model": 0.5}', {"model": 0.5, "prompt": 0.25}),
        ('{"model": null, "prompt": 0.5}', {}),
        ("[0.5, null]", [0.5]),
    ],
)
def test_scores_as_commands_print_them(text: str, scores: Any) -> None:
    assert read_output(MDP_2, text).scores == scores


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("done\n", "its last line is 'done', not 2 numbers"),
        ("0.5 0.25 0.125", "it printed 3 numbers, not 2"),
        ("[0.5, 0.25, 0.125]", "it printed 3 scores, not 2"),
        ('{"modle": 0.5}', "no step is called 'modle'"),
        ("[" * 100_000, "not JSON"),
        ("\x1b[2J", r"its last line is '\\\\x1b"),
    ],
)
def test_what_is_no_score(text: str, words: str) -> None:
    assert re.search(words, read_output(MDP_2, text).wrong)


# The plan ----------------------------------------------------------------------------------------------------------


def test_words_are_filled_in_after_the_splitting() -> None:
    command = Command(MDP_2, "echo '{model} x' --n={trial} {prompt} '{print $1}' {{model}}")
    hostile = {"model": "a b; rm -rf '*'", "prompt": "$(id)"}
    assert command.words(trial(hostile)) == [
        "echo", "a b; rm -rf '*' x", "--n=7", "$(id)", "{print $1}", "{model}",
    ]  # fmt: skip


def test_the_environment_carries_the_plan() -> None:
    program = (
        "import os, sys; names = [k for k in sorted(os.environ) if k.startswith('SUREPATH_') and k[-6:] != 'STRICT'];"
        " print({k: os.environ[k] for k in names}, file=sys.stderr); sys.exit(1)"
    )
    plan = {"a b": "x", "a-b": "y", "c": 512}
    mdp = MDP.from_steps({"a b": ["x"], "a-b": ["y"], "c": ["512"]}, sigma=0.1)
    note = Command(mdp, python(program), "mine")(trial(plan)).note
    assert note is not None
    found = eval(note.removeprefix("exit code 1: "))  # a dict that Python has printed
    assert json.loads(found["SUREPATH_PLAN"]) == plan
    assert (found["SUREPATH_TRIAL"], found["SUREPATH_STUDY"]) == ("7", "mine")
    assert (found["SUREPATH_STEP_A_B"], found["SUREPATH_STEP_C"]) == ("x", "512")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("", "is empty"),
        ("echo 'open", "cannot be split"),
        ("echo {modl}", r"\{modl\}, but no step is called so .*model.*\{\{"),
        ("./no-such-program {model}", "is not a program"),
    ],
)
def test_commands_that_cannot_be(command: str, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        Command(MDP_2, command)


def test_names_of_steps_may_have_spaces_and_signs() -> None:
    steps = {"lysis buffer": ["SDS"], "anneal °C": ["60"], "pH (end)": ["7"]}
    mdp = MDP.from_steps(steps, sigma=0.1)
    command = Command(mdp, """echo "{lysis buffer}" '{anneal °C}' --ph="{pH (end)}" """)
    plan = {"lysis buffer": "SDS", "anneal °C": "60", "pH (end)": "7"}
    assert command.words(trial(plan)) == ["echo", "SDS", "60", "--ph=7"]
    with pytest.raises(SettingError, match=r'has \{anneal °C\} without quotes and falls apart; write "\{anneal °C\}"'):
        Command(mdp, 'echo "{lysis buffer}" "{anneal °C}" {anneal °C}')
    with pytest.raises(SettingError, match=r'has \{lysis bufer\}, but no step is called so .*"lysis buffer"'):
        Command(mdp, "echo {lysis bufer}")


def test_a_program_named_by_the_plan_may_be_missing() -> None:
    with pytest.raises(StudyError, match="the command cannot be run"):
        Command(MDP_2, "./{model}")(trial())


# What comes of it --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "rewards", "note"),
    [
        ("print(0.5, 0.25)", [0.5, 0.25], None),
        ("print(0.5); print(0.25)", [0.5, 0.25], None),
        ("print(0.5); raise SystemExit('no more memory')", [0.5], "exit code 1: no more memory"),
        ("import sys; print(0.5, len(sys.stdin.read()))", [0.5, 0.0], None),  # the input is empty
        ("print('half'); raise SystemExit(2)", (), "exit code 2"),
        ("import os; print(0.5, flush=True); os.kill(os.getpid(), 9)", [0.5], "killed by SIGKILL"),
        ("print('x' * 10**6); print(0.5, 0.25)", [0.5, 0.25], None),
    ],
)
def test_outcomes(program: str, rewards: Any, note: str | None) -> None:
    done = Command(MDP_2, python(program))(trial())
    assert (done.rewards, done.note) == (rewards, note)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("print(1, 2, 3)", r"the command came to its end, but it printed 3 numbers, not 2: '1 2 3'"),
        (
            "print(0.5)",
            r"^no score for step prompt, but the command came to its end and printed '0.5'; where a trial fails, end "
            r"with an exit code other than 0$",
        ),
    ],
)
def test_what_a_program_that_did_not_fail_must_not_print(program: str, words: str) -> None:
    done = Command(MDP_2, python(program))(trial())
    assert done.note is None
    with pytest.raises(RewardError, match=words):
        rewards_of(MDP_2, trial(), done)


@pytest.mark.parametrize(
    ("scored", "printed", "rewards"),
    [
        (["model"], "0.5", (0.5, 0.0)),
        (["prompt"], "0.5", (0.0, 0.5)),
        (["prompt"], "7 0.5", (0.0, 0.5)),
        (["prompt"], '{"prompt": 0.5}', (0.0, 0.5)),
    ],
)
def test_steps_whose_score_is_known_may_be_left_out(
    scored: list[str], printed: str, rewards: tuple[float, ...]
) -> None:
    mdp = MDP.from_steps(STEPS, sigma=0.1, scores=scored)
    one = Trial(7, {"model": "large", "prompt": "long"}, mdp.path({"model": "large", "prompt": "long"}), 0.0, "", "")
    done = Command(mdp, python(f"print({printed!r})"))(one)
    assert rewards_of(mdp, one, done) == rewards


def test_a_plan_that_is_scored_at_the_end_goes_in_step_by_step() -> None:
    mdp = MDP.from_steps(STEPS, sigma=0.1, scores="end")
    path = mdp.path({"model": "large", "prompt": "short"})
    own = Trial(3, mdp.plan(path), path, 0.0, "asked", "me")
    command = Command(mdp, "echo {model}-{prompt} {trial}")
    assert command.words(own) == ["echo", "large-short", "3"]
    assert command.environment(own)["SUREPATH_STEP_PROMPT"] == "short"
    assert Command(mdp, python("print(0.5)"))(own).rewards == [0.5]
    with pytest.raises(SettingError, match=r"the command has \{whole plan\}, but no step is called so"):
        Command(mdp, "echo '{whole plan}'")
