"""Studies: ask and tell on a log of a million trials, opening it, many processes on PostgreSQL, beside Optuna.

`python -m benchmarks.bench_study [--quick]`. The large log is written through the storage's own functions, and its
snapshot holds the sums of that log. Times are medians; "disk" is what one synchronised write of 8 KiB takes in the same
folder at the time, which every ask and every tell pays once, so that what was reported survives a power failure. The
learner's own cost is that of the same calls without a study. Optuna's study has RandomSampler: its time is that of its
storage.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tests.study.postgres import Server, programs
from tests.study.workers import ENDLESS, new_study, read_notes, start

from benchmarks.record import record
from surepath import MDP, families
from surepath.learners.challenger import state as at
from surepath.study import Study
from surepath.study.trial import TrialRow

TRIALS, ROUNDS = 1_000_000, 200
CHUNK = 20_000
OPEN = 256  # trials that others have not reported yet


def timed(do: Callable[[], Any]) -> tuple[float, Any]:
    """Return seconds and result."""
    begun = time.perf_counter()
    answer = do()
    return time.perf_counter() - begun, answer


def disk(folder: Path) -> float:
    """Return the median seconds of a synchronised write of 8 KiB."""
    laps = []
    with (folder / "sync").open("wb", buffering=0) as file:
        file.write(b"x" * 1_000_000)
        for i in range(40):
            file.seek(8192 * i)
            file.write(b"y" * 8192)
            laps.append(timed(lambda: os.fdatasync(file.fileno()))[0])
    return float(np.median(laps))


def random_paths(mdp: MDP, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw paths, each option equally likely, int [n, H]."""
    paths = np.zeros((n, mdp.horizon), dtype=np.int64)
    node = np.zeros(n, dtype=np.int64)
    for h in range(mdp.horizon):
        count = mdp.first[node + 1] - mdp.first[node]
        paths[:, h] = mdp.first[node] + (rng.random(n) * count).astype(np.int64)
        node = mdp.target[paths[:, h]]
    return paths


def rows(mdp: MDP, trials: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray, list[TrialRow]]]:
    """Make the complete trials of a log, chunk by chunk; all options are equally good, so that it never ends."""
    for begin in range(0, trials, CHUNK):
        size = min(CHUNK, trials - begin)
        paths = random_paths(mdp, size, rng)
        rewards = 0.5 + 0.1 * rng.normal(size=paths.shape)
        made = [
            TrialRow(begin + i + 1, "complete", tuple(path), "asked", rewards=tuple(seen), worker="w", told=1.0)
            for i, (path, seen) in enumerate(zip(paths.tolist(), rewards.tolist()))
        ]
        yield paths, rewards, made


def fill(study: Study, trials: int) -> None:
    """Write a long log and a snapshot of it."""
    fold, learner = study._fold, study._fold.learner
    evidence = learner._evidence()
    for paths, rewards, made in rows(study.mdp, trials, np.random.default_rng(0)):
        with study.storage.writing(study.name) as log:
            log.add_trials(made)
        np.add.at(evidence["visits"], paths, 1)
        np.add.at(evidence["sums"], paths, rewards)
    evidence["memo"][at.EPISODES] = fold.prefix = learner.episodes = trials
    fold.tally.states["complete"] = fold.tally.sources["asked"] = trials
    learner._load({**evidence, "planned": False})
    learner._check_anew()  # type: ignore[attr-defined]
    with study.storage.writing(study.name) as log:
        log.save_snapshot(fold.snapshot())


