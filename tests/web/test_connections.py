"""Connections kept open between requests: by threads, over a fork, when a server closes them, restarts or is killed."""

from __future__ import annotations

import copy
import gc
import http.client
import json
import os
import pickle
import signal
import socket
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import surepath
from surepath.errors import ConflictError, StorageError
from surepath.web import connections, route
from surepath.web.client import RemoteStudy
from surepath.web.server import KEEP_ALIVE
from surepath.web.transport import Transport
from tests.cli.test_serve import running
from tests.study.postgres import free_port
from tests.web.site import READ, WRITE, Site, database, new_study, served

SCORES = [0.1, 0.2, 0.3]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    place = database(tmp_path_factory.mktemp("connections"))
    new_study(place, "kept", epsilon=1e-6)
    with served(place) as site:
        yield site


@pytest.fixture
def study(site: Site) -> Iterator[RemoteStudy]:
    with surepath.connect(site.url, WRITE, "kept") as study:
        yield study


class Seen:
    """How many connections were opened and how many requests sent, retries among them."""

    opened = 0
    sent = 0


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    seen, connect, request = Seen(), http.client.HTTPConnection.connect, http.client.HTTPConnection.request

    def connected(self: Any) -> None:
        seen.opened += 1
        connect(self)

    def requested(self: Any, *arguments: Any, **options: Any) -> None:
        seen.sent += 1
        request(self, *arguments, **options)

    monkeypatch.setattr(http.client.HTTPConnection, "connect", connected)
    monkeypatch.setattr(http.client.HTTPConnection, "request", requested)
    return seen


def waiting(study: RemoteStudy) -> list[http.client.HTTPConnection]:
    return [kept.connection for kept in study._server.connections._kept]


def test_requests_and_refusals_share_one_connection(site: Site, seen: Seen) -> None:
    with surepath.connect(site.url, WRITE, "kept") as study:
        for _ in range(10):
            trial = study.ask()
            assert study.tell(trial, SCORES) == "told"
            with pytest.raises(ConflictError):
                study.tell(trial, [9.0, 9.0, 9.0])
    assert (seen.opened, seen.sent) == (1, 1 + 30)


def test_threads_have_their_own_and_their_own_answers(site: Site, study: RemoteStudy, seen: Seen) -> None:
    threads, each, gate = 8, 10, threading.Barrier(8)
    numbers: list[int] = []
    assert study.mdp.horizon == 3

    def work(name: str) -> None:
        gate.wait()
        for _ in range(each):
            trial = study.ask(worker=name)
            assert trial.worker == name
            assert study.tell(trial, SCORES) == "told"
            numbers.append(trial.number)

    workers = [threading.Thread(target=work, args=(f"thread {i}",)) for i in range(threads)]
    for one in workers:
        one.start()
    for one in workers:
        one.join(60)
    assert len(set(numbers)) == len(numbers) == threads * each
    assert seen.opened <= threads
    assert seen.sent == 2 * threads * each
    assert len(waiting(study)) <= threads


