"""`verify` where noise is learned: the scores in the file prove the gap; a changed digit anywhere is found out."""

from __future__ import annotations

from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import MDP, Study
from surepath.study.certificate import verify
from surepath.study.sheets.export import write_export
from surepath.verify.file import statement
from tests.study.pipelines import new_study, pipeline, play
from tests.verify.tools import at, changed, leaves, mended, put, says_no

NOISES = ["betting", "bernstein", "unknown"]


def learned_study(noise: str, **options: Any) -> Study:
    problem = pipeline() if noise == "unknown" else pipeline(sigma=None, reward_range=(-0.5, 1.5))
    learner = {"name": "challenger"} if noise == "unknown" else {"name": "challenger", "noise": noise}
    sigma = "unknown" if noise == "unknown" else None
    return new_study(problem=problem, name="pipeline", learner=learner, sigma=sigma, **options)


@lru_cache(maxsize=3)
def example(noise: str) -> tuple[Study, dict[str, Any]]:
    """A study with failures and an exclusion, in a range one with options ruled out earlier, and its certificate."""
    wanted = "scores" if noise == "unknown" else "moments"
    for seed in range(40):
        study = learned_study(noise, epsilon=0.0)
        play(study, trials=20, mishaps=True, means_seed=seed, seed=seed)
        study.exclude({"parse": "z"})
        play(study, trials=240, mishaps=True, means_seed=seed, seed=seed)
        content = study.certificate().to_dict()
        if content["proof"]["by"] == wanted:
            return study, content
    raise AssertionError("no world needs options ruled out earlier")


@pytest.mark.parametrize("noise", NOISES)
def test_the_example_holds_by_itself_by_its_log_and_by_an_export(noise: str, tmp_path: Path) -> None:
    study, content = example(noise)
    for storage in (None, study.storage):
        verdict = verify(content, storage)
        assert verdict.answer == "yes", verdict
        assert "the bound was computed again: the scores" in verdict.notes[-1]
    for name in ("log.csv", "log.jsonl"):
        write_export(study, tmp_path / name)
        assert verify(content, log=tmp_path / name).answer == "yes"


# What no log knows, and whether a study with a small enough gap has noticed that it is done; a gap of 0 is written the
# same way in every format.
FREE = {
    ("version",),
    ("created",),
    ("done",),
    ("format",),
    ("study", "name"),
    ("study", "created"),
    ("study", "version"),
}


@settings(max_examples=60)
@given(st.data())
def test_a_changed_digit_anywhere_is_found_out_by_the_hash_and_with_a_mended_hash_by_the_log(
    data: st.DataObject,
) -> None:
    study, content = example(data.draw(st.sampled_from(NOISES)))
    content = deepcopy(content)
    part = data.draw(st.sampled_from(sorted(content)))
    place = (part, *data.draw(st.sampled_from(list(leaves(content[part])))))
    put(content, place, changed(at(content, place), data.draw))
    assert says_no(content), place
    if place in FREE or part in ("sha256", "warnings") or place == ("certified_gap",):
        return
    if place[:2] == ("proof", "moments") and place[3] in ("path", "ruled_out"):
        return  # another path, or fewer options, may be proven as well
    if place[:2] == ("proof", "moments") and place[3] == "trials":
        put(content, place, 1)  # the sums are the same before and after a trial that was cancelled
    assert says_no(mended(content), storage=study.storage), place


@pytest.mark.parametrize("noise", NOISES)
def test_every_score_is_compared_with_the_log_and_with_the_sums(noise: str) -> None:
    study, content = example(noise)
    content = deepcopy(content)
    arc = max(range(study.mdp.n_arcs), key=lambda arc: content["evidence"]["visits"][arc])
    scores = content["evidence"]["scores"][arc]
    scores[1], scores[2] = scores[2], scores[1]
    verdict = verify(mended(content), storage=study.storage)
    assert any("the trials give other scores of arc" in line for line in verdict.differences), verdict
    scores[3] += 0.01
    assert "do not add up to its sum" in str(verify(mended(content)))
    scores.pop()
    assert "not as many scores as visits" in str(verify(mended(content)))
    del content["evidence"]["scores"]
    assert "the scores are evidence where noise is learned" in str(verify(mended(content)))


