"""Imports point one way: model, kernels, learners, simulation, study and experiments, plots, web and cli."""

from __future__ import annotations

import ast
from pathlib import Path

import surepath

PACKAGE = Path(surepath.__file__).parent

# What each part may import besides itself. Everybody may import the small modules at the top of the package.
BASE = {"errors", "_checks", "_optional", "_text", "_version"}
MODEL = {"model"}
KERNELS = MODEL | {"kernels"}
THEORY = KERNELS | {"theory"}
LEARNERS = KERNELS | {"learners"}
SIMULATION = LEARNERS | {"simulation"}
VERIFY = MODEL | {"verify"}  # a second opinion: it shares nothing with what it checks
STUDY = SIMULATION | VERIFY | {"study"}
EXPERIMENTS = SIMULATION | THEORY | {"experiments"}
PLOTS = STUDY | EXPERIMENTS | {"plots"}
ALLOWED = {
    "model": MODEL,
    "kernels": KERNELS,
    "theory": THEORY,
    "learners": LEARNERS,
    "simulation": SIMULATION,
    "verify": VERIFY,
    "study": STUDY,
    "experiments": EXPERIMENTS,
    "plots": PLOTS,
    "web": PLOTS | {"web"},
    "cli": PLOTS | {"web", "cli"},
}

# Learners with a folder or a file of their own: none of them imports from another's.
FOLDERS = ("challenger", "peers", "per_arc", "rounds", "whole_plan")


def imports(file: Path) -> set[str]:
    """Dotted names under surepath that a file imports anywhere, lazily too."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import; write the full name"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "surepath"}


def broken(part: str, names: set[str]) -> list[str]:
    """Imports that a file of this part may not make."""
    return sorted(name for name in names if name.split(".")[1] not in ALLOWED[part] | BASE)


def test_imports_point_one_way() -> None:
    wrong = []
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE).parts
        if len(parts) > 1:
            wrong += [f"{'/'.join(parts)} imports {name}" for name in broken(parts[0], imports(file))]
    assert not wrong, "\n".join(wrong)


def test_no_learner_imports_from_the_folder_of_another() -> None:
    """Neither does what learners share: the modules beside their folders."""
    wrong = []
    for file in sorted((PACKAGE / "learners").rglob("*.py")):
        own = file.relative_to(PACKAGE).parts[1].removesuffix(".py")
        for name in imports(file):
            parts = name.split(".")
            if parts[1] == "learners" and parts[2] in FOLDERS and parts[2] != own:
                wrong.append(f"{file.relative_to(PACKAGE)} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_the_top_modules_import_no_part() -> None:
    for name in sorted(BASE):
        used = {dotted.split(".")[1] for dotted in imports(PACKAGE / f"{name}.py")}
        assert used <= BASE, f"{name}.py imports {used - BASE}"


def test_every_folder_has_its_place() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= set(ALLOWED)
