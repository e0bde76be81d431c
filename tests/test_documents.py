"""The documents tell the truth: their Python runs, their problem files load, their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from surepath import families
from surepath._version import __version__
from surepath.model.files import parse_json_problem
from tests.documents import DOCUMENTS, ROOT, blocks


def joined(language: str) -> list[tuple[str, str]]:
    """(document, code) of all blocks in a language that are run, those of one document joined."""
    found: dict[str, list[str]] = {}
    for block in blocks():
        if block.language == language and block.not_run is None:
            found.setdefault(block.document, []).append(block.body)
    return [(name, "\n".join(parts)) for name, parts in found.items()]


@pytest.mark.parametrize(("name", "code"), joined("python"), ids=[name for name, _ in joined("python")])
def test_python_in_documents_runs(name: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, name, "exec"), {"__name__": name})


@pytest.mark.parametrize(("name", "text"), joined("json"), ids=[name for name, _ in joined("json")])
def test_problem_files_in_documents_load(name: str, text: str) -> None:
    if '"surepath-problem"' in text:
        assert parse_json_problem(text, name).instance is not None


def test_every_family_is_in_the_table_with_an_id_that_works() -> None:
    text = (ROOT / "docs" / "families.md").read_text(encoding="utf-8")
    ids = re.findall(r"^\| `\w+\(.*?\)` \| `(.*?)` \|", text, re.MULTILINE)
    assert {id.partition("-v")[0] for id in ids} == set(families.FAMILIES)
    assert [families.from_id(id).id for id in ids] == ids


def test_the_version_is_the_same_everywhere() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_links_between_documents_lead_somewhere() -> None:
    for file in [*DOCUMENTS, *ROOT.glob("*.md")]:
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", file.read_text(encoding="utf-8")):
            assert (file.parent / link).exists(), f"{file.name} links to {link}, which is not there"
