"""Stage pairs beside enumeration: the prior, the bound of every pair, the passes, the gap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import MDP, Challenger, Gaussian, Instance, simulate, theory
from surepath.errors import SettingError
from surepath.learners import runs as tasks
from surepath.learners.challenger.state import FIRST_KAPPA, KEPT, TOTAL
from tests.learners.challenger.test_shared_luck import lines
from tests.learners.worlds import with_known, with_ranges
from tests.naive.challenger import excursions, most_choices
from tests.naive.paths import all_paths
from tests.naive.stages import StageTwin, stage_prior
from tests.strategies import arc_values, mdps

pytestmark = pytest.mark.pure
graphs = mdps(max_states=3, max_actions=3, max_horizon=3)
seeds = st.integers(0, 2**32 - 1)


def learner_on(mdp: MDP, seed: int, plain: bool = False, **fixed: Any) -> Challenger:
    """A learner with random settings and random evidence, ties, known arcs and arcs without noise among it."""
    rng = np.random.default_rng(seed)
    if not plain and rng.random() < 0.5:
        mdp = with_known(mdp, np.where(rng.random(mdp.n_arcs) < 0.3, arc_values(mdp, seed, "ties"), np.nan))
    if not plain and rng.random() < 0.4:
        mdp = with_ranges(mdp, rng)
    options: dict[str, Any] = {
        "noise": "sigma",
        "epsilon": float(rng.choice([0.0, 0.2, 1.0])),
        "delta": float(rng.choice([0.01, 0.5, 0.9])),
        "sigma": rng.choice([0.0, 0.05, 0.3, 1.0], size=mdp.n_arcs),
        **fixed,
    }
    learner = Challenger(mdp, dependence="any", **options)
    seen = learner._seen
    seen.visits[:] = np.exp(rng.uniform(0, rng.choice([3, 8]), mdp.n_arcs)).astype(int)
    seen.sums[:] = seen.visits * (arc_values(mdp, seed, "uniform") + 0.1 * rng.standard_normal(mdp.n_arcs))
    assert learner.pairs.stages is not None
    if learner.pairs.stages.fills:
        seen.missing[:] = np.where(learner.sigma > 0, rng.integers(0, 20, mdp.n_arcs), 0)
    for path in all_paths(mdp):
        learner._work.path[:] = path
        learner._act(tasks.TELL)
    return learner


def twin_of(learner: Challenger) -> StageTwin:
    mdp, seen = learner.mdp, learner._seen
    mean = np.where(mdp.is_known, learner.known_gain, seen.sums / seen.visits)
    weights = np.array([entry["weight"] for entry in learner.bound])
    sides, stages = np.swapaxes(learner.pairs.c, 0, 1), learner.pairs.stages
    assert stages is not None
    seen_by = (learner.sigma, seen.visits, mean, seen.alive, sides, weights, seen.missing)
    totals = tuple(j for j, entry in enumerate(learner.bound) if entry["prior"] == "plans")
    return StageTwin(mdp, learner.delta, *seen_by, (stages.least, stages.most), stages.total or 0.0, totals)


@settings(max_examples=60)
@given(graphs)
def test_the_prior_over_wrong_arcs_sums_to_at_most_one(mdp: MDP) -> None:
    most = most_choices(mdp)
    for q in all_paths(mdp):
        stage = mdp.arcs.stage
        total = sum(stage_prior(mdp, y, q[stage[y]], most) for y in range(mdp.n_arcs) if y not in q)
        assert total <= 1 + 1e-12
        if mdp.n_arcs > mdp.horizon:
            assert total >= 0.5 - 1e-12


@settings(max_examples=20)
@given(graphs, seeds)
def test_a_check_bounds_pairs_as_enumeration_does(mdp: MDP, seed: int) -> None:
    learner = learner_on(mdp, seed, epsilon=0.2)
    if learner.mdp.n_arcs == learner.mdp.horizon:
        return
    learner._act(tasks.CHECK)  # keeps nothing, eliminates nothing
    twin, work = twin_of(learner), learner._work
    assert work.stage_work is not None
    incumbent, grid = work.incumbent, work.grid
    for x in range(learner.mdp.n_arcs):
        y = int(incumbent[learner.mdp.arcs.stage[x]])
        if x == y:
            continue
        rows = [KEPT, *(r for r in range(FIRST_KAPPA, len(grid)) if grid[r, 1] > 0)]
        exact = {row: twin.pair(x, y, None if row == KEPT else float(grid[row, 1])) for row in rows}
        for row, value in exact.items():
            least = min(value, exact[KEPT])
            found = float(work.stage_work.bound[row, x])
            width = exact[KEPT] - twin.difference(x, y)
            assert found >= least - 5e-4 * abs(width) - 1e-9, (row, x, y)  # the twin tries slopes 2 % apart
            # Slopes are tried up to 3.7 times the one that suits S0; the far rows serve other arcs.
            assert found <= exact[KEPT] + 0.02 * abs(width) + 1e-9


@settings(max_examples=60)
@given(graphs, seeds)
def test_the_gap_is_that_of_listed_paths(mdp: MDP, seed: int) -> None:
    learner = learner_on(mdp, seed)
    gap = learner.certified_gap()
    twin, work = twin_of(learner), learner._work
    assert work.stage_work is not None
    p = tuple(work.incumbent.tolist())
    rows = [KEPT, *(r for r in range(FIRST_KAPPA, len(work.grid)) if work.grid[r, 1] > 0)]
    bound = work.stage_work.bound
    listed = dict.fromkeys(rows, 0.0)
    each = 0.0
    for q in twin.paths:
        if q == p:
            continue
        totals = []
        for row in rows:
            constant = float(work.grid[row, 1]) / learner.delta
            total = sum(float(bound[row, x]) for x, y in zip(q, p) if x != y) + constant
            totals.append(total)
            listed[row] = max(listed[row], total)
        each = max(each, min(totals))
    quiet = bool((work.a == 0).any())  # rows of arcs without noise prove more
    slack = 1e-6 + 2e-3 * abs(gap)
    if not quiet and not learner.stopped:
        assert gap >= each - slack
    assert gap <= max(0.0, min(listed.values())) + slack


@settings(max_examples=40)
@given(graphs, seeds)
def test_what_is_eliminated_is_a_loss_by_every_excursion(mdp: MDP, seed: int) -> None:
    learner = learner_on(mdp, seed)
    before = twin_of(learner)
    paths = list(before.paths)
    learner._check_anew()
    work, p = learner._work, tuple(learner._work.incumbent.tolist())
    assert work.stage_work is not None
    dropped = np.flatnonzero(~learner._seen.alive)
    rows = [r for r in range(KEPT, len(work.grid)) if r < FIRST_KAPPA or work.grid[r, 1] > 0]
    bound = work.stage_work.bound
    for e in dropped:
        losses = []
        for row in rows:
            constant = max(0.0, float(work.grid[row, 1])) / learner.delta
            through = {x for q in paths for x in excursions(learner.mdp, p, q) if e in x[1]}
            losses.append(all(sum(bound[row, x] for x in of_q) + constant < 1e-9 for _, of_q, _ in through))
        assert any(losses) or not any(e in q for q in paths)


@settings(max_examples=30)
@given(seeds)
def test_totals_bound_plans_that_share_no_step_as_enumeration_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = lines(int(rng.integers(1, 4)), "comonotone")[0].mdp
    learner = learner_on(mdp, seed, plain=True, sigma=float(rng.choice([0.3, 1.0])), total_sigma=rng.uniform(0.1, 3))
    visits, seen = learner._seen.visits, learner._seen
    counts = {path: int(rng.integers(1, 500)) for path in all_paths(mdp)}
    for path, count in counts.items():
        seen.sums[list(path)] *= count / visits[list(path)]
        visits[list(path)] = count
    odd = int(rng.integers(2 * mdp.n_arcs))  # one trial broke off
    if odd < mdp.n_arcs:
        visits[odd] += 1
    learner._act(tasks.REFRESH)
    learner._act(tasks.CHECK)
    twin, work = twin_of(learner), learner._work
    assert work.stage_work is not None
    p, most = tuple(work.incumbent.tolist()), 0.0
    for q in set(counts) - {p}:
        found, exact = float(work.stage_work.bound[TOTAL, list(q)].sum()), twin.totals(q, p)
        width = exact - sum(twin.difference(x, y) for x, y in zip(q, p))
        assert found == exact == np.inf or -5e-4 * width - 1e-9 <= found - exact <= 0.02 * width + 1e-9
        most = max(most, exact + 0.02 * width)  # the slopes tried cost a part of the width, which may exceed the bound
    assert learner.certified_gap() <= 1.002 * most + 1e-9


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"dependence": "independent"}, "follows from sigma"),
        ({"missing": "unrelated"}, "about whole trials"),
        ({}, "share no step"),
    ],
)
def test_totals_are_refused_where_they_prove_nothing(setting: dict[str, Any], message: str) -> None:
    mdp = lines(2, "comonotone")[0].mdp if setting else MDP.from_arrays(np.zeros((2, 1, 2), dtype=int))
    with pytest.raises(SettingError, match=message):
        Challenger(mdp, 0.1, 0.1, 1.0, total_sigma=1.0, **setting)


def test_it_stops_by_the_number_of_episodes_that_the_widths_allow() -> None:
    """All plans tie and every option is played as often: the stop comes late, and no later than that."""
    mdp = MDP.from_arrays(np.zeros((4, 1, 3), dtype=int))
    for epsilon in (2.0, 1.0):
        learner = Challenger(mdp, epsilon, 0.1, 1.0, sampling="max-diameter")
        most = theory.most_trials(mdp, learner.settings())
        tau = simulate(learner, Instance(mdp, Gaussian(np.zeros(mdp.n_arcs), 1.0)), 30, seed=1).tau
        assert tau.max() <= 1.01 * most + 3  # full checks come at every hundredth part more
        assert tau.max() > most / 4


def test_what_needs_independence_is_refused_without_it() -> None:
    """Any dependence is the default: who needs the other must say so."""
    mdp = MDP.from_arrays([[[0, 0]]])
    with pytest.raises(SettingError, match='needs dependence="independent"'):
        Challenger(mdp, 0.1, 0.1, "unknown")
    assert Challenger(mdp, 0.1, 0.1, "unknown", dependence="independent").dependence == "independent"
