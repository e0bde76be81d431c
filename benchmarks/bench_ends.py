"""Plans with one score at the end: trials of Rounds, beside one look, one option per plan and step scores; errors.

`python -m benchmarks.bench_ends [part ...]`, parts as in PARTS. delta = 0.1. Means are uniform on [0, 1] and noise is
Gaussian in the first table; "static" is the optimal design, looked at after every 15 % with all scores pooled, "one
look" the same of proven size, "plan" is WholePlan, "step" Challenger with a score for every step whose noises add up to
the same. Figures are geometric means, of one run on each of 40 instances; static and plan on the first 10, plan on one
where there are 65,536. Rows with epsilon 0 take instances whose best plan leads by 0.045, and how hard these are varies
more than a prototype's few can show: there the trials over those of step scores, on the same instances, are compared.
The prototype's chain 8x4 with epsilon 0.5 is about that of seeds 0 to 7: step scores take 110 trials there, 145 here.
In the second table scores lie in [0, 1]: "known" is told their standard deviation, a yardstick and not always a valid
sigma, "learned" knows the range alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.learners.rounds import worlds

from benchmarks.record import record
from surepath import MDP, Challenger, Gaussian, Instance, Rounds, simulate, theory
from surepath._checks import FloatArray, IntArray
from surepath.kernels.jit import kernel
from surepath.kernels.sweeps import reality_of
from surepath.learners.rounds.bound import Bets, Prior, prior_cost
from surepath.learners.rounds.check import judge
from surepath.learners.rounds.design import Blocks, Fit, Round, fit_round, plan_round
from surepath.model.paths import best_path, values_through

FIRST_SEED, INSTANCES, FEW = 2000, 40, 10
LEAD = 0.045
Make = Callable[[int, float], Instance]
FREE53: Make = lambda seed, sigma: worlds.free(5, 3, seed, sigma)  # noqa: E731
FREE84: Make = lambda seed, sigma: worlds.free(8, 4, seed, sigma)  # noqa: E731
CHAIN53: Make = lambda seed, sigma: worlds.chain(5, 3, seed, sigma)  # noqa: E731
CHAIN84: Make = lambda seed, sigma: worlds.chain(8, 4, seed, sigma)  # noqa: E731
LAYERED: Make = lambda seed, sigma: worlds.layered(4, 3, 10, seed, sigma)  # noqa: E731
# name, instance, sigma, epsilon, trials of the first prototype with end scores and step scores
ROWS: list[tuple[str, Make, float, float, float, float]] = [
    ("free 5x3", FREE53, 0.5, 0.0, 1039, 168),
    ("free 5x3", FREE53, 1.0, 0.3, 1012, 169),
    ("free 5x3", FREE53, 0.5, 0.3, 253, 41),
    ("free 8x4", FREE84, 0.5, 0.0, 3262, 372),
    ("free 8x4", FREE84, 1.0, 0.4, 1780, 181),
    ("free 8x4", FREE84, 0.5, 0.4, 450, 47),
    ("chain 5x3", CHAIN53, 0.5, 0.0, 959, 293),
    ("chain 5x3", CHAIN53, 0.5, 0.3, 605, 124),
    ("chain 8x4", CHAIN84, 0.5, 0.0, 3198, 511),
    ("chain 8x4", CHAIN84, 0.5, 0.5, 1149, 107),
    ("S4 A3 H10", LAYERED, 0.5, 0.0, 3963, 1047),
    ("S4 A3 H10", LAYERED, 0.5, 0.5, 1188, 116),
]
LAWS: list[tuple[str, worlds.Scores, float, tuple[float, float]]] = [
    ("beta, sd .05", worlds.beta(0.05), 0.05, (0.03, 0.04)),
    ("mean of 20 answers", worlds.answers(20), 0.1, (0.03, 0.04)),
    ("beta, sd .1", worlds.beta(0.1), 0.1, (0.03, 0.04)),
    ("beta, sd .2", worlds.beta(0.2), 0.2, (0.06, 0.08)),
    ("binary", worlds.answers(1), 0.45, (0.1, 0.1)),
]


def mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def instances(make: Make, sigma: float, epsilon: float, count: int = FEW) -> list[Instance]:
    """Take the first instances, those of a clear lead where epsilon is 0."""
    found, seed = [], FIRST_SEED
    while len(found) < count:
        instance = make(seed, sigma)
        seed += 1
        through = values_through(instance.mdp, instance.gains)
        through[instance.best_path()] = -np.inf
        if epsilon > 0 or instance.optimal_return - through.max() >= LEAD:
            found.append(instance)
    return found


@kernel
def pooled_bounds(
    blocks: Blocks, prior: Prior, fit: Fit, cost: float, incumbent: IntArray, paths: IntArray, single: int
) -> tuple[FloatArray, FloatArray]:
    """Compute D and its Gaussian bound for paths against the incumbent, from all scores pooled, at one look."""
    lead, bound = np.zeros(len(paths)), np.zeros(len(paths))
    for t in range(len(paths)):
        z = np.zeros(len(fit.effect))
        for h in range(len(incumbent)):
            z[paths[t, h]] += 1.0
            z[incumbent[h]] -= 1.0
        some, tau = np.flatnonzero(z), 0.0
        for i in some:
            lead[t] += z[i] * fit.effect[i]
            for j in some:
                tau += z[i] * z[j] * fit.spread[i, j]
        y = cost + prior_cost(blocks, prior, incumbent, paths[t], single)
        bound[t] = lead[t] + np.sqrt(2.0 * tau * y)
    return lead, bound


def static(instance: Instance, sigma: float, epsilon: float) -> float:
    """Count the trials of the optimal design with looks every 15 %: look k has delta / (k (k + 1))."""
    mdp, rng = instance.mdp, np.random.default_rng(1)
    learner = Rounds(mdp, epsilon, 0.1, sigma)
    blocks, prior, everything = learner._blocks, learner._prior, np.ones(mdp.n_arcs, dtype=np.bool_)
    paths, scores = np.zeros((0, mdp.horizon), dtype=np.int64), np.zeros((0, 1))
    for look in range(1, 10_000):
        more = plan_round(blocks, everything, max(3 * learner.d + 1, len(paths) * 15 // 100), rng)
        seen = instance.gains[more].sum(axis=1) + sigma * rng.normal(size=len(more))
        paths, scores = np.concatenate([paths, more]), np.concatenate([scores, seen[:, None] / sigma])
        fit = fit_round(blocks, Round(paths, scores, everything))
        incumbent, cost = best_path(mdp, fit.effect), float(np.log(10 * look * (look + 1)))

        def bounds(
            others: IntArray, single: bool, fit: Fit = fit, best: IntArray = incumbent, cost: float = cost
        ) -> tuple[FloatArray, FloatArray]:
            return pooled_bounds(blocks, prior, fit, cost, best, others, int(single))

        if judge(mdp, blocks, everything, incumbent, bounds, prior, epsilon, 0.0, None).gap <= epsilon:
            break
    return float(len(paths))


def trials() -> None:
    """Print the table of trials with a known sigma."""
    print("problem, sigma, epsilon    | rounds (prototype)   | step | ratio (prototype) |  static | one look |    plan")
    for name, make, sigma, epsilon, before, steps_before in ROWS:
        there = instances(make, sigma, epsilon, INSTANCES)
        spec = {"name": "Rounds", "epsilon": epsilon, "delta": 0.1}
        ours = [simulate(spec, one, 1, 1) for one in there]
        tau = mean([found.mean_tau() for found in ours])
        wrong = sum(int((~found.correct).sum()) for found in ours)
        steps = [Instance(one.mdp, Gaussian(one.means, sigma / np.sqrt(one.mdp.horizon))) for one in there]
        step = mean([simulate({**spec, "name": "Challenger"}, one, 1, 1).mean_tau() for one in steps])
        d = Rounds(there[0].mdp, 1.0, 0.1, 1.0).d
        print(
            f"{name:10} {sigma:4g} {epsilon:4g} d={d:2}     | {tau:6.0f} ({before:4.0f}) {tau / before:4.2f} | "
            f"{step:4.0f} | {tau / step:5.2f} ({before / steps_before:5.2f})     |",
            end="",
            flush=True,
        )
        row = f"{name}, sigma {sigma:g}, epsilon {epsilon:g}"
        if epsilon > 0:
            record(f"{row}: trials over the prototype's", tau / before, "x", "<= 1.15x")
        else:
            beside = tau / step / (before / steps_before)
            record(f"{row}: trials over those of step scores, over the prototype's", beside, "x", "<= 1.15x")
        record(f"{row}: wrong answers of {INSTANCES}", wrong)
        few = there[:FEW]
        look, by_plan, fixed = float("nan"), float("nan"), mean([static(one, sigma, epsilon) for one in few])
        record(
            f"{row}: trials over those of the fixed design", mean([one.mean_tau() for one in ours[:FEW]]) / fixed, "x"
        )
        if epsilon > 0:
            look = mean([theory.design(one.mdp, scores="end").trials(epsilon, 0.1, sigma) for one in few])
        if epsilon > 0 or there[0].mdp.n_paths < 1000:
            one_option = {"name": "WholePlan", "epsilon": epsilon, "delta": 0.1, "widths": "mixture"}
            some = few if there[0].mdp.n_paths < 1000 else few[:1]
            by_plan = mean([simulate(one_option, one, 1, 1).mean_tau() for one in some])
        print(f" {fixed:7.0f} | {look:8.0f} | {by_plan:7.0f} | wrong {wrong}", flush=True)


def learned() -> None:
    """Print the table of trials where only the range of scores is known."""
    print("problem, law, epsilon                  | known | learned | ratio | wrong")
    for name, make, which in (("free 5x3", FREE53, 0), ("free 8x4", FREE84, 1), ("chain 5x3", CHAIN53, 0)):
        for law_name, law, sd, epsilons in LAWS:
            epsilon, taus, wrong = epsilons[which], ([], []), 0
            for seed in range(FIRST_SEED, FIRST_SEED + FEW):
                instance = make(seed, 1.0)
                effect = worlds.in_range(instance)
                for of, noise in ((taus[0], {"sigma": sd}), (taus[1], {"reward_range": (0, 1)})):
                    runs = [
                        worlds.play(Rounds(instance.mdp, epsilon, 0.1, **noise, seed=run), effect, law, run)
                        for run in range(2)
                    ]
                    of.append(float(np.mean([run.episodes for run in runs])))
                    best = effect[instance.best_path()].sum()
                    wrong += sum(best - effect[run.recommend()].sum() > epsilon for run in runs)
            known, own = mean(taus[0]), mean(taus[1])
            print(
                f"{name:10} {law_name:20} {epsilon:5g} | {known:5.0f} | {own:7.0f} | {own / known:5.2f} | {wrong}",
                flush=True,
            )
            target = "<= 4x" if sd == 0.05 else "<= 1.5x" if sd == 0.1 else ""
            record(f"{name}, {law_name}: range learned over known sd", own / known, "x", target)


def shifted(sigma: float, size: float) -> worlds.Scores:
    """Gaussian scores with an offset of its own for every round, of `size` sigmas."""

    def draw(value: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        common = size * sigma * rng.normal()
        return np.asarray(value + sigma * rng.normal(size=len(value)) + common)

    return draw


def offsets() -> None:
    """Print what offsets of 10 sigma a round cost: nothing."""
    print("problem, sigma, epsilon | without | with offsets of 10 sigma a round | ratio")
    for name, make, sigma, epsilon in (("free 8x4", FREE84, 0.5, 0.4), ("chain 5x3", CHAIN53, 0.5, 0.3)):
        found: list[list[float]] = [[], []]
        for instance in instances(make, sigma, epsilon):
            for shift in (0, 1):
                taus = []
                for run in range(4):
                    learner = Rounds(instance.mdp, epsilon, 0.1, sigma, seed=run)
                    taus.append(worlds.play(learner, instance.means, shifted(sigma, 10 * shift), run).episodes)
                found[shift].append(float(np.mean(taus)))
        ratio = mean(found[1]) / mean(found[0])
        print(
            f"{name:10} {sigma:g} {epsilon:g} | {mean(found[0]):6.0f} | {mean(found[1]):6.0f} | {ratio:.3f}", flush=True
        )
        record(f"{name}: trials with offsets of 10 sigma over without", ratio, "x", "1x")


def errors(runs: int = 4000) -> None:
    """Print how often bounds are violated, and mutants of them."""
    deltas, rng = [0.1, 0.5, 0.9], np.random.default_rng(5)
    print(f"known sigma, {runs} runs a cell: the best option is ever proven worse, at delta 0.1, 0.5, 0.9")
    for options, rounds, mutant in (
        (2, 60, ""),
        (2, 60, "mixture"),
        (2, 60, "pooled"),
        (60, 15, ""),
        (60, 15, "prior"),
    ):
        count = runs if not mutant else runs // 8
        rates = np.mean([worlds.union_violated(deltas, options, rounds, rng, mutant) for _ in range(count)], axis=0)
        shown = " / ".join(f"{rate:.3f}" for rate in rates)
        print(f"{options:3} options, {mutant or 'as it is':10} | {shown}", flush=True)
        record(f"{options} options, {mutant or 'as it is'}: violations at delta 0.1", float(rates[0]))


def bets(runs: int = 4000) -> None:
    """Print how often the bound is violated where the range alone is known, and mutants of it."""
    deltas, rng = [0.1, 0.5, 0.9], np.random.default_rng(6)
    print(f"range alone, {runs} runs a cell: the bound of one pair is ever violated in 30 rounds")
    for law_name, law in (("losses .05", worlds.losses(0.05)), ("binary", worlds.answers(1))):
        for kind in (Bets, worlds.OwnScore, worlds.InSample):
            count = runs if kind is Bets else runs // 8
            hits = np.mean([worlds.pair_violated(kind, law, deltas, 2, 30, rng) for _ in range(count)], axis=0)
            print(f"{law_name:11} {kind.__name__:10} | {' / '.join(f'{rate:.3f}' for rate in hits)}", flush=True)
            record(f"{law_name}, {kind.__name__}: violations at delta 0.1", float(hits[0]))


def answers(runs: int = 4000) -> None:
    """Print how often answers are wrong where every wrong plan lies just outside epsilon."""
    print(f"wrong answers of {runs} runs, gap .31, epsilon .3, sigma 1, at delta 0.1, 0.5, 0.9")
    for name, base in (("free 4x3", worlds.free(4, 3, 0, 1.0)), ("chain 4x2", worlds.chain(4, 2, 0, 1.0))):
        means = np.zeros(base.mdp.n_arcs)
        means[base.best_path()] = 0.31
        near = worlds.noisy_at_the_end(base.mdp, means, 1.0)
        spec = {"name": "Rounds", "epsilon": 0.3}
        found = [simulate({**spec, "delta": delta}, near, runs, 3) for delta in (0.1, 0.5, 0.9)]
        wrong = [int((~one.correct).sum()) for one in found]
        print(f"{name:10} | {' / '.join(map(str, wrong))}", flush=True)
        record(f"{name}: wrong answers at delta 0.1, of {runs}", wrong[0])


def optuna() -> None:
    """Print what Optuna's TPE finds with as many trials as Rounds took."""
    try:
        import optuna as other
    except ImportError:
        print("Optuna is not installed: pip install optuna")
        return
    other.logging.set_verbosity(other.logging.ERROR)
    print(
        "free 8x4, sigma .5, epsilon .4: mean regret, plans within epsilon; TPE plays its trials and returns its best"
    )
    ours, theirs = [], []
    for seed, instance in enumerate(instances(FREE84, 0.5, 0.4)):
        learner = Rounds(instance.mdp, 0.4, 0.1, 0.5, seed=seed)
        worlds.play(learner, instance.means, lambda value, rng: value + 0.5 * rng.normal(size=len(value)), seed)
        ours.append(instance.regret_of(learner.recommend()))
        rng = np.random.default_rng(seed)

        def score(trial: other.Trial, instance: Instance = instance, rng: np.random.Generator = rng) -> float:
            start = instance.mdp.stage_arc
            arcs = [start[h] + trial.suggest_categorical(str(h), [0, 1, 2, 3]) for h in range(8)]
            return float(instance.means[arcs].sum() + 0.5 * rng.normal())

        study = other.create_study(direction="maximize", sampler=other.samplers.TPESampler(seed=seed))
        study.optimize(score, n_trials=learner.episodes)
        start = instance.mdp.stage_arc
        theirs.append(instance.regret_of(np.array([start[h] + study.best_params[str(h)] for h in range(8)])))
    for name, regrets in (("Rounds", ours), ("Optuna TPE", theirs)):
        within = sum(regret <= 0.4 for regret in regrets)
        print(f"{name:10} | {np.mean(regrets):.3f} | {within} of {len(regrets)}", flush=True)
        record(f"{name}: mean regret at equal budget", float(np.mean(regrets)))


