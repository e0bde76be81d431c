"""Challenger's passes beside enumeration: every bound, the check, the elimination, the table of the conjugate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.conjugate_table import table_values
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import MDP, Challenger
from surepath.learners import runs as tasks
from surepath.learners.challenger.check import make_row
from surepath.learners.challenger.state import LEAST_Y, MOST_Y, RHO, conjugate, conjugate_table
from tests.learners.worlds import with_known
from tests.naive.challenger import (
    Entry,
    Twin,
    choices,
    detour_prior,
    excursion_prior,
    excursions,
    h_star,
    most_choices,
    uniform_prior,
)
from tests.naive.paths import all_paths
from tests.strategies import arc_values, mdps

pytestmark = pytest.mark.pure
graphs = mdps(max_states=3, max_actions=3, max_horizon=3)
seeds = st.integers(0, 2**32 - 1)


def learner_on(mdp: MDP, seed: int, **fixed: Any) -> Challenger:
    """A learner with random settings and random evidence, ties and known arcs and arcs without noise among it."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(["uniform", "ties"]))
    if rng.random() < 0.5:
        mdp = with_known(mdp, np.where(rng.random(mdp.n_arcs) < 0.4, arc_values(mdp, seed, kind), np.nan))
    options: dict[str, Any] = {
        "dependence": "independent",
        "epsilon": float(rng.choice([0.0, 0.2, 1.0])),
        "delta": float(rng.choice([0.01, 0.5])),
        "sigma": rng.choice([0.0, 0.05, 0.3, 1.0], size=mdp.n_arcs),
        **fixed,
    }
    if rng.random() < 0.5:  # the prior of another epsilon
        options["bound"] = Challenger(mdp, **{**options, "epsilon": float(rng.choice([0.0, 0.2]))}).bound
    learner = Challenger(mdp, **options)
    seen = learner._seen
    seen.visits[:] = np.exp(rng.uniform(0, rng.choice([3, 8]), mdp.n_arcs)).astype(int)
    if rng.random() < 0.3 and np.isfinite(learner.pairs.planned):  # as planned for ties, more or less
        planned = learner.pairs.planned * learner.pairs.flow * rng.uniform(0.7, 2.0, mdp.n_arcs)
        seen.visits[:] = 1 + np.minimum(planned, 1e9).astype(int)
    seen.sums[:] = seen.visits * (arc_values(mdp, seed, kind) + rng.choice([0, 0.1]) * rng.standard_normal(mdp.n_arcs))
    for path in all_paths(mdp):
        learner._work.path[:] = path
        learner._act(tasks.TELL)
    return learner


def twin_of(learner: Challenger) -> Twin:
    pairs, seen = learner.pairs, learner._seen
    entries = [
        Entry(c, float(cost), entry["prior"], entry["kind"], tilt)
        for c, cost, entry, tilt in zip(np.swapaxes(pairs.c, 0, 1), pairs.cost, learner.bound, pairs.tilt)
    ]
    mdp = learner.mdp
    mean = np.where(mdp.is_known, learner.known_gain, seen.sums / seen.visits)
    alive = seen.alive.copy()
    return Twin(mdp, learner.sigma, seen.visits.copy(), mean, alive, entries, RHO)


def scales(learner: Challenger) -> np.ndarray:
    """A range of slopes far beyond what any check needs."""
    a = learner._work.a
    noisy = a[a > 0]
    low, high = (float(noisy.min()), float(noisy.max())) if noisy.size else (1.0, 1.0)
    return np.geomspace(low / 50, high * 20, 150)


def slopes_of(learner: Challenger) -> list[np.ndarray]:
    """For every entry a wide range of slopes, and all those that the learner's last check looked at."""
    grid = learner._work.grid
    wide = scales(learner)
    return [
        np.concatenate([wide, grid[(grid[:, 0] == j) & (grid[:, 1] > 0), 1]]) for j in range(len(learner.pairs.cost))
    ]


def incumbent_of(learner: Challenger, twin: Twin) -> tuple[int, ...]:
    p = tuple(learner._work.incumbent.tolist())
    assert p in twin.paths
    assert twin.value(p) == pytest.approx(max(map(twin.value, twin.paths)), abs=1e-12)
    return p


@settings(max_examples=100)
@given(graphs, st.floats(0.01, 0.99))
def test_priors_are_probabilities(mdp: MDP, rho: float) -> None:
    paths, most = all_paths(mdp), most_choices(mdp)
    for q in paths:
        total = sum(detour_prior(mdp, p, q, rho, most) for p in paths if p != q)
        own = 1 - (1 - rho) ** choices(mdp, q)  # of all walks, those that leave q
        assert total == pytest.approx(own / (1 - (1 - rho) ** most) if most else 0.0, rel=1e-9, abs=1e-12)
        off = {(stage, arcs) for p in paths for stage, arcs, _ in excursions(mdp, q, p)}
        assert sum(excursion_prior(mdp, arcs, most) for _, arcs in off) == pytest.approx(choices(mdp, q) / max(1, most))
    assert uniform_prior(mdp) * (len(paths) - 1) <= 1 + 1e-12


@settings(max_examples=60)
@given(graphs, seeds)
def test_weights_of_the_entries_sum_to_at_most_one(mdp: MDP, seed: int) -> None:
    learner = learner_on(mdp, seed)
    pairs = learner.pairs
    assert (np.exp(-pairs.cost) / learner.delta).sum() <= 1 + 1e-12
    assert pairs.log_paths == pytest.approx(np.log(len(all_paths(mdp))), abs=1e-9)
    assert (pairs.c > 0).all()


