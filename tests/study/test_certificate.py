"""Certificates: what they hold, at any moment, and that they are about the right moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from surepath._checks import rounded_up
from surepath.errors import CertificateError, SettingError, StudyError
from surepath.study.certificate import Certificate, verify
from surepath.study.storage import Storage
from surepath.verify.file import assumptions
from tests.study.pipelines import new_study, pipeline, play
from tests.verify.tools import mended


def test_a_finished_study_proves_its_plan_from_the_sums(tmp_path: Path) -> None:
    study = new_study(name="pipeline")
    play(study)
    certificate = study.certificate()
    learner = study.learner
    assert certificate["plan"] == study.best_plan
    assert certificate["path"] == study.best_path.tolist()
    assert certificate["certified_gap"] == study.certified_gap <= 0.3
    assert certificate["done"] is True
    assert certificate["evidence"]["visits"] == learner.visits.tolist()
    assert certificate["proof"] == {"by": "evidence", "moments": [], "kept": []}
    assert certificate["trials"]["number"] == len(study)
    assert certificate["log"]["digest"] == study._fold.digest
    assert certificate["settings"] == learner.settings()
    certificate.save(tmp_path / "certificate.json")
    assert Certificate.load(tmp_path / "certificate.json").to_dict() == certificate.to_dict()
    assert str(certificate) == certificate["statement"]
    assert f"at most {rounded_up(certificate['certified_gap'], 4)} less than the best plan" in str(certificate)
    assert verify(certificate, storage=study.storage).answer == "yes"


def test_it_says_that_nothing_is_proven_before_every_option_was_seen() -> None:
    study = new_study()
    play(study, trials=2)
    certificate = study.certificate()
    assert certificate["certified_gap"] is None
    assert certificate.certified_gap == float("inf")
    assert certificate["statement"] == "Nothing is proven yet after 2 trials."
    assert certificate["done"] is False
    assert verify(certificate, storage=study.storage).answer == "yes"


def test_results_after_the_stop_do_not_spoil_the_proof() -> None:
    kept = 0
    for shift in (0.05, 0.1, 0.2, 0.4):
        study = new_study()
        play(study)
        proven = study.certificate()
        stop, visits = proven["log"]["trials"], study.learner.visits[study.best_path]
        lower = study.learner.means[study.best_path] - shift * (visits + 1)  # lowers every mean of the plan by shift
        study.import_trials([(study.best_plan, lower)])
        later = study.certificate()
        assert study._fold.prefix == stop + 1
        assert later["certified_gap"] <= proven["certified_gap"]
        if later["log"]["trials"] == stop:
            kept += 1
            assert later["evidence"] == proven["evidence"]
            assert later["trials"]["sources"]["imported"] == 0
        answer = "in doubt" if study.learner.findings() else "yes"  # rewards so far off are no noise as declared
        assert verify(later, storage=study.storage).answer == answer
    assert kept > 0


def test_it_counts_what_was_left_out_late_or_imported() -> None:
    storage = Storage("memory")
    study = new_study(storage, epsilon=0.001)
    play(study, trials=40, mishaps=True)
    study.import_trials([(study.best_plan, [0.5, 0.5, 0.5])])
    late = study.ask()
    study.cancel(late)
    assert study.tell(late, [0.1, 0.2, 0.3]) == "late"
    certificate = study.certificate()
    counts = certificate["trials"]
    assert counts["states"]["failed"] > 0 < counts["states"]["cancelled"]
    assert counts["sources"]["imported"] == counts["sources"]["late"] == 1
    text = " ".join(certificate["assumptions"])
    assert f"({counts['states']['failed'] + counts['states']['cancelled']}: failed, expired or cancelled)" in text
    assert "1 imported trials" in text
    assert verify(certificate, storage=storage).answer == "yes"


def test_exclusions_and_tightening_are_part_of_it() -> None:
    study = new_study()
    play(study, trials=20)
    study.exclude({"parse": "z"})
    play(study)
    study.tighten(0.1)
    play(study)
    certificate = study.certificate()
    assert [action["kind"] for action in certificate["actions"]] == ["exclude", "tighten"]
    assert certificate["epsilon"] == 0.1 >= certificate["certified_gap"]
    assert certificate["plan"]["parse"] != "z"
    assert "avoid what was excluded" in certificate["statement"]
    assert "a fact of the world" in certificate["assumptions"][-1]
    assert verify(certificate, storage=study.storage).answer == "yes"
    study.exclude({"fetch": certificate["plan"]["fetch"]})  # after the stop it asks for a new proof
    assert study.certificate()["plan"]["fetch"] != certificate["plan"]["fetch"]
    assert verify(study.certificate(), storage=study.storage).answer == "yes"


def test_minimized_scores_and_worst_scores_of_failures_are_put_in_words() -> None:
    mdp = pipeline(sigma=None, reward_range=(-2.0, 2.0), direction="minimize")
    study = new_study(problem=mdp, epsilon=1.0, on_failure="worst")
    play(study, mishaps=True)
    certificate = study.certificate()
    assert "costs on average at most" in certificate["statement"]
    assert any("counts as its worst score" in line for line in certificate["assumptions"])
    assert verify(certificate, storage=study.storage).answer == "yes"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is not JSON"),
        ('{"kind": "surepath certificate", "format": 99}', r"has format 99; this version .* format \d+ alone"),
        ('{"a": NaN}', "it holds NaN"),
        ("[" * 100_000, "it is not JSON"),
    ],
)
def test_files_that_are_no_certificate_are_refused_in_words(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "certificate.json"
    file.write_text(text)
    with pytest.raises(CertificateError, match=why):
        Certificate.load(file)
    with pytest.raises(CertificateError, match="nowhere"):
        Certificate.load(tmp_path / "nowhere.json")


# The assumptions that it lists are all that its proof rests on --------------------------------------------------------


@pytest.mark.parametrize("sigma", [-0.1, [0.1, -1.0] * 7])
def test_a_sigma_below_zero_proves_nothing(sigma: Any) -> None:
    study = new_study()
    play(study)
    content = study.certificate().to_dict()
    content["settings"]["sigma"] = sigma
    content["assumptions"] = assumptions(content, study.mdp)
    assert verify(mended(content)).answer == "no"


# Copies ---------------------------------------------------------------------------------------------------------------


def test_a_log_of_independent_scores_is_read_again_as_one_of_any_dependence() -> None:
    study = new_study(dependence="independent")
    play(study)
    copy = study.copy("again", dependence="any")
    assert copy.learner.dependence == "any"
    assert copy.learner.episodes == len(study)
    assert copy.learner.visits.tolist() == study.learner.visits.tolist()
    assert copy.certified_gap > study.certified_gap  # the same trials prove less
    play(copy)
    assert verify(copy.certificate(), storage=copy.storage, name="again").answer == "yes"
    assert study.copy("same").certified_gap == study.certified_gap
    with pytest.raises(SettingError, match="no matter of choice once there are trials"):
        copy.copy("back", dependence="independent")
    with pytest.raises(StudyError, match="already exists here; choose another name"):
        study.copy("again")


def test_a_log_with_broken_trials_is_read_again_only_where_scores_have_ranges() -> None:
    for ends, fits in ((None, False), ((-2, 2), True)):
        study = new_study(problem=pipeline(reward_range=ends), dependence="independent")
        study.fail(study.ask(), [0.5])
        if fits:
            assert study.copy("again", dependence="any").learner._seen.missing.sum() == 2
        else:
            with pytest.raises(StudyError, match=r"trial 1 broke off after 1 scores: .* only if all its trials are wh"):
                study.copy("again", dependence="any")
    with pytest.raises(SettingError, match='sigma="unknown" needs dependence="independent"'):
        new_study(sigma="unknown", dependence="independent").copy("again", dependence="any")
