"""Create a study: its problem, learner, settings and lease."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from surepath._checks import one_of, real, shortened, whole
from surepath._version import __version__
from surepath.errors import ProblemError, SettingError, StudyError
from surepath.learners.base import build, check_baselines, learner_name
from surepath.model.files import Problem, load_problem, parse_json_problem, problem_text
from surepath.model.mdp import MDP
from surepath.model.worlds import Instance
from surepath.study.cases import MOST_CASES_PER_TRIAL, read_cases
from surepath.study.storage import Storage, Writing, retrying
from surepath.study.trial import QueueRow, StudyRecord, TrialRow, name_text

# Leases ---------------------------------------------------------------------------------------------------------------
# When a lease ends, the plan is assigned again, as a new trial, twice at most: the worker may have died. Where a
# runner attended the trial, by renewing its lease, the worker did die: the trial is given up and counts as lost. A
# trial taken by hand may only be slow, and a proof that passes over slow trials leaves scores out by what they are: it
# is awaited for GRACE leases.

UNITS = {"s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
LONGEST_LEASE = 10 * 365 * 86400.0
GRACE = 10  # leases after which a trial taken by hand is given up
MOST_RETRIES = 2  # an option that kills its worker must not be assigned for ever
BATCH = 1_000


def seconds(value: Any, what: str = "lease") -> float:
    """Read a duration as seconds: "10min", "2h", "45s", "3d", a number of seconds, a timedelta.

    Example:
        >>> seconds("10min"), seconds("1.5h"), seconds(30)
        (600.0, 5400.0, 30.0)
    """
    if isinstance(value, timedelta):
        found = value.total_seconds()
    elif isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*", value)
        unit = (match.group(2).lower() or "s") if match else ""
        if match is None or unit not in UNITS:
            raise SettingError(f'{what} must be a duration such as "10min", "2h" or "3d", not {value!r}')
        found = float(match.group(1)) * UNITS[unit]
    else:
        found = real(what, value)
    if not 0.0 < found <= LONGEST_LEASE:
        raise SettingError(f"{what} must be longer than 0 and at most ten years, not {value!r}")
    return found


def duration_text(duration: float) -> str:
    """Write seconds the way people say them.

    Example:
        >>> duration_text(600.0), duration_text(5400.0), duration_text(86400.0 * 3)
        ('10min', '1.5h', '3d')
    """
    for unit in ("d", "h", "min"):
        if duration >= UNITS[unit]:
            return f"{duration / UNITS[unit]:.3g}{unit}"
    return f"{duration:.3g}s"


def expire(log: Writing, lease: float) -> None:
    """Mark trials whose lease has ended as expired and queue their plans at the front; give up what nobody awaits."""
    now = log.now
    for row in reversed(log.expired(now, BATCH)):  # the oldest ends up at the front
        until = row.lease if row.attended or row.state == "expired" else row.lease + (GRACE - 1) * lease
        log.update_trial(row._replace(state="expired", lease=until, told=now if until < now else None))
        if row.state != "expired" and _retries(log, row) < MOST_RETRIES:
            log.add_to_queue(QueueRow(0, row.path, "retried", row.number, now), front=True)


def _retries(log: Writing, row: TrialRow) -> int:
    """Count how often this plan was already assigned again."""
    count = 0
    earlier: TrialRow | None = row
    while earlier is not None and earlier.source == "retried" and count <= MOST_RETRIES:
        count, earlier = count + 1, log.trial(earlier.of or 0)
    return count


# Creation -------------------------------------------------------------------------------------------------------------

LONGEST_NAME = 200
PRICE = (
    "the scores of one trial may depend on each other: that takes about 2 times the trials, more for long plans that "
    "share no step; choose dependence independent where they surely do not"
)


@dataclass(frozen=True)
class Options:
    """Options of a study that are not the learner's."""

    lease: float = 600.0  # seconds for which a trial is assigned before it must be renewed
    on_failure: str = "leave-out"
    cases: int | list[str] | None = None  # the names of what trials are played on, or how many there are
    cases_per_trial: int = 1
    baseline: bool = False  # whether every trial is told with a baseline


def new_options(lease: Any, on_failure: str, cases: Any, cases_per_trial: int, baseline: bool = False) -> Options:
    """Check the options of a new study."""
    found, count = read_cases(cases), whole("cases_per_trial", cases_per_trial, low=1, high=MOST_CASES_PER_TRIAL)
    if found is None and count != 1:
        raise SettingError("cases_per_trial needs cases: say how many there are, name them, or name a CSV file of them")
    one_of("on_failure", on_failure, ("leave-out", "worst"))
    return Options(seconds(lease), on_failure, found, count, bool(baseline))


def read_problem(problem: Any, sigma: Any = None) -> Problem:
    """Read a problem: an MDP, an Instance (its graph alone), a file, a dict with the fields of one, or of steps."""
    if isinstance(problem, MDP):
        return Problem(problem)
    if isinstance(problem, Instance):
        return Problem(problem.mdp)
    if isinstance(problem, Problem):
        return problem
    number = float(sigma) if isinstance(sigma, (int, float)) and not isinstance(sigma, bool) else None
    if isinstance(problem, Mapping):
        lists = all(isinstance(value, (list, tuple)) for value in problem.values())
        if problem and lists and not {"edges", "steps", "format", "version"} & set(problem):  # options of each step
            return Problem(MDP.from_steps(problem, sigma=number))
        return parse_json_problem(json.dumps(dict(problem)), "the problem", sigma=number)
    if isinstance(problem, (str, Path)):
        return load_problem(problem, sigma=number)
    raise ProblemError(f"a problem is an MDP, a problem file or a dict, not {type(problem).__name__}")


