"""figure-budget: how good the pick is after a fixed number of trials, and how good it is proven to be."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._checks import FloatArray
from surepath.experiments.drawing import Panel, Series
from surepath.experiments.figures import common
from surepath.experiments.figures.common import Claim, Found, Frames, Options
from surepath.experiments.stats import permutation_test
from surepath.model import families
from surepath.model.paths import best_path
from surepath.model.worlds import Instance
from surepath.simulation.simulate import simulate

if TYPE_CHECKING:
    import polars

TITLE = "Fixed budgets: regret of the pick, and its proven gap"
READING = (
    "Above: how far the recommended plan is from the best after so many trials, mean over worlds; lower is better."
    " Below: the gap that is proven then, median over worlds; a line begins where something is proven, "
    "and methods without a line prove nothing. Solid: learners with a proof. Dashed: uniform play, Thompson sampling "
    "and UCB, each with dynamic programming over a normal model that knows the prior of the means, and TPE of Optuna, "
    "which sees the sum of a plan's scores only (left out where Optuna is not installed). Worlds are chains with means "
    "uniform on [0, 1]. Learners that list all plans play the smallest problem only."
)
PROBLEMS = ((5, 3), (8, 4), (10, 6))  # steps, options
TRIALS = (25, 50, 100, 200)
EPSILON, SIGMA, WORLDS = 0.1, 0.3, 20
MOST_LISTED = 5_000
LEARNERS: dict[str, dict[str, Any]] = {
    common.CHALLENGER: {"name": "Challenger"},
    common.EPRL_COVERAGE: {"name": "EPRL"},
    common.EPRL_DIAMETER: {"name": "EPRL", "sampling": "max-diameter"},
    common.BPI: {"name": "BPIUCRL"},
    "CLUCB": {"name": "Peer", "method": "clucb"},
    "Rounds": {"name": "Rounds"},
    "Design": {"name": "Design"},
}
LISTING: dict[str, dict[str, Any]] = {
    "CombGame's stop": {"name": "Peer", "method": "combgame"},
    "top-two Thompson": {"name": "Peer", "method": "top-two"},
    "WholePlan": {"name": "WholePlan"},
}
MODELS = ("uniform play", "Thompson", "UCB")
TPE = "TPE on the sum"


def make(options: Options) -> Found:
    """Play every learner and tool in the same worlds."""
    import polars as pl

    rows: list[dict[str, Any]] = []
    for steps, choices in PROBLEMS:
        for world in range(options.runs or WORLDS):
            instance = families.chain(steps, choices, seed=options.seed + world, sigma=SIGMA)
            at = {"problem": f"{steps} steps x {choices} options", "world": world}
            for label, regret, gap in played(instance, options.seed + world):
                rows += [
                    {**at, "learner": label, "trials": t, "regret": r, "gap": g} for t, r, g in zip(TRIALS, regret, gap)
                ]
    frame = pl.DataFrame(rows)
    settings = {"family": "chain", "problems": PROBLEMS, "trials": TRIALS, "epsilon": EPSILON, "sigma": SIGMA}
    settings |= {"worlds": options.runs or WORLDS, "seed": options.seed, "delta": common.DELTA}
    return Found({"worlds": frame}, claims(frame), {**settings, "learners": {**LEARNERS, **LISTING}})


def played(instance: Instance, seed: int) -> list[tuple[str, list[float], list[float]]]:
    """Return regret and proven gap of each method after each number of trials."""
    found, nothing = [], [float("inf")] * len(TRIALS)
    for label, spec in (LEARNERS | (LISTING if instance.mdp.n_paths <= MOST_LISTED else {})).items():
        how: dict[str, Any] = {"workers": 1, "budget": TRIALS[-1], "along": TRIALS}
        along = simulate({**spec, "delta": common.DELTA}, instance, 1, seed, [EPSILON], **how).along.values()
        found.append((label, [float(one.regret[0]) for one in along], [float(one.gap[0]) for one in along]))
    rng = np.random.default_rng(seed)
    found += [(f"{name} + DP", modelled(instance, name, rng), nothing) for name in MODELS]
    if find_spec("optuna"):
        found.append((TPE, summed(instance, seed, rng), nothing))
    return found


def modelled(instance: Instance, name: str, rng: np.random.Generator) -> list[float]:
    """Return the regrets of the path of largest posterior mean; the prior of each mean is that of the worlds."""
    mdp, found = instance.mdp, []
    precision, weighted = np.full(mdp.n_arcs, 12.0), np.full(mdp.n_arcs, 6.0)  # of a uniform law on [0, 1]
    for t in range(1, TRIALS[-1] + 1):
        spread = 1 / np.sqrt(precision)
        if name == "uniform play":
            weight: FloatArray = rng.random(mdp.n_arcs)
        elif name == "Thompson":
            weight = weighted / precision + spread * rng.standard_normal(mdp.n_arcs)
        else:
            weight = weighted / precision + np.sqrt(2 * np.log(t)) * spread
        path = best_path(mdp, weight)
        precision[path] += 1 / instance.sigma[path] ** 2
        weighted[path] += _scores(instance, path, rng) / instance.sigma[path] ** 2
        if t in TRIALS:
            found.append(instance.regret_of(best_path(mdp, weighted / precision)))
    return found


def _scores(instance: Instance, path: Any, rng: np.random.Generator) -> FloatArray:
    return np.asarray(instance.means[path] + instance.sigma[path] * rng.standard_normal(len(path)))


def summed(instance: Instance, seed: int, rng: np.random.Generator) -> list[float]:
    """Return the regrets of the plan with the largest sum seen so far, where TPE chooses the plans."""
    import optuna

    mdp, found = instance.mdp, []
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))

    def path_of(options: dict[str, int]) -> list[int]:
        path, state = [], 0
        for h in range(mdp.horizon):
            path.append(mdp.arc(h, state, options[str(h)]))
            state = options[str(h)]
        return path

    options = int(np.diff(mdp.first).max())
    for t in range(1, TRIALS[-1] + 1):
        trial = study.ask()
        chosen = {str(h): trial.suggest_categorical(str(h), list(range(options))) for h in range(mdp.horizon)}
        study.tell(trial, float(_scores(instance, path_of(chosen), rng).sum()))
        if t in TRIALS:
            found.append(instance.regret_of(np.array(path_of(study.best_params))))
    return found


def panels(frames: Frames) -> list[Panel]:
    """Return the regrets of each problem, then the proven gaps."""
    import polars as pl

    data = frames["worlds"]
    wanted = [pl.col("regret").mean(), pl.col("gap").median()]
    above, below = [], []
    for part in (
        data.group_by("problem", "learner", "trials", maintain_order=True)
        .agg(*wanted)
        .partition_by("problem", maintain_order=True)
    ):
        regrets, gaps = [], []
        for own in part.partition_by("learner", maintain_order=True):
            label, x, y = own["learner"][0], own["trials"].to_list(), own["regret"].to_list()
            dash = "solid" if label in LEARNERS or label in LISTING else "dashed"
            regrets.append(Series(label, x, y, dash=dash))
            proven = own.filter(pl.col("gap").is_finite())
            if proven.height:
                gaps.append(Series(label, proven["trials"].to_list(), proven["gap"].to_list()))
        above.append(Panel(part["problem"][0], "trials", "regret", regrets, y_log=False))
        below.append(Panel(part["problem"][0], "trials", "proven gap", gaps))
    return [*above, *below]


def claims(data: polars.DataFrame) -> list[Claim]:
    """Judge Challenger's regret against each tool without a proof, at the largest budget and over all problems."""
    found, last = [], data.filter(trials=TRIALS[-1]).sort("world")
    for rival in [name for name in (*(f"{one} + DP" for one in MODELS), TPE) if (last["learner"] == name).any()]:
        words, better, worse = [], 0, 0
        for part in last.partition_by("problem", maintain_order=True):
            ours, theirs = (part.filter(learner=name)["regret"].to_numpy() for name in (common.CHALLENGER, rival))
            p, gain = permutation_test(ours, theirs), float(theirs.mean() - ours.mean())
            better, worse = better + (gain > 0 and p < 0.05), worse + (gain < 0 and p < 0.05)
            words.append(f"{ours.mean():.3f} against {theirs.mean():.3f} on {part['problem'][0]} (p = {p:.2g})")
        verdict = False if worse else True if better == len(words) else None
        claim = f"(ours) after {TRIALS[-1]} trials Challenger's pick is closer to the best than that of {rival}"
        found.append(Claim(claim, "; ".join(words), verdict))
    return found
