"""A trial as one row of a table: the columns of frames, of exported CSV files and of the files a lab fills in.

The option of step "model" is in column `plan.model`, its score in `score.model`; where steps have no names, their
numbers are used. The prefix keeps a step called "number" or "state" apart from the columns of those names. Where
the whole plan has one score at its end, every step still has its plan column, and the score is in `score`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from surepath.model.mdp import MDP
from surepath.model.plans import WHOLE
from surepath.study.storage import PAGE, Reading, TrialRow
from surepath.study.trial import WAITING

if TYPE_CHECKING:
    from surepath.study.study import Study

EVERY_ROW = 2**31
FACTS = ("number", "state", "source", "of", "worker", "asked", "told", "note")


def steps(mdp: MDP) -> list[str]:
    """Return the names of the steps, or their numbers where they have none."""
    return [str(step) for step in mdp.step_labels or range(mdp.horizon)]


def plan_steps(mdp: MDP) -> list[str]:
    """Return the names of the user's steps, also where the whole plan is one option, scored at its end."""
    return [str(step) for step in mdp.plan([0])] if mdp.step_labels == (WHOLE,) else steps(mdp)


def plan_columns(mdp: MDP) -> list[str]:
    """Return the names of the columns of options."""
    return [f"plan.{step}" for step in plan_steps(mdp)]


def score_columns(mdp: MDP) -> list[str]:
    """Return the names of the columns of scores."""
    return ["score"] if scored_at_end(mdp) else [f"score.{step}" for step in steps(mdp)]


def scored_at_end(mdp: MDP) -> bool:
    """Return whether the whole plan is one option, with one score at its end."""
    return mdp.step_labels == (WHOLE,) and plan_steps(mdp) != [WHOLE]


def columns(mdp: MDP) -> list[str]:
    """Return the names of all columns of a table of trials."""
    return [*FACTS, *plan_columns(mdp), *score_columns(mdp)]


def option_names(mdp: MDP, path: tuple[int, ...]) -> list[str]:
    """Return the names of the options of a path."""
    if mdp.step_labels == (WHOLE,):
        return [str(option) for option in mdp.plan(list(path)).values()]
    return [mdp.action_label(arc) for arc in path]


def all_trials(log: Reading, last: int = EVERY_ROW) -> Iterator[TrialRow]:
    """Read every trial, or those up to a number, page by page."""
    first = 1
    while first <= last and (rows := log.trials(first, min(PAGE, last - first + 1))):
        yield from rows
        first = rows[-1].number + 1


def table_rows(mdp: MDP, log: Reading) -> Iterator[list[Any]]:
    """Read every trial and waiting plan, each as a list of values in the order of `columns`."""
    waiting = (TrialRow(0, WAITING, row.path, row.source, row.of, asked=row.at) for row in log.queue(EVERY_ROW))
    for row in chain(all_trials(log), waiting):
        facts = [getattr(row, name) for name in FACTS]
        facts[0] = row.number or None  # waiting plans have none
        blank = [None] * (len(score_columns(mdp)) - len(row.rewards))
        yield [*facts, *option_names(mdp, row.path), *row.rewards, *blank]


def table(study: Study) -> dict[str, list[Any]]:
    """Read every trial and waiting plan into columns."""
    found: dict[str, list[Any]] = {}

    def read(log: Reading) -> None:
        found.update({name: [] for name in columns(study.mdp)})
        for row in table_rows(study.mdp, log):
            for values, value in zip(found.values(), row):
                values.append(value)

    study.sync()
    study._read(read)
    return found