def test_a_score_outside_its_range_proves_nothing() -> None:
    content = deepcopy(example("betting")[1])
    content["problem"]["defaults"] = {**content["problem"].get("defaults", {}), "reward_range": [-0.001, 0.001]}
    assert not verify(mended(content)).holds


@pytest.mark.parametrize("noise", NOISES)
def test_a_smaller_gap_with_a_mended_hash_is_found_out(noise: str) -> None:
    study = learned_study(noise, epsilon=0.7)
    play(study)
    content = study.certificate().to_dict()
    gap = content["certified_gap"]
    assert content["proof"] == {"by": "scores"}
    assert 0 < gap <= 0.7
    for share in (0.9, 0.0):
        content["certified_gap"] = share * gap
        content["statement"] = statement(content)
        verdict = verify(mended(content))
        assert verdict.answer == "no"
        assert "but the scores prove a gap of" in verdict.differences[0]
        assert verdict.recomputed_gap == pytest.approx(gap, rel=0.05)
    content["proof"] = {"by": "sums"}
    assert "does not know a proof by 'sums'" in str(verify(mended(content)))


@pytest.mark.parametrize("noise", NOISES)
def test_scores_that_are_too_many_for_a_file_are_read_from_the_log(
    noise: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old, new = example(noise)[0], learned_study(noise, epsilon=0.7)  # before the limit falls: others share the example
    play(new)
    monkeypatch.setattr("surepath.study.certificate.MOST_NUMBERS", 10)
    for study in (old, new):
        certificate = study.certificate()
        assert certificate["proof"]["by"] == "log"
        assert "scores" not in certificate["evidence"]
        certificate.save(tmp_path / "my plan.json")
        alone = verify(tmp_path / "my plan.json")
        assert alone.answer == "open"
        assert f"surepath verify '{tmp_path}/my plan.json' --storage URL --name pipeline" in alone.differences[0]
        verdict = verify(certificate, storage=study.storage)
        assert verdict.answer == "yes", verdict
        content = certificate.to_dict()
        if content["certified_gap"] > 0:
            content["certified_gap"] *= 0.9
            content["statement"] = statement(content)
            assert verify(mended(content), storage=study.storage).answer == "no"


def test_certificates_of_earlier_versions_are_replayed_with_the_learner() -> None:
    study = learned_study("betting", epsilon=0.7)
    play(study)
    content = study.certificate().to_dict()
    content["proof"] = {"by": "replay", "why": "learned noise does not follow from sums per option"}
    del content["evidence"]["scores"]
    content["certified_gap"] = study.certified_gap
    content["statement"] = statement(content)
    assert verify(mended(content)).answer == "open"
    verdict = verify(mended(content), storage=study.storage)
    assert verdict.answer == "yes", verdict
    assert "replayed with the learner itself" in verdict.notes[-1]


def test_what_known_scores_decide_needs_no_sigma_and_can_be_tightened() -> None:
    """Two plans differ by what is known alone: that is proven before anything is known of sigma."""
    rows = [{"state": "s", "action": name, "next_state": "t", "known": at} for name, at in (("a", 1.0), ("b", 0.0))]
    problem = MDP.from_edges([*rows, {"state": "t", "action": "c", "next_state": "end"}])
    study = new_study(problem=problem, learner="challenger", sigma="unknown", epsilon=3.0)
    study.tell(study.ask(), [1.0, 5.0])
    assert study.done
    study.tighten(0.5)
    assert study.done
    certificate = study.certificate()
    assert certificate["certified_gap"] <= 0.5
    assert verify(certificate, storage=study.storage).answer == "yes"


def test_an_unknown_sigma_may_be_of_any_size(tmp_path: Path) -> None:
    """Nothing was declared that large noise could contradict: the log gives no warning, as the study gave none."""
    study = new_study(problem=pipeline(), name="pipeline", learner="challenger", sigma="unknown", epsilon=3.0)
    rng = np.random.default_rng(0)
    for _ in range(40):
        trial = study.ask()
        study.tell(trial, (100.0 + 25.0 * rng.standard_normal(len(trial.path))).tolist())
    content = study.certificate().to_dict()
    assert content["certified_gap"] is not None
    assert content["warnings"] == []
    assert verify(content, study.storage).answer == "yes"
    write_export(study, tmp_path / "log.csv")
    assert verify(content, log=tmp_path / "log.csv").answer == "yes"