def test_what_fewer_threads_leave_over_is_closed(study: RemoteStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Barrier(3)
    real = http.client.HTTPConnection.getresponse

    def together(self: Any) -> Any:
        gate.wait(60)
        return real(self)

    with monkeypatch.context() as patch:
        patch.setattr(http.client.HTTPConnection, "getresponse", together)
        workers = [threading.Thread(target=study.overview) for _ in range(3)]
        for one in workers:
            one.start()
        for one in workers:
            one.join(60)
    kept = study._server.connections._kept
    *old, last = waiting(study)
    assert len(old) == 2
    for i in range(2):
        kept[i] = kept[i]._replace(since=time.monotonic() - 60)
    study.overview()
    assert waiting(study) == [last]
    assert [one.sock for one in old] == [None, None]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_shares_no_connection(site: Site, study: RemoteStudy) -> None:
    study.overview()
    (mine,) = waiting(study)
    there, back = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, from Python 3.12 on
        child = os.fork()
    if child == 0:
        answers: list[Any] = []
        try:
            for _ in range(20):
                answers.append(study.ask(worker="child").worker)
        except BaseException as error:
            answers.append(repr(error))
        os.write(back, json.dumps(answers).encode())
        os._exit(0)
    os.close(back)
    ours = [study.ask(worker="parent").worker for _ in range(20)]
    with open(there, "rb") as pipe:
        theirs = json.loads(pipe.read())
    os.waitpid(child, 0)
    assert (ours, theirs) == (["parent"] * 20, ["child"] * 20)
    assert waiting(study) == [mine]  # a child that closes its copy closes nothing here


def test_one_that_the_server_dropped_is_not_written_to(
    tmp_path: Path, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_study(database(tmp_path))
    monkeypatch.setattr(connections, "LONGEST_IDLE", 60.0)
    with served(database(tmp_path), timeout_keep_alive=0) as site, surepath.connect(site.url, WRITE) as study:
        trial = study.ask()
        (dropped,) = waiting(study)
        until(lambda: connections.readable(dropped.sock))
        before = seen.opened, seen.sent
        assert study.tell(trial, SCORES) == "told"
        assert (seen.opened, seen.sent) == (before[0] + 1, before[1] + 1)
        monkeypatch.setattr(connections, "LONGEST_IDLE", 0.0)  # and one that it may be about to drop
        study.overview()
        assert seen.opened == before[0] + 2


def test_a_client_gives_one_up_before_the_server_does() -> None:
    assert connections.LONGEST_IDLE < KEEP_ALIVE


def test_one_that_the_server_drops_at_that_moment_costs_no_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_study(database(tmp_path))
    with (
        served(database(tmp_path), timeout_keep_alive=0) as site,
        surepath.connect(site.url, WRITE, patience=0.0) as study,
    ):
        trial = study.ask()
        (dropped,) = waiting(study)
        until(lambda: connections.readable(dropped.sock))
        monkeypatch.setattr(connections, "readable", lambda _: False)
        assert study.tell(trial, SCORES) == "told"


def test_a_server_that_restarts_between_requests_is_found_again(tmp_path: Path) -> None:
    place, port = database(tmp_path), free_port()
    local = new_study(place)
    with served(place, port) as site:
        study = surepath.connect(site.url, WRITE, patience=0.0)
        trial = study.ask()
    with pytest.raises(StorageError, match=r"does not answer: .*refused"):
        study.tell(trial, SCORES)
    with served(place, port):
        assert study.tell(trial, SCORES) == "told"
        assert study.tell(trial, SCORES) == "repeated"
    assert len(local) == 1


def test_a_process_that_is_killed_and_started_again_is_found_again(tmp_path: Path) -> None:
    new_study(database(tmp_path))
    port = free_port()
    command = ("serve", "study.db", "--write-token", WRITE)
    with running(tmp_path, *command, port=port) as (process, printed):
        study = surepath.connect(printed["address"], WRITE)
        first, second = study.ask(2)
        assert study.tell(first, SCORES) == "told"
        process.send_signal(signal.SIGKILL)
        process.wait()
    answers: list[str] = []
    worker = threading.Thread(target=lambda: answers.append(study.tell(second, SCORES)))
    worker.start()
    with running(tmp_path, *command, port=port):
        worker.join(60)
        assert study.status().states["complete"] == 2
    assert answers == ["told"]


def test_closing_closes_and_the_next_request_opens_again(study: RemoteStudy, seen: Seen) -> None:
    study.overview()
    (kept,) = waiting(study)
    opened = seen.opened
    study.close()
    assert kept.sock is None
    study.overview()
    assert seen.opened == opened + 1


def test_one_in_use_is_closed_after_its_answer(study: RemoteStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    real = http.client.HTTPConnection.getresponse

    def closed_meanwhile(self: Any) -> Any:
        study.close()
        return real(self)

    monkeypatch.setattr(http.client.HTTPConnection, "getresponse", closed_meanwhile)
    assert study.overview()["trials"] >= 0
    assert waiting(study) == []


def test_a_study_that_is_forgotten_leaves_nothing_open(site: Site) -> None:
    study = surepath.connect(site.url, READ, "kept")
    (kept,) = waiting(study)
    del study
    gc.collect()
    assert kept.sock is None


def test_copies_have_connections_of_their_own(study: RemoteStudy) -> None:
    study.overview()
    for twin in (copy.copy(study), copy.deepcopy(study), pickle.loads(pickle.dumps(study))):
        assert twin.ask(worker="twin").worker == "twin"
    other = pickle.loads(pickle.dumps(study))
    assert other._server.connections is not study._server.connections
    assert other.url == study.url


class Slow:
    """A server that answers a path with that path, or as it is told; the first one late."""

    def __init__(self, late: float = 0.0, status: str = "200 OK", said: dict[str, str] | None = None) -> None:
        self.place, self.late, self.status, self.said = socket.create_server(("127.0.0.1", 0)), late, status, said
        self.url = f"http://127.0.0.1:{self.place.getsockname()[1]}"
        self.heard: list[str] = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                taken, _ = self.place.accept()
            except OSError:
                return
            threading.Thread(target=self.answer, args=(taken,), daemon=True).start()

    def answer(self, taken: socket.socket) -> None:
        with taken:
            while asked := taken.recv(65536).decode():
                path = asked.split()[1]
                self.heard.append(path)
                if len(self.heard) == 1:
                    time.sleep(self.late)
                body = json.dumps({"path": path} if self.said is None else self.said)
                try:
                    taken.sendall(f"HTTP/1.1 {self.status}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
                except OSError:
                    return

    def __enter__(self) -> Slow:
        return self

    def __exit__(self, *_: object) -> None:
        self.place.shutdown(socket.SHUT_RDWR)
        self.place.close()


def test_no_request_reads_the_late_answer_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "TIMEOUT", 0.1)
    with Slow(late=0.3) as server:
        transport = Transport(server.url, "token", patience=0.0)
        with pytest.raises(StorageError, match="does not answer: timed out"):
            transport.call("first", {})
        for _ in range(10):
            time.sleep(0.05)
            assert transport.call("second", {}) == {"path": "/api/second"}
        transport.close()


def test_no_request_reads_the_answer_to_an_interrupted_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    with Slow() as server:
        transport = Transport(server.url, "token", patience=0.0)
        with monkeypatch.context() as patch:
            patch.setattr(http.client.HTTPResponse, "read", interrupted)
            with pytest.raises(KeyboardInterrupt):
                transport.call("first", {})
        assert not transport.connections._kept
        assert transport.call("second", {}) == {"path": "/api/second"}
        transport.close()


@pytest.mark.parametrize(
    ("status", "said", "words"),
    [
        ("409 Conflict", {"error": "StorageError", "message": "read-only"}, "^read-only$"),
        ("302 Found", None, "^the server answered 302 Found$"),
    ],
)
def test_a_refusal_is_not_sent_again(status: str, said: dict[str, str] | None, words: str) -> None:
    with Slow(status=status, said=said) as server:
        transport = Transport(server.url, "token", patience=1.0)
        with pytest.raises(StorageError, match=words):
            transport.call("first", {})
        assert server.heard == ["/api/first"]
        transport.close()


def until(holds: Any) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)
