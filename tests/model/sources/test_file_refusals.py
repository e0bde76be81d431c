"""Problem files that are refused: every mistake in words."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from surepath.errors import ProblemError
from surepath.model.files import load_problem, parse_json_problem
from tests.model.sources.problem_texts import EDGE, HEAD, HEADER, problem

pytestmark = pytest.mark.pure


MEAN = {**EDGE, "mean": 0.5}
BAD_JSON: list[tuple[str, str]] = [
    ("", "p is not valid JSON at line 1, column 1: Expecting value; the file seems to be cut off"),
    ("{]", "p is not valid JSON at line 1, column 2: Expecting property name enclosed in double quotes"),
    ("[" * 100_000, "p is nested too deeply to be a problem file"),
    ("[" + "[]," * 4_000_001 + "]", "p opens more than 4,000,000 brackets; no problem file needs so many"),
    ("[1]", "p: a problem file is a JSON object, not [1]"),
    ('{"format": "other"}', "p: format must be 'surepath-problem', not 'other'"),
    ('{"version": 2}', "p has version 2, written for a newer surepath; this one reads version 1"),
    ('{"a": 1, "a": 2}', "p: the field 'a' appears twice in one object"),
    ('{"epsilon": NaN}', "p: NaN is not a number a problem file may hold; numbers must be finite"),
    ('{"version": ' + "9" * 5000 + "}", "p holds a number too long to read"),
    (json.dumps({"version": 1, "edges": [EDGE]}), "p: the problem lacks the field 'format'"),
    (json.dumps(HEAD), "p: the problem lacks the field 'edges'"),
    (problem(epsilonn=1), "p: there is an unknown field 'epsilonn' (did you mean \"epsilon\"?)"),
    (json.dumps({**HEAD, "steps": 7}), "p: steps must be a valid dictionary, not 7"),
    (json.dumps({**HEAD, "steps": {"a": ["x"]}, "sigma": -1}), "p: sigma must be 0 or more, not -1"),
    (json.dumps({**HEAD, "steps": {"a": ["x"]}, "low": 0, "high": 1e-120}), "p: the lowest and highest score"),
    (problem(edges=[{**EDGE, "mean": "half"}]), "p: edges[0]: mean must be a number, not 'half'"),
    (
        problem(edges=[{**EDGE, "mean": 1e999}]).replace("Infinity", "1e999"),
        "p: edges[0]: mean must be finite, not inf",
    ),
    (problem(edges=[{**EDGE, "known": 1e200}]), "p: edges[0]: known must lie within 1e+150 of 0, not 1e+200"),
    (problem(about=7), "p: about must be a valid string or be a valid list, not 7"),
    (problem(direction="maximise"), "p: direction must be 'maximize' or 'minimize', not 'maximise'"),
    (problem(delta=1), "p: delta must lie strictly between 0 and 1, not 1"),
    (problem(states=["b"]), "p: state 'a' is not in the list of states"),
    (problem(edges=[{**MEAN, "low": 0, "high": 1}], law="gaussian"), "p: Gaussian scores leave every range"),
    (problem(edges=[MEAN], law="beta"), "p: the law \"beta\" needs low and high; option 'x' of step 1 (state 'a'"),
    (problem(edges=[MEAN], law="uniform", concentration=3), 'p: concentration belongs to the law "beta"'),
    (problem(edges=[MEAN], law="bernoulli", low=0.2, high=1), "p: Bernoulli scores are 0 or 1; option 'x'"),
    (
        problem(edges=[MEAN], law="beta", low=0, high=1, sigma=0.1),
        'p: scores drawn by the law "beta" have a sub-Gaussian factor of half their range, more than',
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD_JSON, ids=[message[:40] for _, message in BAD_JSON])
def test_bad_json_is_refused_in_words(text: str, message: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(message)):
        parse_json_problem(text, "p")


BAD_CSV: list[tuple[bytes, str]] = [
    (b"", "p.csv is empty; its first line names steps, or columns such as state,action,next_state"),
    (HEADER.encode(), "p.csv: edges must have at least 1 item, not []"),
    (b"state,action,nextstate\n", "p.csv, line 1 has an unknown column 'nextstate' (did you mean \"next_state\"?)"),
    (b"state,action\n", "p.csv, line 1 lacks the column 'next_state'"),
    (b"# why\n" + HEADER.encode() + b"a,x\n", "p.csv, line 3 has 2 cells; the header has 3 columns"),
    (HEADER.encode() + b'a,"x,b\n', "p.csv, line 2 is not valid CSV"),
    (HEADER.encode() + b"a,x,b\na,x,c\n", "p.csv: line 3 (state 'a', option 'x') repeats line 2"),
    (b"stage," + HEADER.encode() + b"0.0,a,x,b\n", "p.csv: line 2: stage must be a whole number"),
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