def middle() -> None:
    """Print trials with a score for every step, for every second one, and one at the end; effects add up."""
    steps = {f"step {i}": [f"{i}{option}" for option in "abc"] for i in range(1, 7)}
    ways: list[tuple[str, dict[str, Any], Any]] = [
        ("every step", {}, Challenger),
        ("steps 2, 4 and 6", {"scores": ["step 2", "step 4", "step 6"]}, Challenger),
        ("the end", {"scores": "end"}, Challenger),
        ("the end, effects add up", {"scores": "end", "structure": "additive"}, Rounds),
    ]
    for name, own, learner_of in ways:
        needed = []
        for seed in range(INSTANCES if name != "the end" else 3):
            rng = np.random.default_rng(seed)
            effect = {option: rng.random() for options in steps.values() for option in options}
            mdp = MDP.from_steps(steps, depends="none", **own)
            ends = [*mdp.score_stages]
            widths = np.diff([-1, *ends]) if mdp.plans is None and len(ends) > 1 else np.array([len(steps)])
            independent = {"dependence": "independent"} if learner_of is Challenger else {}
            learner = learner_of(mdp, 0.4, 0.1, sigma=0.2 * np.sqrt(widths.max()), **independent)
            trials = 0
            while not learner.stopped:
                for path in np.atleast_2d(learner.ask()):
                    plan = list(mdp.plan(path).values())
                    parts = np.split([effect[str(one)] for one in plan], np.cumsum(widths)[:-1])
                    scores = [part.sum() + 0.2 * np.sqrt(len(part)) * rng.standard_normal() for part in parts]
                    learner.tell(path, scores)
                    trials += 1
            needed.append(float(trials))
        print(f"{name:24} {np.median(needed):8,.0f}  ({len(needed)} worlds)", flush=True)
        record(f"6 steps of 3 options, scored at {name}: trials", float(np.median(needed)))


def seconds() -> None:
    """Print the computing time of 12 steps x 10 options, 10^12 plans."""
    run = np.array([1.0])
    for seed in range(FIRST_SEED, FIRST_SEED + 3):
        instance = worlds.free(12, 10, seed, 0.5)
        learner, begun = Rounds(instance.mdp, 1.0, 0.1, 0.5), time.process_time()
        found = learner._run(reality_of(instance), np.random.default_rng(seed), 10**6, run)
        spent = time.process_time() - begun
        print(f"free 12x10, sigma .5, epsilon 1: {found.tau[0]} trials, {spent:.1f} s of computing", flush=True)
        if seed > FIRST_SEED:  # the first compiles
            record("free 12x10: seconds of computing", spent, "s", "< 5 s")


PARTS: dict[str, Callable[[], None]] = {
    "trials": trials,
    "learned": learned,
    "offsets": offsets,
    "errors": errors,
    "bets": bets,
    "answers": answers,
    "optuna": optuna,
    "middle": middle,
    "seconds": seconds,
}


def main(chosen: list[str] | None = None) -> None:
    """Print the parts chosen, all by default."""
    for name in chosen or PARTS:
        print(f"-- {name}", flush=True)
        PARTS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
