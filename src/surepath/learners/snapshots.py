"""A learner as plain data: its settings, and its state as arrays and numbers, to keep elsewhere and go on from later.

Settings (what was fixed before the data, derived from the signature of the constructor) and evidence (what was seen and
what was decided from it) are saved; scratch arrays never are. A snapshot holds no object of ours, so it can be pickled,
or written as JSON with its arrays as lists.
"""

from __future__ import annotations

import inspect
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from surepath.errors import SettingError
from surepath.model.mdp import MDP

if TYPE_CHECKING:
    from surepath.learners.base import Learner

Snapshot = dict[str, Any]

FORMAT = 1


def setting_parameters(learner: type[Learner]) -> dict[str, inspect.Parameter]:
    """List the parameters of a learner's constructor in their order, without the MDP."""
    return dict(list(inspect.signature(learner).parameters.items())[1:])


def current_settings(learner: Learner) -> dict[str, Any]:
    """Read the name of a learner and the value of each setting, by name, in the order of the constructor.

    A setting is kept in the attribute of its name, checked and with defaults filled in; what stayed None is left out.
    Two differ from their attributes: epsilon is the one the learner was built with, which `tighten` does not change,
    and sigma is what `sigma_setting` makes of the array.
    """
    settings: dict[str, Any] = {"name": learner.name}
    for name in setting_parameters(type(learner)):
        if name == "epsilon":
            settings[name] = learner._first_epsilon
        elif name == "sigma":
            settings[name] = learner.sigma_setting()
        elif getattr(learner, name) is not None:
            value = getattr(learner, name)
            settings[name] = deepcopy(value) if isinstance(value, dict) else value  # numbers belong to the learner
    return settings


def take_snapshot(learner: Learner) -> Snapshot:
    """Collect everything in a learner that decides."""
    answer, gap = learner._answer if learner._answer is not None else (np.zeros(0, dtype=np.int64), np.inf)
    return {
        "format": FORMAT,
        "settings": learner.settings(),
        "problem": learner.mdp.content_hash,
        "epsilon": learner.epsilon,
        "episodes": learner.episodes,
        "stopped": learner.stopped,
        "stop_reason": learner.stop_reason,
        "answer": answer.copy(),
        "answer_gap": float(gap),
        "answered_at": learner._answered_at,
        "excluded": learner._excluded.copy(),
        "exclusions": [dict(one) for one in learner.exclusions],
        "under_way": learner._under_way.as_array(),
        "failures_in_a_row": learner._failures.in_a_row.copy(),
        "failures_until": learner._failures.until.copy(),
        "failures_total": learner._failures.total.copy(),
        "least_gains": learner._sizes.low.copy(),
        "largest_gains": learner._sizes.high.copy(),
        "watch": learner._watch.evidence(),
        "evidence": learner._evidence(),
    }


def check_snapshot(snapshot: Any, mdp: MDP) -> None:
    """Refuse what is no snapshot, or one of another problem."""
    if not isinstance(snapshot, dict) or "format" not in snapshot:
        raise SettingError("a snapshot is a dict made by learner.snapshot()")
    if snapshot["format"] != FORMAT:
        raise SettingError(f"snapshots have format {FORMAT} here, not {snapshot['format']!r}")
    missing = sorted({"settings", "problem", "evidence", "watch", "excluded", "answer"} - snapshot.keys())
    if missing:
        raise SettingError(f"the snapshot lacks {', '.join(missing)}; it is not as learner.snapshot() made it")
    if snapshot["problem"] != mdp.content_hash:
        raise SettingError("the snapshot was taken on another problem: the graphs differ")


def load_snapshot(learner: Learner, snapshot: Snapshot) -> None:
    """Put a snapshot into a learner with the same settings, or say why it does not fit."""
    check_snapshot(snapshot, learner.mdp)
    mine, theirs = learner.settings(), snapshot["settings"]
    for key in sorted({*mine, *theirs}, key=lambda key: (key != "name", key == "bound", key)):
        if mine.get(key) != theirs.get(key):
            raise SettingError(
                f"the snapshot was taken with {key} {theirs.get(key)!r}, this learner has {mine.get(key)!r}; "
                f"Learner.from_snapshot(mdp, snapshot) builds the right one"
            )
    learner._epsilon = float(snapshot["epsilon"])
    learner.episodes = int(snapshot["episodes"])
    learner.stopped, learner.stop_reason = bool(snapshot["stopped"]), snapshot["stop_reason"]
    answer = np.array(snapshot["answer"], dtype=np.int64)
    learner._answer = (answer, float(snapshot["answer_gap"])) if answer.size else None
    learner._answered_at = int(snapshot["answered_at"])
    learner._excluded[:] = snapshot["excluded"]
    learner.exclusions = [dict(one) for one in snapshot["exclusions"]]
    learner._under_way = type(learner._under_way)(learner.mdp.horizon)
    for path in np.array(snapshot["under_way"], dtype=np.int64).reshape(-1, learner.mdp.horizon):
        learner._under_way.add(path)
    learner._failures.in_a_row[:] = snapshot["failures_in_a_row"]
    learner._failures.until[:] = snapshot["failures_until"]
    learner._failures.total[:] = snapshot["failures_total"]
    learner._sizes.low[:], learner._sizes.high[:] = snapshot["least_gains"], snapshot["largest_gains"]
    learner._watch.load({name: np.asarray(array) for name, array in snapshot["watch"].items()})
    learner._load(snapshot["evidence"])


def own_arrays(value: Any) -> Any:
    """Copy a value, so that every array in it and in the tuples, dicts and learners in it is writable and its own.

    Pickles may contain read-only views of a shared buffer, which kernels can neither write nor take as they are.
    """
    if isinstance(value, np.ndarray):
        return value if value.flags.writeable and value.flags.owndata else value.copy()
    if isinstance(value, tuple):
        items = [own_arrays(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, dict):
        return {key: own_arrays(item) for key, item in value.items()}
    if type(value).__module__.startswith("surepath.learners.") and hasattr(value, "__dict__"):
        value.__dict__.update(own_arrays(value.__dict__))
    return value