def memory() -> float:
    """Return the most memory this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def play(study: Study, rounds: int) -> dict[str, float]:
    """Time ask, tell and what a status page reads; medians in milliseconds."""
    rng = np.random.default_rng(1)
    laps: dict[str, list[float]] = {"ask": [], "tell": [], "status": []}
    for _ in range(rounds):
        spent, trial = timed(study.ask)
        laps["ask"].append(spent)
        seen = 0.5 + 0.1 * rng.normal(size=len(trial.path))
        laps["tell"].append(timed(lambda: study.tell(trial, seen))[0])  # noqa: B023
        laps["status"].append(timed(lambda: (study.done, len(study), study.best_plan, study._fold.tally.states))[0])
    return {name: 1e3 * float(np.median(values)) for name, values in laps.items()}


def learner_cost(study: Study, rounds: int) -> float:
    """Return the median milliseconds of choosing and telling without a study."""
    learner, rng, laps = study._fold.copy(), np.random.default_rng(1), []
    none = np.zeros((0, study.mdp.horizon), dtype=np.int64)
    for _ in range(rounds):
        seen = 0.5 + 0.1 * rng.normal(size=study.mdp.horizon)
        laps.append(timed(lambda: learner.tell(learner.ask_beside(none)[0], seen))[0])  # noqa: B023
    return 1e3 * float(np.median(laps))


def large(folder: Path, trials: int) -> None:
    """Measure one large study on SQLite."""
    mdp = families.chain(steps=12, options=30, seed=1, sigma=0.1).mdp
    url = f"sqlite:///{folder / 'large.db'}"
    made, study = timed(lambda: Study.create(mdp, url, "large", epsilon=1e-6, delta=0.1, sigma=0.1))
    filled, _ = timed(lambda: fill(study, trials))
    study.close()
    size = (folder / "large.db").stat().st_size / 1e6
    print(
        f"{trials:,} trials, {mdp.n_arcs:,} arcs on SQLite, {size:,.0f} MB: "
        f"created in {made:.1f} s, filled in {filled:.0f} s"
    )

    def open_it() -> Study:
        opened = Study.load(url)
        opened.sync()
        return opened

    opened, study = timed(open_it)
    print(f"  opening              {opened:8.2f} s     target 2 s")
    record(f"opening a study of {trials:,} trials", opened, "s", "2 s")
    play(study, 5)
    before = memory()
    for name, spent in play(study, ROUNDS).items():
        goal = f"{200 if name == 'status' else 5} ms"
        print(f"  {name:<20} {spent:8.2f} ms    target {goal}")
        record(f"{name} after {trials:,} trials", spent, "ms", goal)
    print(f"  memory over {ROUNDS} rounds: {before:.0f} MB before, {memory():.0f} MB after")
    gaps = [timed(lambda: study._fold.copy().certified_gap())[0] for _ in range(2)]
    print(f"  certified gap        {1e3 * min(gaps):8.2f} ms    all of it the learner's own")
    print(f"  learner's own cost   {learner_cost(study, 50):8.2f} ms")
    study.ask(OPEN)
    beside = play(study, ROUNDS)["ask"]
    print(f"  ask, {OPEN} others open {beside:8.2f} ms    target 5 ms")
    record(f"ask while {OPEN} trials are open", beside, "ms", "5 ms")
    print(f"  disk                 {1e3 * disk(folder):8.2f} ms", flush=True)
    study.close()


def crowd(processes: int, trials: int) -> None:
    """Measure processes that share a study on PostgreSQL."""
    if programs() is None:
        print("PostgreSQL is not installed; make system installs it")
        return
    server = Server(durable=True)
    try:
        study = new_study(server.url, ENDLESS, epsilon=1e-6)
        study.sync()
        notes = server.folder / "notes"
        spent, _ = timed(lambda: [one.join() for one in [start(study, notes, trials) for _ in range(processes)]])
        found = read_notes(notes)
        print(
            f"PostgreSQL, {processes} processes x {trials} trials on {os.cpu_count()} cores: "
            f"{len(found['told']) / spent:,.0f} trials a second, {len(found['error'])} errors",
            flush=True,
        )
        record(f"PostgreSQL, {processes} processes", len(found["told"]) / spent, "trials a second")
    finally:
        server.remove()


def optuna_file(file: Path, trials: int) -> Any:
    """Make an Optuna study of this many complete trials; returns the module and the study."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    quick = Path("/dev/shm") if Path("/dev/shm").is_dir() else file.parent
    place = quick / f"surepath-{os.getpid()}.db"
    choices = {f"step {h}": optuna.distributions.CategoricalDistribution(list(range(3))) for h in range(10)}
    filled = optuna.create_study(
        study_name="bench", storage=f"sqlite:///{place}", sampler=optuna.samplers.RandomSampler(0)
    )
    params = dict.fromkeys(choices, 0)
    filled.add_trials([optuna.create_trial(params=params, distributions=choices, value=0.5) for _ in range(trials)])
    shutil.move(place, file)
    study = optuna.load_study(study_name="bench", storage=f"sqlite:///{file}", sampler=optuna.samplers.RandomSampler(0))
    return study, choices


def beside_optuna(folder: Path, trials: int, rounds: int) -> None:
    """Compare one round of ask and tell, each after the same number of trials on SQLite."""
    try:
        theirs, choices = optuna_file(folder / "optuna.db", trials)
    except ImportError:
        print("Optuna is not installed: no comparison")
        return
    mdp = families.paper_random(4, 3, 10, min_gap=0.0, seed=1).mdp
    ours = Study.create(mdp, f"sqlite:///{folder / 'ours.db'}", "ours", epsilon=1e-6, delta=0.1, sigma=0.1)
    fill(ours, trials)
    ours.sync()
    laps: dict[str, list[float]] = {"ours": [], "theirs": []}

    def our_round() -> None:
        trial = ours.ask()
        ours.tell(trial, [0.5] * len(trial.path))

    def their_round() -> None:
        trial = theirs.ask(choices)
        theirs.tell(trial, 0.5)

    for i in range(rounds + 3):  # in turn, so that both meet the same machine
        for name, do in (("ours", our_round), ("theirs", their_round)):
            spent, _ = timed(do)
            if i >= 3:
                laps[name].append(spent)
    mine, other = (1e3 * float(np.median(laps[name])) for name in ("ours", "theirs"))
    print(
        f"one ask and tell after {trials:,} trials on SQLite, 10 steps: surepath {mine:.1f} ms ({mdp.n_arcs} arcs), "
        f"Optuna {other:.1f} ms, ratio {other / mine:.1f}x; disk {1e3 * disk(folder):.1f} ms",
        flush=True,
    )
    record(f"time of Optuna over ours, ask and tell after {trials:,} trials", other / mine, "x")


def main(arguments: list[str] | None = None) -> None:
    """Print the figures; --quick uses a tenth of the trials."""
    quick = "--quick" in (arguments or [])
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        large(folder, TRIALS // 10 if quick else TRIALS)
        crowd(8, 50 if quick else 500)
        beside_optuna(folder, 1_000 if quick else 10_000, 30 if quick else 100)


if __name__ == "__main__":
    main(sys.argv[1:])
