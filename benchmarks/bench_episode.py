"""One episode: the compiled loops beside C++ -O3, beside the naive twin, as N grows, and over two workers.

The C++ program (episode.cpp, compiled here) and the kernels play the same rewards, drawn beforehand, so the comparison
is of the loop and both must stop after the same episode.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import record
from surepath import BPIUCRL, EPRL, MDP, Gaussian, Instance, families, simulate
from surepath.kernels.sweeps import reality_of
from surepath.learners import runs as tasks
from surepath.learners.per_arc import bounds as at
from surepath.learners.per_arc.eprl import RuleLearner
from surepath.learners.per_arc.run import play
from surepath.learners.runs import RunRecord

LIMIT = 150_000


def python_loop(learner: RuleLearner, instance: Instance, noise: np.ndarray, repeats: int) -> tuple[int, float]:
    """Return the stopping time and the nanoseconds an episode of the compiled loop, all noise drawn ahead."""
    learner._table_for(LIMIT)
    least, tau, reality = np.inf, 0, reality_of(instance)
    for _ in range(repeats):
        state, record = learner._new_state()._replace(ahead=noise), RunRecord.empty(1, learner.mdp.horizon)
        state.tally[at.LEFT_AHEAD] = len(noise)
        rest = (np.random.default_rng(0), tasks.FINISH, LIMIT, np.array([learner.epsilon]), record)
        begun = time.thread_time()
        play(learner.layers, learner.rules, state, reality, *rest)
        tau = int(record.tau[0])
        least = min(least, 1e9 * (time.thread_time() - begun) / tau)
    return tau, least


def cpp_program(folder: Path) -> Path | None:
    """Compile the C++ program and return it, or None where there is no compiler."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        return None
    program = folder / "episode"
    source = Path(__file__).with_name("episode.cpp")
    flags = ["-std=c++17", "-O3", "-march=native", "-ffp-contract=off"]
    subprocess.run([compiler, *flags, str(source), "-o", str(program)], check=True)
    return program


def cpp_words(program: Path, learner: RuleLearner, mean: np.ndarray, noise: np.ndarray, repeats: int) -> list[str]:
    """Write the data of the same run and return the command line of the C++ program that plays it."""
    table, mdp, plan = learner._table_for(LIMIT), learner.mdp, learner.rules
    head = [mdp.n_nodes, mdp.n_arcs, mdp.horizon, len(noise), len(table), plan.authors, plan.least_played, plan.periods]
    real = [plan.arcs, plan.delta, plan.cap]
    first, target, _ = learner.layers
    arrays = (np.array(head), np.array(real), first, target, mean, noise, table, learner.sigma, learner.known_gain)
    data = program.with_suffix(".bin")
    data.write_bytes(b"".join(x.tobytes() for x in (*arrays, mdp.is_known)))
    name = "bpi" if isinstance(learner, BPIUCRL) else "eprl"
    return [str(program), str(data), name, repr(learner.epsilon), str(LIMIT), str(repeats)]


def cpp_loop(
    program: Path, learner: RuleLearner, mean: np.ndarray, noise: np.ndarray, repeats: int
) -> tuple[int, float]:
    """Return the stopping time and the nanoseconds an episode of the C++ program."""
    words = cpp_words(program, learner, mean, noise, repeats)
    answer = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    return int(answer[0]), float(answer[1])


def cpp_short_runs(program: Path, learner: RuleLearner, instance: Instance, runs: int, longest: int) -> list[str]:
    """Draw these runs of the experiment preset and return the command line of the C++ program that plays them."""
    stride = longest * instance.mdp.horizon
    children = [np.random.SeedSequence(entropy=0, spawn_key=(i,)) for i in range(runs)]
    noise = np.concatenate([np.random.default_rng(child).standard_normal(stride) for child in children])
    words = cpp_words(program, learner, np.array(instance.means), noise, 3)
    return [*words, str(learner.rules.every), str(stride)]


