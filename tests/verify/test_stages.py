"""Stage pairs in plain NumPy: beside enumeration, beside Challenger, and in certificates that were altered."""

from __future__ import annotations

from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import MDP, Challenger, Study
from surepath.study.certificate import verify
from surepath.verify.bound import Scores, StageBound, Sums
from surepath.verify.file import assumptions, statement
from tests.learners.challenger.test_shared_luck import lines
from tests.naive.paths import all_paths
from tests.naive.stages import StageTwin
from tests.strategies import mdps
from tests.study.pipelines import means_of, new_study, pipeline, play
from tests.verify.tools import mended, plain_of

SIGMA = 0.1
ANY = {"name": "challenger", "dependence": "any"}


def some_sums(mdp: MDP, seed: int) -> Sums:
    rng = np.random.default_rng(seed)
    visits = np.exp(rng.uniform(0, 6, mdp.n_arcs)).astype(np.int64)
    missing = rng.integers(0, 3, mdp.n_arcs)
    return Sums(visits, np.zeros(mdp.n_arcs), visits * rng.uniform(-0.5, 0.5, mdp.n_arcs), missing=missing)


def with_ranges(mdp: MDP, ends: tuple[float, float]) -> MDP:
    return mdp._replaced(reward_range=tuple(np.full(mdp.n_arcs, end) for end in ends))


def twin_of(plain: StageBound, seen: Sums) -> StageTwin:
    of, mdp = plain.entries, plain.mdp
    c = np.array([[of.precision(e, side) for side in ("rival", "incumbent")] for e in of.bound])
    weights = np.array([e["weight"] for e in of.bound])
    alive = np.ones(mdp.n_arcs, dtype=bool)
    ends = tuple(np.full(mdp.n_arcs, end) for end in (-1.0, 1.0))
    means = seen.origin + seen.sums / seen.visits
    missing = seen.counts - seen.visits
    seen_by = (seen.visits, means, alive, c, weights, missing, (ends[0], ends[1]))
    totals = tuple(j for j, entry in enumerate(of.bound) if entry["prior"] == "plans")
    return StageTwin(mdp, of.delta, plain.sigma, *seen_by, of.total or 0.0, totals)


@settings(max_examples=15)
@given(mdps(max_states=3, max_horizon=3), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5]))
def test_pairs_and_gaps_are_those_of_enumeration(mdp: MDP, seed: int, epsilon: float) -> None:
    """Every pair at S0 and at every kappa; then the gap, with some pairs kept from another moment."""
    rng = np.random.default_rng(seed)
    mdp = with_ranges(mdp, (-1.0, 1.0))
    sigma = rng.choice([0.0, 0.1, 0.4, 0.4], size=mdp.n_arcs)
    plain = plain_of(Challenger(mdp, epsilon, 0.2, sigma, dependence="any", noise="sigma"))
    seen, before = some_sums(mdp, seed), some_sums(mdp, seed + 1)
    twin = twin_of(plain, seen)
    path = np.array(twin.paths[seed % len(twin.paths)])
    x, y = plain.off(seen, path)
    some = rng.random(len(x)) < 0.5
    plain.keep(before, x[some], y[some])
    assert list(plain.kept.values()) == plain.pair_bounds(before, x, y)[some, 0].tolist()
    _, kappas, bounds = plain._pairs(seen, path)
    columns: list[float | None] = [None, *kappas.tolist()]
    picked = [0, *range(1, len(columns), 15)]
    exact = {(a, b): [twin.pair(a, b, columns[row]) for row in picked] for a, b in zip(x.tolist(), y.tolist())}
    for i, pair in enumerate(zip(x.tolist(), y.tolist())):
        width = max(1e-9, exact[pair][0] - twin.difference(*pair))
        for row, value in zip(picked, exact[pair]):
            most = 2.0  # what the ranges allow
            assert min(most, bounds[i, row]) >= value - 2e-3 * width
            assert row > 0 or min(most, bounds[i, row]) <= value + 5e-3 * width
    least = {
        pair: np.minimum(bounds[i], min(bounds[i, 0], plain.kept.get(pair, np.inf), 2.0))
        for i, pair in enumerate(zip(x.tolist(), y.tolist()))
    }
    price = np.append(0.0, kappas) / plain.entries.delta
    paths = [
        sum((least[a, b] for a, b in zip(q, path.tolist()) if a != b), price.copy())
        for q in twin.paths
        if q != tuple(path.tolist())
    ]
    gap = plain.gap(seen, path, np.ones(mdp.n_arcs, dtype=bool))
    if (sigma > 0).all() and gap > 0:
        assert gap >= max(float(bound.min()) for bound in paths) - 1e-9
    one_row = min(np.max(paths, axis=0)) if paths else 0.0
    assert gap <= max(0.0, float(one_row)) * 1.0011 + 1e-9


