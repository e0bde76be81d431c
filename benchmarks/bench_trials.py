"""Trials to stop: Challenger beside EPRL, BPI-UCRL, whole plans and the limit, theory settings, delta = 0.1.

`python -m benchmarks.bench_trials [--quick | --prices]`; --prices prints only what dependence costs and baselines save.
EPRL is max-diameter with the paper's widths and both eliminations in every episode. The first row's epsilon is 1.5
Delta_min, the least value gap over all states, as in the paper. Ratios are geometric means over
instances of (mean trials of the other) / (mean trials of Challenger).
Runs are cut at BUDGET trials; a cut run counts with the budget, which makes a ratio too small, never too large, and is
marked ">". The limit is T* kl(delta, 1 - delta), which holds for finding the best plan itself (epsilon = 0).
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.learners.challenger.test_shared_luck import lines

from benchmarks.record import record
from benchmarks.ties_bound import most_trials
from surepath import MDP, Bernoulli, Challenger, Design, Gaussian, Instance, Shared, families, simulate, theory
from surepath.errors import SurepathError

BUDGET = 3_000_000
MAX_PLANS = 100_000  # above this whole plans are not tried
OTHERS: dict[str, dict[str, Any]] = {
    "EPRL": {"name": "EPRL", "sampling": "max-diameter", "elimination": "both"},
    "BPIUCRL": {"name": "BPIUCRL"},
    "WholePlan": {"name": "WholePlan"},
}
Make = Callable[[int], tuple[Instance, float]]


def _small(seed: int) -> tuple[Instance, float]:
    instance = families.paper_random(2, 2, 3, seed=seed)
    return instance, 1.5 * families.paper_min_gap(str(instance.id))


# name -> instance and epsilon by seed, target ratio to EPRL
FAMILIES: dict[str, tuple[Make, float]] = {
    "S=A=2 H=3, sigma 1": (_small, 60.0),
    "chain 8x4, sigma 0.1": (lambda seed: (families.chain(8, 4, seed=seed, sigma=0.1), 0.3), 45.0),
    "S=4 A=3 H=10, sigma 1": (lambda seed: (families.paper_random(4, 3, 10, min_gap=0.0, seed=seed), 1.0), 60.0),
    "S=5 A=4 H=20, sigma 0.5": (
        lambda seed: (families.paper_random(5, 4, 20, min_gap=0.0, seed=seed, sigma=0.5), 1.0),
        130.0,
    ),
}
EXACT = {0.1: 4.25, 0.01: 2.35, 1e-6: 1.55}  # delta -> target of the ratio to the limit at epsilon = 0
# name -> instance by seed, trials (geometric mean of 50 instances x 20 runs) before single excursions decided the stop
BEST_ITSELF: dict[str, tuple[Callable[[int], Instance], float]] = {
    "chain 8x2, sigma 0.2": (lambda seed: families.chain(8, 2, seed=seed, sigma=0.2), 1256.8),
    "S=3 A=2 H=8, sigma 0.2": (lambda seed: families.paper_random(3, 2, 8, min_gap=0.02, seed=seed, sigma=0.2), 1247.9),
    "S=4 A=3 H=10, sigma 0.1": (
        lambda seed: families.paper_random(4, 3, 10, min_gap=0.01, seed=seed, sigma=0.1),
        1537.5,
    ),
}


def _flat(stages: int, options: int) -> Instance:
    mdp = MDP.from_arrays(np.zeros((stages, 1, options), dtype=int))
    return Instance(mdp, Gaussian(np.zeros(mdp.n_arcs), 1.0))


# name -> instance and epsilon: every plan is as good as every other
TIES: dict[str, tuple[Instance, float]] = {
    **{f"minimax_hard(2, 2, {h})": (families.minimax_hard(2, 2, h), float(np.sqrt(h)) / 3) for h in (9, 18, 36, 72)},
    "20 stages x 4 options": (_flat(20, 4), 2.2),
    "72 stages x 2 options": (_flat(72, 2), 3.5),
}


def mean_trials(
    spec: dict[str, Any], instance: Instance, epsilon: float, delta: float, runs: int
) -> tuple[float, bool]:
    """Return the mean trials, and whether some run was cut."""
    result = simulate({**spec, "delta": delta}, instance, runs, 0, [epsilon], budget=BUDGET)
    return result.mean_tau(), bool(result.censored.any())


def geometric(values: list[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def family_table(instances: int, runs: int, other_runs: int) -> None:
    """Print the ratios of the other learners to Challenger, family by family."""
    print(
        f"{'family':<26}{'Challenger':>11}{'wrong':>7}" + "".join(f"{f'{o} x':>12}" for o in OTHERS) + f"{'target':>8}"
    )
    for name, (make, target) in FAMILIES.items():
        ours, wrong, ratios = [], 0.0, {other: [] for other in OTHERS}  # type: ignore[var-annotated]
        cut = dict.fromkeys(OTHERS, False)
        for seed in range(instances):
            instance, epsilon = make(seed)
            result = simulate({"name": "Challenger", "delta": 0.1}, instance, runs, 0, [epsilon], budget=BUDGET)
            ours.append(result.mean_tau())
            wrong += result.failure_rate() / instances
            for other, spec in OTHERS.items():
                if other == "WholePlan" and instance.mdp.log_paths > np.log(MAX_PLANS):
                    continue
                try:
                    trials, was_cut = mean_trials(spec, instance, epsilon, 0.1, other_runs)
                except SurepathError as error:
                    print(f"  {other} refuses {instance.id}: {error}")
                    continue
                ratios[other].append(trials / ours[-1])
                cut[other] |= was_cut
        shown = [f"{'>' * cut[o]}{geometric(ratios[o]):.1f}" if ratios[o] else "-" for o in OTHERS]
        row = f"{name:<26}{geometric(ours):>11,.0f}{wrong:>7.2%}" + "".join(f"{x:>12}" for x in shown)
        print(row + f"{target:>7.0f}x", flush=True)
        record(f"trials of Challenger, {name}", geometric(ours))
        for other in (o for o in OTHERS if ratios[o]):
            record(f"trials of {other} over Challenger's, {name}", geometric(ratios[other]), "x")
        record(f"wrong answers of Challenger, {name}", 100 * wrong, "%", "at most 10 %")


def _correlated(seed: int) -> tuple[Instance, float]:
    """Draw four steps of three options with scores 0 or 1 that move together."""
    mdp = MDP.from_arrays(np.zeros((4, 1, 3), dtype=int), reward_range=(0, 1))
    return Instance(mdp, Shared(Bernoulli(np.random.default_rng(seed).random(mdp.n_arcs)), 0.9)), 0.5


def price_table(instances: int, runs: int) -> None:
    """Print the trials under any dependence over those under independence, worlds alike; at most 2.4 are wanted."""
    worlds = {f"{name}, epsilon above 0": make for name, (make, _) in FAMILIES.items()}
    for name, (exact, _) in BEST_ITSELF.items():
        worlds[f"{name}, epsilon 0"] = lambda seed, exact=exact: (exact(seed), 0.0)  # type: ignore[misc]
    worlds["correlated 0 or 1, 4x3, betting"] = _correlated
    print(f"\n{'any dependence, delta = 0.1':<40}{'any':>9}{'independent':>13}{'ratio':>8}{'wrong':>8}{'wrong':>8}")
    for name, make in worlds.items():
        taus: dict[str, list[float]] = {"any": [], "independent": []}
        wrong = dict.fromkeys(taus, 0.0)
        for seed in range(instances):
            instance, epsilon = make(seed)
            noise = {"noise": "betting"} if make is _correlated else {}
            for dependence in taus:
                spec = {"name": "Challenger", "delta": 0.1, "dependence": dependence, **noise}
                result = simulate(spec, instance, runs, 0, [epsilon], budget=BUDGET)
                taus[dependence].append(result.mean_tau())
                wrong[dependence] += result.failure_rate() / instances
        shown = [geometric(taus[dependence]) for dependence in taus]
        ratio = shown[0] / shown[1]
        print(
            f"  {name:<38}{shown[0]:>9,.0f}{shown[1]:>13,.0f}{ratio:>8.2f}"
            f"{wrong['any']:>8.1%}{wrong['independent']:>8.1%}",
            flush=True,
        )
        record(f"trials under any dependence over independent ones, {name}", ratio, "x", "2.4")


BASELINES = ("none", "today's plan, step by step", "the mean of today's plan")


def trials_of_cases(instance: Instance, shared: float, baseline: str, seed: int) -> tuple[int, bool]:
    """Play until the best plan is proven, where a case moves all scores of a trial and what is stored of today's plan.

    `shared` is the correlation of two scores of a trial. Step by step is what `study.reference` takes off.
    """
    mdp, rng, own = instance.mdp, np.random.default_rng(seed), (1 - shared) ** 0.5
    spread = dict(zip(BASELINES, (1.0, own * 2**0.5, own * (1 + 1 / mdp.horizon) ** 0.5)))[baseline]
    learner = Challenger(mdp, 0.0, 0.1, spread * instance.sigma)
    today = learner.ask()
    while not learner.stopped:
        path, case = learner.ask(), shared**0.5 * rng.standard_normal()
        noise = case + own * rng.standard_normal((2, mdp.horizon))
        stored = instance.means[today] + instance.sigma[today] * noise[1]
        taken = dict(zip(BASELINES, (None, stored, stored.mean())))[baseline]
        learner.tell(path, instance.means[path] + instance.sigma[path] * noise[0], baseline=taken)
    return learner.episodes, not instance.is_within(learner.recommend(), 0.0)


def baseline_table(instances: int, runs: int, shared: float = 0.8) -> None:
    """Print the trials without and with a baseline, on chains whose best plan is at least 0.05 better than others."""
    chains = (families.chain(8, 4, seed=seed, sigma=0.2) for seed in itertools.count())
    worlds = list(itertools.islice((one for one in chains if theory.gaps(one).minimum >= 0.05), instances))
    print(f"\nchain 8x4, sigma 0.2, epsilon 0, correlation {shared:g}, delta = 0.1")
    print(f"  {'baseline':<38}{'trials':>9}{'wrong':>8}")
    for baseline in BASELINES:
        plays = np.array([[trials_of_cases(one, shared, baseline, run) for run in range(runs)] for one in worlds])
        mean = geometric(plays[..., 0].mean(axis=1).tolist())
        print(f"  {baseline:<38}{mean:>9,.0f}{plays[..., 1].mean():>8.1%}", flush=True)
        record(f"trials at correlation {shared:g}, chain 8x4, baseline {baseline}", mean)


def totals_table(runs: int) -> None:
    """Print the trials on four lines of 20 steps with independent noise, without and with a sigma of totals."""
    shared = lines(20, "comonotone")[0]
    instance = Instance(shared.mdp, Gaussian(shared.means, 0.5))
    print("\nfour lines of 20 steps that share none, gap 1, sigma 0.5, epsilon 0, delta = 0.1")
    for name, more in {
        "independent": {"dependence": "independent"},
        "any": {"dependence": "any"},
        "any, total_sigma 2.24": {"dependence": "any", "total_sigma": 0.5 * 20**0.5},
    }.items():
        trials, _ = mean_trials({"name": "Challenger", **more}, instance, 0.0, 0.1, runs)
        print(f"  {name:<38}{trials:>9,.0f}", flush=True)
        record(f"trials on four lines of 20 steps, {name}", trials)


def limit_table(instances: int, runs: int) -> None:
    """Print the ratio of Challenger to the limit at epsilon = 0, by delta."""
    print(f"\nepsilon = 0 on S=A=2 H=3{'delta':>12}{'Challenger':>12}{'limit':>9}{'ratio':>8}{'worst':>8}{'target':>8}")
    worlds = [families.paper_random(2, 2, 3, seed=seed) for seed in range(instances)]
    times = [theory.characteristic_time(world) for world in worlds]
    chosen = [(world, time) for world, time in zip(worlds, times) if time.unique and time.lower > 0]
    for delta, target in EXACT.items():
        ours = [mean_trials({"name": "Challenger"}, world, 0.0, delta, runs)[0] for world, _ in chosen]
        limits = [time.bound(delta) for _, time in chosen]
        ratios = [a / b for a, b in zip(ours, limits)]
        cells = f"{geometric(ours):>12,.0f}{geometric(limits):>9,.0f}{geometric(ratios):>8.2f}{max(ratios):>8.2f}"
        print(f"{delta:>36g}{cells}{target:>8}", flush=True)
        record(f"Challenger over the limit, delta {delta:g}", geometric(ratios), "x", str(target))


def best_table(instances: int, runs: int) -> None:
    """Print the trials at epsilon = 0 on larger problems beside those of whole paths under the detour prior."""
    print(f"\nepsilon = 0, delta = 0.1{'Challenger':>22}{'wrong':>8}{'before':>10}{'fewer by':>10}{'target':>8}")
    for name, (make, before) in BEST_ITSELF.items():
        ours, wrong = [], 0.0
        for seed in range(instances):
            result = simulate({"name": "Challenger", "delta": 0.1}, make(seed), runs, 0, [0.0], budget=BUDGET)
            ours.append(result.mean_tau())
            wrong += result.failure_rate() / instances
        mean = geometric(ours)
        print(
            f"  {name:<32}{mean:>12,.0f}{wrong:>8.2%}{before:>10,.0f}{1 - mean / before:>10.0%}{'15%':>8}", flush=True
        )
        record(f"fewer trials for the best itself, {name}", 100 * (1 - mean / before), "%", "15 %")


def ties_table(runs: int) -> None:
    """Print the trials where all plans tie beside the design's, and the most that the theorem allows."""
    heads = f"{'epsilon':>11}{'design':>8}{'Challenger':>12}{'ratio':>7}{'most':>7}{'bound':>10}"
    print(f"\nall plans tie, delta = 0.1{heads}")
    for name, (instance, epsilon) in TIES.items():
        learner = Challenger(instance.mdp, epsilon, 0.1, 1.0, dependence="independent")
        design = Design(instance.mdp, epsilon, 0.1, 1.0).schedule.episodes
        result = simulate(learner, instance, runs, 0, budget=BUDGET)
        bound = most_trials(instance.mdp, learner.bound[-1], 0.1)
        ratios = f"{result.mean_tau() / design:>7.2f}{result.tau.max() / design:>7.2f}"
        record(f"Challenger over the design where all plans tie, {name}", result.mean_tau() / design, "x", "1.5")
        print(f"  {name:<25}{epsilon:>10.3g}{design:>8,}{result.mean_tau():>12,.0f}{ratios}{bound:>10,.0f}", flush=True)


