"""Simulate a learner in a world, many runs at once, and the results: one row per run and epsilon."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray, check_epsilon, one_of, seed_number, whole
from surepath._optional import need
from surepath._text import many
from surepath._version import __version__
from surepath.errors import SettingError, SurepathError
from surepath.kernels.sweeps import Reality, draw_path, reality_of
from surepath.learners.base import Learner, build
from surepath.learners.challenger.learner import Challenger
from surepath.learners.challenger.noise import choose_noise, ranges_of
from surepath.learners.own_rules import OUT, OwnRule, own_rule, view_of, with_rules
from surepath.learners.per_arc.eprl import EPRL
from surepath.learners.runs import (
    BUDGET,
    BUDGET_AND_ZERO,
    STOP_REASONS,
    RunRecord,
    cancelled_by,
    joined,
    raise_if_cancelled,
)
from surepath.model.mdp import MDP
from surepath.model.paths import values_to_go
from surepath.model.worlds import CALLABLE, Gaussian, Instance

# Workers --------------------------------------------------------------------------------------------------------------

Part = TypeVar("Part")
Record = TypeVar("Record")

TICK = 0.2  # seconds between two reports while no part finishes
PARTS = 8  # that each worker's runs are divided into, so that none waits long for another


def in_threads(
    play: Callable[[Part], Record], parts: Iterable[Part], workers: int, tick: Callable[[], None] = lambda: None
) -> Generator[tuple[Part, Record], None, None]:
    """Yield each part with its record as they finish, and tick; the kernels release the interpreter lock.

    An error in a part, Ctrl-C, or closing the iterator cancels the others: runs under way end at their next
    `raise_if_cancelled`.
    """
    halt, todo = threading.Event(), iter(parts)
    waiting: dict[Future[Record], Part] = {}

    def work(part: Part) -> Record:
        with cancelled_by(halt):
            return play(part)

    with ThreadPoolExecutor(workers, thread_name_prefix="surepath") as pool:
        try:
            while True:
                waiting |= {pool.submit(work, part): part for part in islice(todo, 2 * workers - len(waiting))}
                if not waiting:
                    return
                # A wait without end cannot be interrupted on every system.
                finished, _ = wait(waiting, timeout=TICK, return_when=FIRST_COMPLETED)
                tick()
                for future in finished:
                    yield waiting.pop(future), future.result()
        finally:
            halt.set()
            pool.shutdown(cancel_futures=True)


def play_all(
    some: Callable[[int, int], Record], runs: int, workers: int, report: Callable[[int], None]
) -> list[Record]:
    """Return the records of runs 0, 1, ... in their order, whoever played them.

    Args:
        some: Plays the runs first .. first + count - 1, given (first, count), and returns one record of all of them.
        runs: How many.
        workers: Threads; with one, the runs are played here.
        report: Called with the number of runs done: after each part, and with more workers several times a second.
    """
    size = max(1, runs // (PARTS * workers))
    parts = [(first, min(size, runs - first)) for first in range(0, runs, size)]

    def play(part: tuple[int, int]) -> Record:
        return some(*part)

    done = 0
    played = (
        in_threads(play, parts, workers, lambda: report(done))
        if workers > 1
        else ((part, play(part)) for part in parts)
    )
    records: dict[int, Record] = {}
    with contextlib.closing(played):
        for (first, count), record in played:
            records[first] = record
            done += count
            report(done)
    return [records[first] for first, _ in parts]


# Progress -------------------------------------------------------------------------------------------------------------

Progress = Callable[[int, int], None]


@contextlib.contextmanager
def reporting(progress: bool | Progress, runs: int) -> Iterator[Callable[[int], None]]:
    """Give what takes the number of runs done: the user's function, a bar on standard error, or nothing."""
    if callable(progress):
        yield lambda done: progress(done, runs)
    elif progress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), speed_estimate_period=3600.0) as bar:
            task = bar.add_task("runs", total=runs)
            yield lambda done: bar.update(task, completed=done)
    else:
        yield lambda done: None


# Results --------------------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """Hold one run at one epsilon."""

    run: int
    epsilon: float
    tau: int
    censored: bool
    correct: bool
    regret: float
    reason: str
    eliminated: int
    gap: float


