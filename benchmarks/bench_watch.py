"""What the watch over declared noise, additivity and steadiness finds, how soon, and what it costs.

`python -m benchmarks.bench_watch [--quick | --attacks]`; --attacks prints false alarms, shared luck, unequal noise and
declared zeros alone. Pipelines of 8 steps with 4 options each, declared sigma 0.1. "wrong" is
the share of Challenger's runs (epsilon 0.3, delta 0.1, to its stop) with an answer that is not within epsilon; "found"
the share with a finding of noise, "found if wrong" that among the wrong ones. At factor 1 a finding is a false alarm.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from tests.learners.challenger.test_noise_guarantee import exact_steps_wrong
from tests.learners.watch.test_guarantee import ALPHA, alarms, with_shared_luck, with_unequal_noise

from benchmarks.record import record
from surepath import MDP, Challenger, Instance, families
from surepath.learners.watch import Watch

SIGMA = 0.1
Rewards = Callable[[np.ndarray, int], np.ndarray]  # path, trial -> rewards


def world(seed: int) -> Instance:
    """Build a pipeline of 8 steps with 4 options each."""
    return families.chain(8, 4, seed=seed, sigma=SIGMA)


def random_path(mdp: MDP, rng: np.random.Generator) -> np.ndarray:
    """Draw a path whose every step is drawn evenly."""
    node, path = 0, []
    while node < mdp.n_nodes:
        path.append(int(rng.integers(mdp.first[node], mdp.first[node + 1])))
        node = int(mdp.target[path[-1]])
    return np.array(path)


def watched(instance: Instance, trials: int, rng: np.random.Generator, rewards: Rewards) -> Watch:
    """Return a watch after random trials."""
    watch = Watch(instance.mdp, instance.sigma)
    for trial in range(trials):
        path = random_path(instance.mdp, rng)
        watch.observe(path, rewards(path, trial))
    return watch


def noise_table(runs: int) -> None:
    """Print what is found of noise larger than declared, in runs of Challenger that end when it stops."""
    titles = {
        "true / declared": 16,
        "trials": 8,
        "wrong": 8,
        "found": 8,
        "found if wrong": 15,
        "other kinds": 13,
        "seen": 8,
    }
    print("".join(f"{title:>{width}}" for title, width in titles.items()))
    for factor in (1.0, 1.25, 1.5, 2.0, 3.0, 5.0):
        trials, wrong, noisy, others, seen = [], [], [], [], []
        for run in range(runs):
            instance, rng = world(run), np.random.default_rng([run, int(100 * factor)])
            learner = Challenger(instance.mdp, 0.3, 0.1, SIGMA, dependence="independent")
            watch = Watch(instance.mdp, learner.sigma)
            while not learner.stopped:
                path = learner.ask()
                rewards = instance.means[path] + factor * SIGMA * rng.standard_normal(len(path))
                learner.tell(path, rewards)
                watch.observe(path, rewards)
            findings = watch.findings()
            trials.append(learner.episodes)
            wrong.append(instance.regret_of(learner.recommend()) > 0.3)
            noisy.append(any(found.kind == "noise" for found in findings))
            others.append(any(found.kind != "noise" for found in findings))
            seen += [found.seen for found in findings[:1]]
        both = f"{np.mean(np.array(noisy)[wrong]):.0%}" if any(wrong) else "-"
        print(
            f"{factor:>16g}{np.mean(trials):>8.0f}{np.mean(wrong):>8.1%}{np.mean(noisy):>8.1%}{both:>15}"
            f"{np.mean(others):>13.1%}{np.median(seen) if seen else np.nan:>8.2f}",
            flush=True,
        )


def shift_table(runs: int) -> None:
    """Print what is found of scores that shift with an earlier choice, or with time, in random trials."""
    print(f"\n{'what shifts':<58}{'by':>9}{'100 trials':>12}{'300':>7}{'1000':>7}")
    for name, kind, sizes in (
        ("nothing", "", (0.0,)),
        ("all of step 5, when step 2 took its first option", "dependence", (1.0, 2.0, 4.0)),
        ("one option of step 5, when step 2 took its first", "dependence", (2.0, 4.0)),
        ("every score, steadily up to this at trial 300", "drift", (1.0, 2.0, 4.0)),
    ):
        for size in sizes:
            cells = []
            for trials in (100, 300, 1000):
                found = 0
                for run in range(runs):
                    instance, rng = world(run), np.random.default_rng([run, trials, int(size)])
                    watch = watched(instance, trials, rng, shifted(instance, rng, name, size))
                    kinds = [finding.kind for finding in watch.findings()]
                    found += kind in kinds if kind else bool(kinds)
                cells.append(f"{found / runs:.0%}")
            print(f"{name:<58}{size:>3.0f} sigma{cells[0]:>12}{cells[1]:>7}{cells[2]:>7}", flush=True)


def shifted(instance: Instance, rng: np.random.Generator, name: str, size: float) -> Rewards:
    """Return rewards that break the declaration as `name` says."""
    action = instance.mdp.action

    def rewards(path: np.ndarray, trial: int) -> np.ndarray:
        noise = rng.standard_normal(len(path))
        if name.startswith("all") or (name.startswith("one") and action[path[5]] == 1):
            noise[5] += size * (action[path[2]] == 0)
        if name.startswith("every"):
            noise += size * trial / 300
        return np.asarray(instance.means[path] + SIGMA * noise)

    return rewards


def attack_table(runs: int) -> None:
    """Print wrong answers and findings, delta 0.1, where declared zeros, luck or unequal noise once went unseen."""
    failed, trials = exact_steps_wrong(runs)
    print(
        f'\nsigma="unknown", 20 of 21 steps declared exact: {failed} of {runs} wrong, {trials:.0f} trials', flush=True
    )
    for factor in (1.0, 2.0, 3.0):
        found = with_unequal_noise(factor, runs)
        print(f'sigma="unknown", noise of the first step x {factor:g}: found in {found} of {runs}', flush=True)
    for correlation in (0.0, 0.3, 1.0):
        failed, found, others = with_shared_luck(correlation, runs)
        print(
            f"one draw per trial, correlation {correlation:g}: {failed} of {runs} wrong, luck found in {found}, "
            f"something else in {others}",
            flush=True,
        )
        record(f"shared luck of correlation {correlation:g} found", 100 * found / runs, "%")


def alarm_table(runs: int) -> None:
    """Print false alarms at 5 % where all steps of a trial move together, of a watch for any dependence or for none."""
    for independent in (False, True):
        found, count = alarms(runs if not independent else max(10, runs // 10), True, independent)
        name = "independent" if independent else "any"
        print(f"steps that move together, watched for dependence {name}: {found} of {count} below p = {ALPHA:g}")
        record(f"false alarms of the watch, {name}, steps that move together", 100 * found / count, "%")


def seconds(work: Callable[[], object]) -> float:
    """Measure the processor time of some work."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def cost_table() -> None:
    """Time a trial, and time to judge, the least of several."""
    print(f"\n{'steps':>6}{'arcs':>10}{'build, ms':>11}{'observe, us':>13}{'us a step':>11}{'findings, ms':>14}")
    for steps, options in ((8, 4), (20, 4), (50, 4), (8, 350)):
        cost_row(steps, options)


