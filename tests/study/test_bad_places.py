"""Places that cannot hold a study: a full disk, no permission, no database. A clear error, and nothing half-written."""

from __future__ import annotations

import contextlib
import os
import resource
import sqlite3
import subprocess
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import pytest

from surepath.errors import SettingError, StorageError, StudyError
from surepath.study import Study
from surepath.study.certificate import verify
from surepath.study.storage import Storage
from tests.study.postgres import programs
from tests.study.workers import ENDLESS, check_nothing_lost, in_child, new_study, rewards_of


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike pytest's."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def run(study: Study, trials: int, told: list[Any] | None = None, seed: int = 0) -> None:
    for _ in range(trials):
        trial = study.ask()
        rewards = rewards_of(trial, seed)
        study.tell(trial, rewards)
        if told is not None:
            told.append([trial.number, rewards])


@pytest.mark.parametrize("spare", [0, 6_000, 30_000, 100_000])
def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path, spare: int) -> None:
    file = tmp_path / "study.db"
    new_study(str(file), ENDLESS, epsilon=0.001).close()

    def until_full() -> Any:
        told: list[Any] = []
        study = Study.load(str(file))
        run(study, 5, told)
        biggest = max(path.stat().st_size for path in tmp_path.iterdir())
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (biggest + spare, limit[1]))
        words = ""
        try:
            run(study, 500, told)
        except StorageError as error:
            words = str(error)
        trials = len(study)  # what is known can still be read
        assert study.best_plan["first"] in ("a", "b")
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        run(study, 5, told)  # and it goes on when there is space again
        return words, trials, told

    words, trials, told = in_child(until_full)
    assert "cannot be written: the disk is full or fails" in words
    assert "nothing was half-written" in words
    assert trials - 1 <= len(told) - 5 <= trials
    check_nothing_lost(f"sqlite:///{file}", {"told": told})
    with sqlite3.connect(file) as plain:
        assert plain.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def as_nobody(do: Callable[[], Any]) -> Any:
    """Run a function in a process without the rights of root."""

    def run_it() -> Any:
        if os.getuid() == 0:
            numba.njit(lambda: 0)()  # imports all that compiling needs, from where others may not read
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        return do()

    return in_child(run_it)


def test_a_read_only_file_is_said(open_folder: Path) -> None:
    file = open_folder / "study.db"
    study = new_study(str(file))
    run(study, 3)
    study.close()
    before = file.read_bytes()
    file.chmod(0o444)
    open_folder.chmod(0o555)
    kind, words = as_nobody(lambda: Study.load(str(file)).ask())
    assert kind == "StorageError"
    assert "read-only" in words or "no permission" in words
    kind, words = as_nobody(lambda: new_study(str(open_folder / "other.db")))
    assert kind == "StorageError"
    assert "cannot be opened: no permission, or it is a folder" in words
    open_folder.chmod(0o755)
    assert file.read_bytes() == before
    assert sorted(path.name for path in open_folder.iterdir()) == ["study.db"]


def test_a_read_only_file_beside_a_writable_log_can_be_read(open_folder: Path) -> None:
    file = open_folder / "study.db"
    study = new_study(str(file), lease=0.001)
    study.ask()
    open_folder.chmod(0o777)
    for path in open_folder.iterdir():
        path.chmod(0o444)
    answer = as_nobody(lambda: (Study.load(str(file)).done, len(Study.load(str(file)))))
    assert answer == (False, 1)  # the lease has run out; that it cannot be marked hinders no reader
    kind, words = as_nobody(lambda: Study.load(str(file)).ask())
    assert kind == "StorageError"
    assert "read-only" in words


def test_a_damaged_database_is_said(tmp_path: Path) -> None:
    file = tmp_path / "study.db"
    study = new_study(str(file))
    run(study, 50)
    study.close()
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xaa" * (len(content) - 4096)
    file.write_bytes(content)
    for path in tmp_path.glob("study.db-*"):
        path.unlink()
    with pytest.raises(StorageError, match="damaged"):
        Study.load(str(file)).sync()