@settings(max_examples=150)
@given(graphs, seeds)
def test_the_passes_give_the_largest_bound_through_every_arc(mdp: MDP, seed: int) -> None:
    learner = learner_on(mdp, seed)
    mdp, work = learner.mdp, learner._work
    rng = np.random.default_rng(seed)
    j, k = int(rng.integers(len(learner.pairs.cost))), float(rng.choice(scales(learner)))
    work.grid[0] = j, k
    learner._act(tasks.INCUMBENT)
    constant = make_row(learner.graph, learner.pairs, learner._seen, work, 0, 0)
    twin = twin_of(learner)
    p = incumbent_of(learner, twin)
    entry = twin.entries[j]
    found = twin.bounds(entry, np.array([k]), p, exact=False)
    y = learner._work.a[:, j].max(axis=0) / k
    safe_side = k * np.log(2) * (y > MOST_Y) + 0.01 * k * (
        (y > 0) & (y < LEAST_Y)
    )  # what the table may add beyond its ends
    wide = max(float(twin.arc_widths(entry, np.array([k]), side).sum()) for side in (0, 1))
    table = float(1e-5 * (k * mdp.n_arcs + 2 * wide) + 2 * safe_side.sum())
    through = {e: [float(g[0]) for q, g in found.items() if e in q] for e in set(range(mdp.n_arcs)) - set(p)}
    compare(learner, through, constant, table)
    constant = make_row(learner.graph, learner.pairs, learner._seen, work, 0, 1)
    single = twin.single_bounds(entry, np.array([k]), p, exact=False)
    compare(learner, {e: [float(g[0]) for x, g in single.items() if e in x[1]] for e in through}, constant, table)


def compare(learner: Challenger, through: dict[int, list[float]], constant: float, table: float) -> None:
    """The largest of the enumerated bounds through each arc beside what the passes found."""
    mdp, work = learner.mdp, learner._work
    for e, bounds in through.items():
        if not bounds:
            continue  # no remaining path uses it
        expected = max(bounds)
        z = work.behind[mdp.source[e]] + work.weight[e] + work.ahead[mdp.target[e]] + constant
        rounding = 1e-9 * (1 + abs(expected))
        assert expected - rounding <= z <= expected + rounding + table


@settings(max_examples=80)
@given(graphs, seeds, st.sampled_from([0.0, 0.02, 0.1, 0.3, 1.0, 3.0]))
def test_the_check_never_passes_while_a_challenger_may_be_better(mdp: MDP, seed: int, epsilon: float) -> None:
    learner = learner_on(mdp, seed)
    learner._epsilon = epsilon
    passed = learner._act(tasks.CHECK) == 1.0
    twin = twin_of(learner)
    p = incumbent_of(learner, twin)
    gap = twin.gap(p, slopes_of(learner))
    if passed:
        assert gap <= epsilon + 1e-9
    certified = learner._act(tasks.CERTIFY)
    gap = twin.gap(p, slopes_of(learner))
    assert certified >= gap - 1e-9
    if certified > 0:
        learner._epsilon = certified * (1 + 1e-9) + 1e-12
    else:
        learner._epsilon = 0.0  # single excursions prove 0 and nothing above it
    assert learner._act(tasks.CHECK) == 1.0


@settings(max_examples=100)
@given(graphs, seeds)
def test_every_excursion_through_an_eliminated_arc_had_a_bound_below_zero(mdp: MDP, seed: int) -> None:
    learner = learner_on(mdp, seed)
    before = twin_of(learner)
    learner._planned = False
    learner._settle()
    p = incumbent_of(learner, before)
    gone = set(np.flatnonzero(~learner.active).tolist())
    assert not gone & set(p)
    for (_, arcs, _), g in before.best_single_bounds(p, slopes_of(learner)).items():
        if gone & set(arcs):
            assert g < 0


def test_elimination_happens() -> None:
    removed = 0
    for seed in range(40):
        learner = learner_on(MDP.from_arrays([[[0, 1, 1], [1, 1, 0]]] * 2), seed, sigma=0.05, epsilon=0.0)
        learner._planned = False
        learner._settle()
        removed += int((~learner.active).sum())
    assert removed > 20


def test_the_table_never_lies_below_the_conjugate() -> None:
    rng = np.random.default_rng(0)
    inside = np.exp(rng.uniform(np.log(LEAST_Y), np.log(MOST_Y), 6000))
    outside = np.concatenate([LEAST_Y * 10 ** -rng.uniform(0, 3, 500), MOST_Y * 10 ** rng.uniform(0, 4, 500)])
    y = np.concatenate([inside, outside, conjugate_table().y, [LEAST_Y, MOST_Y, 0.7978845608]])
    exact, of = h_star(y), getattr(conjugate, "py_func", conjugate)
    table = np.array([of(conjugate_table(), float(v), float(np.log(v))) for v in y])
    assert (table >= exact).all()
    assert (table <= exact + 1e-5 * (1 + exact) + np.log(2) * (y > MOST_Y) + 0.01 * (y < LEAST_Y)).all()
    np.testing.assert_allclose(conjugate_table().value, table_values(), rtol=1e-14)  # as shipped
    known = np.array([0.1, 0.5, 1.0, 2.0, 4.0])
    assert h_star(known) == pytest.approx([1.538, 0.150, 0.051, 1.332, 7.307], abs=6e-4)