def learner_spec(learner: str | Mapping[str, Any] | None, mdp: MDP) -> dict[str, Any]:
    """Read a learner: a name in any case, or a spec with settings; without a name, the one for the problem."""
    wanted = "Challenger" if mdp.scored is None else "Rounds"
    spec = {"name": learner or wanted} if learner is None or isinstance(learner, str) else {"name": wanted, **learner}
    given = spec.get("name")
    if not isinstance(given, str):
        raise SettingError('learner must be a name such as "challenger", or a dict with a name and settings')
    name = learner_name(given)
    if name != wanted:
        raise SettingError(f"studies of this problem use {wanted}, not {name}; compare learners with simulate")
    return {**spec, "name": name}


def new_record(
    problem: Any,
    name: str | None,
    learner: str | Mapping[str, Any] | None,
    epsilon: float | None,
    delta: float | None,
    sigma: Any,
    options: Options,
    dependence: str | None = None,
    missing: str | None = None,
) -> StudyRecord:
    """Check everything and freeze it; what is missing is taken from the problem file."""
    found = read_problem(problem, sigma)
    spec = learner_spec(learner, found.mdp)
    shared = {"dependence": (dependence, found.dependence, "any"), "missing": (missing, found.missing, "related")}
    for key, (said, suggested, default) in shared.items():
        if spec["name"] == "Challenger":
            spec[key] = said if said is not None else spec.get(key, suggested or default)
        elif said is not None:
            raise SettingError(f"{key} is a setting of Challenger; {spec['name']} proves by totals of whole trials")
    wanted = {"epsilon": (epsilon, found.epsilon), "delta": (delta, found.delta)}
    for key, (given, asked) in wanted.items():
        value = given if given is not None else spec.get(key, asked)
        if value is None:
            raise SettingError(f"the study needs {key}, and the problem does not say it; give {key}=... (--{key})")
        spec[key] = value
    if sigma is not None:
        spec["sigma"] = sigma
    elif found.instance is not None and "sigma" not in spec and found.mdp.noise_missing("") is not None:
        spec["sigma"] = found.instance.sigma.tolist()
    named = next((key for key, value in spec.items() if callable(value)), None)
    if named is not None:
        rule = getattr(spec[named], "__name__", type(spec[named]).__name__)
        raise SettingError(
            f"a study is kept as text, and {named}={rule} is a rule of your own; "
            f"name a rule, or use the learner itself (ask and tell)"
        )
    text = problem_text(found.mdp)
    if parse_json_problem(text).mdp.content_hash != found.mdp.content_hash:
        raise ProblemError("this problem cannot be written as a problem file, so a study cannot keep it")
    if options.on_failure == "worst":
        mdp = found.mdp
        worst = np.full(mdp.n_arcs, np.nan) if mdp.reward_range is None else mdp.reward_range[0 if mdp.sign > 0 else 1]
        if (lacking := np.flatnonzero(~np.isfinite(worst) & ~mdp.is_known)).size:
            raise SettingError(
                f'on_failure="worst" needs a declared range of every score, to know what the worst is; '
                f"{mdp.describe_arc(int(lacking[0]))} has none"
            )
    if options.baseline:
        check_baselines(found.mdp)
    return StudyRecord(
        name=check_name(name if name is not None else found.name or "study"),
        problem=text,
        problem_hash=found.mdp.content_hash,
        settings=json.dumps(build(spec, found.mdp).settings()),
        options=json.dumps(options.__dict__),
        created=time.time(),
        version=__version__,
    )


def check_name(name: Any) -> str:
    """Check the name of a study."""
    return name_text("the name of a study", name, LONGEST_NAME)


def differences(there: StudyRecord, here: StudyRecord) -> list[str]:
    """List what two studies differ in: each thing with what is there and what is asked for here."""
    found = [] if there.problem_hash == here.problem_hash else ["the problem"]
    for old, new in ((there.settings, here.settings), (there.options, here.options)):
        was, now = json.loads(old), json.loads(new)
        keys = [key for key in dict.fromkeys([*was, *now]) if was.get(key) != now.get(key)]
        short = [key for key in keys if not isinstance(now.get(key, was.get(key)), (dict, list))]
        found += [f"{key} ({shortened(was.get(key))} there, {shortened(now.get(key))} here)" for key in short]
        found += [] if short else keys  # long ones, such as the numbers of the bound, follow from the others
    return found


def enter(place: Storage, record: StudyRecord, exist_ok: bool) -> StudyRecord:
    """Enter a new study into a storage; with `exist_ok` return the one that is there, if it is the same."""
    try:
        retrying(lambda: place.create(record))
    except StudyError as error:
        if not exist_ok or "already exists" not in str(error):
            raise
        found = place.load(record.name)
        if differing := differences(found, record):
            raise StudyError(
                f"the study {record.name!r} exists, but differs in {'; '.join(differing)}. What is frozen never "
                f"changes: go on with what it has, or choose another name"
            ) from None
        return found
    return record


def only_name(place: Storage, how: str = "name the study") -> str:
    """Return the name of the only study in a storage; an error that says how to name it where there are more."""
    names = retrying(place.names)
    if not names:
        raise StudyError(f"there is no study in {place.shown}; create one with surepath study create")
    if len(names) != 1:
        known = ", ".join(repr(one) for one in names[:20])
        raise StudyError(f"{how}: {place.shown} has {len(names)} ({known})")
    return names[0]
