"""The bounds, the check and the design of Rounds against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from surepath import MDP, Rounds
from surepath.kernels.flow import optimal_flow
from surepath.learners.rounds.bound import Predictor, gaussian_table, h_inverse
from surepath.learners.rounds.check import inflation, planned_variances, span_of_differences
from surepath.learners.rounds.design import Round
from tests.naive import rounds as naive
from tests.naive.paths import all_paths
from tests.strategies import mdps

seeds = st.integers(0, 2**32 - 1)


def played(learner: Rounds, seed: int, rounds: int, spread: float = 1.0) -> list[naive.Scored]:
    """Play some rounds with scores from a normal law, or in [0, 1]; what was told, in the order asked."""
    rng = np.random.default_rng(seed)
    log: list[naive.Scored] = []
    effect = spread * rng.random(learner.mdp.n_arcs) / learner.mdp.horizon
    while not learner.stopped and len(log) < rounds:
        plans = learner.plans
        noise = rng.normal(size=len(plans)) if learner.noise != "range" else 0.3 * rng.random(len(plans)) - 0.15
        scores = effect[plans].sum(axis=1) + spread * noise
        scores = np.clip(scores, 0, 1) if learner.noise == "range" else scores
        for path, score in zip(learner.ask(), scores):
            learner.tell(path, score)
        log.append((plans, scores))
    return log


@given(mdps(), seeds, st.sampled_from([0.0, 0.01]))
@settings(max_examples=40)
def test_bounds_elimination_and_gap_are_those_of_enumeration(mdp: MDP, seed: int, epsilon: float) -> None:
    learner = Rounds(mdp, epsilon, 0.2, sigma=1.3, seed=seed)
    log = played(learner, seed, 2)
    assume(len(log) == 2 and not learner.stopped)
    p, paths, bound = learner.recommend().tolist(), all_paths(mdp), learner.bound
    flow = 1.3**2 / learner._scale.arc
    variances = naive.plan_variances(mdp, flow, 1.3)
    logs = -np.log(0.2 * np.array(bound["weights"]))
    own: dict[tuple[int, ...], float] = {}
    sums: dict[tuple[int, ...], float] = {}
    singles: dict[tuple[int, ...], float] = {}

    def least(q: list[int], cost: float) -> tuple[float, float]:
        z = naive.indicator(mdp, q) - naive.indicator(mdp, p)
        return naive.least_bound(log, z, 1.3, variances, bound["trials"], logs + cost)

    for q in paths:
        if list(q) == p or not learner._history[-1].active[list(q)].all():
            continue
        parts = naive.excursions(mdp, p, q)
        for part in parts:
            if tuple(part) not in singles:
                cost = naive.single_cost(mdp, p, part, bound["rho"], bound["prior"])
                singles[tuple(part)] = least(part, cost)[1]
        sums[q] = sum(singles[tuple(part)] for part in parts)
        own[q] = np.inf if epsilon == 0 else least(list(q), naive.detour_cost(mdp, p, q, bound["rho"]))[1]
    found = learner._bounds_of(np.array(list(own)), False)[1] if epsilon else None
    if found is not None:
        np.testing.assert_allclose(found, list(own.values()), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(learner._bounds_of(np.array(list(singles)), True)[1], list(singles.values()), rtol=1e-7)
    # An arc is out when no path with excursions of bounds >= 0 only uses it; repeated until nothing changes.
    left = {q for q in own if all(singles[tuple(part)] >= 0 for part in naive.excursions(mdp, p, q))}
    active = np.zeros(mdp.n_arcs, dtype=bool)
    active[p] = True
    for q in left:
        active[list(q)] = True
    assert not (active & ~learner.active).any()
    gap = max([min(own[q], sums[q]) for q in left], default=0.0)
    assert learner.certified_gap() == pytest.approx(max(gap, 0.0), rel=1e-6, abs=1e-7)


@given(mdps(), seeds)
@settings(max_examples=25)
def test_bets_are_at_least_those_of_enumeration_and_hardly_more(mdp: MDP, seed: int) -> None:
    learner = Rounds(mdp, 0.001, 0.2, reward_range=(0, 1), seed=seed)
    assert learner.noise == "range"
    log = played(learner, seed, 3, 0.8)
    assume(len(log) == 3)
    guesses = []
    predictor = Predictor(learner._blocks)
    for j, done in enumerate(learner._history):
        chosen = predictor.play(done, in_order=j == 0)[:, 0]
        if j == 0:  # nothing but what precedes a score is in its prediction
            np.testing.assert_allclose(chosen, naive.predictions(done.paths, done.scores[:, 0], mdp.n_arcs), atol=1e-8)
        guesses.append(np.clip(chosen, 0.2, 0.8) if j == 0 else np.clip(chosen, 0, 1))
    p = learner._incumbent.tolist()
    rivals = [q for q in all_paths(mdp) if list(q) != p and learner._history[-1].active[list(q)].all()][:20]
    fast = learner._bounds_of(np.array(rivals), False)[1]
    for q, found in zip(rivals, fast):
        z = naive.indicator(mdp, q) - naive.indicator(mdp, p)
        goal = naive.detour_cost(mdp, p, q, 0.4) - np.log(0.2)
        exact = naive.betting_bound(log, guesses, z, learner.bound["tilts"], learner.bound["weights"], goal)
        assert exact - 1e-7 <= found <= exact + 0.1


@given(mdps(), seeds, st.sampled_from(["sigma", "gaussian"]))
@settings(max_examples=15)
def test_what_a_round_has_in_common_cancels(mdp: MDP, seed: int, noise: str) -> None:
    rng = np.random.default_rng(seed)
    bare, shifted = (Rounds(mdp, 0.1, 0.2, 1.0 if noise == "sigma" else None, noise=noise) for _ in range(2))
    for _ in range(3):
        if bare.stopped:
            break
        scores, offset = rng.normal(size=len(bare.plans)), 10 * rng.normal()
        assert np.array_equal(bare.plans, shifted.plans)
        for path, score in zip(bare.ask(), scores):
            bare.tell(path, score)
            shifted.tell(path, score + offset)
        assert shifted.stopped == bare.stopped
        assert np.array_equal(shifted.recommend(), bare.recommend())
        assert shifted.certified_gap() == pytest.approx(bare.certified_gap(), rel=1e-6, abs=1e-8)


def test_bets_count_in_any_unit() -> None:
    """Scores in per cent prove a hundred times the gap of scores in [0, 1]."""
    mdp, rng = MDP.from_arrays(np.zeros((3, 1, 2), dtype=int)), np.random.default_rng(4)
    small, large = (Rounds(mdp, 0.02 * unit, 0.1, reward_range=(0, unit)) for unit in (1, 100))
    for _ in range(3):
        scores = 0.1 * (small._plans % 2).sum(axis=1) + 0.3 * rng.random(len(small._plans))
        large._plans = small._plans
        large._scores = np.zeros((len(scores), 1))
        small._play_round(scores[:, None])
        large._play_round(100 * scores[:, None])
        assert large.certified_gap() == pytest.approx(100 * small.certified_gap(), rel=1e-6)


@given(mdps(), seeds)
@settings(max_examples=40)
def test_the_flow_of_the_design_is_optimal_over_all_laws_of_paths(mdp: MDP, seed: int) -> None:
    """Kiefer and Wolfowitz: no path's variance exceeds d; and variances add up along paths, as in Theorem B."""
    learner = Rounds(mdp, 0.5, 0.1, 1.0)
    flow, _, worst = optimal_flow(*learner._blocks[::3], np.ones(mdp.n_arcs, dtype=bool), 20_000, 1e-6)
    assert worst <= 1 + 2e-6
    variances = naive.plan_variances(mdp, flow, 1.0)
    rows = [naive.indicator(mdp, path) for path in all_paths(mdp)]
    assert np.linalg.matrix_rank(np.array(rows)) == learner.d
    assert max(row @ variances @ row for row in rows) <= learner.d * (1 + 1e-5)
    moments = planned_variances(mdp, learner._scale)
    rng = np.random.default_rng(seed)
    for i, j in rng.integers(len(rows), size=(5, 2)):
        z = rows[i] - rows[j]
        alone = learner._scale.arc[z != 0].sum()
        for stage in range(1, mdp.horizon):
            nodes = {int(mdp.source[all_paths(mdp)[k][stage]]) for k in (i, j)}
            alone -= learner._scale.node[list(nodes)].sum() if len(nodes) == 2 else 0.0
        assert z @ variances @ z == pytest.approx(alone, rel=1e-4, abs=1e-6)
        assert z @ moments @ z == pytest.approx(alone, rel=1e-4, abs=1e-6)


