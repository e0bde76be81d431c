"""Choose a NumPy or SciPy kernel for each step of a numeric pipeline, by timing it on this machine.

The pipeline finds the nearest neighbours of noisy signals: smooth, normalise, distances, nearest. Each step can be
computed in several ways that give the same result; which way is quickest depends on the machine, the sizes and on how
the step before left its array in memory. Times are noisy for real: other programs, clock rates, caches. A time above
LIMIT counts as LIMIT, so that scores have a range and surepath needs no other word on their noise. What is proven is
therefore about times cut off there, and about this machine as busy as it is now. A busy moment slows all steps of a
trial together, which the proof does not allow for (scores of one trial must share nothing but the plan): hence the long
rerun at the end.

Run: python examples/kernel_pipeline.py [--repeats 60]     (repeats: how long the final check measures)
"""

import argparse
import random
import time

import numpy as np
from scipy import ndimage, signal, spatial

from surepath import MDP, Challenger

LIMIT = 10.0  # milliseconds; longer times of a step count as this one
WINDOW = 33
signals = np.random.default_rng(0).standard_normal((120, 300)).cumsum(axis=1)


def by_cumulated_sums(x):
    sums = np.cumsum(np.pad(x, ((0, 0), (WINDOW // 2 + 1, WINDOW // 2))), axis=1)
    return (sums[:, WINDOW:] - sums[:, :-WINDOW]) / WINDOW


def by_columns(x):  # works on a copy whose columns lie together in memory, and leaves that behind
    x = np.asfortranarray(x)
    return np.asfortranarray((x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True))


def by_products(x):
    squares = np.einsum("ij,ij->i", x, x)
    return np.sqrt(np.maximum(squares[:, None] + squares - 2 * x @ x.T, 0))


KERNELS = {
    "smooth": {
        "fft": lambda x: signal.fftconvolve(x, np.full((1, WINDOW), 1 / WINDOW), mode="same", axes=1),
        "direct": lambda x: ndimage.convolve1d(x, np.full(WINDOW, 1 / WINDOW), axis=1, mode="constant"),
        "sums": by_cumulated_sums,
    },
    "normalise": {
        "rows": lambda x: (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True),
        "columns": by_columns,
    },
    "distances": {
        "cdist": lambda x: spatial.distance.cdist(x, x),
        "products": by_products,
        "broadcast": lambda x: np.sqrt(((x[:, None] - x) ** 2).sum(axis=2)),
    },
    "nearest": {
        "sort": lambda d: np.argsort(d, axis=1)[:, 1],
        "partition": lambda d: np.argpartition(d, 1, axis=1)[:, 1],
    },
}


def run(plan):
    """Run one plan on the signals and return the milliseconds of each step, and the result."""
    x, times = signals, {}
    for step, option in plan.items():
        begun = time.perf_counter()
        x = KERNELS[step][option](x)
        times[step] = min(1000 * (time.perf_counter() - begun), LIMIT)
    return times, x


def long_rerun(plans, repeats):
    """Measure the mean milliseconds of every plan, in turn and in random order, so that drift affects all alike."""
    totals = [[] for _ in plans]
    for _ in range(repeats):
        for i in random.sample(range(len(plans)), len(plans)):
            totals[i].append(sum(run(plans[i])[0].values()))
    return np.array([np.mean(t) for t in totals]), np.array([np.std(t) / np.sqrt(repeats) for t in totals])


def main():
    parser = argparse.ArgumentParser(description="Choose a kernel for each step by timing.")
    parser.add_argument("--repeats", type=int, default=60)
    parser.add_argument("--epsilon", type=float, default=2.5, help="milliseconds")
    wanted = parser.parse_args()

    steps = {step: list(options) for step, options in KERNELS.items()}
    # A step's time depends on its kernel and on the kernel before, which decides how the array lies in memory.
    mdp = MDP.from_steps(steps, depends="previous", direction="minimize", reward_range=(0, LIMIT))
    plans = [mdp.plan(path) for path in all_paths(mdp)]
    answers = [run(plan)[1] for plan in plans]  # also warms up what is loaded on first use
    assert all((answer == answers[0]).all() for answer in answers), "the kernels do not compute the same"

    learner = Challenger(mdp, epsilon=wanted.epsilon, delta=0.05)
    while not learner.stopped:
        plan = mdp.plan(learner.ask())
        learner.tell(plan, run(plan)[0])
    chosen = mdp.plan(learner.recommend())
    print(", ".join(f"{step}: {option}" for step, option in chosen.items()))
    gap = learner.certified_gap()
    print(f"proven within {gap:.2f} ms of the quickest of {len(plans)} plans (95 % sure), {learner.episodes} trials")
    for finding in learner.findings():
        print("the times contradict what was assumed:", finding.message)

    means, errors = long_rerun(plans, wanted.repeats)
    mine, best = plans.index(chosen), int(np.argmin(means))
    print(
        f"long rerun: this plan {means[mine]:.2f} +- {errors[mine]:.2f} ms, the quickest {means[best]:.2f} +- "
        f"{errors[best]:.2f} ms, the slowest {means.max():.2f} ms"
    )
    holds = means[mine] - means[best] <= gap + 2 * (errors[mine] + errors[best])
    print("the certificate agrees with the rerun" if holds else "the rerun disagrees: has the machine changed since?")


def all_paths(mdp, path=()):
    """List the paths of a small problem."""
    if len(path) == mdp.horizon:
        return [list(path)]
    node = 0 if not path else int(mdp.target[path[-1]])
    return [p for arc in range(int(mdp.first[node]), int(mdp.first[node + 1])) for p in all_paths(mdp, (*path, arc))]


if __name__ == "__main__":
    main()