@pytest.mark.parametrize("noise", ["sigma", "betting", "bernstein", "totals"])
@pytest.mark.parametrize("epsilon", [0.0, 0.4])
def test_it_confirms_what_challenger_proves_at_every_moment(noise: str, epsilon: float) -> None:
    declared: dict[str, Any] = {"sigma": 0.2} if noise == "sigma" else {"reward_range": (-1, 2)}
    mdp = MDP.from_steps({"a": [0, 1, 2], "b": [0, 1]}, **declared)
    if noise == "totals":
        mdp, declared = lines(3, "comonotone")[0].mdp, {"noise": "sigma", "sigma": 0.2, "total_sigma": 0.6}
    else:
        declared = {"noise": noise}
    learner = Challenger(mdp, epsilon, 0.1, **declared)
    plain, scores, rng = plain_of(learner), Scores(mdp.n_arcs), np.random.default_rng(0)
    means = means_of(mdp, 1)
    for _ in range(1500):
        path, before = learner.ask(), learner.active
        rewards = np.clip(means[path] + 0.2 * rng.standard_normal(), -1, 2)
        learner.tell(path, rewards)
        for arc, reward in zip(path.tolist(), rewards.tolist()):
            scores.add(arc, reward)
        seen = Sums(learner._visits.copy(), learner._origin.copy(), learner._sums.copy(), scores)
        kept = learner._seen.kept_of >= 0
        if learner.episodes % 50 == 0 or learner.stopped or (before & ~learner.active).any():
            incumbent = learner._recommend()
            x, y = plain.off(seen, incumbent)
            now = kept[x] & (learner._seen.kept_of[x] == y)
            plain.kept.update(zip(zip(x[now].tolist(), y[now].tolist()), learner._seen.kept[x[now]].tolist()))
            if (before & ~learner.active).any():
                assert plain.ruled_out(seen, incumbent, before)[before & ~learner.active].all()
            learner._proven.clear()  # of earlier moments
            gap = learner.certified_gap() if learner.stopped else learner._gap()
            if gap < np.inf:
                assert plain.gap(seen, incumbent, learner.active) <= 1.01 * gap + 1e-9
        if learner.stopped:
            break
    assert learner.stopped


def played(study: Study, seed: int, trials: int = 3000) -> dict[str, Any]:
    """The certificate of a study whose steps share all their luck."""
    means, rng = means_of(study.mdp, seed), np.random.default_rng(seed)
    while not study.done and trials:
        trial, trials = study.ask(), trials - 1
        study.tell(trial, means[trial.path] + SIGMA * rng.standard_normal())
    return study.certificate().to_dict()


@lru_cache(maxsize=1)
def example() -> tuple[Study, dict[str, Any]]:
    """A proof that needs pairs which were kept at earlier moments."""
    study = new_study(problem=pipeline(), epsilon=1e-3, learner=ANY)
    return study, played(study, 2, 400)


def test_kept_pairs_stand_in_the_file_and_are_found_in_the_log(tmp_path: Path) -> None:
    study, content = example()
    assert content["proof"]["by"] == "evidence"
    assert len(content["proof"]["kept"]) > 5
    assert "may depend on each other in any way" in content["assumptions"][0]
    assert verify(content).answer == verify(content, storage=study.storage).answer == "yes"
    study.export(tmp_path / "log.jsonl")
    assert verify(content, log=tmp_path / "log.jsonl").answer == "yes"