@dataclass(eq=False, repr=False)
class Results:
    """Hold simulated runs in columns, each a numpy array with one entry per (run, epsilon), runs in order.

    Attributes:
        run: Index of the run; its seed is a child of the main seed keyed by this index.
        epsilon: The epsilon of this row.
        tau: Episodes played when the stopping rule was met, or the budget.
        censored: Whether the budget ended the run first.
        correct: Whether the recommended path is within epsilon of the best.
        regret: How far the recommended path is from the best.
        reason: Why it stopped: "gap", "single", "cleared" or "budget".
        eliminated: Arcs ruled out.
        gap: Certified gap at the end.
        path: Recommended path, int [rows, H].
        settings: Of the learner, the instance and the simulation.
        along: The same runs cut earlier, by budget, where `simulate` was asked for them.
    """

    COLUMNS: ClassVar[tuple[str, ...]] = Row._fields

    run: IntArray
    epsilon: FloatArray
    tau: IntArray
    censored: BoolArray
    correct: BoolArray
    regret: FloatArray
    reason: Any
    eliminated: IntArray
    gap: FloatArray
    path: IntArray
    settings: dict[str, Any]
    along: dict[int, Results] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.tau)

    def __iter__(self) -> Iterator[Row]:
        return (Row(*values) for values in zip(*self.to_dict().values()))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as plain lists."""
        return {name: getattr(self, name).tolist() for name in self.COLUMNS}

    def frame(self) -> Any:
        """Return a polars data frame; needs the `data` extra."""
        return need("polars", "data").DataFrame({name: getattr(self, name) for name in self.COLUMNS})

    def at(self, epsilon: float) -> BoolArray:
        """Select the rows of this epsilon."""
        chosen: BoolArray = self.epsilon == epsilon
        if not chosen.any():
            have = ", ".join(f"{x:g}" for x in np.unique(self.epsilon))
            raise SettingError(f"no run has epsilon {epsilon:g}; there are: {have}")
        return chosen

    def mean_tau(self, epsilon: float | None = None) -> float:
        """Average the number of episodes; censored runs count with the budget, so it is then a lower bound."""
        return float(self.tau.mean() if epsilon is None else self.tau[self.at(epsilon)].mean())

    def failure_rate(self, epsilon: float | None = None) -> float:
        """Compute the share of the runs that stopped by themselves and were wrong, among all runs."""
        wrong = ~self.correct & ~self.censored
        return float(wrong.mean() if epsilon is None else wrong[self.at(epsilon)].mean())

    def __repr__(self) -> str:
        cut, wrong = int(self.censored.sum()), int((~self.correct & ~self.censored).sum())
        mean = f"{'>=' if cut else ''}{self.mean_tau():.6g}"
        return f"Results({many(len(self), 'row')}, mean tau {mean}, {wrong:,} wrong, {cut:,} cut by the budget)"


# Stepwise -------------------------------------------------------------------------------------------------------------
# Play one run step by step: for reward laws given as a function, and for rules that Numba cannot compile.


def draw_rewards(reality: Reality, instance: Instance, path: IntArray, rng: np.random.Generator) -> list[float]:
    """Draw the rewards of one episode, in the user's direction; `reality` is without the costs."""
    rewards = np.zeros(len(path))
    draw_path(reality, np.array(path), rng, rewards)  # a read-only path would be compiled for again
    rewards *= reality.sign
    for h in np.flatnonzero(instance.law.kind[path] == CALLABLE).tolist():
        assert instance.law.draw is not None
        rewards[h] = instance.law.draw(int(path[h]), rng)
    return rewards.tolist()


def drive(learner: Learner, instance: Instance, rng: np.random.Generator, budget: int, grid: FloatArray) -> RunRecord:
    """Ask, draw and tell until each epsilon is settled; every epsilon has a run of its own from the same seed."""
    reality = reality_of(instance, worth=False)

    def play(own: Learner) -> None:
        while not own.stopped and own.episodes < budget:
            raise_if_cancelled()
            for path in np.atleast_2d(own.ask()):
                own.tell(path, own._as_told(draw_rewards(reality, instance, path, rng)))

    return learner._run_each(rng, budget, grid, play)