def bound_table(problems: int, runs: int) -> None:
    """Print how near the longest run comes to the theorem's bound on the trials, over many small problems."""
    rng, most, above, total = np.random.default_rng(0), 0.0, 0, 0
    for _ in range(problems):
        states, actions, horizon = (int(rng.integers(low, 4)) for low in (1, 2, 1))
        mdp = MDP.from_arrays(rng.integers(states, size=(horizon, states, actions)))
        instance = Instance(mdp, Gaussian(rng.choice([0.0, 0.1, 1.0]) * rng.random(mdp.n_arcs), 1.0))
        learner = Challenger(mdp, float(rng.choice([0.7, 1.5, 3.0])), 0.1, 1.0, dependence="independent")
        result = simulate(learner, instance, runs, 0, budget=BUDGET)
        part = result.tau / most_trials(mdp, learner.bound[-1], 0.1)
        most, above, total = max(most, float(part.max())), above + int((part > 1).sum()), total + len(part)
    record(f"longest of {total:,} runs over the theorem's bound", 100 * most, "%", "at most 100 %")
    print(f"\nbound on the trials: {above} of {total:,} runs above it; the longest took {most:.1%} of it")


def ablation_table(instances: int, runs: int) -> None:
    """Print the trials of every sampling rule, as a geometric mean."""
    for name in list(FAMILIES)[:2]:
        print(f"\ntrials on {name}")
        worlds = [FAMILIES[name][0](seed) for seed in range(instances)]
        for sampling in ("separating", "max-diameter"):
            spec = {"name": "Challenger", "sampling": sampling}
            mean = geometric([mean_trials(spec, world, e, 0.1, runs)[0] for world, e in worlds])
            print(f"  {sampling:<36}{mean:>12,.0f}", flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Print the tables; --quick plays 8 instances x 4 runs in place of 50 x 20."""
    quick = "--quick" in (arguments or [])
    instances, runs, other_runs = (8, 4, 1) if quick else (50, 20, 4)
    begun = time.monotonic()
    print(f"{instances} instances a family, {runs} runs of Challenger and {other_runs} of the others each")
    price_table(5 if quick else 20, min(runs, 4))
    totals_table(10)
    baseline_table(5 if quick else 20, min(runs, 4))
    if "--prices" in (arguments or []):
        return
    family_table(instances, runs, other_runs)
    limit_table(instances, runs)
    best_table(instances, runs)
    ties_table(3 if quick else 20)
    bound_table(20 if quick else 100, runs)
    ablation_table(min(instances, 20), min(runs, 4))
    print(f"\n{(time.monotonic() - begun) / 60:.1f} minutes")


if __name__ == "__main__":
    main(sys.argv[1:])
