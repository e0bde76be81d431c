"""Cells and tasks: the smallest named parts of an experiment, and the ranges of runs that a worker plays.

A cell is one learner on one instance at one delta. Its id is for people; its key is a hash of everything that its rows
contain, so that stored rows are never taken for those of another experiment or of another learner of the same one. A
task is a range of runs of a cell, as plain data that any worker can rebuild.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from surepath._version import __version__
from surepath.experiments.instance_sources import Source, name_of

if TYPE_CHECKING:
    from surepath.experiments.spec import Spec

MOST_RUNS = 999_999_999  # nine digits in the names of files
Columns = dict[str, Any]  # of finished runs, by name
ROWS_FORMAT = 3  # of the stored columns; part of every key, so that rows of two formats are never mixed


@dataclass(frozen=True)
class Cell:
    """One learner on one instance at one delta, for one or more epsilons.

    Attributes:
        experiment: Name of the experiment.
        id: For people: instance | label | delta, and the epsilon when runs are not shared over epsilons.
        source: Rebuilds the instance.
        learner: Name and settings, without epsilon and delta.
        label: The learner's label.
        delta: Allowed probability of a wrong answer.
        epsilons: Absolute tolerances; one run at the smallest serves all.
        multiples: The same in units of Delta_min when the spec gave them so, else None.
        seed: Seed of all runs on this instance, the same for all learners.
        budget: Episodes after which a run is cut.
    """

    experiment: str
    id: str
    source: Source
    learner: dict[str, Any]
    label: str
    delta: float
    epsilons: tuple[float, ...]
    multiples: tuple[float, ...] | None
    seed: int
    budget: int

    @cached_property
    def key(self) -> str:
        """Hash everything that decides the rows or is written in them, the format and the version included."""
        parts = [ROWS_FORMAT, self.experiment, self.id, name_of(self.source), self.learner, self.label, self.delta]
        parts += [self.epsilons, self.multiples, self.seed, self.budget, __version__]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def task(self, first: int, count: int) -> Task:
        """Return the task of runs first .. first + count - 1."""
        return Task(self, first, count)


@dataclass(frozen=True)
class Task:
    """A range of runs of a cell."""

    cell: Cell
    first: int
    count: int

    def to_dict(self) -> dict[str, Any]:
        """Return the task as plain data, for a worker in another process."""
        cell = self.cell
        return {
            "source": cell.source,
            "learner": {**cell.learner, "delta": cell.delta},
            "epsilons": list(cell.epsilons),
            "seed": cell.seed,
            "budget": cell.budget,
            "first": self.first,
            "count": self.count,
        }


def instance_seed(seed: int, instance: str) -> int:
    """Derive the seed of all runs on an instance from the main seed and the instance, never from the learner."""
    digest = hashlib.sha256(f"{seed}\n{instance}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1  # below 2^63: it goes into a column of int64


def exact(number: float) -> str:
    """Write a number as short as it can be read back exactly."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


def cells_of(spec: Spec, source: Source, min_gap: float | None) -> list[Cell]:
    """List the cells of a spec on one instance."""
    scale = 1.0 if min_gap is None else min_gap
    name = name_of(source)
    found = []
    for learner in spec.learners:
        groups = [spec.epsilons] if learner.share else [(epsilon,) for epsilon in spec.epsilons]
        for delta in spec.deltas:
            for group in groups:
                parts = [name, learner.label, f"delta {exact(delta)}"]
                if not learner.share:
                    parts.append(f"epsilon {exact(group[0])}" + (" Delta_min" if spec.per_gap else ""))
                cell = Cell(
                    experiment=spec.name,
                    id=" | ".join(parts),
                    source=source,
                    learner={"name": learner.name, **learner.settings},
                    label=learner.label,
                    delta=delta,
                    epsilons=tuple(scale * epsilon for epsilon in group),
                    multiples=group if spec.per_gap else None,
                    seed=instance_seed(spec.seed, name),
                    budget=spec.budget,
                )
                found.append(cell)
    return found
