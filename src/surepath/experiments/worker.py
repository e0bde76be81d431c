"""The function that workers execute: rebuild instance and learner from plain data, play a range of runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from surepath.experiments.instance_sources import instance_of
from surepath.simulation.simulate import simulate

Columns = dict[str, Any]


def play_task(task: Mapping[str, Any]) -> Columns:
    """Play the runs of one task, a `Task.to_dict()`, on this thread.

    Returns:
        Columns with one entry per (run, epsilon), and under "settings" the learner's full settings as JSON text.
    """
    result = simulate(
        task["learner"],
        instance_of(task["source"]),
        runs=task["count"],
        seed=task["seed"],
        epsilons=task["epsilons"],
        workers=1,
        budget=task["budget"],
        first_run=task["first"],
    )
    columns: Columns = {name: getattr(result, name) for name in result.COLUMNS}
    columns["reason"] = columns["reason"].tolist()
    columns["path"] = result.path.tolist()
    columns["settings"] = json.dumps(result.settings["learner"], sort_keys=True)
    return columns