# Simulate -------------------------------------------------------------------------------------------------------------


def simulate(
    learner_spec: Learner | Mapping[str, Any],
    instance: Instance,
    runs: int,
    seed: int,
    epsilons: Sequence[float] | None = None,
    workers: int | None = None,
    *,
    budget: int = 10_000_000,
    along: Sequence[int] = (),
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
        along: Smaller budgets at which to look at the same runs: `results.along` has the results by budget, with the
            regret of what is recommended then and its proven gap. Each is played from the start.
        progress: True for a progress bar on standard error, or a function of (runs done, runs), called some times, with
            more workers several times a second.
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
    grid = None if epsilons is None else np.array([check_epsilon(x) for x in epsilons])
    if grid is not None and not grid.size:
        raise SettingError("epsilons must hold at least one epsilon")
    learner = _learner(learner_spec, instance, grid)
    if grid is None:
        grid = np.array([learner.epsilon])
    first_run = whole("first_run", first_run, low=0)
    some = _some_runs(learner, instance, seed, budget, grid, first_run)
    with reporting(progress, runs) as report:
        if workers > 1 and not _in_python(learner, instance):
            # One episode for nothing: what must be compiled is compiled before the threads start.
            learner._run(reality_of(instance), np.random.default_rng(0), 1, np.array([learner.epsilon]))
        records = play_all(some, runs, workers, report) if workers > 1 or progress else [some(0, runs)]
    how = {"seed": seed, "runs": runs, "first_run": first_run, "budget": budget}
    found = _results(records, learner, instance, grid, how)
    found.along = {whole("along", t, low=1): found for t in along}
    for t in found.along:
        if t < budget:
            cut: dict[str, Any] = {"budget": t, "first_run": first_run}
            found.along[t] = simulate(learner, instance, runs, seed, grid.tolist(), workers, **cut)
    if (found.censored & (found.epsilon == 0)).any():
        warnings.warn(BUDGET_AND_ZERO.format(f"{budget:,} trials"), stacklevel=2)
    return found


def _learner(spec: Learner | Mapping[str, Any], instance: Instance, grid: FloatArray | None) -> Learner:
    if isinstance(spec, Learner):
        if spec.mdp != instance.mdp:
            raise SettingError(f"the learner was built on another MDP ({spec.mdp!r}) than the instance's")
        _check_world(spec, instance)
        if grid is None or grid.min() == spec.epsilon:
            return spec
        return spec.fresh(float(grid.min()))
    if not isinstance(spec, Mapping):
        raise SettingError(f'a learner is a Learner or a spec such as {{"name": "EPRL", ...}}, not {spec!r}')
    settings = with_rules(spec)
    if grid is not None:
        settings["epsilon"] = float(grid.min())
    if settings.get("name") == "Rounds":
        settings |= _of_whole_scores(settings, instance)
    else:
        if "sigma" not in settings:
            settings |= _learned(settings, instance.mdp)
        settings.setdefault("sigma", instance.sigma)
    if settings.get("name") == "Challenger":
        settings.setdefault("dependence", "independent" if instance.law.loading is None else "any")
    learner = build(settings, instance.mdp)
    _check_world(learner, instance)
    return learner


def _learned(settings: Mapping[str, Any], mdp: MDP) -> dict[str, str]:
    """Return what makes Challenger learn the noise, as it would by itself if nobody said a sigma."""
    if settings.get("name") != "Challenger" or "noise" in settings:
        return {}
    chosen = choose_noise(mdp, None, declared=False)
    return {"noise": "bernstein" if chosen == "betting" else chosen}  # the cheap one


def _of_whole_scores(settings: Mapping[str, Any], instance: Instance) -> dict[str, Any]:
    """Return the noise of the scores of whole plans, where neither the spec nor the problem declares it."""
    mdp, law = instance.mdp, instance.law
    if mdp.scored is not None or any(name in settings for name in ("sigma", "noise", "reward_range")):
        return {}
    own = law.sigma**2 if law.loading is None else law.sigma  # factors of dependent rewards add up
    most = max(float(values_to_go(mdp, own)[0]), 0.0)
    return {"sigma": float(np.sqrt(most) if law.loading is None else most)}


def _check_world(learner: Learner, instance: Instance) -> None:
    """Refuse a world whose rewards leave the ranges of the learner; warn where they break its proof."""
    if instance.law.loading is not None and getattr(learner, "method", "clucb") != "clucb":
        warnings.warn(f"{learner.method} proves nothing here: steps share their luck", stacklevel=4)  # type: ignore[attr-defined]
    declared = instance.mdp.reward_range
    if declared is None or learner.name == "Rounds":  # which looks at the scores of whole plans as they come
        return
    noise = learner.settings().get("noise", "sigma")
    if noise == "sigma":
        return
    learned, law = ranges_of(instance.mdp, "bernstein").learns, instance.law
    outside = np.flatnonzero(learned & ((law.low < declared[0]) | (law.high > declared[1])))
    if outside.size:
        arc, rewards = int(outside[0]), "scores"
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
    return (
        not learner.compiled
        or by_hand
        or (instance.law.loading is not None and learner.name not in ("Challenger", "Rounds"))
    )


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
    record, epsilon = joined(records), np.tile(grid, how["runs"])
    seen: dict[bytes, tuple[float, float]] = {}
    for row in record.path:
        if row.tobytes() not in seen:
            seen[row.tobytes()] = instance.regret_of(row), instance.tolerance_of(row)
    regret, tolerance = np.array([seen[row.tobytes()] for row in record.path]).T
    return Results(
        run=np.repeat(np.arange(how["first_run"], how["first_run"] + how["runs"]), len(grid)),
        epsilon=epsilon,
        tau=record.tau,
        censored=record.reason == BUDGET,
        correct=regret <= epsilon + tolerance,
        regret=regret,
        reason=np.array(STOP_REASONS)[record.reason],
        eliminated=record.eliminated,
        gap=record.gap,
        path=record.path,
        settings={"learner": learner.settings(), "instance": instance.id, "version": __version__, **how},
    )


# Checking a rule ------------------------------------------------------------------------------------------------------

_ENDINGS = 20  # graphs on which a sampling rule must come to an end


def check_rule(
    rule: Callable[..., Any], role: str = "sampling", *, graphs: int = 60, episodes: int = 40, seed: int = 0
) -> dict[str, Any]:
    """Play a rule on small random graphs (ties, masked actions, known rewards, one path) and check its answers.

    A sampling rule must give a path, the same one when asked again (a rule that draws takes its numbers from `chance`),
    and let EPRL or Challenger end: where max-diameter stops, within some tens of times its episodes. An elimination
    rule must, while all confidence intervals hold, never drop an arc of a best path. A stopping rule must, while they
    hold, never stop on a path more than epsilon from the best. Passing is evidence, not proof.

    Args:
        rule: A function, which is run in Python here, so that an index out of range is an error. Whether Numba compiles
            it is said by `compiled` in the answer.
        role: "sampling", "elimination" or "stopping".
        graphs: How many.
        episodes: At most on each graph.
        seed: Of the graphs.

    Returns:
        What was played: compiled, graphs, episodes, stopped, eliminated; for a sampling rule also `ends`, on how many
        graphs each learner came to its end with it.

    Raises:
        SettingError: What is wrong, on which graph, after how many episodes.

    Example:
        >>> from surepath.learners.own_rules import best_path
        >>> def widest(view, path):
        ...     best_path(view, view.widths, path)
        >>> check_rule(widest, graphs=5)["graphs"]
        5
    """
    own = own_rule(one_of("role", role, OUT), rule)
    if own is None:
        raise SettingError(f"check_rule needs a function (view, ...), not {type(rule).__name__}")
    played: dict[str, Any] = {"compiled": own.compiled is not None, "graphs": 0, "episodes": 0}
    played |= {"stopped": 0, "eliminated": 0}
    own.compiled = None
    if role == "sampling":
        played["ends"] = {"EPRL": 0, "Challenger": 0}
    for number in range(whole("graphs", graphs, low=1)):
        rng = np.random.default_rng(np.random.SeedSequence([seed_number(seed), number]))
        instance = _awkward(rng)
        options: dict[str, Any] = {"sampling": "max-diameter", role: own}
        learner = EPRL(instance.mdp, float(rng.choice([0.0, 0.2, 1.0])), 0.1, instance.sigma, **options)
        played["episodes"] += _play(own, learner, instance, rng, number, episodes)
        played["graphs"] += 1
        played["stopped"] += int(learner.stopped)
        played["eliminated"] += int((~learner.active).sum())
        if role == "sampling" and number < _ENDINGS:
            for name in _must_end(own, instance, rng, number):
                played["ends"][name] += 1
    return played


def _must_end(rule: OwnRule, instance: Instance, rng: np.random.Generator, number: int) -> list[str]:
    """Let max-diameter and then the rule play on until they stop; return the learners that do with the rule."""
    known = EPRL(instance.mdp, 0.2, 0.1, instance.sigma, sampling="max-diameter")
    if not _ends(known, instance, rng, 1000):
        return []  # too hard to tell
    limit = 100 + 40 * known.episodes
    tried: tuple[Learner, ...] = (
        EPRL(instance.mdp, 0.2, 0.1, instance.sigma, sampling=rule),  # type: ignore[arg-type]
        Challenger(instance.mdp, 0.2, 0.1, instance.sigma, sampling=rule, dependence="independent"),  # type: ignore[arg-type]
    )
    ends = [learner.name for learner in tried if _ends(learner, instance, rng, limit)]
    if not ends:
        raise SettingError(
            f"{rule.label}: the learner does not end with it; max-diameter stops within a fortieth of its "
            f"{limit} episodes. Play every arc that is still active now and then (graph {number})"
        )
    return ends


def _ends(learner: Learner, instance: Instance, rng: np.random.Generator, limit: int) -> bool:
    while not learner.stopped and learner.episodes < limit:
        path = learner.ask()
        learner.tell(path, instance.means[path] + instance.sigma[path] * rng.standard_normal(len(path)))
    return learner.stopped


def _awkward(rng: np.random.Generator) -> Instance:
    states, actions, horizon = (int(rng.integers(1, 4)) for _ in range(3))
    available = rng.random((horizon, states, actions)) < rng.choice([0.5, 1.0])
    available[..., 0] |= ~available.any(axis=-1)
    next_state = rng.integers(states, size=(horizon, states, actions))
    mdp = MDP.from_arrays(next_state, available=available)
    means = rng.random(mdp.n_arcs) if rng.random() < 0.5 else rng.integers(0, 3, mdp.n_arcs) / 2
    if rng.random() < 0.3:
        known = np.where(rng.random(mdp.n_arcs) < 0.4, means, np.nan)
        parts = {name: getattr(mdp, name) for name in ("first", "target", "stage_node", "node_state", "action")}
        mdp = MDP(**parts, known=known)
    return Instance(mdp, Gaussian(means, float(rng.choice([0.01, 0.1]))))


def _play(
    rule: OwnRule, learner: EPRL, instance: Instance, rng: np.random.Generator, number: int, episodes: int
) -> int:
    best = instance.best_path()

    def fail(message: str) -> SettingError:
        return SettingError(f"{rule.label}: {message} (graph {number}, after {learner.episodes} episodes)")

    def ask(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:
            kind = "" if isinstance(error, SurepathError) else f"{type(error).__name__}: "
            raise fail(f"{kind}{error}") from error

    while learner.episodes < episodes and not learner.stopped:
        path = ask(learner.ask)
        if rule.role == "sampling" and ask(learner.ask).tolist() != path.tolist():
            raise fail("asked twice without news it gave two paths; draw its numbers by chance(view, i)")
        rewards = instance.means[path] + instance.sigma[path] * rng.standard_normal(len(path))
        ask(partial(learner.tell, path, rewards))
        view = view_of(learner)
        held = bool((np.abs(view.means - instance.gains) <= view.widths + 1e-12).all())
        if held and rule.role == "elimination":
            for arc in best.tolist():
                if not learner.active[arc]:
                    raise fail(f"it dropped {learner.mdp.describe_arc(arc)} of a best path while all intervals held")
        if held and bool(learner.stopped) and rule.role == "stopping":
            regret = instance.regret_of(learner.recommend())
            if regret > learner.epsilon + 1e-9:
                raise fail(f"it stopped on a path {regret:g} from the best, epsilon is {learner.epsilon:g}")
    return learner.episodes
