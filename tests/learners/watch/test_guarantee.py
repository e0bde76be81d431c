"""The watch's false alarms measured under learners that choose by what they see, and what it finds when it should."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from surepath import EPRL, MDP, Challenger, families
from surepath.learners import watch as evalues
from surepath.learners.watch import LUCK, Watch
from tests.learners.rates import is_above
from tests.learners.watch.test_watch import CHAIN, random_path

MDP_3 = MDP.from_arrays([[[0, 1], [0, 0]], [[0, 1], [1, 0]], [[0, 0], [0, 0]]])
ALPHA = 0.05
Law = Callable[[np.random.Generator, np.ndarray, int], np.ndarray]
# Each law with a sub-Gaussian factor that leaves it as little to spare as one that holds for all means can. With one
# draw for all steps of a trial they rise and fall together.
LAWS: dict[str, tuple[Law, float]] = {
    "gaussian": (lambda rng, mean, draws: mean + rng.standard_normal(draws), 1.0),
    "bernoulli": (lambda rng, mean, draws: (rng.random(draws) < mean).astype(float), 0.5),
    "uniform": (lambda rng, mean, draws: mean + rng.uniform(-1, 1, draws), 3**-0.5),
}


def least_p_value(learner_type: type, law: str, seed: int, together: bool, independent: bool) -> float:
    """The least p-value met when looking again and again while a learner chooses by the rewards."""
    rng = np.random.default_rng([seed, 77])
    draw, sigma = LAWS[law]
    means = rng.choice([0.3, 0.5, 0.5, 0.7], MDP_3.n_arcs)
    learner = learner_type(MDP_3, 0.0, 0.1, sigma)
    watch, least = Watch(MDP_3, learner.sigma, independent), 1.0
    for trial in range(1, 31):
        path = learner.ask()
        rewards = draw(rng, means[path], 1 if together else len(path))
        learner.tell(path, rewards)
        watch.observe(path, rewards)
        if trial in (8, 15, 30) or learner.stopped:
            least = min(least, watch.p_value())
        if learner.stopped:
            break
    return least


def alarms(runs: int, together: bool = False, independent: bool = True) -> tuple[int, int]:
    """False alarms and runs, over learners and laws, with a draw for each step or one for all of a trial."""
    p_values = [
        least_p_value(learner, law, seed, together, independent)
        for learner in (Challenger, EPRL)
        for law in LAWS
        for seed in range(runs)
    ]
    return int((np.array(p_values) <= ALPHA).sum()), len(p_values)


@pytest.mark.guarantee
@pytest.mark.parametrize("each", [80, pytest.param(335, marks=pytest.mark.rare)])
def test_false_alarms_stay_below_alpha(each: int) -> None:
    assert binomtest(*alarms(each), ALPHA, alternative="less").pvalue < 1e-6


@pytest.mark.guarantee
def test_under_any_dependence_they_do_so_where_the_steps_of_a_trial_move_together() -> None:
    """`python -m benchmarks watch` plays 2,010 runs. A watch that multiplies over the steps of a trial fails."""
    count, runs = alarms(60, together=True, independent=False)
    assert binomtest(count, runs, ALPHA, alternative="less").pvalue < 1e-3
    assert is_above(*alarms(10, together=True), ALPHA)


@pytest.mark.guarantee
def test_without_the_price_of_noise_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evalues, "noise_price", lambda n: np.zeros((len(n), len(evalues.NOISE_TILTS))))
    assert is_above(*alarms(5), ALPHA)


def alarms_among_many_contexts(runs: int) -> tuple[int, int]:
    """Two steps with twelve options each: many means to compare, by choice rather than by chance."""
    mdp, count = MDP.from_arrays(np.zeros((2, 1, 12), dtype=int)), 0
    for seed in range(runs):
        rng, watch = np.random.default_rng(seed), Watch(mdp, np.ones(24))
        for _ in range(600):
            watch.observe(random_path(mdp, rng), rng.standard_normal(2))
        count += watch.p_value() <= ALPHA
    return count, runs


@pytest.mark.guarantee
@pytest.mark.parametrize("price", ["shift_price", "shared_price"])
def test_without_the_price_of_contexts_there_are_too_many(price: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_above(*alarms_among_many_contexts(25), ALPHA)
    kept = getattr(evalues, price)
    monkeypatch.setattr(evalues, price, lambda *given: 0 * kept(*given))
    assert is_above(*alarms_among_many_contexts(25), ALPHA)


def expectation(log_density: np.ndarray, at: np.ndarray, exponent: np.ndarray) -> float:
    return float(np.exp(log_density + exponent).sum() * (at[1] - at[0]))


def test_prices_are_what_gaussian_noise_wins_on_average_to_the_last_digit() -> None:
    x = np.linspace(-150, 150, 300_001)
    for n in (1.0, 7.0):
        normal = -0.5 * x**2 - 0.5 * np.log(2 * np.pi)  # of the sum of n rewards over sqrt(n)
        for k, shift in enumerate(evalues.SHIFTS):
            won = 0.5 * shift * n * x**2 / (1 + shift * n) - evalues.shift_price(np.array([n]))[0, k]
            assert expectation(normal, x, won) == pytest.approx(1, abs=1e-9)
    for k, tilt in enumerate(evalues.NOISE_TILTS):
        won = 0.5 * tilt * x**2 - evalues.noise_price(np.array([1.0]))[0, k]
        assert expectation(normal, x, won) == pytest.approx(1, abs=1e-9)
        # and no sub-Gaussian law wins more
        u = np.linspace(-(3**0.5), 3**0.5, 100_001)
        assert np.exp(0.5 * tilt * u**2).mean() <= np.exp(evalues.noise_price(np.array([1.0]))[0, k]) + 1e-9
        for mean in np.linspace(0, 1, 21):
            two = mean * np.exp(2 * tilt * (1 - mean) ** 2) + (1 - mean) * np.exp(2 * tilt * mean**2)
            assert two <= np.exp(evalues.noise_price(np.array([1.0]))[0, k]) + 1e-12


def test_the_shared_price_is_what_gaussian_noise_wins_on_average() -> None:
    """Against the covariance of the rewards themselves, two arcs in two contexts, one reward each."""
    of_arc, of_context = np.repeat(np.eye(2), 2, axis=0), np.tile(np.eye(2), (2, 1))
    both = np.hstack([of_arc, of_context])
    prior = np.array([[0.25, 0.25, 16.0, 16.0]])
    covariance = np.eye(4) + both @ np.diag(prior[0]) @ both.T
    price = evalues.shared_price(both.T @ both, prior)
    assert price[0] == pytest.approx(0.5 * np.linalg.slogdet(covariance)[1])


# Power -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [2.0, 3.0, 5.0])
def test_noise_larger_than_declared_is_found(factor: float) -> None:
    """Told in nearly every run by the time that Challenger stops, some seventy trials, and not blamed on choices."""
    told, runs = 0, 12
    for seed in range(runs):
        instance, rng = families.chain(8, 4, seed=seed, sigma=0.1), np.random.default_rng(seed)
        learner = Challenger(instance.mdp, 0.3, 0.1, 0.1, dependence="independent")
        watch = Watch(instance.mdp, learner.sigma)
        while not learner.stopped:
            path = learner.ask()
            rewards = instance.means[path] + 0.1 * factor * rng.standard_normal(8)
            learner.tell(path, rewards)
            watch.observe(path, rewards)
        findings = watch.findings()
        told += bool(findings)
        assert {found.kind for found in findings} <= {"noise"}
        for found in findings[:1]:
            assert found.seen == pytest.approx(0.1 * factor, rel=0.35)
    assert told >= 0.8 * runs


def test_one_noisy_option_is_found_and_named() -> None:
    rng, watch = np.random.default_rng(5), Watch(CHAIN, np.full(12, 0.1))
    for _ in range(300):
        path = random_path(CHAIN, rng)
        watch.observe(path, rng.standard_normal(4) * np.where(path == 7, 0.3, 0.1))
    first = watch.findings()[0]
    assert (first.kind, first.where) == ("noise", "on '1' in state '0' at step 3")
    assert first.seen == pytest.approx(0.3, rel=0.15)


def test_a_drift_is_found() -> None:
    rng, watch = np.random.default_rng(6), Watch(CHAIN, np.full(12, 0.1))
    for trial in range(300):
        watch.observe(random_path(CHAIN, rng), 0.1 * rng.standard_normal(4) + [0, 0, 0.3 * trial / 300, 0])
    first = watch.findings()[0]
    assert (first.kind, first.where) == ("drift", "at step 3")


def tracks(plans: int, steps: int = 8) -> MDP:
    """Plans that differ in every step."""
    available = np.zeros((steps, plans, plans), dtype=bool)
    available[0, 0], available[1:, :, 0] = True, True
    following = np.tile(np.arange(plans)[:, None], (steps, 1, plans))  # every state leads to itself
    following[0, 0] = np.arange(plans)
    return MDP.from_arrays(following, available=available)


def with_shared_luck(correlation: float, runs: int, plans: int = 4, **more: Any) -> tuple[int, int, int]:
    """Runs whose answer is wrong, that find shared luck, and that find anything else, by Challenger's stop."""
    mdp, counts = tracks(plans), np.zeros(3, dtype=int)
    for run in range(runs):
        rng = np.random.default_rng([run, int(100 * correlation)])
        means, best = np.zeros(mdp.n_arcs), int(rng.integers(plans))
        means[best] = 1.2
        learner = Challenger(mdp, 1.0, 0.1, 1.0, **{"dependence": "independent", **more})
        while not learner.stopped:
            path = learner.ask()
            own = np.sqrt(1 - correlation) * rng.standard_normal(mdp.horizon)
            learner.tell(path, means[path] + np.sqrt(correlation) * rng.standard_normal() + own)
        kinds = {found.kind for found in learner.findings()}
        counts += [learner.recommend()[0] != best, "luck" in kinds, bool(kinds - {"luck"})]
    return tuple(counts.tolist())  # type: ignore[return-value]


