"""Learned noise in plain NumPy: widths against exact integration and enumeration, proofs against the learner."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammainc, gammaln

from surepath import MDP, Challenger
from surepath.verify import noise as plain_noise
from surepath.verify.bound import Scores, Sums
from surepath.verify.noise import UnknownSigma, sum_of_squares
from tests.naive import processes as naive
from tests.strategies import arc_values
from tests.verify.tools import plain_of

STEPS = {"a": [0, 1, 2], "b": [0, 1], "c": [0, 1, 2]}


def test_the_integral_is_an_incomplete_gamma_function() -> None:
    """With v = 1 - l, Z(S, W) = exp(b) times the integral over 0 < v < 1 of v^W exp(-b v), b = S + W."""
    for w in (0.25, 1.0, 7.3, 300.0):
        b = np.geomspace(0.5 * w, 1e4, 40)
        exact = b - (w + 1) * np.log(b) + gammaln(w + 1) + np.log(gammainc(w + 1, b))
        found, mean, _ = plain_noise.integrals(b - w, w)
        assert found == pytest.approx(exact, abs=1e-9)
        # Integration by parts: the mean of v is (W + 1 - 1 / Z) / b.
        assert 1 - mean == pytest.approx((w + 1 - np.exp(-exact)) / b, abs=1e-9)


def test_the_bernstein_conjugate_is_never_below_the_supremum_and_hardly_above() -> None:
    y = np.geomspace(1e-4, 0.9, 25)
    for w in (0.3, 2.0, 40.0):
        exact, found = naive.z_star(y, np.full_like(y, w)), plain_noise.bernstein_conjugate(y, float(w))
        assert (found >= exact - 1e-10).all()
        assert (found - exact <= 2e-4 * (1 + exact)).all()
    outside = plain_noise.bernstein_conjugate(np.array([1e-8, 0.999]), 3.0)
    assert np.isinf(outside[1])
    assert outside[0] >= naive.z_star(np.array([1e-8]), np.array([3.0]))[0] - 1e-9


def test_where_the_bernstein_process_gives_no_width_the_range_does() -> None:
    for x in (np.zeros(3), np.ones(2), np.array([0.0, 1.0, 0.3])):
        w, c, n = plain_noise.squares(x) + 0.5, 0.5, len(x)
        assert plain_noise.squares(x) == pytest.approx(naive.squares(x))
        slopes = np.geomspace(1e-4, 30, 40)
        found = plain_noise.bernstein_widths(w, plain_noise.log_start(c), c, n, slopes)
        r = np.linspace(0, 1, 400)
        log_m = (
            naive.log_z((r[:, None] - x).sum(axis=1), np.full(400, w))[0] - naive.log_z(np.zeros(1), np.array([c]))[0]
        )
        assert (found >= ((r - x.mean())[:, None] - slopes * log_m[:, None]).max(axis=0) - 1e-9).all()
        assert (found <= 1 + slopes * (np.log(2 * n + c) + 1)).all()


def laws(rng: np.random.Generator) -> list[np.ndarray]:
    """Scores of several laws, the ends of the range among them."""
    coin = (rng.random(40) < 0.3).astype(float)
    return [rng.beta(5, 2, 60), coin, np.zeros(5), np.ones(7), np.full(30, 0.5), rng.random(1)]


def test_betting_widths_are_never_below_the_supremum_over_all_means() -> None:
    """At random means of every cell, the first and the last among them, by the definition of the process."""
    rng = np.random.default_rng(0)
    edge = (1 - np.cos(np.pi * np.arange(plain_noise.CELLS + 1) / plain_noise.CELLS)) / 2
    slopes, c = np.geomspace(1e-3, 3, 25), 6.0
    for x in laws(rng):
        bets = plain_noise.Bets()
        bets.take(x[: len(x) // 3])
        bets.take(x[len(x) // 3 :])  # by and by is the same
        found = plain_noise.betting_widths(bets.lines(c), float(x.mean()), slopes)
        exact = np.full(len(slopes), -np.inf)
        for i in range(plain_noise.CELLS):
            tilts = np.geomspace(1e-3, 0.98, plain_noise.TILTS) / (1 - edge[i])
            prior = tilts * np.exp(-c * (tilts**2 - tilts[0] ** 2) / 2)
            for r in [edge[i], edge[i + 1], *rng.uniform(edge[i], edge[i + 1], 2)]:
                log_m = naive.log_wealth(x, r, tilts, 0.99 * prior / prior.sum(), 0.01)
                exact = np.maximum(exact, r - x.mean() - slopes * log_m)
        assert (found >= exact - 1e-9).all()
        assert (found - exact <= 0.02 * (1 + np.abs(exact))).all()


def test_bets_stop_when_they_have_won_enough_and_stay_there() -> None:
    """Where the product would fall again afterwards, what was reached by then still counts."""
    bets, later = plain_noise.Bets(), plain_noise.Bets()
    bets.take(np.zeros(3000))
    later.take(np.zeros(3000))
    later.take(np.ones(20))
    stopped = bets.stopped
    assert stopped.any()
    assert not stopped.all()
    assert (bets.log[2][stopped] >= plain_noise.LOG_MOST).all()
    assert (bets.log[2][stopped] < plain_noise.LOG_MOST + 10).all()
    assert (later.log[:, stopped] == bets.log[:, stopped]).all()
    assert (later.log[:, ~stopped] != bets.log[:, ~stopped]).all()


def test_squares_count_from_the_mean_before() -> None:
    rng = np.random.default_rng(3)
    gains = [rng.normal(5, 1, n) for n in (0, 1, 2, 30)]
    total = sum((g[i] - g[:i].mean()) ** 2 for g in gains for i in range(1, len(g)))
    found, count = sum_of_squares(Scores(4, gains), np.array([0, 1, 2, 30]))
    assert found == pytest.approx(total)
    assert count == 30


def new_learner(noise: str, epsilon: float) -> Challenger:
    if noise.startswith("unknown"):
        sigma = {"a": 1.0, "b": 0.0, "c": 1.0} if noise == "unknown, a step exact" else None
        return Challenger(
            MDP.from_steps(STEPS, sigma=sigma), epsilon=epsilon, delta=0.1, sigma="unknown", dependence="independent"
        )
    if noise == "sigma":
        return Challenger(MDP.from_steps(STEPS), epsilon=epsilon, delta=0.1, sigma=0.4, dependence="independent")
    return Challenger(
        MDP.from_steps(STEPS, reward_range=(-1, 3)), epsilon=epsilon, delta=0.1, noise=noise, dependence="independent"
    )


@pytest.mark.parametrize("noise", ["sigma", "betting", "bernstein", "unknown", "unknown, a step exact"])
@pytest.mark.parametrize("epsilon", [0.0, 0.8])
def test_it_confirms_what_challenger_proves_and_hardly_more(noise: str, epsilon: float) -> None:
    learner = new_learner(noise, epsilon)
    mdp, scores = learner.mdp, Scores(learner.mdp.n_arcs)
    plain = plain_of(learner)
    assert plain.needs_scores == (noise != "sigma")
    means, rng = -0.5 + 2 * arc_values(mdp, 3), np.random.default_rng(0)
    for trial in range(4000):
        path = learner.ask()
        before = learner.active
        rewards = np.clip(means[path] + 0.4 * (learner.sigma[path] > 0) * rng.standard_normal(mdp.horizon), -1, 3)
        learner.tell(path, rewards)
        for arc, reward in zip(path.tolist(), rewards.tolist()):
            scores.add(arc, reward)
        seen = Sums(learner._visits.copy(), learner._origin.copy(), learner._sums.copy(), scores)
        if (before & ~learner.active).any():
            assert plain.ruled_out(seen, learner._recommend(), before)[before & ~learner.active].all()
        if trial % 60 == 59 or learner.stopped:
            gap = learner.certified_gap() if learner.stopped else learner._gap()
            if gap < np.inf:
                assert plain.proves(seen, learner._recommend(), learner.active, gap)
            if 0.4 < gap < np.inf and not learner.stopped:
                assert not plain.proves(seen, learner._recommend(), learner.active, 0.9 * gap)
        if learner.stopped:
            break
    assert learner.stopped


def test_the_order_of_scores_and_their_moment_decide() -> None:
    learner = new_learner("betting", 0.5)
    mdp = learner.mdp
    plain = plain_of(learner)
    rng, alive = np.random.default_rng(1), np.ones(mdp.n_arcs, dtype=bool)
    gains = [rng.uniform(0.9, 1.1, 30) + (arc == 0) for arc in range(mdp.n_arcs)]
    scores, path = Scores(mdp.n_arcs, gains), mdp.check_path([0, int(mdp.first[1]), int(mdp.stage_arc[2])])

    def moment(n: int) -> Sums:
        first = np.array([g[0] for g in gains])
        return Sums(np.full(mdp.n_arcs, n), first, np.array([(g[:n] - g[0]).sum() for g in gains]), scores)

    late, early = plain.gap(moment(30), path, alive), plain.gap(moment(15), path, alive)
    assert late < early < np.inf
    assert plain.gap(moment(30), path, alive) == late  # reading an earlier moment changes nothing
    fresh = plain_of(learner)
    assert fresh.gap(moment(15), path, alive) == early


def test_an_unknown_sigma_needs_a_part_of_delta() -> None:
    learner = new_learner("unknown", 0.5)
    spec, mdp = learner.settings(), learner.mdp
    gains = np.random.default_rng(0).normal(0, 0.3, (mdp.n_arcs, 50))
    zeros = np.zeros(mdp.n_arcs)
    seen = Sums(np.full(mdp.n_arcs, 50), zeros, zeros, Scores(mdp.n_arcs, gains))
    bound = UnknownSigma(mdp, spec).sigma_at(seen)
    assert 0.3 < bound < 0.4
    exact = np.zeros((mdp.n_arcs, 50))
    exact[mdp.arcs.stage == 0] = gains[mdp.arcs.stage == 0]
    silent = MDP.from_steps(STEPS, sigma={"a": 1.0, "b": 0.0, "c": 0.0})
    partly = Challenger(silent, 0.5, 0.1, "unknown", dependence="independent")
    few = UnknownSigma(silent, partly.settings())
    assert 0.3 < few.sigma_at(Sums(np.full(mdp.n_arcs, 50), zeros, zeros, Scores(mdp.n_arcs, exact))) < 0.45
    assert ((few.sigma > 0) == (partly.sigma > 0)).all()
    share = 1 / sum(entry["weight"] for entry in spec["bound"])
    for entry in spec["bound"]:
        entry["weight"] *= share * (1 - 1e-15)
    assert UnknownSigma(mdp, spec).sigma_at(seen) > 1.1 * bound