@given(mdps(max_states=2), seeds, st.sampled_from([0.0, 0.05]))
@settings(max_examples=25)
def test_the_additive_pass_is_above_every_path(mdp: MDP, seed: int, epsilon: float) -> None:
    """Its bounds are at least those of its entry by enumeration, of every path and every single excursion."""
    learner = Rounds(mdp, epsilon, 0.2, 1.0, seed=seed)
    log = played(learner, seed, 2)
    assume(log and not learner.stopped)
    p = learner._incumbent
    learner.bound |= {"additive_trials": 50.0, "additive_weight": 0.5}
    additive = learner._additive(learner.active)
    fits, total = learner._fits, sum(fit.n for fit in learner._fits)
    spread = sum(fit.n**2 * fit.spread for fit in fits)
    effect = sum(fit.n * fit.effect for fit in fits) / total
    moments = planned_variances(mdp, learner._scale)
    most = inflation(span_of_differences(mdp, learner.active, p), fits, moments)
    worst = additive.worst_through()
    gap = additive.gap(np.inf, 0.0, 0.0)
    for share in (0.5, 0.98, 1.02, 2.0):
        assert additive.clears(additive.gap(np.inf, share * gap, 0.1 * gap) - 0.1 * gap)
    for q in all_paths(mdp):
        if not learner.active[list(q)].all() or list(q) == p.tolist():
            continue
        z = naive.indicator(mdp, q) - naive.indicator(mdp, p)
        m, tau, lead = z @ moments @ z, z @ spread @ z, z @ effect
        assert tau <= most * m * (1 + 1e-9)
        if epsilon:
            cost = naive.detour_cost(mdp, p.tolist(), q, 0.4) - np.log(0.2 * 0.5) + 0.5 * np.log(1 + tau / (50 * m))
            assert gap * (1 + 1e-6) >= lead + np.sqrt(tau + 50 * m) / total * naive.h_inverse(cost)
            continue
        bounds = []
        for part in naive.excursions(mdp, p.tolist(), q):
            z = naive.indicator(mdp, part) - naive.indicator(mdp, p)
            m, tau = z @ moments @ z, z @ spread @ z
            cost = naive.single_cost(mdp, p.tolist(), part, 0.4, "excursion") - np.log(0.2 * 0.5)
            width = np.sqrt(tau + 50 * m) / total * naive.h_inverse(cost + 0.5 * np.log(1 + tau / (50 * m)))
            bounds.append(z @ effect + width)
            arcs = [arc for arc, other in zip(part, p) if arc != other]
            assert worst[arcs].min() >= bounds[-1] - 1e-9
        assert gap * (1 + 1e-6) >= sum(bounds)