def beside_cpp(rounds: int = 12) -> None:
    """Print the nanoseconds an episode at S = A = 2, H = 3, ours and C++'s, in turns.

    The least of all rounds counts, and a round plays every row: a neighbour that takes half a core for a second or two
    must not decide a row.
    """
    with tempfile.TemporaryDirectory() as folder:
        program = cpp_program(Path(folder))
        if program is None:
            print("no C++ compiler here: nothing to compare with")
            return
        rows: dict[str, tuple[RuleLearner, Instance, np.ndarray]] = {}
        for seed in (1, 3):
            instance = families.paper_random(seed=seed)
            noise = np.random.default_rng(0).standard_normal(LIMIT * instance.mdp.horizon)
            slow = EPRL(instance.mdp, 1e-6, 0.1, 1.0, sampling="max-diameter")
            rows[f"max-diameter seed {seed}"] = slow, instance, noise
            rows[f"BPI-UCRL seed {seed}"] = BPIUCRL(instance.mdp, 1e-6, 0.1, 1.0), instance, noise
        ours, theirs = (dict.fromkeys(rows, (0, np.inf)) for _ in range(2))
        for _ in range(rounds):
            for name, (learner, instance, noise) in rows.items():
                ours[name] = min(ours[name], python_loop(learner, instance, noise, 3), key=lambda x: x[1])
                other = cpp_loop(program, learner, np.array(instance.means), noise, 3)
                theirs[name] = min(theirs[name], other, key=lambda x: x[1])
    print(f"{'S=A=2 H=3':>26}{'episodes':>10}{'ours, ns':>10}{'C++, ns':>10}{'ratio':>8}")
    for name, (tau, own) in ours.items():
        same = "" if tau == theirs[name][0] else f"  (stopping times differ: {theirs[name][0]})"
        print(f"{name:>26}{tau:>10,}{own:>10.1f}{theirs[name][1]:>10.1f}{own / theirs[name][1]:>8.2f}{same}")
        record(f"an episode, {name}", own, "ns")
        record(f"an episode over that of C++, {name}", own / theirs[name][1], "x")


def beside_the_twin() -> None:
    """Print what an episode takes in the naive Python twin of the tests, and in the authors' code."""
    from tests.naive.learner import Choices, NaiveLearner

    instance = families.paper_random(seed=1)
    twin = NaiveLearner(instance.mdp, Choices(sampling="max-diameter"), 1e-6, 0.1, np.ones(instance.mdp.n_arcs))
    rng = np.random.default_rng(0)
    begun, episodes = time.thread_time(), 60
    for _ in range(episodes):
        path = max(twin.candidates(), key=twin.objective)
        twin.tell(path, instance.means[path] + rng.standard_normal(len(path)))
    naive = (time.thread_time() - begun) / episodes
    ours = fused(instance, {"name": "EPRL", "sampling": "max-diameter"})
    print(
        f"\nnaive twin {1e6 * naive:,.0f} us an episode, ours with its draws {1e9 * ours:.0f} ns: {naive / ours:,.0f}x"
    )
    record("an episode of the naive twin over ours", naive / ours, "x")


def fused(instance: Instance, spec: dict[str, Any], episodes: int = 200_000) -> float:
    """Measure the seconds an episode of a whole run, draws included."""
    from surepath.learners.base import build

    learner = build({"epsilon": 1e-9, "delta": 0.1, "sigma": 1.0, **spec}, instance.mdp)
    reality, least = reality_of(instance), np.inf
    for _ in range(5):
        begun = time.thread_time()
        record = learner._run(reality, np.random.default_rng(0), episodes, np.array([1e-9]))
        least = min(least, (time.thread_time() - begun) / int(record.tau[0]))
    return least


