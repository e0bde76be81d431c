"""The bound of rounds in plain NumPy: the same gaps as the learner's, and certificates that lie are found out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surepath import MDP, Study
from surepath.learners.rounds.learner import Rounds
from surepath.study.certificate import verify
from surepath.study.rounds import StudyRounds
from surepath.verify.file import content_hash, statement
from surepath.verify.rounds import PlainRounds, Round

STEPS = {f"s{h}": [f"o{a}" for a in range(3)] for h in range(4)}


def world(mdp: MDP, seed: int, noise: float) -> Callable[[Any], list[float]]:
    """Scores of paths, one for each block, inside the declared range."""
    rng = np.random.default_rng(seed)
    size = 1.0 if mdp.reward_range is None else 0.4 / mdp.horizon
    effect, shift = rng.uniform(0, size, mdp.n_arcs), rng.normal(0, 3)

    def score(path: Any) -> list[float]:
        found, first = [], 0
        for stage in mdp.score_stages:
            value = effect[path[first : stage + 1]].sum() + noise * rng.normal() + (mdp.reward_range is None) * shift
            found.append(float(mdp.sign * (value if mdp.reward_range is None else min(value, 1.0))))
            first = stage + 1
        return found

    return score


CASES: dict[str, tuple[dict[str, Any], float, str, float]] = {
    "free": ({"depends": "none", "scores": "end", "sigma": 0.5}, 0.3, "sigma", 1e-7),
    "best": ({"depends": "none", "scores": "end", "sigma": 0.3, "direction": "minimize"}, 0.0, "sigma", 1e-7),
    "chain": ({"scores": "end", "sigma": 0.5}, 0.5, "sigma", 1e-7),
    "blocks": ({"scores": ["s1", "s3"], "sigma": {"s1": 0.3, "s3": 0.6}}, 0.4, "sigma", 1e-7),
    "gaussian": ({"depends": "none", "scores": "end"}, 0.4, "gaussian", 0.02),
    "range": ({"depends": "none", "scores": "end", "reward_range": (-1, 1)}, 0.15, "range", 1e-7),
    "ranges": (
        {"depends": "none", "scores": ["s1", "s3"], "reward_range": (-1, 1), "direction": "minimize"},
        0.3,
        "range",
        1e-7,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_both_implementations_prove_the_same_after_each_round(case: str) -> None:
    fields, epsilon, noise, close = CASES[case]
    mdp = MDP.from_steps(STEPS, structure="additive", **fields)
    learner, score = (
        StudyRounds(mdp, epsilon, 0.1, noise=noise, seed=2),
        world(mdp, 5, 0.3 if noise != "range" else 0.1),
    )
    rounds: list[Round] = []
    while not learner.stopped and len(rounds) < 9:
        plans = learner.plans
        scores = [score(path) for path in plans]
        for path, one in zip(plans, scores):
            Rounds.tell(learner, path, one)
        rounds.append(Round(plans, np.asarray(mdp.sign * np.array(scores))))
        plain = PlainRounds(mdp, learner.settings(), learner.planned, rounds)
        assert not plain.wrong_design()
        alive = plain.alive_after(np.ones(mdp.n_arcs, dtype=bool))
        verdict: Any = learner._verdict
        assert alive.tolist() == learner.active.tolist()
        own = plain.gap(learner.recommend(), alive, len(rounds))
        enough = verdict.gap <= epsilon or close > 1e-3  # the learner looks no further than it needs
        assert own == pytest.approx(verdict.gap, rel=close, abs=1e-9) or (own < verdict.gap and enough)
    assert len(rounds) > 2


def finished(**fields: Any) -> Study:
    mdp = MDP.from_steps(STEPS, "none", scores="end", structure="additive", **fields)
    study, score = Study.create(mdp, "memory", epsilon=0.5, delta=0.1), world(mdp, 7, 0.1)
    study.optimize(lambda plan: score(mdp.path(plan))[0])
    return study


def rewritten(content: dict[str, Any]) -> dict[str, Any]:
    content["statement"] = statement(content)
    return {**content, "sha256": content_hash(content)}


def test_a_certificate_of_rounds_is_confirmed_from_file_and_log_and_forgeries_are_not(tmp_path: Path) -> None:
    study = finished(sigma=0.3)
    certificate = study.certificate()
    assert "less than the best plan, if effects add up" in str(certificate)
    assert certificate["proof"] == {"by": "rounds", "after": study.learner.round}
    assert certificate.certified_gap == pytest.approx(study.certified_gap, rel=1e-6)
    log = tmp_path / "log.jsonl"
    study.export(log)
    for given in (None, log):
        assert verify(certificate, log=given).answer == "yes"
    content = certificate.to_dict()
    smaller = rewritten({**certificate.to_dict(), "certified_gap": 0.9 * certificate.certified_gap})
    assert "the rounds prove a gap of" in str(verify(smaller))
    content["evidence"]["rounds"][0]["scores"][0][0] -= 0.01
    forged = rewritten(content)
    assert "the trials of the log do not give these rounds" in str(verify(forged, log=log))
    content = certificate.to_dict()
    content["planned"][0] *= 1.1
    assert "not those of the optimal design" in str(verify(rewritten(content)))
    content = certificate.to_dict()
    content["settings"]["bound"]["weights"][0] += 0.6
    assert "its weights sum to 1 at most" in str(verify(rewritten(content)))
    content = certificate.to_dict()
    content["evidence"]["rounds"].reverse()
    assert verify(rewritten(content), log=log).answer == "no"


def test_a_range_is_evidence_enough_and_early_certificates_prove_nothing() -> None:
    study = finished(reward_range=(-1, 1))
    certificate = study.certificate()
    assert verify(certificate).answer == "yes"
    assert any("nothing else is assumed of its noise" in said for said in certificate["assumptions"])
    empty = Study.create(study.mdp, "memory", epsilon=0.1, delta=0.1)
    for trial in empty.ask(3):
        empty.tell(trial, 0.5)
    assert empty.certificate()["proof"] == {"by": "nothing"}
    assert verify(empty.certificate()).answer == "yes"