def test_h_is_inverted_from_above() -> None:
    for y in np.geomspace(1e-6, 200, 60):
        assert -1e-15 <= naive.h(h_inverse(y)) - y < 1e-7 * (1 + y)


def test_the_table_of_an_unknown_sigma_is_above_its_definition() -> None:
    tilts, weights = np.array([0, 0.02, 0.05, 0.12, 0.3, 0.7, 1.6]), np.array([0.1, *[0.15] * 6])
    for rss, free in ((3.0, 40), (250.0, 100)):
        table = gaussian_table(rss, free)
        for b in (3.0, 5.7, 9.9):
            sigmas = np.sqrt(rss / free) * np.geomspace(0.01, 20, 400)
            k = np.log((weights * (1 + tilts) ** (free / 2) * np.exp(-tilts * rss / (2 * sigmas[:, None] ** 2))).sum(1))
            exact = max(s * naive.h_inverse(b - x) for s, x in zip(sigmas, k) if b > x)
            assert exact <= table[int(b / 0.1) + 1] <= 1.06 * exact


@pytest.mark.parametrize("own", [False, True])
def test_the_product_of_all_bets_has_mean_at_most_one(own: bool) -> None:
    """Two rounds of binary scores on two steps of two options, all outcomes summed; a score that is its own prediction
    breaks it, which shows that the sum can tell."""
    mdp = MDP.from_arrays(np.zeros((2, 1, 2), dtype=int))
    means, rng = np.array([0.1, 0.35, 0.2, 0.5]), np.random.default_rng(3)
    worst, learner = 0.0, Rounds(mdp, 0.1, 0.1, reward_range=(0, 1))
    for _ in range(1 if own else 3):
        designs = [np.array([[0, 2], [0, 3], [1, 2], [1, 3], [rng.integers(2), 2 + rng.integers(2)]]) for _ in range(2)]
        z, total = np.array([-1.0, 1, 0, 0]), 0.0
        inverse = [np.linalg.pinv(x.T @ x) for x in (np.eye(4)[d].sum(axis=1) for d in designs)]
        for outcome in itertools.product((0.0, 1.0), repeat=10):
            predictor = Predictor(learner._blocks)
            product, scores = np.zeros(10), np.array(outcome)
            chance = 1.0
            for j, design in enumerate(designs):
                y = scores[5 * j : 5 * j + 5]
                m = means[design].sum(axis=1)
                chance *= np.prod(np.where(y == 1, m, 1 - m))
                done = Round(design, y[:, None], np.ones(4, dtype=bool))
                guess = predictor.play(done, in_order=j == 0)[:, 0]
                yhat = np.clip(guess, 0.2 if j == 0 else 0, 0.8 if j == 0 else 1)
                yhat = np.clip(y, 0.2, 0.8) if own else yhat
                g = np.eye(4)[design].sum(axis=1) @ inverse[j] @ z
                reach = np.full(5, 0.8) if j == 0 or own else np.where(g > 0, 1 - yhat, yhat)
                a = 1 / max((np.abs(g) * reach).max(), 0.2 * g @ g)
                tilts = np.array(learner.bound["tilts"])[:, None]
                u = tilts * a * g * (y - yhat)
                product += (np.log1p(-u) + tilts * a * g * (m - yhat)).sum(axis=1)
            total += chance * float(np.array(learner.bound["weights"]) @ np.exp(product))
        worst = max(worst, total)
    assert (worst > 1.2) if own else (worst <= 1 + 1e-9)
