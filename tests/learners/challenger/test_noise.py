"""Challenger with noise that is learned: its bound beside exact integration, its choices, its snapshots."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from surepath import MDP, Bernoulli, Challenger, Gaussian, Instance, simulate
from surepath.errors import SettingError
from surepath.kernels.sweeps import reality_of
from surepath.learners import runs as tasks
from surepath.learners.challenger import noise as betting
from surepath.learners.challenger.check import make_row
from surepath.learners.challenger.noise import BERNSTEIN, BETTING
from surepath.learners.challenger.state import OWN, RIVAL
from surepath.simulation.simulate import drive
from surepath.verify.noise import checker_of
from tests.learners.challenger.plays import width
from tests.learners.worlds import options
from tests.naive.processes import log_wealth, log_z, squares, z_star

NOISES = ("bernstein", "betting")
GRID = np.linspace(0.0, 1.0, 1501)


def told(mdp: MDP, episodes: int, seed: int, **settings: Any) -> tuple[Challenger, list[list[float]]]:
    """A learner after random trials, and the gains of every arc in their order."""
    rng = np.random.default_rng(seed)
    learner = Challenger(mdp, 0.0, 0.1, dependence="independent", **settings)
    assert mdp.reward_range is not None
    low, high = mdp.reward_range
    shape, gains = rng.uniform(0.3, 8, (mdp.n_arcs, 2)), [[] for _ in range(mdp.n_arcs)]  # type: ignore[var-annotated]
    for _ in range(episodes):
        path = np.array([rng.integers(mdp.stage_arc[h], mdp.stage_arc[h + 1]) for h in range(mdp.horizon)])
        rewards = low[path] + (high - low)[path] * rng.beta(shape[path, 0], shape[path, 1])
        learner.tell(path, rewards)
        for arc, reward in zip(path, rewards):
            gains[arc].append(mdp.sign * reward)
    return learner, gains


def exact_width(learner: Challenger, gains: list[float], side: int, j: int, k: float, arc: int) -> float:
    """w(k) straight from the definition, the supremum over r taken on a grid: never above the true one."""
    pairs, learned = learner.pairs, learner.pairs.learned
    assert learned is not None
    low, span, c = learned.low[arc], learned.span[arc], pairs.c[side, j, arc]
    x = (np.array(gains) - low) / span
    x = x if side == RIVAL else 1 - x
    if pairs.kind[j] == BERNSTEIN:
        start = log_z(np.zeros(1), np.array([c]))[0][0]
        y, w = np.array([span / (len(x) * k)]), np.array([squares(x) + c])
        if y[0] < 0.99:
            return float(k * (z_star(y, w)[0] + start))
        log_m = log_z(len(x) * (GRID - x.mean()), np.full_like(GRID, w[0]))[0] - start
        return float(((GRID - x.mean()) * span - k * log_m).max())
    table, which = learned.betting, learned.which[side, j, arc]
    assert table is not None
    best = -np.inf
    for r in GRID[::10]:
        cell = min(int(np.searchsorted(table.edge, r, side="right")) - 1, betting.CELLS - 1)
        log_m = log_wealth(x, r, table.tilt[:, cell], table.prior[which, :, cell], betting.UNBET)
        best = max(best, (r - x.mean()) * span - k * log_m)
    return best


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("noise", NOISES)
def test_every_width_is_at_least_the_exact_one(noise: str, direction: str) -> None:
    learner, gains = told(options(2, 3, -2.0, 3.0, direction), 60, 3, noise=noise)
    rng = np.random.default_rng(0)
    kinds, ratios = learner.pairs.kind, []
    for _ in range(120):
        j = int(rng.choice(np.flatnonzero(kinds >= BERNSTEIN)))
        arc, side = int(rng.integers(learner.mdp.n_arcs)), int(rng.integers(2))
        k = float(np.exp(rng.uniform(np.log(0.02), np.log(2.0))))
        ours = width(learner.pairs, learner._work, side, j, k, arc)
        exact = exact_width(learner, gains[arc], side, j, k, arc)
        assert ours >= exact - 1e-9
        ratios.append(ours - exact - 0.1 * k)
    assert np.median(ratios) < 0.02  # and not far above, in a range 5 wide


@pytest.mark.parametrize("noise", NOISES)
def test_the_passes_use_these_widths(noise: str) -> None:
    """One stage: the weight of a rival is the difference of means, the widths of both, and k times one number."""
    learner, _ = told(options(1, 4), 50, 5, noise=noise)
    work, pairs = learner._work, learner.pairs
    learner._act(tasks.INCUMBENT)
    own = int(work.incumbent[0])
    for j in range(len(pairs.cost)):
        left = []
        for k in (0.004, 0.03, 0.2):
            learner._seen.alive[:] = True
            work.grid[0] = j, k
            make_row(learner.graph, pairs, learner._seen, work, 0, 0)
            for arc in set(range(4)) - {own}:
                ours = width(pairs, work, RIVAL, j, k, arc)
                theirs = width(pairs, work, OWN, j, k, own)
                left.append((work.weight[arc] - (work.mean[arc] - work.mean[own]) - ours - theirs) / k)
        assert np.allclose(left, left[0], rtol=1e-7)
        assert left[0] >= np.log(3) - 1e-7


@pytest.mark.parametrize("settings", [{"noise": "bernstein"}, {"noise": "betting"}])
def test_runs_and_steps_decide_alike(settings: dict[str, Any]) -> None:
    instance = Instance(options(2, 2), Bernoulli([0.2, 0.8, 0.7, 0.1]))
    learner = Challenger(instance.mdp, 0.3, 0.2, dependence="independent", **settings)
    for seed in range(3):
        run = learner._run(reality_of(instance), np.random.default_rng(seed), 10_000, np.array([0.3]))
        steps = drive(learner, instance, np.random.default_rng(seed), 10_000, np.array([0.3]))
        assert (run.tau[0], run.path[0].tolist()) == (steps.tau[0], steps.path[0].tolist())
        assert run.gap[0] == pytest.approx(steps.gap[0])


def test_arcs_with_a_sigma_a_range_and_a_known_reward_mix() -> None:
    base = options(3, 2)
    low, high = (side.copy() for side in base.reward_range or ())
    low[:2], high[:2] = -np.inf, np.inf  # the first stage declares a sigma, the second a range, the third is half known
    fields = {name: getattr(base, name) for name in ("first", "target", "stage_node", "node_state", "action")}
    sigma = np.array([0.1, 0.1, np.nan, np.nan, np.nan, np.nan])
    known = np.array([np.nan] * 5 + [0.4])
    mdp = MDP(**fields, sigma=sigma, known=known, reward_range=(low, high))
    learner, rng = Challenger(mdp, 0.1, 0.1, dependence="independent"), np.random.default_rng(0)
    assert learner.noise == "betting"
    assert learner.pairs.learned is not None
    assert learner.pairs.learned.learns.tolist() == [False, False, True, True, True, False]
    means = np.array([5.0, 4.8, 0.2, 0.7, 0.6, 0.4])
    while not learner.stopped:
        path = learner.ask()
        noise = np.where(path < 2, 0.1 * rng.standard_normal(3), 0.1 * (rng.random(3) - 0.5))
        learner.tell(path, means[path] + noise)
    assert learner.recommend().tolist() == [0, 3, 4]
    assert learner.explain().rivals


def test_the_default_suits_what_is_declared() -> None:
    plain = MDP.from_arrays(np.zeros((1, 1, 2), dtype=int))
    both = MDP.from_steps({"a": ["x", "y"]}, sigma=0.2, reward_range=(0, 1))
    assert Challenger(options(1, 2), 0.1, 0.1, dependence="independent").settings()["noise"] == "betting"
    assert Challenger(options(1, 2), 0.1, 0.1, 0.3, dependence="independent").noise == "sigma"
    assert Challenger(plain, 0.1, 0.1, 0.3, dependence="independent").noise == "sigma"
    assert Challenger(both, 0.1, 0.1, dependence="independent").noise == "sigma"
    learned = Challenger(both, 0.1, 0.1, noise="bernstein", dependence="independent").pairs.learned
    assert learned is not None
    assert learned.learns.all()
    again = Challenger.from_snapshot(
        options(1, 2), Challenger(options(1, 2), 0.1, 0.1, dependence="independent").snapshot()
    )
    assert isinstance(again, Challenger)
    assert (again.pairs.kind == BETTING).any()


def test_simulate_takes_the_cheap_one_and_says_so() -> None:
    instance = Instance(options(1, 2), Bernoulli([0.1, 0.9]))
    spec = {"name": "Challenger", "epsilon": 0.2, "delta": 0.1}
    assert simulate(spec, instance, 2, 0).settings["learner"]["noise"] == "bernstein"
    assert simulate({**spec, "noise": "betting"}, instance, 2, 0).settings["learner"]["noise"] == "betting"
    assert simulate({**spec, "sigma": 0.5}, instance, 2, 0).settings["learner"]["noise"] == "sigma"
    outside = Instance(options(1, 2), Gaussian([0.1, 0.9], 0.1))
    with pytest.raises(SettingError, match="inside the declared range"):
        simulate(spec, outside, 1, 0)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"noise": "betting", "sigma": 1.0}, "no option to learn declares one"),
        ({"noise": "guess", "sigma": 1.0}, "noise"),
        ({"sigma": "unknowm"}, "unknown"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        Challenger(MDP.from_arrays(np.zeros((1, 1, 2), dtype=int)), 0.1, 0.1, dependence="independent", **settings)


def test_an_unknown_sigma_is_a_setting_and_is_found() -> None:
    instance = Instance(MDP.from_arrays(np.zeros((2, 1, 2), dtype=int)), Gaussian([0.0, 1.0, 1.0, 0.0], 0.3))
    learner, rng = Challenger(instance.mdp, 0.2, 0.1, "unknown", dependence="independent"), np.random.default_rng(0)
    assert json.loads(json.dumps(learner.settings()))["sigma"] == "unknown"
    learner.tell([0, 2], [0.1, 0.9])
    assert learner.certified_gap() == np.inf
    while not learner.stopped:
        path = learner.ask()
        learner.tell(path, instance.means[path] + 0.3 * rng.standard_normal(2))
    assert 0.3 < learner._work.unit[0] < 0.9
    assert learner.recommend().tolist() == [1, 2]
    twin = Challenger.from_snapshot(instance.mdp, learner.snapshot())
    assert twin.certified_gap() == learner.certified_gap()
    assert learner.findings() == []
    differing = MDP.from_steps({"a": [0, 1], "b": [0, 1]}, sigma={"a": 0.5, "b": 2.0})
    with pytest.raises(SettingError, match=r"the problem declares noise from 0\.5 to 2; leave sigma out"):
        Challenger(differing, 0.2, 0.1, "unknown", dependence="independent")
    exact = MDP.from_steps({"a": [0, 1], "b": [0, 1]}, sigma={"a": 0.5, "b": 0.0})
    learner = Challenger(exact, 0.2, 0.1, "unknown", dependence="independent")
    assert exact.sigma is not None
    assert np.array_equal(learner.sigma, exact.sigma > 0)
    plain, why = checker_of(differing, learner.settings())
    assert plain is None
    assert "one unknown sigma for all options, but noise from 0.5 to 2" in why
    from surepath import EPRL

    with pytest.raises(SettingError, match="only Challenger"):
        EPRL(instance.mdp, 0.1, 0.1, "unknown")
