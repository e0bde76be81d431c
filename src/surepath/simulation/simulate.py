"""simulate: many runs of a learner on an instance, compiled, over threads, the same for any number of workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from surepath._checks import check_epsilon, seed_number, whole
from surepath._text import word
from surepath._types import FloatArray
from surepath._version import __version__
from surepath.errors import SettingError
from surepath.kernels.arrays import reality_of
from surepath.learners.base import Learner
from surepath.learners.declared_noise import choose_noise, ranges_of
from surepath.learners.registry import build
from surepath.learners.runs import RunRecord, joined
from surepath.model.instance import Instance
from surepath.model.mdp import MDP
from surepath.model.rewards import CALLABLE
from surepath.simulation.progress import Progress, Reporter
from surepath.simulation.results import Results, different_rows
from surepath.simulation.stepwise import drive
from surepath.simulation.workers import play_all


def simulate(
    learner_spec: Learner | Mapping[str, Any],
    instance: Instance,
    runs: int,
    seed: int,
    epsilons: Sequence[float] | None = None,
    workers: int | None = None,
    *,
    budget: int = 10_000_000,
    progress: bool | Progress = False,
    first_run: int = 0,
) -> Results:
    """Run a learner many times on an instance.

    Args:
        learner_spec: A learner on the instance's MDP (its settings are used, the object is not touched), or a spec
            such as {"name": "EPRL", "epsilon": 0.1, "delta": 0.1, "sampling": "max-diameter"}. A spec without sigma
            gets the factor that the instance's laws declare, and Challenger, where the problem declares ranges and no
            sigma, also noise="bernstein", which `results.settings` says; without epsilon, the smallest of `epsilons`.
        instance: The world to play in.
        runs: How many runs.
        seed: Run i draws from the child i of SeedSequence(seed), whatever the number of runs and workers.
        epsilons: Stopping times for several epsilons from one run at the smallest.
        workers: Threads; by default one per core.
        budget: Episodes after which a run is cut; such rows are marked censored.
        progress: True for a progress bar on standard error, or a function of (runs done, runs), called for every run
            with one worker (short runs are played, and counted, some at a time), about five times a second with more.
        first_run: Index of the first run, so that an experiment can be played in pieces.

    Returns:
        One row per (run, epsilon).

    Example:
        >>> from surepath import families
        >>> spec = {"name": "BPIUCRL", "epsilon": 1.0, "delta": 0.1}
        >>> result = simulate(spec, families.paper_random(), runs=3, seed=0, workers=1)
        >>> len(result), bool(result.correct.all())
        (3, True)
    """
    if not isinstance(instance, Instance):
        raise SettingError(f"simulate needs an Instance, which has reward laws, not {type(instance).__name__}")
    runs = whole("runs", runs, low=1)
    seed = seed_number(seed)
    budget = whole("budget", budget, low=1)
    workers = min(runs, whole("workers", workers, low=1) if workers is not None else os.cpu_count() or 1)
    grid = _grid(epsilons)
    learner = _learner(learner_spec, instance, grid)
    if grid is None:
        grid = np.array([learner.epsilon])
    first_run = whole("first_run", first_run, low=0)
    some = _some_runs(learner, instance, seed, budget, grid, first_run)
    with Reporter(progress, runs) as report:
        if workers > 1:
            _compile(learner, instance)
        records = play_all(some, runs, workers, report)
    how = {"seed": seed, "runs": runs, "first_run": first_run, "budget": budget}
    return _results(records, learner, instance, grid, how)


def _grid(epsilons: Iterable[float] | None) -> FloatArray | None:
    if epsilons is None:
        return None
    grid = np.array([check_epsilon(x) for x in epsilons])
    if not grid.size:
        raise SettingError("epsilons must hold at least one epsilon")
    return grid


def _learner(spec: Learner | Mapping[str, Any], instance: Instance, grid: FloatArray | None) -> Learner:
    if isinstance(spec, Learner):
        if spec.mdp != instance.mdp:
            raise SettingError(f"the learner was built on another MDP ({spec.mdp!r}) than the instance's")
        _check_ranges(spec, instance)
        if grid is None or grid.min() == spec.epsilon:
            return spec
        return spec.fresh(float(grid.min()))
    if not isinstance(spec, Mapping):
        raise SettingError(f'a learner is a Learner or a spec such as {{"name": "EPRL", ...}}, not {spec!r}')
    settings = dict(spec)
    if grid is not None:
        settings["epsilon"] = float(grid.min())
    if "sigma" not in settings:
        settings |= _learned(settings, instance.mdp)
    settings.setdefault("sigma", instance.sigma)
    if settings.get("name") == "Challenger":
        settings.setdefault("dependence", "independent" if instance.law.loading is None else "any")
    learner = build(settings, instance.mdp)
    _check_ranges(learner, instance)
    return learner


def _learned(settings: Mapping[str, Any], mdp: MDP) -> dict[str, str]:
    """Return what makes Challenger learn the noise, as it would by itself if nobody said a sigma."""
    if settings.get("name") != "Challenger" or "noise" in settings:
        return {}
    chosen = choose_noise(mdp, None, declared=False)
    return {"noise": "bernstein" if chosen == "betting" else chosen}  # the cheap one


def _check_ranges(learner: Learner, instance: Instance) -> None:
    """Refuse a world whose rewards leave the ranges from which the learner takes their noise."""
    declared = instance.mdp.reward_range
    if declared is None:
        return
    noise = learner.settings().get("noise", "sigma")
    if noise == "sigma":
        return
    learned, law = ranges_of(instance.mdp, "bernstein").learns, instance.law
    outside = np.flatnonzero(learned & ((law.low < declared[0]) | (law.high > declared[1])))
    if outside.size:
        arc, rewards = int(outside[0]), word("rewards", "scores")
        raise SettingError(
            f'noise="{noise}" needs {rewards} inside the declared range; '
            f"{instance.mdp.describe_arc(arc)} has {rewards} in [{law.low[arc]:g}, {law.high[arc]:g}], "
            f"not in [{declared[0][arc]:g}, {declared[1][arc]:g}]"
        )


def _stream(seed: int, run: int) -> np.random.Generator:
    """Make the random stream of a run: child `run` of the seed, whatever the number of runs and workers."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy=seed, spawn_key=(run,))))