@pytest.mark.parametrize("correlation", [0.3, 1.0])
def test_luck_shared_by_the_steps_of_a_trial_is_found(correlation: float) -> None:
    _, found, _ = with_shared_luck(correlation, 20)
    assert found > 10


def test_shared_luck_contradicts_nothing_where_steps_may_depend_on_each_other() -> None:
    """Nor does the noise of all steps together, which such luck makes vary more than independent steps would."""
    assert with_shared_luck(1.0, 10, dependence="any")[1:] == (0, 0)


def test_trials_that_bad_scores_ended_contradict_nothing() -> None:
    """Hard cases are seen at the second step after one option of the first only."""
    mdp = MDP.from_steps({"a": [0, 1], "b": [0, 1]}, reward_range=(0, 1), depends="none")
    learner, rng = Challenger(mdp, 0.02, 0.1), np.random.default_rng(0)
    for _ in range(600):
        path, score = learner.ask(), float(rng.random() > 0.5)
        learner.tell(path, [score] if score == path[0] == 0 else [score, score])
    assert learner.findings() == []


def test_without_shared_luck_none_is_found() -> None:
    assert with_shared_luck(0.0, 20)[1:] == (0, 0)


def least_luck_p(seed: int) -> float:
    """The least p-value of shared luck while Challenger chooses by scores that share none, looked at all the time."""
    rng, learner = np.random.default_rng([seed, 5]), Challenger(tracks(2, 3), 0.0, 0.1, 1.0, dependence="independent")
    watch, least = learner._watch, 0.0
    for _ in range(25):
        if learner.stopped:
            break
        path = learner.ask()
        learner.tell(path, rng.standard_normal(3))
        least = min(least, *(float(rows.log_p.min()) for rows in watch._judged() if rows.kind == LUCK))
    return float(np.exp(least))


