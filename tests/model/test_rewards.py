"""Reward laws: means, sub-Gaussian factors and ranges, draws that obey them, refusals in words."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from surepath import MDP, Bernoulli, Bounded, Drawn, Empirical, Gaussian, Instance, Shared
from surepath.errors import ProblemError, SettingError
from surepath.kernels.jit import bare_kernel
from surepath.kernels.sweeps import Reality, draw, draw_path, reality_of
from surepath.model.worlds import Law
from tests.naive.draws import draw_reward

pytestmark = pytest.mark.pure

TWO = MDP.from_arrays([[[0, 0]]])
KNOWN = MDP.from_edges([{"state": "s", "action": "x"}, {"state": "s", "action": "toll", "known": -7.0}])

LAWS: dict[str, tuple[Law, list[float], list[float]]] = {
    "gaussian": (Gaussian([0.2, 0.8], 0.5), [0.2, 0.8], [0.5, 0.5]),
    "gaussian each": (Gaussian(0.3, [0.5, 2.0]), [0.3, 0.3], [0.5, 2.0]),
    "bernoulli": (Bernoulli([0.2, 0.8]), [0.2, 0.8], [0.5, 0.5]),
    "beta": (Bounded(-1, 3, [0.0, 2.5]), [0.0, 2.5], [2.0, 2.0]),
    "beta at its ends": (Bounded(0, 1, [0.0, 1.0]), [0.0, 1.0], [0.5, 0.5]),
    "uniform": (Bounded(0, [1, 4], [0.2, 3.0], sampler="uniform"), [0.2, 3.0], [0.5, 2.0]),
    "empirical": (Empirical([[1, 2, 6], [5]]), [3.0, 5.0], [2.5, 0.0]),
}


@bare_kernel
def fill(reality: Reality, arc: int, rng: np.random.Generator, out: np.ndarray) -> None:
    """Draws as a compiled run makes them; `draw` itself is for kernels only."""
    for i in range(len(out)):
        out[i] = draw(reality, np.uint64(arc), rng)


def sample_of(instance: Instance, arc: int, count: int = 4000) -> np.ndarray:
    out = np.empty(count)
    fill(reality_of(instance), arc, np.random.default_rng(7), out)
    return out


@pytest.mark.parametrize("name", LAWS)
def test_a_law_knows_its_means_and_factors_and_draws_accordingly(name: str) -> None:
    law, means, sigma = LAWS[name]
    instance = Instance(TWO, law)
    assert instance.means.tolist() == pytest.approx(means)
    assert instance.sigma.tolist() == pytest.approx(sigma)
    for arc in (0, 1):
        sample = sample_of(instance, arc)
        assert sample.mean() == pytest.approx(means[arc], abs=5 * sigma[arc] / np.sqrt(4000) + 1e-12)
        assert sample.min() >= instance.law.low[arc]
        assert sample.max() <= instance.law.high[arc]
        # A sub-Gaussian factor bounds the standard deviation; allow for chance.
        assert sample.std() <= 1.1 * sigma[arc] + 1e-12


@pytest.mark.parametrize("law", ["beta", "uniform"])
def test_draws_never_leave_the_range_by_rounding(law: str) -> None:
    low, high = 0.3, 0.85
    assert low + (high - low) > high
    instance, rng = Instance(TWO, Bounded(low, high, sampler=law, concentration=0.01)), np.random.default_rng(7)
    for sample in (sample_of(instance, 0), np.array([draw_reward(instance, 0, rng) for _ in range(4000)])):
        assert low <= sample.min() <= sample.max() <= high
    instance, rng = Instance(TWO, Bounded(low, high, sampler=law)), np.random.default_rng(7)
    assert sample_of(instance, 0, 100).tolist() == [draw_reward(instance, 0, rng) for _ in range(100)]


def test_a_mean_at_an_end_is_that_end_for_both_drivers() -> None:
    for low, high in ((0.3, 0.85), (0.1, 0.7), (-0.7, 0.1)):
        instance = Instance(TWO, Bounded(low, high, [low, high]))
        for arc, end in enumerate((low, high)):
            assert sample_of(instance, arc, 1) == [end]
            assert draw_reward(instance, arc, np.random.default_rng(7)) == end


def test_a_known_reward_overrules_every_law() -> None:
    for law in (
        Gaussian(0.5, 1.0),
        Bernoulli([0.5, 0.0]),
        Bernoulli([0.5, 3.0]),
        Bounded(0, 1),
        Empirical([[1, 0], [1]]),
    ):
        instance = Instance(KNOWN, law)
        assert instance.means[1] == -7.0
        assert instance.sigma[1] == 0.0
        assert sample_of(instance, 1, 1) == [-7.0]


BAD: list[tuple[Callable[[], Law], str]] = [
    (lambda: Gaussian([0.1, float("nan")]), "means must be finite; at place 1 it is nan"),
    (lambda: Gaussian(["a", "b"]), "means must be numbers, not text; got ['a', 'b']"),
    (
        lambda: Gaussian(np.zeros((1, 2))),
        "means must be a number, or 2 numbers, one for each option in each state; got shape (1, 2)",
    ),
    (lambda: Gaussian(np.zeros((2, 1, 2))), "means as [H, S, A] must have at least shape (1, 1, 2); got (2, 1, 2)"),
    (lambda: Bernoulli([0.5, 1.5]), "Bernoulli means must lie in [0, 1]; option 1 of step 1 (state"),
    (lambda: Bounded(1, 0), "low must not exceed high; option 0"),
    (lambda: Bounded(0, 1, [0.5, 2]), "means must lie in [0, 1]; option 1"),
    (lambda: Bounded(0, 1, sampler="normal"), 'sampler must be "beta" or "uniform", not \'normal\''),
    (lambda: Empirical([[1]]), "tables must have one sequence per option, 2; got 1"),
    (lambda: Empirical([[1], []]), "the table of option 1 of step 1 (state 0) must be a non-empty row"),
    (lambda: Gaussian([10**400, 1]), "means must be numbers, not 1000000"),
    (lambda: Bounded(0, 1, concentration="x"), "concentration must be a number, not 'x'"),  # type: ignore[arg-type]
    (lambda: Empirical([[1], [1e200]]), "must be a non-empty row of finite numbers within 1e+150 of 0; got [1e+200]"),
    (lambda: Empirical(None), "tables must have one sequence per option, 2; got None"),  # type: ignore[arg-type]
    (lambda: Drawn(3, 0.0, 1.0), "draw must be a function (arc, generator) -> reward, not 3"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("law", "message"), BAD)
def test_bad_laws_are_refused_in_words(law: Callable[[], Law], message: str) -> None:
    with pytest.raises((ProblemError, SettingError), match=re.escape(message)):
        Instance(TWO, law())


def test_an_instance_needs_an_mdp_and_a_law() -> None:
    with pytest.raises(ProblemError, match=re.escape("rewards must be a law such as Gaussian(means, sigma), not list")):
        Instance(TWO, [0.1, 0.2])  # type: ignore[arg-type]
    with pytest.raises(ProblemError, match="an instance needs an MDP, not str"):
        Instance("two", Gaussian(0.0))  # type: ignore[arg-type]


@pytest.mark.parametrize(("loading", "carry"), [(0.8, 0.0), (0.0, 0.7), (0.6, -0.5)])
def test_steps_share_luck_and_hand_it_on_as_declared(loading: float, carry: float) -> None:
    mdp = MDP.from_arrays(np.zeros((3, 1, 1), dtype=int))
    reality = reality_of(Instance(mdp, Shared(Gaussian([1.0, 2.0, 3.0], 0.5), loading, carry)))
    rng, seen = np.random.default_rng(1), np.zeros((4_000, 3))
    for row in seen:
        draw_path(reality, np.arange(3), rng, row)
    apart = np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    expected = loading**2 + (1 - loading**2) * np.array([1.0, carry, carry**2])[apart]
    np.testing.assert_allclose(seen.mean(axis=0), [1.0, 2.0, 3.0], atol=0.04)
    np.testing.assert_allclose(np.cov(seen.T) / 0.25, expected, atol=0.09)
