"""Every storage keeps the contract of `study/storage.py`: memory, SQLite, PostgreSQL; tables are built whole."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from surepath.errors import ConflictError, StorageError, StudyError
from surepath.study.storage import PENDING_WRITE, Storage, open_engine, retrying
from surepath.study.tables import build_tables, check_schema, read_url, version
from surepath.study.trial import ActionRow, QueueRow, SnapshotRow, State, StudyRecord, TrialRow

RECORD = StudyRecord("one", "{}", "hash", "{}", "{}", 1_700_000_000.123456, "0.1")
Opening = Callable[[], Storage]


def trial(number: int, state: State = "running", **parts: Any) -> TrialRow:
    return TrialRow(number, state, (0, number), "asked", **{"lease": 10.0 * number, "worker": "w", **parts})


@pytest.fixture
def storage(opening: Opening) -> Storage:
    place = opening()
    place.create(RECORD)
    return place


class TestContract:
    def test_a_study_is_given_back_as_it_was(self, storage: Storage, opening: Opening) -> None:
        assert opening().load("one") == RECORD
        storage.create(RECORD)  # the very same: a repeated call
        other = StudyRecord("one", "{}", "other", "{}", "{}", 1.0, "0.1")
        with pytest.raises(StudyError, match="already exists"):
            storage.create(other)
        storage.create(StudyRecord("a'b%c\u00e9", "{}", "h", "{}", "{}", 2.0, "0.1"))
        assert opening().names() == ["a'b%c\u00e9", "one"]
        with pytest.raises(StudyError, match="there is no study 'ome' here"):
            storage.load("ome")

    def test_rows_are_given_back_as_they_were(self, storage: Storage, opening: Opening) -> None:
        rewards = (0.1, 1 / 3, -1e-300, 1e15, 2.0**-1074)
        row = trial(
            1, rewards=rewards, of=7, asked=1_700_000_000.123457, told=1_700_000_000.7, note="\u00e9'\n", request="r"
        )
        with storage.writing("one") as log:
            log.add_trials([row, trial(2), trial(3)])
            log.add_action(ActionRow(1, 0, "tighten", 0.5, 1.5))
            log.add_to_queue(QueueRow(0, (5, 6), "queued", 3, 2.5))
            log.save_snapshot(SnapshotRow(2, 1, b"\x00\xff'"))
        with opening().reading("one") as log:
            assert log.trial(1) == row._replace(change=1)
            assert [found.number for found in log.trials(2, 10)] == [2, 3]
            assert [found.number for found in log.trials(-5, 2)] == [1, 2]
            assert log.trial(4) is None
            assert log.trial(0) is None
            assert log.last_number == 3
            assert log.last_change == 1
            assert log.created == RECORD.created
            assert log.actions_after(0) == [ActionRow(1, 0, "tighten", 0.5, 1.5, 1)]
            assert log.actions_after(1) == []
            assert [found._replace(number=0) for found in log.queue(9)] == [QueueRow(0, (5, 6), "queued", 3, 2.5)]
            assert log.snapshot() == SnapshotRow(2, 1, b"\x00\xff'")
            assert log.snapshot_prefix() == 2
            assert [found.number for found in log.trials_of(7)] == [1]
            assert [found.number for found in log.trials_of_request("r")] == [1]
            assert log.trials_of_request("s") == []

    def test_numbers_have_no_gaps(self, storage: Storage) -> None:
        for rows in ([trial(2)], [trial(1), trial(3)], [trial(1), trial(1)]):
            with pytest.raises(StorageError, match="cannot follow trial"), storage.writing("one") as log:
                log.add_trials(rows)
        with pytest.raises(StorageError, match="cannot follow action"), storage.writing("one") as log:
            log.add_action(ActionRow(2, 0, "tighten", 0.5, 1.5))
        with storage.reading("one") as log:
            assert (log.last_number, log.last_change, log.actions_after(0)) == (0, 0, [])

    def test_a_trial_with_a_result_never_changes(self, storage: Storage) -> None:
        states: tuple[State, ...] = ("complete", "partial", "failed")
        with storage.writing("one") as log:
            log.add_trials([trial(i, state, rewards=(0.5,)) for i, state in enumerate(states, start=1)])
        for number in range(1, 5):  # there is no trial 4
            with pytest.raises(StorageError, match="settled"), storage.writing("one") as log:
                log.update_trial(trial(number, "failed"))
        with storage.reading("one") as log:
            assert [row.state for row in log.trials(1, 9)] == list(states)

    def test_an_update_changes_what_may_change_alone(self, storage: Storage) -> None:
        with storage.writing("one") as log:
            log.add_trials([trial(1)])
        with storage.writing("one") as log:
            log.update_trial(
                TrialRow(
                    1, "partial", (9, 9), "late", 4, (0.5,), "v", 3.0, 99.0, 5.0, "note", True, "r", ("x",), 2.5, 3
                )
            )
        with storage.reading("one") as log:
            assert log.trial(1) == TrialRow(
                1, "partial", (0, 1), "asked", None, (0.5,), "w", 0.0, 99.0, 5.0, "note", False, None, (), 2.5, 3, (), 2
            )

    def test_what_raises_leaves_nothing(self, storage: Storage, opening: Opening) -> None:
        with storage.writing("one") as log:
            log.add_trials([trial(1)])
            log.add_to_queue(QueueRow(0, (1, 2), "queued"))
        with pytest.raises(ZeroDivisionError), storage.writing("one") as log:  # noqa: PT012
            log.update_trial(trial(1, "failed"))
            log.add_trials([trial(2)])
            log.add_action(ActionRow(1, 0, "tighten", 0.5, 1.5))
            log.take_from_queue(log.queue(1)[0].number)
            log.add_to_queue(QueueRow(0, (3, 4), "queued"))
            log.save_snapshot(SnapshotRow(1, 0, b"x"))
            assert log.first_time("r", 1)
            1 / 0
        with opening().reading("one") as log:
            assert log.trials(1, 9) == [trial(1)._replace(change=1)]
            assert [row.path for row in log.queue(9)] == [(1, 2)]
            assert (log.actions_after(0), log.snapshot(), log.last_change) == ([], None, 1)
        with storage.writing("one") as log:
            assert log.first_time("r", 1)

    def test_changes_are_listed_in_their_order(self, storage: Storage, opening: Opening) -> None:
        other = opening()
        with storage.writing("one") as log:
            log.add_trials([trial(1), trial(2), trial(3)])
        with other.writing("one") as log:
            log.update_trial(trial(2, "failed"))
        with storage.writing("one") as log:
            assert [row.number for row in log.trials_changed_after(0)] == [1, 3, 2]
            log.add_trials([trial(4)])
            log.update_trial(trial(1, "failed"))
            assert log.last_change == 2  # of what is committed
            assert log.change() == 3
        with storage.writing("one") as log:
            log.save_snapshot(SnapshotRow(1, 0, b"x"))  # a cache is no change
            log.queue(1)
        with other.reading("one") as log:
            assert log.last_change == 3
            found = [(row.change, row.number) for row in log.trials_changed_after(0)]
            assert found == [(1, 3), (2, 2), (3, 1), (3, 4)]
            assert log.trials_changed_after(3) == []

    def test_a_writer_sees_its_own_rows(self, storage: Storage) -> None:
        with storage.writing("one") as log:
            log.add_trials([trial(1, of=9, request="r"), trial(2)])
            log.update_trial(trial(1, "failed"))
            assert [row.state for row in log.trials(1, 9)] == ["failed", "running"]
            assert [row.number for row in log.trials_of(9)] == [1]
            assert [row.number for row in log.trials_of_request("r")] == [1]
            assert [row.number for row in log.expired(1_000.0, 9)] == [2]
            assert log.last_number == 2
            number = log.add_to_queue(QueueRow(0, (1,), "queued"))
            assert [row.number for row in log.queue(9)] == [number]

    def test_the_queue_has_two_ends(self, storage: Storage) -> None:
        with storage.writing("one") as log:
            for path, front in (((1,), False), ((2,), False), ((3,), True), ((4,), True)):
                log.add_to_queue(QueueRow(0, path, "queued"), front=front)
        with storage.writing("one") as log:
            assert [row.path for row in log.queue(9)] == [(4,), (3,), (1,), (2,)]
            log.take_from_queue(log.queue(2)[1].number)
        with storage.reading("one") as log:
            assert [row.path for row in log.queue(2)] == [(4,), (1,)]

    def test_leases_end(self, storage: Storage) -> None:
        with storage.writing("one") as log:
            log.add_trials([trial(1, lease=30.0), trial(2, lease=10.0), trial(3, lease=20.0), trial(4, "failed")])
        with storage.reading("one") as log:
            assert [row.number for row in log.expired(20.5, 9)] == [2, 3]
            assert [row.number for row in log.expired(99.0, 1)] == [1]
            assert log.expired(10.0, 9) == []

    def test_a_request_comes_a_first_time_once(self, storage: Storage, opening: Opening) -> None:
        with storage.writing("one") as log:
            assert log.first_time("r", 1)
        with opening().writing("one") as log:
            assert not log.first_time("r", 1)
            assert log.first_time("s", 1)
            with pytest.raises(ConflictError, match="was carried out before, with other content; nothing was changed"):
                log.first_time("r", 2)

    def test_stamps_tell_changes_apart(self, storage: Storage, opening: Opening) -> None:
        for i in (1, 2, 3):
            with storage.writing("one") as log:
                log.add_trials([trial(i)])
        with opening().reading("one", 2) as log:
            known = [log.stamp(i) for i in range(5)]
        with opening().reading("one") as log:
            stamps = [log.stamp(i) for i in range(5)]
        assert stamps == known
        assert stamps[0] is stamps[4] is None
        assert len(set(stamps[1:4])) == 3

    def test_writers_wait_for_each_other_and_readers_for_nobody(
        self, storage: Storage, opening: Opening, kind: str
    ) -> None:
        entered, leave, order = threading.Event(), threading.Event(), []

        def first() -> None:
            with storage.writing("one") as log:
                log.add_trials([trial(1)])
                entered.set()
                leave.wait(60)
                order.append("first")

        def second() -> None:
            with opening().writing("one") as log:
                order.append("second")
                log.add_trials([trial(log.last_number + 1)])

        threads = [threading.Thread(target=first), threading.Thread(target=second)]
        threads[0].start()
        assert entered.wait(60)
        threads[1].start()
        if kind != "memory":  # where transactions take turns
            with opening().reading("one") as log:  # neither waits nor sees what is not committed
                assert log.last_number == 0
                assert log.trials(1, 9) == []
                assert order == []
        leave.set()
        for thread in threads:
            thread.join(60)
        assert order == ["first", "second"]
        with storage.reading("one") as log:
            assert [row.number for row in log.trials(1, 9)] == [1, 2]

    def test_studies_are_apart_and_can_be_deleted(self, storage: Storage, opening: Opening) -> None:
        storage.create(StudyRecord("two", "{}", "hash", "{}", "{}", 2.0, "0.1"))
        for name in ("one", "two"):
            with storage.writing(name) as log:
                log.add_trials([trial(1, of=3, request="r")])
                log.add_action(ActionRow(1, 0, "tighten", 0.5, 1.5))
                log.add_to_queue(QueueRow(0, (1,), "queued"))
                log.save_snapshot(SnapshotRow(1, 0, b"x"))
                assert log.first_time("r", 1)
        storage.delete("one")
        assert opening().names() == ["two"]
        with pytest.raises(StudyError, match="there is no study 'one'"), storage.reading("one"):
            pass
        storage.create(StudyRecord("one", "{}", "hash", "{}", "{}", 3.0, "0.1"))
        with storage.writing("one") as log:
            assert (log.last_number, log.queue(9), log.actions_after(0), log.snapshot()) == (0, [], [], None)
            assert log.first_time("r", 1)
            assert log.created == 3.0
        with storage.reading("two") as log:
            assert log.last_number == 1


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_cannot_keep_every_text_is_refused(server: Any, encoding: str) -> None:
    """LATIN1 refuses a Greek letter in the middle of a study; SQL_ASCII gives bytes back in place of texts."""
    url = server.empty_database(encoding)
    for do in (Storage(url).names, lambda: Storage(url).create(RECORD), lambda: Storage(url).load("one")):
        with pytest.raises(StorageError, match=rf"the database study_\w+ has the encoding {encoding}.*UTF8"):
            do()


def test_an_empty_database_is_built_and_a_study_table_of_somebody_else_left_alone(url: str) -> None:
    other = create_engine(read_url(url))
    with other.begin() as connection:
        connection.execute(text("CREATE TABLE mine (x integer)"))
        connection.execute(text("INSERT INTO mine VALUES (7)"))
    storage = Storage(url)
    with pytest.raises(StorageError, match="holds no studies"):
        storage.names()
    storage.create(RECORD)
    assert storage.names() == ["one"]
    with other.begin() as connection:
        assert connection.execute(text("SELECT x FROM mine")).scalar() == 7
    other.dispose()


def test_a_schema_of_another_version_is_refused_in_words(url: str) -> None:
    storage = Storage(url)
    storage.create(RECORD)
    engine = create_engine(read_url(url))
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {version.name} SET version_num = '0999'"))
    for do in (Storage(url).names, lambda: Storage(url).create(RECORD), lambda: Storage(url).load("one")):
        with pytest.raises(StorageError, match="schema 0999, and this surepath reads 3; open it"):
            do()
    engine.dispose()


def test_tables_built_in_part_leave_nothing(url: str) -> None:
    engine = open_engine(read_url(url)).execution_options(**{PENDING_WRITE: True})
    with pytest.raises(ZeroDivisionError), engine.begin() as connection:  # noqa: PT012
        build_tables(connection)
        1 / 0
    with engine.connect() as connection:
        assert check_schema(connection) is False
    Storage(url).create(RECORD)
    engine.dispose()


def test_two_who_create_at_once_both_find_the_tables(url: str) -> None:
    errors: list[Exception] = []

    def create(i: int) -> None:
        try:
            record = replace(RECORD, name=f"study {i}")
            retrying(lambda: Storage(url).create(record))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=create, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert len(Storage(url).names()) == 4


def test_sqlite_keeps_what_was_committed(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path / "study.db"))
    storage.create(RECORD)
    with sqlite3.connect(tmp_path / "study.db") as plain:
        assert plain.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    with storage._connection(write=True) as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
