"""Watch: the same numbers as the naive twin, the laws it keeps, what it says and what it saves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath.learners import watch as evalues
from surepath.learners.watch import FINDING_KINDS, Watch, finding, odds
from surepath.model.mdp import MDP
from tests.learners.worlds import with_known
from tests.naive import watch as naive
from tests.strategies import mdps

Trial = tuple[np.ndarray, np.ndarray]
CHAIN = MDP.from_arrays(np.zeros((4, 1, 3), dtype=int))  # four steps, three options each, no memory


def random_path(mdp: MDP, rng: np.random.Generator) -> np.ndarray:
    node, path = 0, []
    while node < mdp.n_nodes:
        path.append(int(rng.integers(mdp.first[node], mdp.first[node + 1])))
        node = int(mdp.target[path[-1]])
    return np.array(path)


def random_trials(mdp: MDP, rng: np.random.Generator, count: int = 25) -> list[Trial]:
    """Trials with all that may go wrong: large noise, dependence on the first choice, drift, failures half-way."""
    noise, lean, slope = rng.choice([0.5, 4.0]), rng.choice([0.0, 6.0]), rng.choice([0.0, 0.3])
    trials = []
    for trial in range(count):
        path = random_path(mdp, rng)
        told = mdp.horizon if rng.random() < 0.8 else int(rng.integers(0, mdp.horizon + 1))
        gains = noise * rng.standard_normal(told) + lean * (path[0] == 0) + slope * trial
        trials.append((path, np.round(64 * gains) / 64))  # so that adding a constant is exact
    return trials


def watched(mdp: MDP, sigma: np.ndarray, trials: list[Trial]) -> Watch:
    watch = Watch(mdp, sigma)
    for path, gains in trials:
        watch.observe(path, gains)
    return watch


def log_p_values(watch: Watch) -> dict[naive.Place, float]:
    return {
        (FINDING_KINDS[rows.kind], int(stage), int(arc), int(earlier)): float(log_p)
        for rows in watch._judged()
        for log_p, stage, arc, earlier in zip(rows.log_p, rows.stage, rows.arc, rows.earlier)
    }


def close(one: dict[naive.Place, float], other: dict[naive.Place, float]) -> bool:
    return one.keys() == other.keys() and all(one[k] == pytest.approx(other[k], rel=1e-9, abs=1e-9) for k in one)


# The numbers -----------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(mdps(max_horizon=7), st.integers(0, 2**32 - 1))
def test_fast_is_naive(mdp: MDP, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sigma, trials = rng.choice([0.5, 1.0, 1.5], mdp.n_arcs), random_trials(mdp, rng, 40)
    plain = [(path.tolist(), gains.tolist()) for path, gains in trials]
    assert close(log_p_values(watched(mdp, sigma, trials)), naive.log_p_values(mdp, sigma, plain))


def test_the_naive_cases_include_every_kind_that_speaks() -> None:
    kinds = set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        found = log_p_values(watched(CHAIN, np.ones(12), random_trials(CHAIN, rng, 60)))
        kinds |= {place[0] for place, log_p in found.items() if log_p < np.log(1e-3)}
    assert kinds == {"noise", "dependence", "drift", "luck"}  # all steps drift together here


@settings(max_examples=40, deadline=None)
@given(mdps(max_horizon=5), st.integers(0, 2**32 - 1))
def test_shared_luck_is_judged_as_by_the_naive_twin(mdp: MDP, seed: int) -> None:
    """Failures half-way, options of different noise, plans that share options and plans that do not."""
    rng = np.random.default_rng(seed)
    sigma, share = rng.choice([0.5, 1.0, 1.5], mdp.n_arcs), rng.choice([0.0, 0.5, 1.0])
    trials = []
    for _ in range(30):
        path, told = random_path(mdp, rng), int(rng.integers(mdp.horizon + 1)) if rng.random() < 0.3 else mdp.horizon
        noise = np.sqrt(share) * rng.standard_normal() + np.sqrt(1 - share) * rng.standard_normal(told)
        trials.append((path, sigma[path[:told]] * noise))
    fast = log_p_values(watched(mdp, sigma, trials)).get(("luck", -1, -1, -1), 0.0)
    plain = [(path.tolist(), gains.tolist()) for path, gains in trials]
    assert fast == pytest.approx(naive.log_p_values(mdp, sigma, plain).get(("luck", -1, -1, -1), 0.0), rel=1e-7)


def test_luck_with_many_options_is_judged_plan_by_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never more than with a mean for each option, and the same where every plan has options of its own."""
    rng = np.random.default_rng(0)
    on_track = np.array([[[1, 1], [0, 0]], [[1, 0], [1, 0]], [[1, 0], [1, 0]]], dtype=bool)
    tracks = MDP.from_arrays([[[0, 1], [0, 0]], *([[[0, 0], [1, 1]]] * 2)], available=on_track)
    for mdp, same in ((CHAIN, False), (tracks, True)):
        watch = Watch(mdp, np.ones(mdp.n_arcs))
        for _ in range(100):
            path = random_path(mdp, rng)
            watch.observe(path, np.full(mdp.horizon, rng.standard_normal()))
        was = log_p_values(watch)["luck", -1, -1, -1]
        with monkeypatch.context() as few:
            few.setattr(evalues, "MOST_MEANS", 1)
            now = log_p_values(watch)["luck", -1, -1, -1]
        assert was < -20
        assert now == pytest.approx(was) if same else now > was + 1


