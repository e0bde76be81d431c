"""ARCHITECTURE.md: every module has a test of its name or a row of tests, and every file it names is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "surepath"
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def rows(text: str) -> dict[str, list[str]]:
    """Return folder: tests, from the table of tests."""
    table = text.partition("## Which tests go with which module")[2].partition("\n## ")[0]
    found = re.findall(r"^\| `([\w./]+/)` \| (.*) \|$", table, re.MULTILINE)
    return {folder: re.findall(r"`(tests/[\w/]+\.py)`", tests) for folder, tests in found}


def untested(modules: list[str], table: dict[str, list[str]]) -> list[str]:
    """Return the modules, as paths below the package, that have neither a test of their name nor a row."""
    return [
        module
        for module in modules
        if not table.get(f"{Path(module).parent.as_posix()}/")
        and not (ROOT / "tests" / Path(module).parent / f"test_{Path(module).stem.lstrip('_')}.py").exists()
    ]


def test_a_reader_finds_the_test_of_every_module() -> None:
    files = (file.relative_to(PACKAGE) for file in sorted(PACKAGE.rglob("*.py")) if file.name != "__init__.py")
    assert untested([file.as_posix() for file in files], rows(TEXT)) == []


def test_the_table_names_folders_and_tests_that_are_there() -> None:
    table = rows(TEXT)
    assert [folder for folder in table if not (PACKAGE / folder).is_dir()] == []
    assert [test for tests in table.values() for test in tests if not (ROOT / test).is_file()] == []


def test_the_walks_name_files_that_are_there() -> None:
    walks = TEXT[TEXT.index("## From a file to recommend()") : TEXT.index("## Which tests go")]
    named = set(re.findall(r"`([\w/]+(?:\.py|/))`", walks))
    there = {file.relative_to(PACKAGE).as_posix() for file in PACKAGE.rglob("*.py")}
    there |= {f"{file.rpartition('/')[0]}/" for file in there} | {"tests/learners/test_ask_tell.py"}
    assert len(named) > 20
    assert sorted(name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in there)) == []


def test_the_test_sees_a_module_without_one() -> None:
    assert untested(["nowhere/alone.py", "theory/gaps.py"], {"theory/kernels/": ["tests/x.py"]}) == ["nowhere/alone.py"]
