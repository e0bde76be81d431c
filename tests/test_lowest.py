"""Lower bounds: written once, and two learners that work with what is installed, whichever versions those are."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from surepath import MDP, families, simulate
from surepath.learners.base import build

ROOT = Path(__file__).resolve().parent.parent
# Ray is large and its tests start a cluster, the others need a server: nothing checks these lower bounds.
EXTRAS = ("plot", "data", "graph", "gym", "ray", "postgres", "web")
UNCHECKED = {"ray", "psycopg", "fastapi", "httptools", "httpx", "prometheus-client", "uvicorn"}


def bounds(lines: list[str]) -> dict[str, str]:
    """Return package: lowest version, from requirements such as "numpy>=2.0"."""
    return dict(re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", line).groups() for line in lines if ">=" in line)  # type: ignore[union-attr, misc]


def listed(name: str) -> dict[str, str]:
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    return bounds([line for line in text.splitlines() if not line.startswith(("#", "-r"))])


def declared() -> dict[str, str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines if "surepath[" not in line]
    return bounds([*project["dependencies"], *extras])


@pytest.mark.parametrize("name", ["core.in", "dev.in", "lowest.in"])
def test_lists_of_requirements_have_the_bounds_of_the_project(name: str) -> None:
    ours = declared()
    assert {package: low for package, low in listed(name).items() if package in ours and ours[package] != low} == {}


def test_every_dependency_of_a_user_is_tried_at_its_lowest() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [project["optional-dependencies"][name] for name in EXTRAS]
    wanted = bounds([*project["dependencies"], *(line for lines in extras for line in lines)])
    assert set(wanted) - set(listed("lowest.in")) == UNCHECKED
    said = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("Nothing checks the lowest versions of ")[2]
    assert {word.lower() for word in re.findall(r"[\w-]+", said.partition(":")[0])} - {"and"} == UNCHECKED
    pins = (ROOT / "requirements" / "lowest.txt").read_text(encoding="utf-8")
    for package, low in listed("lowest.in").items():
        pinned = re.search(rf"^{package}==([\d.]+)", pins, re.MULTILINE)
        assert pinned, package
        assert (pinned[1] + ".").startswith(low + "."), f"{package}: make lock"


@pytest.mark.parametrize("name", ["requirements/core.txt", "requirements/dev.txt", "requirements/lowest.txt"])
def test_pins_have_hashes_and_no_addresses(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "://" not in text
    for block in re.split(r"\n(?=\S)", text.strip()):
        assert " --hash=sha256:" in block, block


@pytest.mark.parametrize("name", ["Challenger", "EPRL"])
def test_a_learner_finds_the_best_plan(name: str) -> None:
    mdp = MDP.from_steps({"search": ["keyword", "vector"], "model": ["small", "large"]}, depends="none")
    truth = np.array([0.0, 1.0, 0.0, 1.0])
    learner = build({"name": name, "epsilon": 0.5, "delta": 0.1, "sigma": 0.1}, mdp)
    while not learner.stopped:
        path = learner.ask()
        learner.tell(path, truth[path])
    assert mdp.plan(learner.recommend()) == {"search": "vector", "model": "large"}
    assert learner.certified_gap() <= 0.5


def test_a_learner_runs_compiled() -> None:
    rules = {"name": "Challenger", "epsilon": 2.0, "delta": 0.1}
    assert simulate(rules, families.paper_random(seed=1), runs=4, seed=0).correct.all()
