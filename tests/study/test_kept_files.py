"""Files of every release: this version opens the studies, goes on with them, and verifies the certificates."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from surepath import Study
from surepath.study.verify import verify
from tests.study.make_kept_files import FOLDER, names
from tests.study.pipelines import play

VERSIONS = sorted(file.stem.removeprefix("study-") for file in FOLDER.glob("study-*.db"))


def test_there_are_files_of_this_release() -> None:
    assert "0.1.0" in VERSIONS
    assert all(path.is_file() for version in VERSIONS for path in names(version))
    assert all(path.stat().st_size < 100_000 for version in VERSIONS for path in names(version))


@pytest.fixture(params=VERSIONS)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """A copy of the study file, since opening may write, and the certificate."""
    database, certificate = names(request.param)
    copy = tmp_path / "study.db"
    shutil.copyfile(database, copy)
    return f"sqlite:///{copy}", certificate


def test_a_study_under_way_is_opened_continued_and_finished(kept: tuple[str, Path]) -> None:
    with Study.load(kept[0], "under way") as study:
        frozen = json.loads(study.record.settings)
        assert {**study.learner.settings(), **frozen} == study.learner.settings()  # a later version may have more
        assert study.learner.excluded.any()
        settled = study._fold.prefix
        assert 0 < settled < len(study)
        study.cancel(settled + 1)  # the trial that was running; the one told after it counts now
        assert study._fold.prefix >= settled
        assert study.ask().plan == {"fetch": "b", "parse": "y", "rank": "low"} or len(study) > settled + 2
        for number in range(study._fold.prefix + 1, len(study) + 1):
            study.cancel(number)
        play(study, mishaps=True)
        assert study.done
        assert study.certified_gap <= 0.05
        certificate = study.certificate()
        assert certificate["settings"] == frozen
        assert verify(certificate, storage=study.storage).answer == "yes"


def test_a_certificate_still_holds(kept: tuple[str, Path]) -> None:
    url, certificate = kept
    assert verify(certificate).answer == "yes"
    assert verify(certificate, storage=url).answer == "yes"
    with Study.load(url, "finished") as study:
        content = json.loads(certificate.read_text())
        assert study.done
        assert study.best_path.tolist() == content["path"]
        assert study._fold.digest == content["log"]["digest"]
