"""Optuna and surepath on the same problem with the same number of trials.

The problem is a pipeline of five steps with four options each (1,024 plans); each trial gives a noisy score for every
step. surepath plays until its answer is proven; Optuna gets the same number of trials, with its default sampler (TPE).
Both are judged by what nobody tells them: how far the true worth of their answer is from the best plan's.

What is not equal, and cannot be made so: Optuna sees the sum of the scores, for which it is made, and surepath the
score of every step. Optuna's answer is its best trial, which is also its luckiest one. It needs no bound on the noise,
takes numbers and conditional choices as well as options, prunes, and has no steps to describe. surepath ends by itself
and proves its answer.

Where Optuna is ahead: when a plan gets one score at its end, nothing is shared between plans, and with so few trials
surepath has hardly tried any of the 1,024. The last row of the table is that case, with the trials of the first.

Run: python examples/optuna_side_by_side.py [--worlds 10]        (needs optuna)
"""

import argparse

import numpy as np
import optuna

from surepath import MDP, Challenger, families

STEPS, OPTIONS, SIGMA, EPSILON, DELTA = 5, 4, 0.1, 0.3, 0.1


def with_surepath(world, rng):
    """Play until it is proven; return the true shortfall after every trial, and the number of trials."""
    learner = Challenger(world.mdp, EPSILON, DELTA, SIGMA)
    shortfalls = []
    while not learner.stopped:
        path = learner.ask()
        learner.tell(path, world.means[path] + SIGMA * rng.standard_normal(STEPS))
        shortfalls.append(world.regret_of(learner.recommend()))
    return shortfalls, learner.episodes


def with_end_scores(world, rng, trials):
    """Tell surepath the sum only, as Optuna gets it: every plan is one option. Return all shortfalls."""
    steps = {str(step): [str(option) for option in range(OPTIONS)] for step in range(STEPS)}
    mdp = MDP.from_steps(steps, scores="end", sigma=SIGMA * STEPS**0.5)
    learner = Challenger(mdp, EPSILON, DELTA)
    shortfalls = []

    def in_the_world(path):
        return world.mdp.path({int(step): int(option) for step, option in mdp.plan(path).items()})

    for _ in range(trials):
        path = learner.ask()
        learner.tell(path, [world.means[in_the_world(path)].sum() + SIGMA * rng.standard_normal(STEPS).sum()])
        shortfalls.append(world.regret_of(in_the_world(learner.recommend())))
    return shortfalls


def with_optuna(world, rng, trials, seed):
    """Let Optuna maximise the sum of the scores; return the true shortfall of its best trial after every trial."""

    def objective(trial):
        plan = {step: trial.suggest_categorical(str(step), list(range(OPTIONS))) for step in range(STEPS)}
        path = world.mdp.path(plan)
        return float(world.means[path].sum() + SIGMA * rng.standard_normal(STEPS).sum())

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    shortfalls = []

    def note(study, _):
        plan = {int(step): option for step, option in study.best_params.items()}
        shortfalls.append(world.regret_of(world.mdp.path(plan)))

    study.optimize(objective, n_trials=trials, callbacks=[note])
    return shortfalls


def main():
    parser = argparse.ArgumentParser(description="Optuna and surepath side by side.")
    parser.add_argument("--worlds", type=int, default=10)
    worlds = parser.parse_args().worlds
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    shares = (0.25, 0.5, 1.0)
    rows, proven = {"surepath": [], "Optuna": [], "surepath, one score at the end": []}, []
    for seed in range(worlds):
        world = families.chain(STEPS, OPTIONS, seed=seed, sigma=SIGMA)
        ours, trials = with_surepath(world, np.random.default_rng(seed))
        theirs = with_optuna(world, np.random.default_rng(seed), trials, seed)
        proven.append(trials)
        blind = with_end_scores(world, np.random.default_rng(seed), trials)
        for name, shortfalls in zip(rows, (ours, theirs, blind)):
            rows[name].append([shortfalls[round(share * trials) - 1] for share in shares])
    print(f"{worlds} worlds; proven within {EPSILON} of the best after {np.mean(proven):.0f} trials on average")
    print("true distance from the best plan after a quarter, half and all of these trials (mean; worst):")
    for name, found in rows.items():
        table = np.array(found)
        print(f"  {name:30}" + "".join(f"{table[:, k].mean():8.3f} ({table[:, k].max():.3f})" for k in range(3)))


if __name__ == "__main__":
    main()
