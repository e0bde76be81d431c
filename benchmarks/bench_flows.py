"""Minimum flows: ours beside the linear program through SciPy's HiGHS, and alone up to N = 10^6.

Times are the best of several, checks included for ours (conservation, demands, flow = cut). HiGHS runs up to the size
where one solve takes about a minute; "-" above it. Values are compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.record import record
from surepath import MDP
from surepath.theory import lower_bound, minimum_flow

# name -> states, actions, stages
GRAPHS = {
    "10^4, 25 stages": (120, 4, 25),
    "10^4, 250 stages": (10, 4, 250),
    "10^5, 80 stages": (330, 4, 80),
    "10^5, 2500 stages": (10, 4, 2500),
    "10^6, 250 stages": (1040, 4, 250),
    "10^6, 5000 stages": (50, 4, 5000),
}
HIGHS_LIMIT = 120_000


def best_of(times: int, call: Callable[[], object]) -> tuple[float, object]:
    """Return the shortest time of several runs, and the answer."""
    shortest, answer = np.inf, None
    for _ in range(times):
        begun = time.perf_counter()
        answer = call()
        shortest = min(shortest, time.perf_counter() - begun)
    return float(shortest), answer


def by_highs(mdp: MDP, demand: np.ndarray) -> float:
    """Solve the linear program of the paper's appendix: least flow out of the start that meets every demand."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    arcs, inner = np.arange(mdp.n_arcs), mdp.n_nodes - 1
    enters, leaves = mdp.target < mdp.n_nodes, mdp.source > 0
    rows = np.concatenate([mdp.target[enters] - 1, mdp.source[leaves] - 1])
    columns = np.concatenate([arcs[enters], arcs[leaves]])
    signs = np.concatenate([np.ones(int(enters.sum())), -np.ones(int(leaves.sum()))])
    size = float(demand.max()) or 1.0  # HiGHS' tolerances are absolute
    answer = linprog(
        (mdp.source == 0).astype(np.float64),
        A_eq=csr_array((signs, (rows, columns)), shape=(inner, mdp.n_arcs)),
        b_eq=np.zeros(inner),
        bounds=np.column_stack([demand / size, np.full(mdp.n_arcs, np.inf)]),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return float(answer.fun * size)


def rivals(mdp: MDP, demand: np.ndarray, repeat: int) -> dict[str, float]:
    """Measure the seconds of each solver on one problem; their values are compared."""
    times, ours = best_of(repeat, lambda: minimum_flow(mdp, demand, integer=True))
    found = {"ours": times}
    if mdp.n_arcs <= HIGHS_LIMIT:
        found["HiGHS"], other = best_of(1, lambda: by_highs(mdp, demand))
        assert abs(other - ours.value) <= 1e-6 * ours.value
    return found


def main() -> None:
    """Print seconds and ratios to ours; above 1 ours is faster."""
    rng = np.random.default_rng(0)
    minimum_flow(MDP.from_arrays([[[0, 0]], [[0, 0]]]), 1, integer=True)
    columns = ("HiGHS",)
    print(f"{'graph':<19}{'demand':<8}{'N':>9}{'ours s':>9}" + "".join(f"{c + ' x':>12}" for c in columns))
    for name, (states, actions, horizon) in GRAPHS.items():
        mdp = MDP.from_arrays(rng.integers(states, size=(horizon, states, actions)))
        for kind, demand in (
            ("unit", np.ones(mdp.n_arcs, dtype=np.int64)),
            ("whole", rng.integers(0, 20, mdp.n_arcs)),
            ("gaps", (1e6 / rng.uniform(0.05, 1.0, mdp.n_arcs) ** 2).astype(np.int64)),
        ):
            found = rivals(mdp, demand, 3 if mdp.n_arcs < 300_000 else 1)
            ratios = "".join(f"{found[c] / found['ours']:>12.2f}" if c in found else f"{'-':>12}" for c in columns)
            print(f"{name:<19}{kind:<8}{mdp.n_arcs:>9,}{found['ours']:>9.4f}{ratios}", flush=True)
            for other in (c for c in columns if c in found):
                record(f"time of {other} over ours, {name}, {kind} demand", found[other] / found["ours"], "x")
    print("\nTheorem 1 in full (gaps, local bounds, real-valued flow, check):")
    from surepath import Gaussian, Instance

    for states, horizon in ((330, 80), (1040, 250)):
        mdp = MDP.from_arrays(rng.integers(states, size=(horizon, states, 4)))
        instance = Instance(mdp, Gaussian(rng.random(mdp.n_arcs)))
        seconds, _ = best_of(1, lambda it=instance: lower_bound(it, 0.1, 0.05))
        print(f"  N = {mdp.n_arcs:>9,}: {seconds:.3f} s")
        record(f"Theorem 1 in full, {mdp.n_arcs:,} arcs", seconds, "s")


if __name__ == "__main__":
    main()