@pytest.mark.parametrize(
    ("declared", "missing", "counted"),
    [
        ({"sigma": None, "reward_range": (-1, 2)}, "related", True),
        ({"sigma": 0.2, "reward_range": (-1, 2)}, "related", True),
        ({"sigma": 0.2}, "related", False),
        ({"sigma": 0.2}, "unrelated", False),
    ],
)
def test_what_broken_off_trials_do_not_show_counts_in_file_and_log(
    declared: dict[str, Any], missing: str, counted: bool
) -> None:
    study = new_study(problem=pipeline(**declared), epsilon=0.1, learner={**ANY, "missing": missing})
    play(study, 80, mishaps=True)
    content = study.certificate().to_dict()
    lacking = content["evidence"]["missing"]
    assert lacking == study.learner._seen.missing.tolist()
    assert (sum(lacking) > 0) == counted
    words = {(True, True): "worse for the claim", (True, False): "left out whole", (False, False): "any score of their"}
    assert words[missing == "related", counted] in content["assumptions"][4]
    assert content["certified_gap"] < np.inf
    assert verify(content).answer == verify(content, storage=study.storage).answer == "yes"
    for arc in np.flatnonzero(lacking).tolist():
        forged = deepcopy(content)
        forged["evidence"]["missing"][arc] -= 1
        if "scores" in forged["evidence"]:
            forged["evidence"]["scores"][arc].remove(None)
        assert verify(mended(forged), storage=study.storage).answer == "no"
    forged = deepcopy(content)
    forged["settings"]["missing"] = "unrelated" if missing == "related" else "related"
    assert verify(again(forged, study.mdp), storage=study.storage).answer == "no"


def again(content: dict[str, Any], mdp: MDP) -> dict[str, Any]:
    """The words and the hash that a forger would write."""
    content["statement"], content["assumptions"] = statement(content), assumptions(content, mdp)
    return mended(content)


def test_totals_count_in_a_certificate_where_plans_share_no_step() -> None:
    mdp, rng = lines(3, "comonotone")[0].mdp, np.random.default_rng(0)
    plain, plans = plain_of(Challenger(mdp, 0.3, 0.1, SIGMA, total_sigma=0.3)), all_paths(mdp)
    visits = np.zeros(mdp.n_arcs, dtype=np.int64)
    for plan, count in zip(plans, (7, 50, 300, 20)):
        visits[list(plan)] = count
    seen = Sums(visits, np.zeros(mdp.n_arcs), visits * rng.random(mdp.n_arcs))
    twin, bounds = twin_of(plain, seen), plain.total_bounds(seen, np.array(plans[1]))
    for plan in (plans[0], *plans[2:]):
        assert bounds[plan[0]] == pytest.approx(twin.totals(plan, plans[1]), abs=2e-3)
    study = Study.create(mdp, "memory", None, {"name": "challenger", "total_sigma": 0.3}, 0.0, 0.1, SIGMA)
    content = played(study, 2)
    assert verify(content, study.storage).answer == "yes"
    assert "sum of a trial's scores is sub-Gaussian with the declared sigma 0.3" in content["assumptions"][1]
    larger = deepcopy(content)
    larger["settings"]["total_sigma"] = 0.9
    assert verify(again(larger, mdp)).answer == "no"
    elsewhere = deepcopy(example()[1])
    elsewhere["settings"]["bound"][-1]["prior"] = "plans"
    for total in (None, 0.3):
        elsewhere["settings"]["total_sigma"] = total
        verdict = verify(again(elsewhere, example()[0].mdp))
        assert "totals of trials need a declared sigma and plans that share no step" in str(verdict)


