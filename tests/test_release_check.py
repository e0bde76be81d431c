"""The release check: what an artefact lacks or should not hold is found out."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.release_check import NEEDED, call, faults, names_in


def test_faults_of_an_artefact_are_named() -> None:
    good = [f"surepath-1/src/{name}" for name in NEEDED]
    assert faults(good) == []
    assert faults(good[1:]) == [f"lacks {NEEDED[0]}"]
    assert faults([*good, "surepath-1/.gitignore", "surepath-1/tests/data/study.db"]) == []
    wrong = ["surepath-1/benchmarks/results/a.json", "surepath-1/src/surepath/__pycache__/a.pyc", "surepath-1/study.db"]
    assert faults([*good, *wrong]) == [f"holds {name}" for name in wrong]


def test_names_are_read_from_both_kinds(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    with zipfile.ZipFile(tmp_path / "b.whl", "w") as wheel:
        wheel.write(tmp_path / "a.txt", "a.txt")
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as sdist:
        sdist.add(tmp_path / "a.txt", "a.txt")
    assert names_in(tmp_path / "b.whl") == names_in(tmp_path / "b.tar.gz") == ["a.txt"]


def test_a_command_that_fails_ends_the_check_with_what_it_said(tmp_path: Path) -> None:
    assert call(["sh", "-c", "echo said"], tmp_path) == "said\n"
    with pytest.raises(SystemExit, match="ended with 3\nbad"):
        call(["sh", "-c", "echo bad; exit 3"], tmp_path)