@settings(max_examples=25, deadline=None)
@given(mdps(max_horizon=4), st.integers(0, 2**32 - 1))
def test_unequal_noise_is_judged_as_by_the_naive_twin(mdp: MDP, seed: int) -> None:
    rng = np.random.default_rng(seed)
    noise = rng.choice([0.2, 0.2, 2.0], mdp.n_arcs)
    trials = [
        (path, noise[path] * rng.standard_normal(len(path))) for path in (random_path(mdp, rng) for _ in range(25))
    ]
    rows = [rows for rows in watched(mdp, np.full(mdp.n_arcs, np.inf), trials)._judged() if len(rows.log_p)]
    fast = {
        (int(stage), int(arc), i % 2 == 0): float(log_p)
        for i, judged in enumerate(rows)
        for stage, arc, log_p in zip(judged.stage, judged.arc, judged.log_p)
    }
    plain = naive.unequal_log_p(mdp, [(path.tolist(), gains.tolist()) for path, gains in trials])
    assert fast.keys() == plain.keys()
    assert all(fast[place] == pytest.approx(plain[place], abs=1e-4) for place in fast)


def test_known_and_exact_options_share_no_luck() -> None:
    rng = np.random.default_rng(4)
    mdp = with_known(CHAIN, np.where(np.arange(12) < 3, 0.0, np.nan))
    sigma = np.where(np.arange(12) < 6, 0.0, 1.0)
    watch, plain = Watch(mdp, sigma), Watch(CHAIN, sigma)
    for _ in range(200):
        path, gains = random_path(mdp, rng), np.append([0.0, 0.0], np.full(2, rng.standard_normal()))
        watch.observe(path, gains)
        plain.observe(path, gains)
    assert log_p_values(watch)["luck", -1, -1, -1] == log_p_values(plain)["luck", -1, -1, -1] < -10
    assert {found.kind for found in watch.findings()} == {"luck"}


@settings(max_examples=25, deadline=None)
@given(mdps(), st.integers(0, 2**32 - 1), st.integers(-1000, 1000))
def test_a_constant_a_unit_and_a_direction_change_nothing(mdp: MDP, seed: int, constant: int) -> None:
    rng = np.random.default_rng(seed)
    sigma, trials = rng.choice([0.5, 2.0], mdp.n_arcs), random_trials(mdp, rng)
    was = log_p_values(watched(mdp, sigma, trials))
    assert log_p_values(watched(mdp, sigma, [(path, gains + constant) for path, gains in trials])) == was
    assert log_p_values(watched(mdp, 8 * sigma, [(path, 8 * gains) for path, gains in trials])) == was
    assert log_p_values(watched(mdp, sigma, [(path, -gains) for path, gains in trials])) == was


def test_nothing_overflows() -> None:
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        tiny = watched(
            CHAIN, np.full(12, 1e-300), [(np.array([0, 3, 6, 9]), np.full(4, x)) for x in (1e150, -1e150, 0)]
        )
        assert tiny.findings()[0].kind == "noise"
        assert 0 < tiny.findings()[0].p_value < 1e-300


# What it says ----------------------------------------------------------------------------------------------------


def test_an_exact_reward_that_differs_is_told_at_once() -> None:
    sigma = np.ones(12)
    sigma[3] = 0
    path = np.array([0, 3, 6, 9])
    watch = watched(CHAIN, sigma, [(path, np.array([0, 0.1 + 0.2, 0, 0])), (path, np.array([0, 0.3, 0, 0]))])
    assert watch.findings() == []  # no more than rounding
    watch.observe(path, np.array([0, 0.4, 0, 0]))
    (found,) = watch.findings()
    assert (found.kind, found.p_value, found.declared) == ("exact", 0.0, 0.0)
    assert found.message == (
        "scores declared exact differ by about 0.058 on '0' in state '0' at step 2: the certificate does not hold"
    )


