"""ARCHITECTURE.md: a reader finds the tests of every module and the modules of every test, and every file it names."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "surepath"
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
MODULES = [file.relative_to(PACKAGE).as_posix() for file in sorted(PACKAGE.rglob("*.py")) if file.name != "__init__.py"]
HELPERS = ["tests/documents.py", "tests/strategies.py"]
TESTS = [file.relative_to(ROOT).as_posix() for file in sorted((ROOT / "tests").rglob("test_*.py"))]


def named_after(module: str) -> str:
    """Return the test that has the name of a module: `tests/cli/test_output.py` for `cli/_output.py`."""
    path = Path(module)
    return (Path("tests") / path.parent / f"test_{path.stem.lstrip('_')}.py").as_posix()


def section(text: str) -> str:
    """Return the tables of tests."""
    return text.partition("## Which tests go with which module")[2].partition("\n## ")[0]


def table(text: str) -> dict[str, list[str]]:
    """Return module: tests, for the modules that the first table names in the row of their folder."""
    found: dict[str, list[str]] = {}
    for folder, modules, tests in re.findall(r"^\| `([\w./]+/)` \| (.*?) \| (.*) \|$", section(text), re.MULTILINE):
        for name in re.findall(r"`(\w+\.py)`", modules):
            module = (Path(folder) / name).as_posix()
            assert module not in found, f"{module} has two rows"
            found[module] = re.findall(r"`(tests/[\w/]+\.py)`", tests)
    return found


def untested(modules: list[str], tests: list[str], rows: dict[str, list[str]]) -> list[str]:
    """Return the modules that have neither a test of their name nor tests in a row."""
    return [module for module in modules if named_after(module) not in tests and not rows.get(module)]


def unnamed(tests: list[str], modules: list[str], text: str) -> list[str]:
    """Return the tests that have neither the name of a module nor a mention."""
    names = {named_after(module) for module in modules} | set(re.findall(r"`(tests/[\w/]+\.py)`", section(text)))
    return [test for test in tests if test not in names]


def test_a_reader_finds_the_test_of_every_module() -> None:
    assert len(MODULES) > 250
    assert untested(MODULES, TESTS, table(TEXT)) == []


def test_a_reader_finds_the_module_of_every_test() -> None:
    assert len(TESTS) > 150
    assert unnamed(TESTS, MODULES, TEXT) == []


def test_the_tables_name_what_is_there() -> None:
    assert sorted(set(table(TEXT)) - set(MODULES)) == []
    assert [module for module in table(TEXT) if named_after(module) in TESTS] == []  # these need no row
    assert (
        sorted(set(re.findall(r"`(tests/[\w/]+\.py)`", TEXT)) - {*TESTS, *HELPERS, "tests/FOLDER/test_NAME.py"}) == []
    )


def test_the_walks_name_files_that_are_there() -> None:
    walks = TEXT[TEXT.index("## From a file to recommend()") : TEXT.index("## Which tests go")]
    named = set(re.findall(r"`([\w/]+(?:\.py|/))`", walks))
    there = {file.relative_to(PACKAGE).as_posix() for file in PACKAGE.rglob("*.py")}
    there |= {f"{file.rpartition('/')[0]}/" for file in there} | {"tests/learners/test_ask_tell.py"}
    assert len(named) > 20
    assert sorted(name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in there)) == []


def test_what_cannot_be_found_is_seen() -> None:
    text = "## Which tests go with which module\n| `a/` | `one.py` | `tests/b/test_two.py` |\n"
    assert untested(["a/one.py", "a/other.py", "a/_three.py"], ["tests/a/test_three.py"], table(text)) == ["a/other.py"]
    tests = ["tests/b/test_two.py", "tests/a/test_three.py", "tests/c/test_three.py"]
    assert unnamed(tests, ["a/_three.py"], text) == ["tests/c/test_three.py"]