@pytest.mark.parametrize(
    ("place", "opened", "created"),
    [
        ("notes.txt", "is not a SQLite database, or it is damaged", "is not a SQLite database, or it is damaged"),
        ("empty.db", "holds no studies", None),  # an empty file is an empty database
        ("none.db", "there is no file", None),
        ("", "cannot be opened: no permission, or it is a folder", "cannot be opened: no permission, or it is a fold"),
        ("no/study.db", "does not exist", "does not exist"),
        ("mysql://localhost/x", "SQLite or PostgreSQL", "SQLite or PostgreSQL"),
        ("sqlite://", "needs a file", "needs a file"),
        ("sqlite:///:memory:", "needs a file", "needs a file"),
        ("postgresql://host:port/x", "is not a URL", "is not a URL"),
    ],
)
def test_places_that_hold_no_studies_are_said(tmp_path: Path, place: str, opened: str, created: str | None) -> None:
    (tmp_path / "notes.txt").write_text("these are my notes, " * 200)
    (tmp_path / "empty.db").touch()
    url = place if ":" in place else str(tmp_path / place)
    with pytest.raises((StorageError, SettingError), match=opened):
        Study.load(url)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.db", "notes.txt"]
    if created is None:
        assert new_study(url).ask().number == 1
        return
    with pytest.raises((StorageError, SettingError), match=created):
        new_study(url)
    assert (tmp_path / "notes.txt").read_text() == "these are my notes, " * 200


def test_no_password_is_shown(postgres: str) -> None:
    url = postgres.replace("surepath@", "surepath:secret@")
    study = new_study(url)
    assert "secret" not in repr(study)
    Study.create(study.mdp, url, "second", epsilon=1, delta=0.1, sigma=1)
    with pytest.raises(Exception, match="name the study") as caught:
        Study.load(url)
    assert "secret" not in str(caught.value)
    study.close()
    word = "".join(["hid", "den_word"])  # not in the lines of this file that a traceback shows
    for address in (postgres, postgres.replace("127.0.0.1", "localhost")):  # of which a driver tries several
        storage = Storage(f"{address}?options=-c%20{word}%3D1")
        storage.patience = 0.0
        with pytest.raises(StorageError) as refused:
            storage.names()
        assert word not in "".join(traceback.format_exception(refused.value))


def test_a_file_that_is_deleted_in_the_middle_takes_nothing_more(tmp_path: Path) -> None:
    """Through open connections it could still be written, and all of that would be lost without a word."""
    file = tmp_path / "study.db"
    study = new_study(str(file))
    trial = study.ask()
    kept = tmp_path / "moved.db"
    for part in tmp_path.glob("study.db*"):
        part.rename(tmp_path / part.name.replace("study", "moved"))
    with pytest.raises(StorageError, match=r"study\.db was deleted or moved while it was in use"):
        study.tell(trial, rewards_of(trial))
    with pytest.raises(StorageError, match="was deleted or moved"):
        study.ask()
    assert not file.exists()
    for part in tmp_path.glob("moved.db*"):
        part.rename(tmp_path / part.name.replace("moved", "study"))
    assert study.tell(trial, rewards_of(trial)) == "told", "once it is back, the study goes on"
    assert not kept.exists()


def test_a_file_that_was_replaced_is_opened_anew(tmp_path: Path) -> None:
    study, other = new_study(str(tmp_path / "study.db")), new_study(str(tmp_path / "other.db"))
    study.ask()
    other.close()
    for part in tmp_path.glob("study.db*"):
        part.unlink()
    (tmp_path / "other.db").rename(tmp_path / "study.db")
    with pytest.raises(StudyError, match="was deleted and created anew; load it again"):
        study.ask()


def test_a_file_stays_what_it_is_when_the_process_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    study = new_study("study.db")
    trial = study.ask()
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert study.tell(trial, rewards_of(trial)) == "told"
    assert len(Study.load(str(tmp_path / "study.db"))) == 1