def cost_row(steps: int, options: int) -> None:
    """Print the times of one size."""
    mdp, rng = families.chain(steps, options).mdp, np.random.default_rng(0)
    sigma = np.ones(mdp.n_arcs)
    built = min(seconds(lambda: Watch(mdp, sigma)) for _ in range(3))
    watch = Watch(mdp, sigma)
    played = [(random_path(mdp, rng), rng.standard_normal(steps)) for _ in range(1500)]
    for path, gains in played:
        watch.observe(path, gains)
    a_trial = min(seconds(lambda: [watch.observe(*trial) for trial in played[:150]]) for _ in range(10)) / 150
    judged = min(seconds(watch.findings) for _ in range(3))
    row = f"{steps:>6}{mdp.n_arcs:>10,}{1e3 * built:>11.1f}{1e6 * a_trial:>13.1f}{1e6 * a_trial / steps:>11.2f}"
    print(row + f"{1e3 * judged:>14.1f}", flush=True)
    record(f"watching a trial of {steps} steps, {mdp.n_arcs:,} arcs", 1e6 * a_trial, "us")


def main(arguments: list[str] | None = None) -> None:
    """Print the tables; --quick plays a tenth of the runs."""
    quick = "--quick" in (arguments or [])
    alarm_table(10 if quick else 335)
    attack_table(12 if quick else 120)
    if "--attacks" in (arguments or []):
        return
    noise_table(20 if quick else 200)
    shift_table(5 if quick else 50)
    cost_table()


if __name__ == "__main__":
    main(sys.argv[1:])
