"""The plain implementation of the bounds: against listing every path, and against the learners."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from surepath import EPRL, MDP, Challenger
from surepath.model.paths import even_flow
from surepath.verify.bound import RHO, Passes, PlainBound, Sums, upper_conjugate
from surepath.verify.noise import checker_of
from tests.naive.challenger import Entry, Stretch, Twin, h_star
from tests.naive.paths import all_paths
from tests.strategies import arc_values, mdps
from tests.verify.tools import plain_of

Path = tuple[int, ...]


def some_sums(mdp: MDP, seed: int, most: int = 60) -> Sums:
    rng = np.random.default_rng(seed)
    visits = rng.integers(1, most, size=mdp.n_arcs)
    return Sums(visits, rng.normal(size=mdp.n_arcs), 0.3 * np.sqrt(visits) * rng.normal(size=mdp.n_arcs))


def twin_of(plain: PlainBound, seen: Sums) -> tuple[Twin, list[np.ndarray]]:
    """The enumerating twin with the same numbers, and slopes for each of its entries."""
    mdp, alive, of = plain.mdp, np.ones(plain.mdp.n_arcs, dtype=bool), plain.entries
    entries = [
        Entry(
            c=np.stack([of.precision(e, "rival"), of.precision(e, "incumbent")]),
            cost=of.cost(e),
            prior=e["prior"],
            kind=e["kind"],
            tilt=of.sigma / (e["slope"] * of.planned(e)) if e["kind"] == "shifted" else np.zeros(mdp.n_arcs),
        )
        for e in of.bound
    ]
    mean = seen.origin + seen.sums / seen.visits
    twin = Twin(mdp, plain.sigma, seen.visits, mean, alive, entries, RHO)
    return twin, [of.slopes(e, seen, alive) for e in of.bound]


def listed(twin: Twin, slopes: list[np.ndarray], path: Path) -> tuple[dict[Path, float], dict[Stretch, float], float]:
    """The least G of every path and of every excursion, and the largest G of a path by the best single row."""
    tables = [twin.bounds(entry, ks, path) for entry, ks in zip(twin.entries, slopes)]
    singles = [twin.single_bounds(entry, ks, path) for entry, ks in zip(twin.entries, slopes)]
    paths = {q: min(float(table[q].min()) for table in tables) for q in twin.paths if q != path}
    stretches = {x: min(float(table[x].min()) for table in singles) for x in (singles[0] if singles else {})}
    one_row = min((float(np.max(list(table.values()), axis=0).min()) for table in tables if table), default=0.0)
    return paths, stretches, one_row


def finer(slopes: list[np.ndarray]) -> list[np.ndarray]:
    """Slopes so close that none between them is better by much: when arcs leave, the bound tries others than before."""
    return [np.geomspace(k.min() / 2, 2 * k.max(), 2000) if len(k) > 1 else k for k in slopes]


def may_go(mdp: MDP, paths: dict[Path, float], stretches: dict[Stretch, float]) -> set[int]:
    """Arcs that may be ruled out: all that is left of what passes them, paths or excursions, is negative."""
    out: set[int] = set()
    while True:
        left = {q: g for q, g in paths.items() if not out & set(q)}
        parts = {x[1]: g for x, g in stretches.items() if not out & set(x[1])}
        more = {
            arc
            for arc in range(mdp.n_arcs)
            if all(g < 0 for q, g in left.items() if arc in q) or all(g < 0 for x, g in parts.items() if arc in x)
        }
        if more <= out:
            return out
        out |= more


def test_the_conjugate_is_never_below_the_supremum_and_hardly_above() -> None:
    y = np.geomspace(1e-3, 30, 2001)
    exact, found = h_star(y), upper_conjugate(y)
    assert (found >= exact - 1e-12).all()
    assert (found - exact <= 1e-8 * (1 + exact)).all()
    outside = np.array([1e-6, 1e-5, 500.0, 1e4])
    assert (upper_conjugate(outside) >= h_star(outside) * (1 - 1e-9)).all()


@given(mdps(), st.integers(0, 2**32 - 1))
def test_the_passes_find_the_best_path_through_every_arc(mdp: MDP, seed: int) -> None:
    weight = np.stack([arc_values(mdp, seed), arc_values(mdp, seed + 1, "ties")], axis=1)
    through = Passes(mdp).through(weight)
    paths = all_paths(mdp)
    for arc in range(mdp.n_arcs):
        for row in range(2):
            most = max(weight[list(path), row].sum() for path in paths if arc in path)
            assert through[arc, row] == pytest.approx(most)


@settings(max_examples=40)
@example(MDP.from_arrays(np.zeros((2, 1, 3), dtype=int)), 0, 0.0)
@given(mdps(max_states=2, max_horizon=3), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5]))
def test_what_is_proven_holds_for_every_path_listed(mdp: MDP, seed: int, epsilon: float) -> None:
    learner = Challenger(mdp, epsilon=epsilon, delta=0.1, sigma=0.3, dependence="independent")
    plain, seen = plain_of(learner), some_sums(mdp, seed)
    alive = np.ones(mdp.n_arcs, dtype=bool)
    twin, slopes = twin_of(plain, seen)
    path = twin.paths[seed % len(twin.paths)]
    gap = plain.gap(seen, np.array(path), alive)
    one_row = listed(twin, slopes, path)[2]
    paths, stretches, _ = listed(twin, finer(slopes), path)
    if gap > 0:
        assert gap >= max(paths.values()) - 1e-5 * (1 + gap)
    else:
        assert max(paths.values(), default=0.0) <= 1e-9 or max(stretches.values()) <= 1e-9
    assert gap <= max(0.0, one_row) * 1.0011 + 1e-9
    out = set(np.flatnonzero(plain.ruled_out(seen, np.array(path), alive)).tolist())
    assert out <= may_go(mdp, paths, stretches)


def test_known_and_noise_free_arcs_need_no_margin() -> None:
    rows = [("s", "a", "t"), ("s", "b", "t"), ("t", "c", "end"), ("t", "d", "end")]
    mdp = MDP.from_edges(rows)
    learner = Challenger(mdp, epsilon=0.1, delta=0.1, sigma=[0.0, 0.0, 1.0, 1.0], dependence="independent")
    plain, alive = plain_of(learner), np.ones(4, dtype=bool)
    seen = Sums(np.array([1, 1, 5, 5]), np.array([1.0, 0.25, 0.0, 0.0]), np.zeros(4))
    alive[3] = False
    assert plain.gap(seen, np.array([0, 2]), alive) == 0.0
    assert plain.gap(seen, np.array([1, 2]), alive) == pytest.approx(0.75, rel=2e-3)
    alive[3] = True
    assert plain.gap(seen, np.array([0, 2]), alive) > 1.0


def test_what_has_no_proof_is_never_checked_as_one() -> None:
    mdp = MDP.from_arrays([[[0, 0]]])
    learner = Challenger(mdp, epsilon=0.1, delta=0.1, sigma=1.0, dependence="independent")
    planned = plain_of(learner).entries._design
    for change, words in (
        ({"kind": "divining"}, "cannot check entries of kind divining"),
        ({"weight": 0.9}, "sum to more than 1"),
        ({"weight": float("nan")}, "sum to more than 1"),
        ({"scale": float("inf")}, "must be above 0"),
        ({"scale": "1"}, "must be above 0"),
    ):
        spec = learner.settings()
        spec["bound"][0].update(change)
        checker, why = checker_of(mdp, spec, planned)
        assert checker is None
        assert words in why
    for sigma in (-1.0, float("nan"), float("inf"), "1", True, [1.0, 1.0, 1.0]):
        assert checker_of(mdp, {**learner.settings(), "sigma": sigma}, planned)[0] is None
    assert "checks Challenger alone" in checker_of(mdp, EPRL(mdp, 0.1, 0.1, 1.0).settings())[1]


def test_planned_shares_are_those_of_the_optimal_design_and_no_others() -> None:
    mdp = MDP.from_steps({"a": [0, 1, 2], "b": [0, 1], "c": [0, 1, 2]}, depends="previous")
    learner = Challenger(mdp, epsilon=0.4, delta=0.1, sigma=np.linspace(0.0, 1.0, mdp.n_arcs), dependence="independent")
    right = plain_of(learner).entries._design
    assert checker_of(mdp, learner.settings(), right)[0] is not None
    wrong = [None, right[:-1], np.full(mdp.n_arcs, 0.1), right * np.nan, right * 1.001, even_flow(mdp)]
    for planned in wrong:
        checker, why = checker_of(mdp, learner.settings(), planned)
        assert checker is None
        assert "not those of the optimal design" in why


@pytest.mark.parametrize("value", [1.7e308, np.inf, np.nan])
@pytest.mark.parametrize("sigma", [0.0, 1.0])
def test_sums_that_are_not_finite_prove_nothing(value: float, sigma: float) -> None:
    mdp = MDP.from_arrays([[[0, 0]], [[0, 0]]])
    plain, alive = (
        plain_of(Challenger(mdp, epsilon=0.1, delta=0.1, sigma=sigma, dependence="independent")),
        np.ones(4, dtype=bool),
    )
    for part in ("origin", "sums"):
        numbers: dict[str, Any] = {"origin": np.array([1.0, 0.0, 0.0, 0.0]), "sums": np.zeros(4)}
        numbers[part] = np.array([value, -value, value, -value])
        seen = Sums(np.full(4, 2), **numbers)
        with np.errstate(all="ignore"):
            assert not plain.proves(seen, np.array([0, 2]), alive, 0.5)
            assert not plain.ruled_out(seen, np.array([0, 2]), alive).any()
    assert not plain.proves(Sums(np.full(4, 2), np.zeros(4), np.zeros(4)), np.array([0, 2]), ~alive, np.nan)
