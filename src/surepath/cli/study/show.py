"""`surepath study show`: what is frozen in a study, or one of its trials."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from surepath._text import shown
from surepath.cli._output import AsJson, print_json
from surepath.cli.study import study
from surepath.cli.study._open import DEFAULT_STORAGE, Name, Storage, load, moment, shown_plan, trial_row

TIME_KEYS = ("created", "asked", "told", "lease_until")


@study.command("show")
def show(
    number: Annotated[int | None, typer.Argument(min=1, help="Show this trial instead.")] = None,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Show what is frozen in a study (problem, noise, settings, options), or one trial."""
    found = load(storage, name)
    facts = _frozen(found) if number is None else _trial(found, number)
    if as_json:
        print_json(facts)
        return
    for key, value in facts.items():
        if value not in (None, "", [], {}):
            typer.echo(f"{key.replace('_', ' ')}: {_words(key, value)}")


def _frozen(found: Any) -> dict[str, Any]:
    record = found.record
    steps: dict[str, list[str]] = {}
    mdp = found.mdp
    for stage, step in enumerate(mdp.step_labels or range(mdp.horizon)):
        arcs = range(int(mdp.stage_arc[stage]), int(mdp.stage_arc[stage + 1]))
        steps[str(step)] = list(dict.fromkeys(mdp.action_label(arc) for arc in arcs[:1000]))
    return {
        "name": found.name,
        "created": record.created,
        "version": record.version,
        "direction": mdp.direction,
        "steps": steps,
        "options": json.loads(record.options),
        "settings": json.loads(record.settings),
        "problem_hash": record.problem_hash,
    }


def _trial(found: Any, number: int) -> dict[str, Any]:
    row = trial_row(found, number)
    rewards = dict(zip((str(step) for step in found.mdp.step_labels or range(found.mdp.horizon)), row.rewards))
    return {
        "number": row.number,
        "state": row.state,
        "plan": found.mdp.plan(list(row.path)),
        "scores": rewards,
        "source": row.source,
        "of": row.of,
        "worker": row.worker,
        "asked": row.asked,
        "lease_until": row.lease if row.state == "running" else None,
        "told": row.told,
        "note": row.note,
    }


def _words(key: str, value: Any) -> str:
    if key in TIME_KEYS:
        return moment(value)
    if isinstance(value, dict):
        if all(isinstance(item, list) for item in value.values()):
            return "".join(f"\n  {shown(key)}: {', '.join(shown(one) for one in item)}" for key, item in value.items())
        return shown_plan(
            {key: json.dumps(item) if isinstance(item, (dict, list)) else item for key, item in value.items()}
        )
    return shown(value)