@pytest.mark.guarantee
def test_without_its_price_shared_luck_is_found_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_above(sum(least_luck_p(seed) <= ALPHA for seed in range(40)), 40, ALPHA)
    monkeypatch.setattr(evalues, "luck_price", lambda count, steps: np.zeros(len(evalues.EVALUES_LUCK)))
    assert is_above(sum(least_luck_p(seed) <= ALPHA for seed in range(25)), 25, ALPHA)


def with_unequal_noise(factor: float, runs: int) -> int:
    """Runs that find unequal noise by Challenger's stop: sigma "unknown", the noise of the first step times factor."""
    mdp = MDP.from_steps({f"step {i}": list(range(4)) for i in range(8)}, depends="none")
    found = 0
    for run in range(runs):
        rng = np.random.default_rng([run, int(10 * factor)])
        means, learner = rng.random(mdp.n_arcs), Challenger(mdp, 2.0, 0.1, "unknown", dependence="independent")
        noise = 0.37 * np.where(mdp.arcs.stage == 0, factor, 1.0)
        while not learner.stopped:
            path = learner.ask()
            learner.tell(path, means[path] + noise[path] * rng.standard_normal(mdp.horizon))
        found += bool(learner.findings())
    return found


def test_unequal_noise_is_found_where_one_sigma_is_unknown() -> None:
    assert with_unequal_noise(3.0, 10) >= 8
    assert with_unequal_noise(1.0, 20) == 0


def least_unequal_p(seed: int) -> float:
    """The least p-value while Challenger chooses by scores of one sigma, looked at all the time."""
    rng, mdp = np.random.default_rng([seed, 6]), MDP.from_arrays(np.zeros((2, 1, 2), dtype=int))
    learner, least = Challenger(mdp, 0.0, 0.1, "unknown", dependence="independent"), 1.0
    for _ in range(30):
        if learner.stopped:
            break
        path = learner.ask()
        learner.tell(path, 3.0 * rng.standard_normal(2))
        least = min(least, learner._watch.p_value())
    return least


@pytest.mark.guarantee
def test_without_its_price_unequal_noise_is_found_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_above(sum(least_unequal_p(seed) <= ALPHA for seed in range(40)), 40, ALPHA)
    kept = evalues.noise_price
    monkeypatch.setattr(evalues, "noise_price", lambda n: 0 * kept(n))
    assert is_above(sum(least_unequal_p(seed) <= ALPHA for seed in range(25)), 25, ALPHA)