def as_n_grows() -> None:
    """Print the microseconds an episode on random graphs of N arcs, once all arcs are visited and while some are not.

    Without eliminations an episode is one pass. With them it is little more, because slack.py leaves few episodes in
    which arcs must be judged; while arcs are unvisited it leaves none out, and an episode takes several passes.
    """
    print(
        f"\n{'N':>9}{'no elimination, us':>20}{'max-diameter, us':>18}{'max-coverage, us':>18}{'BPI-UCRL, us':>14}"
        f"{'first episodes, us':>20}"
    )
    for states, actions, horizon in ((5, 2, 10), (25, 4, 10), (100, 10, 10), (100, 10, 100)):
        rng = np.random.default_rng(0)
        mdp = MDP.from_arrays(rng.integers(states, size=(horizon, states, actions)))
        instance = Instance(mdp, Gaussian(rng.random(mdp.n_arcs), 1.0))
        cover, few = 4 * mdp.n_arcs, max(300, 2_000_000 // mdp.n_arcs)
        row = []
        for spec in (
            {"sampling": "max-diameter", "elimination": "none"},
            {"sampling": "max-diameter", "elimination": "both"},
            {"elimination": "both"},
            {"name": "BPIUCRL"},
        ):
            row.append(1e6 * _later(instance, {"name": "EPRL", **spec}, cover // horizon, few))
        early = 1e6 * fused(instance, {"name": "EPRL", "sampling": "max-diameter", "elimination": "both"}, few)
        print(f"{mdp.n_arcs:>9,}{row[0]:>20.2f}{row[1]:>18.2f}{row[2]:>18.2f}{row[3]:>14.2f}{early:>20.2f}")
        record(f"an episode of max-diameter on {mdp.n_arcs:,} arcs", row[1], "us")


def _later(instance: Instance, spec: dict[str, Any], skip: int, episodes: int) -> float:
    """Measure the seconds an episode after the first `skip`."""
    from surepath.learners.base import build

    learner: Any = build({"epsilon": 1e-9, "delta": 0.1, "sigma": 1.0, **spec}, instance.mdp)
    learner._table_for(skip + 4 * episodes)
    state, record = learner._new_state(), RunRecord.empty(1, instance.mdp.horizon)
    rng = np.random.default_rng(0)
    rest = (learner.layers, learner.rules, state, reality_of(instance), rng, tasks.RUN)
    play(*rest, skip, np.array([1e-9]), record)
    least = np.inf
    for part in range(1, 4):
        begun = time.thread_time()
        play(*rest, skip + part * episodes, np.array([1e-9]), record)
        least = min(least, (time.thread_time() - begun) / episodes)
    return least


def over_workers(turns: int = 15) -> None:
    """Compare the same runs on one worker and on two with one copy and two copies at once of the C++ program."""
    instance = families.paper_random(seed=1)
    spec = {"name": "EPRL", "epsilon": 0.05, "delta": 0.1, "sampling": "max-diameter", "elimination": "both"}
    with tempfile.TemporaryDirectory() as folder:
        program = cpp_program(Path(folder))
        words: list[str] = []
        if program is not None:
            noise = np.random.default_rng(0).standard_normal(LIMIT * instance.mdp.horizon)
            learner = EPRL(instance.mdp, 1e-6, 0.1, 1.0, sampling="max-diameter")
            tau, each = cpp_loop(program, learner, np.array(instance.means), noise, 3)
            repeats = max(1, round(0.6e9 / (each * tau)))
            words = cpp_words(program, learner, np.array(instance.means), noise, repeats)
        simulate(spec, instance, runs=8, seed=0, workers=2)
        begun = time.perf_counter()
        simulate(spec, instance, runs=8, seed=0, workers=1)
        runs = max(64, round(8 * 1.0 / (time.perf_counter() - begun)))
        ours: dict[int, list[float]] = {1: [], 2: []}
        theirs: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(turns):
            for workers in (1, 2):
                begun = time.perf_counter()
                simulate(spec, instance, runs=runs, seed=0, workers=workers)
                ours[workers].append(time.perf_counter() - begun)
                if words:
                    theirs[workers].append(_at_once(words, workers))
    gain = min(ours[1]) / min(ours[2])
    record("two workers over one", gain, "x")
    print(
        f"\ntwo workers: {gain:.2f}x ({runs} runs in {min(ours[1]):.2f} s and {min(ours[2]):.2f} s, the best of {turns}"
        f"; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})"
    )
    if words:
        most = 2.0 * min(theirs[1]) / min(theirs[2])
        print(
            f"two copies of the C++ program: {most:.2f}x; ours is {100 * gain / most:.0f} % of what the machine gives"
        )


def short_runs(runs: int = 1000, turns: int = 9) -> None:
    """Compare many runs that stop near 500 episodes, all counted, with one long run and the C++ loop without draws."""
    instance = families.paper_random(seed=1)
    spec = {"name": "BPIUCRL", "preset": "experiment", "delta": 0.1, "sigma": instance.sigma}
    found = simulate({**spec, "epsilon": 1.3}, instance, runs=runs, seed=0, workers=1)
    short, long, theirs, tau = np.inf, np.inf, np.inf, found.mean_tau()
    with tempfile.TemporaryDirectory() as folder:
        program = cpp_program(Path(folder))
        words: list[str] = []
        if program is not None:
            learner = BPIUCRL(instance.mdp, 1.3, 0.1, instance.sigma, preset="experiment")
            words = cpp_short_runs(program, learner, instance, runs, int(found.tau.max()))
        for _ in range(turns):
            begun = time.thread_time()
            simulate({**spec, "epsilon": 1.3}, instance, runs=runs, seed=0, workers=1)
            short = min(short, 1e9 * (time.thread_time() - begun) / int(found.tau.sum()))
            begun = time.thread_time()
            one = simulate({**spec, "epsilon": 0.05}, instance, runs=1, seed=0, workers=1)
            long = min(long, 1e9 * (time.thread_time() - begun) / int(one.tau.sum()))
            if words:
                answer = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
                theirs = min(theirs, float(answer[1]))
                if abs(float(answer[0]) - tau) > 1e-3:
                    print(f"stopping times differ: {tau} and {answer[0]} in the mean")
    print(
        f"\n{runs:,} runs of {tau:.0f} episodes: {short:.1f} ns an episode, seeds, draws and results included; one "
        f"long run {long:.1f} ns; C++, the same short runs, rewards drawn beforehand {theirs:.1f} ns"
    )
    record(f"an episode of short runs, {tau:.0f} episodes each", short, "ns", "70 ns")
    if words:
        record(f"an episode of short runs over that of C++ without draws, {tau:.0f} episodes each", short / theirs, "x")


def _at_once(words: list[str], copies: int) -> float:
    """Measure the seconds until this many copies of a program, started together, are done."""
    begun = time.perf_counter()
    running = [subprocess.Popen(words, stdout=subprocess.DEVNULL) for _ in range(copies)]
    for process in running:
        if process.wait() != 0:
            raise RuntimeError(f"{words[0]} ended with {process.returncode}")
    return time.perf_counter() - begun


def compilation(name: str, turns: int = 3) -> None:
    """Print the seconds until the first simulated run is done, the least of a few, with an empty and a warm cache."""
    program = (
        "import time; t = time.thread_time(); from surepath import families, simulate\n"
        f"simulate({{'name': {name!r}, 'epsilon': 2.0, 'delta': 0.1}}, families.paper_random(), runs=1, seed=0)\n"
        "print(time.thread_time() - t)"
    )
    words = [sys.executable, "-W", "ignore", "-c", program]
    cold, warm = [], []
    for _ in range(turns):
        with tempfile.TemporaryDirectory() as folder:
            environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
            environment["SUREPATH_CACHE_DIR"] = folder
            for times in (cold, warm):
                done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
                times.append(float(done.stdout))
    shown = ", ".join(f"{seconds:.1f}" for seconds in cold)
    print(f"first run of {name}, cold cache {min(cold):.1f} s of CPU (of {shown}), warm {min(warm):.2f} s")
    record(f"first run of {name}, cold cache, CPU", min(cold), "s")
    record(f"first run of {name}, warm cache, CPU", min(warm), "s")


def first_demo(turns: int = 3) -> None:
    """Print what the first `surepath demo` takes of the CPU from an empty cache, all threads, the least of a few."""
    words = [sys.executable, "-W", "ignore", "-m", "surepath", "demo"]
    taken = []
    for _ in range(turns):
        with tempfile.TemporaryDirectory() as folder:
            environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(
                words, cwd=folder, capture_output=True, check=True, env={**environment, "SUREPATH_CACHE_DIR": folder}
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    print(f"first surepath demo, cold cache {min(taken):.1f} s of CPU")
    record("first surepath demo, cold cache, CPU", min(taken), "s")


def main() -> None:
    """Print every table."""
    beside_cpp()
    beside_the_twin()
    as_n_grows()
    short_runs()
    over_workers()
    for name in ("EPRL", "Challenger"):
        compilation(name)
    first_demo()


if __name__ == "__main__":
    main()