def test_known_rewards_are_not_looked_at() -> None:
    known = np.full(12, np.nan)
    known[[3, 6]] = 1.0
    mdp, path = with_known(CHAIN, known), np.array([0, 3, 6, 9])
    watch = Watch(mdp, np.where(np.isnan(known), 1.0, 0.0))
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        for value in (0.0, np.nan, 7.0, -50.0):
            watch.observe(path, np.array([0.0, value, -value, 0.0]))
        assert watch.findings() == []
    assert watch.p_value() == 1
    assert watch.evidence()["arc"].tolist() == [0, 9]
    assert all(np.isfinite(array).all() for array in watch.evidence().values())


def test_the_words() -> None:
    stage, option = "at step 2", "on 'fast' in state 'b' at step 2"
    assert finding("noise", stage, "", 0.1, 0.312, 3e-8).message == (
        "the noise looks larger than declared (0.31 against 0.1 at step 2, p < 1e-6): the certificate does not hold"
    )
    assert finding("noise", "over all steps", "", 0.1, 0.13, 3e-5).message.endswith("the certificate may not hold")
    again = "the certificate does not hold: read this log again with dependence any"
    assert finding("luck", "over all steps", "", 0.0, 0.5, 1e-8).message.endswith(again)
    assert finding("dependence", option, "what was chosen at step 0", 0.0, 0.21, 1e-13).message.startswith(
        "the score on 'fast' in state 'b' at step 2 shifts with what was chosen at step 0 (typically by 0.21"
    )
    assert finding("drift", stage, "", 0.0, 0.2, 1e-7).message.startswith("the score at step 2 drifts over time")
    assert [odds(p) for p in (0.2, 1e-4, 1e-11, 0.0)] == ["p = 0.2", "p < 1e-3", "p < 1e-9", "p < 1e-12"]


@pytest.mark.parametrize(
    ("stage", "earlier", "words"),
    [(3, 1, "shifts with what was chosen at step 2"), (2, 1, "shifts with the step before it")],
)
def test_a_dependence_is_found_where_it_is(stage: int, earlier: int, words: str) -> None:
    rng, watch = np.random.default_rng(1), Watch(CHAIN, np.full(12, 0.1))
    for _ in range(300):
        path = random_path(CHAIN, rng)
        gains = 0.1 * rng.standard_normal(4)
        gains[stage] += 0.15 * (CHAIN.action[path[earlier]] == 0)
        watch.observe(path, gains)
    first = watch.findings()[0]
    assert first.kind == "dependence"
    assert first.where == f"at step {stage + 1}"
    assert words in first.message
    assert first.declared == 0
    assert 0.05 < first.seen < 0.1  # 0.15 in a third of the trials: a standard deviation of 0.07
    assert "noise" not in {found.kind for found in watch.findings()}  # one cause is told once


def test_the_path_into_a_state_is_a_context_of_its_own() -> None:
    """Two roads, one action each, into one state: only the arc before tells them apart."""
    available = np.array([[[1, 1], [0, 0]], [[1, 0], [1, 0]], [[1, 0], [1, 0]]], dtype=bool)
    mdp = MDP.from_arrays([[[0, 1], [0, 0]], [[0, 0], [0, 0]], [[0, 0], [0, 0]]], available=available)
    rng, watch = np.random.default_rng(2), Watch(mdp, np.ones(mdp.n_arcs))
    for _ in range(100):
        path = random_path(mdp, rng)
        watch.observe(path, rng.standard_normal(3) + np.array([0, 0, 3.0 * (path[0] == 1)]))
    assert (mdp.action[mdp.stage_arc[1] :] == 0).all()
    told = [found.message for found in watch.findings() if found.where == "at step 3"]
    assert "shifts with the step before it" in " ".join(told)


# What it saves ---------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(mdps(), st.integers(0, 2**32 - 1))
def test_saved_and_loaded_it_goes_on_bit_for_bit(mdp: MDP, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sigma, trials = rng.choice([0.0, 0.5, 2.0], mdp.n_arcs), random_trials(mdp, rng)
    whole, half = watched(mdp, sigma, trials), watched(mdp, sigma, trials[:12])
    other = watched(mdp, sigma, trials[12:20])  # what it had seen before is forgotten
    saved = half.evidence()
    assert all(type(array) is np.ndarray and array.dtype.kind in "if" for array in saved.values())
    other.load(saved)
    for path, gains in trials[12:]:
        half.observe(path, gains)  # the copy must not move with the original
        other.observe(path, gains)
    one, two = whole.evidence(), other.evidence()
    assert one.keys() == two.keys()
    assert all(one[name].tobytes() == two[name].tobytes() for name in one)
    assert whole.findings() == other.findings()