def test_altered_pairs_are_found_out() -> None:
    study, content = example()
    for number in range(3):
        for name in ("sums", "visits", "trials", "pair"):
            forged = deepcopy(content)
            row = forged["proof"]["kept"][number]
            if name == "trials":
                row[name] = content["log"]["trials"]
            elif name == "pair":
                row[name].reverse()
            else:
                row[name][0] -= 1
            assert verify(mended(forged), storage=study.storage).answer == "no", (number, name)
    forged = deepcopy(content)
    forged["proof"]["kept"] = []
    assert verify(mended(forged)).answer == "no"
    row = deepcopy(content["proof"]["kept"][0])
    for name, value in (
        ("visits", [10**6, 1]),
        ("visits", [row["trials"], row["visits"][1]]),
        ("pair", [0, 0]),
        ("pair", [0, study.mdp.n_arcs - 1]),
        ("visits", [0, 1]),
    ):
        forged = deepcopy(content)
        forged["proof"]["kept"].append({**row, name: value})
        assert verify(mended(forged)).answer == "no", (name, value)
    last, y = content["log"]["trials"], row["pair"][1]
    grown = {
        "visits": [last, content["evidence"]["visits"][y]],
        "sums": [row["sums"][0], content["evidence"]["sums"][y]],
    }
    forged = deepcopy(content)
    forged["proof"]["kept"].append({**row, "trials": last, **grown})
    assert "cannot have grown" in str(verify(mended(forged)))
    twice = {**row, "sums": [row["sums"][0] + 1e-3, row["sums"][1]]}
    forged = deepcopy(content)
    forged["proof"]["kept"].append(twice)
    assert "two sums" in str(verify(mended(forged)))


def test_dependence_that_was_switched_is_found_out() -> None:
    study, content = example()
    forged = deepcopy(content)
    forged["settings"]["dependence"] = "independent"
    assert verify(again(forged, study.mdp)).answer == "no"
    for entry in forged["settings"]["bound"]:
        entry["prior"] = "excursion"
    forged["proof"]["kept"] = []
    assert verify(again(forged, study.mdp), storage=study.storage).answer == "no"
    for was, other in (("any", "independent"), ("independent", "any")):
        plain = played(new_study(problem=pipeline(), epsilon=0.3, learner={**ANY, "dependence": was}), 2)
        assert plain["proof"] == {"by": "evidence", "moments": [], "kept": []}
        plain["settings"]["dependence"] = other
        assert 'entries by "stages"' in str(verify(again(plain, study.mdp)))


def test_gaps_of_builds_that_prove_nothing_are_found_out() -> None:
    """Without the prior's cost, without kappa / delta, and with terms of S added that belong to different moments."""
    study = new_study(problem=pipeline(sigma=0.3), epsilon=1e-3, learner=ANY)
    moments = [played(study, seed, 8)["evidence"] for seed in range(30)]
    content = study.certificate().to_dict()
    checker, path, gap = plain_of(study.learner), np.array(content["path"]), content["certified_gap"]
    alive = np.ones(study.mdp.n_arcs, dtype=bool)
    moments = [part for part in moments if min(part["visits"]) > 0]
    seen = [Sums(np.array(part["visits"]), np.array(part["origin"]), np.array(part["sums"])) for part in moments]
    assert gap > 0
    assert verify(content).answer == "yes"
    cheap = plain_of(study.learner)
    cheap._far, cheap._near = 1.0, np.ones_like(cheap._near)
    free = plain_of(study.learner)
    x, kappas, bounds = free._pairs(seen[-1], path)
    free._of = seen[-1], path.tobytes(), (x, np.zeros_like(kappas), bounds)
    mixed = plain_of(study.learner)
    least = np.min([mixed.pair_bounds(then, *mixed.off(then, path), kappas) for then in seen], axis=0)
    mixed._of = seen[-1], path.tobytes(), (x, kappas, least)
    assert checker.gap(seen[-1], path, alive) == pytest.approx(gap, rel=0.02)
    for build in (cheap, free, mixed):
        claimed = build.gap(seen[-1], path, alive)
        assert claimed < 0.99 * gap
        forged = deepcopy(content)
        forged["certified_gap"] = claimed
        assert verify(again(forged, study.mdp)).answer == "no"