class Backup:
    """A copy of a database, made and restored in place by the database's own tools while others have it open."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.file = url, folder / "backup"
        if url.startswith("sqlite"):
            self._copy(url.removeprefix("sqlite:///"), self.file)
        else:
            self._run("pg_dump", "--clean", "--if-exists", "--file", self.file, url)

    def restore(self) -> None:
        if self.url.startswith("sqlite"):
            self._copy(self.file, self.url.removeprefix("sqlite:///"))
        else:
            self._run("psql", "--quiet", "--single-transaction", "--file", self.file, self.url)

    def _copy(self, source: str | Path, target: str | Path) -> None:
        with contextlib.closing(sqlite3.connect(source)) as old, contextlib.closing(sqlite3.connect(target)) as new:
            old.backup(new)

    def _run(self, program: str, *arguments: str | Path) -> None:
        folder = programs()
        assert folder is not None
        subprocess.run([folder / program, *arguments], check=True, stdout=subprocess.DEVNULL)


@pytest.fixture
def study(url: str) -> Iterator[Study]:
    """A study that does not end, in a database that a backup can be made of."""
    with new_study(url, ENDLESS, epsilon=0.001) as made:
        yield made


@pytest.mark.parametrize("more", [3, 25, 40])  # fewer changes than were read, as many, more
def test_a_backup_restored_in_place_is_noticed_by_who_has_the_study_open(
    study: Study, url: str, tmp_path: Path, more: int
) -> None:
    run(study, 5)
    backup = Backup(url, tmp_path)
    run(study, 25)
    before = study.digest
    backup.restore()
    with Study.load(url) as other:
        run(other, more, seed=1)
        assert study.digest == other.digest != before
        assert verify(study.certificate(), storage=url).answer == "yes"


def test_a_trial_that_runs_when_a_backup_is_restored_settles_as_the_log_says(
    study: Study, url: str, tmp_path: Path
) -> None:
    """Its row has a number and a change that were there before."""
    run(study, 3)
    trial, ahead = study.ask(2)
    study.tell(ahead, rewards_of(ahead))
    backup = Backup(url, tmp_path)
    study.tell(trial, rewards_of(trial))
    study.sync()
    assert study._fold.prefix == 5
    backup.restore()
    with Study.load(url) as other:
        other.tell(trial, rewards_of(trial, seed=7))
        assert study.digest == other.digest
        assert study.learner.sums.tolist() == other.learner.sums.tolist()


def test_what_was_read_before_a_restored_backup_poisons_no_snapshot(
    study: Study, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surepath.study.fold.SAVE_EVERY", 20)
    run(study, 5)
    backup = Backup(url, tmp_path)
    run(study, 25)
    study.sync()
    backup.restore()
    with Study.load(url) as other:
        run(other, 30, seed=1)
    run(study, 50)
    with study.storage.reading(study.name) as log:
        assert log.snapshot_prefix() > 60
    fresh = Study.load(url)
    assert fresh.evidence_trials == 85
    assert verify(fresh.certificate(), storage=url).answer == "yes"
    fresh.close()


def test_a_snapshot_of_another_log_is_not_used(study: Study, url: str, tmp_path: Path) -> None:
    run(study, 5)
    backup = Backup(url, tmp_path)
    run(study, 25)
    study.sync()
    snapshot = study._fold.snapshot()
    backup.restore()
    with Study.load(url) as other:
        run(other, 30, seed=1)
        with other.storage.writing(other.name) as log:
            log.save_snapshot(snapshot)
        assert Study.load(url).digest == other.digest


def test_imports_that_a_restored_backup_does_not_hold_may_be_repeated(study: Study, url: str, tmp_path: Path) -> None:
    run(study, 1)
    backup = Backup(url, tmp_path)
    results = [({step: options[0] for step, options in ENDLESS.items()}, [0.25] * len(ENDLESS))]
    assert study.import_trials(results) == 1
    with pytest.raises(StudyError, match="in the log already"):
        study.import_trials(results)
    backup.restore()
    assert study.import_trials(results) == 1
    assert len(study) == 2


def test_a_result_is_not_reported_to_a_trial_of_another_plan(study: Study, url: str, tmp_path: Path) -> None:
    """Such as one that has its number since a backup was restored."""
    backup = Backup(url, tmp_path)
    trial = study.ask()
    backup.restore()
    with Study.load(url) as other:
        other.enqueue({step: next(o for o in options if o != trial.plan[step]) for step, options in ENDLESS.items()})
        assert other.ask().number == trial.number
        for do in (study.tell, study.fail):
            with pytest.raises(StudyError, match=r"trial 1 is the plan .*; not "):
                do(trial, rewards_of(trial)[:2])
        assert other.evidence_trials == 0
