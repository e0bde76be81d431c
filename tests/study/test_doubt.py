"""One answer where the scores contradict what was declared: in doubt, wherever it is given."""

from __future__ import annotations

import logging
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepath import Study
from surepath._checks import rounded_up
from surepath.study.certificate import verify
from surepath.study.status import status_in_words, status_line
from surepath.verify.file import content_hash, statement
from surepath.web.views import sentence
from tests.cli.shell import shell
from tests.study.pipelines import new_study, pipeline, play


def contradicted(storage: Any = None) -> Study:
    """A study whose scores scatter three times as far as declared."""
    study = new_study(storage, problem=pipeline(sigma=0.03), epsilon=0.1)
    play(study)
    study.import_trials([(study.best_plan, [0.1, 0.2, 0.3]), (study.best_plan, [0.6, 0.7, 0.1])] * 20)
    return study


def mended(content: dict[str, Any]) -> dict[str, Any]:
    content["statement"] = statement(content)
    return {**content, "sha256": content_hash(content)}


def test_a_certificate_that_its_scores_contradict_is_in_doubt(tmp_path: Path) -> None:
    study = contradicted(f"sqlite:///{tmp_path / 'study.db'}")
    certificate = study.certificate()
    assert certificate["statement"].startswith("In doubt after ")
    assert "but the scores contradict what was declared: the noise looks larger than declared" in str(certificate)
    assert "the certificate does not hold" not in str(certificate)
    for storage in (None, study.storage):
        verdict = verify(certificate, storage=storage)
        assert (verdict.answer, verdict.holds) == ("in doubt", False), verdict
    certificate.save(tmp_path / "certificate.json")
    done = shell("verify", "certificate.json", folder=tmp_path)
    first = "in doubt: the arithmetic holds, but the scores contradict what was declared: the noise looks larger than"
    assert done.returncode == 1
    assert done.stdout.startswith(first)
    assert "yes" not in done.stdout.split()
    done = shell("study", "status", folder=tmp_path)
    assert first in done.stdout
    assert ": done" not in done.stdout


def test_warnings_that_were_taken_out_are_found_out_with_the_log(tmp_path: Path) -> None:
    study = contradicted()
    emptied = mended({**study.certificate().to_dict(), "warnings": []})
    assert verify(emptied).answer == "yes"  # the file alone cannot tell
    verdict = verify(emptied, storage=study.storage)
    assert verdict.answer == "no"
    assert verdict.differences[0].startswith("the warnings are not those of the log, which gives")
    study.export(tmp_path / "log.jsonl")
    assert verify(emptied, log=tmp_path / "log.jsonl").answer == "no"
    content = study.certificate().to_dict()
    content["warnings"][0]["seen"] /= 2
    assert verify(mended(content), storage=study.storage).answer == "no"


def test_noisy_scores_declared_exact_prove_nothing_without_doubt(caplog: pytest.LogCaptureFixture) -> None:
    rng = np.random.default_rng(0)
    study = Study.create(pipeline(sigma=0.0), storage="memory", epsilon=0.1, delta=0.1)
    with caplog.at_level(logging.INFO, "surepath.study"):
        study.optimize(lambda plan: rng.random(3).tolist(), progress=False)
    status = study.status()
    assert study.done
    assert status.answer == status.as_dict()["answer"] == "in doubt"
    assert "in doubt: the arithmetic holds, but the scores contradict what was declared: scores declared exact" in (
        caplog.text
    )
    assert "in doubt" in status_in_words(status)
    assert "done, in doubt" in status_line(status)
    assert "in doubt" in status._repr_html_()
    assert verify(study.certificate()).answer == "in doubt"
    assert sentence(study.mdp, study.learner, status).startswith("In doubt")


def test_a_gap_that_the_ranges_alone_allow_is_no_proof() -> None:
    mdp = pipeline(sigma=None, reward_range=(0.0, 1.0))
    study = new_study(problem=mdp, epsilon=0.1)
    while not np.isfinite(study.learner.certified_gap()):
        study.tell(study.ask(), [0.5, 0.5, 0.5])
    assert study.learner.certified_gap() > 3.0
    assert study.certified_gap == study.status().certified_gap == np.inf
    assert "nothing proven yet" in status_in_words(study.status())
    assert "nothing is proven yet" in study.explain()
    certificate = study.certificate()
    assert certificate.certified_gap == np.inf
    assert verify(certificate, storage=study.storage, name=study.name).holds
    wide = Study.create(mdp, storage="memory", epsilon=5.0, delta=0.1)
    while not wide.done and len(wide) < 50:
        wide.tell(wide.ask(), [0.5, 0.5, 0.5])
    assert wide.certified_gap <= 5.0  # asked for that much, it is an answer


def test_statements_write_the_gap_briefly_and_never_too_small() -> None:
    study = new_study()
    play(study)
    content = study.certificate().to_dict()
    said = content["statement"].split("at most ")[1].split(" ")[0]
    assert len(said) <= 7
    assert float(said) >= content["certified_gap"]
    content["statement"] = content["statement"].replace(said, "0.1")
    assert verify({**content, "sha256": content_hash(content)}).answer == "no"


@given(st.floats(1e-300, 1e12), st.integers(1, 6))
def test_rounding_up_is_never_below_and_close(value: float, digits: int) -> None:
    up = Decimal(rounded_up(value, digits))
    assert up >= Decimal(repr(value))
    assert float(up) <= value * (1 + 10.0 ** (1 - digits)) * (1 + 1e-12)
    assert len(up.normalize().as_tuple().digits) <= digits


def test_trials_told_after_the_certificate_was_written_can_put_it_in_doubt() -> None:
    study = new_study(problem=pipeline(sigma=0.1), epsilon=0.3)
    play(study)
    certificate = study.certificate()
    assert verify(certificate, storage=study.storage).answer == "yes"
    study.import_trials([(study.best_plan, [0.1, 0.2, 0.3]), (study.best_plan, [1.6, 1.7, 1.1])] * 20)
    assert verify(certificate, storage=study.storage).answer == "in doubt"
    assert verify(study.certificate(), storage=study.storage).answer == "in doubt"