def _in_python(learner: Learner, instance: Instance) -> bool:
    by_hand = bool((instance.law.kind == CALLABLE).any())
    return not learner.compiled or by_hand or (instance.law.loading is not None and learner.name != "Challenger")


def _compile(learner: Learner, instance: Instance) -> None:
    """Play one episode for nothing, so that whatever must be compiled is compiled before the threads start."""
    if not _in_python(learner, instance):
        learner._run(reality_of(instance), np.random.default_rng(0), 1, np.array([learner.epsilon]))


def _some_runs(
    learner: Learner, instance: Instance, seed: int, budget: int, grid: FloatArray, first_run: int
) -> Callable[[int, int], RunRecord]:
    """Make the function that plays runs first_run + first, ... of the given number."""
    reality = None if _in_python(learner, instance) else reality_of(instance)

    def some(first: int, count: int) -> RunRecord:
        streams = (_stream(seed, first_run + first + i) for i in range(count))
        if reality is None:
            return joined([drive(learner, instance, rng, budget, grid) for rng in streams])
        return learner._run_many(reality, streams, budget, grid)

    return some


def _results(
    records: list[RunRecord], learner: Learner, instance: Instance, grid: FloatArray, how: dict[str, Any]
) -> Results:
    runs, size = how["runs"], len(grid)
    record = joined(records)
    path = record.path
    epsilon = np.tile(grid, runs)
    some, which = different_rows(path, instance.mdp.n_arcs)
    regret = np.array([instance.regret_of(path[row]) for row in some])[which]
    tolerance = np.array([instance.tolerance_of(path[row]) for row in some])[which]
    return Results(
        run=np.repeat(np.arange(how["first_run"], how["first_run"] + runs), size),
        epsilon=epsilon,
        tau=record.tau,
        reason=record.reason,
        correct=regret <= epsilon + tolerance,
        regret=regret,
        eliminated=record.eliminated,
        gap=record.gap,
        path=path,
        settings={"learner": learner.settings(), "instance": instance.id, "version": __version__, **how},
    )
