"""Constants at the top of modules: a capital means one thing; places in arrays are read as `at.EPISODES`."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import surepath
from surepath.learners import tasks

SOURCE = Path(surepath.__file__).resolve().parent
# The tables of places in arrays, one for each kind of learner: other files read them behind the name of the table.
TABLES = sorted(SOURCE.glob("learners/*/state.py"))
# What a place means for every learner: its number is another one in each table.
PLACES = {"EPISODES", "N_ACTIVE", "N_TALLY", "PLAYED", "SETTLED"}
# What every picture and figure says of itself, and the parameters of the experiments behind the figures.
OF_FIGURES = {"READING", "TITLE", "SEEDS", "DELTAS", "EPSILON_GRID"}
# What kernels and learners see.
FILES = [
    *sorted(SOURCE.glob("_*.py")),
    *(
        file
        for part in ("model", "kernels", "learners", "simulation", "theory")
        for file in (SOURCE / part).rglob("*.py")
    ),
]
# What is read behind the name of its table, as `tasks.PLAN` too, and what stays as it was when it was released.
APART = {*TABLES, SOURCE / "learners" / "tasks.py", *SOURCE.rglob("migrations/**/*.py")}
# The second implementation of the bounds must not import from the first and writes the same numbers down once more.
SECOND = set(SOURCE.glob("study/plain_bound/*.py"))
FIRST = {*SOURCE.rglob("kernels/**/*.py"), *SOURCE.glob("learners/*/**/*.py")}
EVERYWHERE = [file for file in SOURCE.rglob("*.py") if file not in APART]


def capitals(text: str) -> dict[str, str]:
    """Return the public capitals at the top of a file with the module they come from, "" where they are defined."""
    found: dict[str, str] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {
                alias.asname or alias.name: "" if alias.asname not in (None, alias.name) else node.module
                for alias in node.names
            }
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {x.id: "" for target in targets for x in ast.walk(target) if isinstance(x, ast.Name)}
    return {name: module for name, module in found.items() if name.isupper() and len(name) > 1 and name[0] != "_"}


def module_of(file: Path) -> str:
    return ".".join(("surepath", *file.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


def defined_twice(files: dict[str, str], tables: set[str], shared: set[str] = PLACES) -> dict[str, list[str]]:
    """Return the capitals that several files, given as name: text, define; tables may share some."""
    homes: dict[str, list[str]] = defaultdict(list)
    for file, text in files.items():
        for name, module in capitals(text).items():
            if not module:
                homes[name].append(file)
    return {
        name: where for name, where in homes.items() if len(where) > 1 and not (name in shared and set(where) <= tables)
    }


def test_a_capital_means_one_thing() -> None:
    texts = {module_of(file): file.read_text(encoding="utf-8") for file in FILES}
    assert len(texts) > 150
    assert defined_twice(texts, {module_of(file) for file in TABLES}) == {}


@pytest.mark.parametrize("left_out", [SECOND, FIRST], ids=["without the second bounds", "without the first"])
def test_a_capital_means_one_thing_everywhere(left_out: set[Path]) -> None:
    texts = {module_of(file): file.read_text(encoding="utf-8") for file in EVERYWHERE if file not in left_out}
    assert {name.split(".")[1] for name in texts if name != "surepath"} >= {
        "cli",
        "experiments",
        "learners",
        "model",
        "plots",
        "study",
        "web",
    }
    assert len(left_out) > 5
    figures = {name for name in texts if name.startswith(("surepath.plots.", "surepath.experiments.figures."))}
    assert defined_twice(texts, figures, OF_FIGURES) == {}


def test_a_capital_of_two_meanings_is_seen() -> None:
    files = {"a": "STEPS, ENDS = 3, 4\n_OWN = 1", "b": "STEPS: int = 4\n_OWN = 2", "c": "from a import ENDS as STEPS"}
    assert defined_twice(files, set()) == {"STEPS": ["a", "b", "c"]}
    files = {"a": "TITLE = 1", "b": "TITLE = 2", "c": "from a import TITLE as TITLE"}
    assert defined_twice(files, {"a", "b"}, OF_FIGURES) == {}
    assert defined_twice(files, {"a"}, OF_FIGURES) == {"TITLE": ["a", "b"]}
    tables = {"a": "EPISODES = 0", "b": "EPISODES = 1"}
    assert defined_twice(tables, {"a", "b"}) == {}
    assert defined_twice(tables, {"a"}) == {"EPISODES": ["a", "b"]}


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
        for name, module in capitals(file.read_text(encoding="utf-8")).items():
            if module.endswith(".state"):
                assert name in values, f"{module_of(file)} imports {name}; read it as at.{name}"


def test_every_task_has_its_own_number() -> None:
    numbers = [value for name, value in vars(tasks).items() if name.isupper()]
    assert sorted(numbers) == list(range(len(numbers)))
    assert tasks.ASK < tasks.TELL < tasks.TEST < min(set(numbers) - {tasks.ASK, tasks.TELL, tasks.TEST})
    assert {tasks.RUN, tasks.FINISH} == set(sorted(numbers)[-2:])
