"""Challenger's wrong answers over the hard cases of the test suite: every wrong plan lies just outside epsilon."""

from __future__ import annotations

from tests.learners.challenger.test_guarantee import CASES, QUICK, wrong

from surepath import Challenger


def main() -> None:
    """Print wrong answers case by case, and in all, at two deltas."""
    print(f"{'H':>3} {'arcs':>5} {'epsilon':>8} {'runs':>6} {'wrong, 0.1':>11} {'wrong, 0.5':>11}  settings")
    total, failed = 0, {0.1: 0, 0.5: 0}
    for instance, epsilon, runs, settings in CASES:
        found = {}
        for delta in failed:
            learner = Challenger(instance.mdp, epsilon, delta, instance.sigma, **{**QUICK, **settings})
            found[delta] = wrong(learner, instance, runs)
            failed[delta] += found[delta]
        total += runs
        mdp, words = instance.mdp, ", ".join(map(str, settings.values())) or "defaults"
        counts = f"{found[0.1]:>11} {found[0.5]:>11}"
        print(f"{mdp.horizon:>3} {mdp.n_arcs:>5} {epsilon:>8g} {runs:>6,} {counts}  {words}")
    share = {delta: count / total for delta, count in failed.items()}
    print(f"all {total:,} runs at each delta: {share[0.1]:.2%} wrong at 0.1, {share[0.5]:.2%} at 0.5")


if __name__ == "__main__":
    main()
