"""Kernel constants: one table a learner, read as `at.EPISODES`; a bare capital means one number everywhere."""

from __future__ import annotations

import ast
import importlib
from collections import defaultdict
from pathlib import Path

import surepath
from surepath.learners import tasks

SOURCE = Path(surepath.__file__).resolve().parent
# The tables themselves, whose names other files only read behind the name of the table.
TABLES = sorted(SOURCE.glob("learners/*/state.py"))
FILES = [
    file
    for part in ("kernels", "learners")
    for file in sorted((SOURCE / part).rglob("*.py"))
    if file not in TABLES and "watch" not in file.parts
]


def bare_capitals(text: str) -> dict[str, str]:
    """Capitals that stand bare at the top of a file, defined or imported, with the module they come from."""
    found: dict[str, str] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {alias.asname or alias.name: node.module for alias in node.names}
        elif isinstance(node, ast.Assign):
            found |= {x.id: "" for target in node.targets for x in ast.walk(target) if isinstance(x, ast.Name)}
    return {name: module for name, module in found.items() if name.isupper() and len(name) > 1}


def module_of(file: Path) -> str:
    return ".".join(("surepath", *file.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


def test_a_bare_capital_means_one_number() -> None:
    meanings: dict[str, dict[object, str]] = defaultdict(dict)
    for file in FILES:
        for name in bare_capitals(file.read_text(encoding="utf-8")):
            value = getattr(importlib.import_module(module_of(file)), name)
            if isinstance(value, (int, float)) and not name.startswith("_"):
                meanings[name].setdefault(value, module_of(file))
    assert len(meanings) > 30
    assert {name: means for name, means in meanings.items() if len(means) > 1} == {}


def test_places_in_arrays_are_read_from_the_table() -> None:
    """No file imports a row or a place by its bare name; what is no index may be."""
    values = {"BIG", "HALF_BIG", "NO_PERIODS", "PERIODS", "PERIODS_AFTER_DROP"}  # per_arc
    values |= {
        "HALF_NORMAL",
        "NORMAL",
        "INTERVAL",
        "SHIFTED",
        "UNIFORM_PRIOR",
        "DETOUR",
        "NO_PRIOR",
        "EXCURSION",
        "RIVAL",
        "OWN",
    }  # challenger
    assert len(TABLES) == 3
    for file in FILES:
        for name, module in bare_capitals(file.read_text(encoding="utf-8")).items():
            if module.endswith(".state"):
                assert name in values, f"{module_of(file)} imports {name}; read it as at.{name}"


def test_every_task_has_its_own_number() -> None:
    numbers = [value for name, value in vars(tasks).items() if name.isupper()]
    assert sorted(numbers) == list(range(len(numbers)))
    assert tasks.ASK < tasks.TELL < tasks.TEST < min(set(numbers) - {tasks.ASK, tasks.TELL, tasks.TEST})
    assert {tasks.RUN, tasks.FINISH} == set(sorted(numbers)[-2:])
