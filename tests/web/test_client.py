"""surepath.connect: the methods of Study over HTTP, by threads and forks, when answers, connections and servers go.

And what is never shown: secrets of addresses, tokens.
"""

from __future__ import annotations

import inspect
import json
import logging
import os
import random
import signal
import socket
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import surepath
from surepath import MDP, Study
from surepath._text import hidden
from surepath.cli.study import page_links as lines
from surepath.errors import (
    ConflictError,
    RewardError,
    SettingError,
    StoppedError,
    StorageError,
    StudyError,
    SurepathError,
)
from surepath.study.storage import Storage
from surepath.study.trial import Result
from surepath.web import client
from surepath.web import server as web_server
from surepath.web.client import RemoteStudy, Server
from surepath.web.routes import Access
from tests.cli.test_serve import running
from tests.study.postgres import free_port
from tests.web.site import READ, WRITE, Site, database, new_study, score, served

SCORES = [0.1, 0.2, 0.3]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    place = database(tmp_path_factory.mktemp("client"))
    new_study(place, "kept")
    new_study(place, "endless", epsilon=1e-6)
    with served(place) as site:
        yield site


ONLY_STUDY = {
    "create": "makes a study in a database; a client connects to one that exists",
    "load": "opens a database; connect() takes its place",
    "from_export": "makes a study in a database",
    "reference": "comes before the first trial, from whoever creates the study",
    "confirm": "plays plans again on the machine that holds the study",
    "copy": "makes a study in a database",
    "learner": "a live object beside the log; the server's properties say what it knows",
    "storage": "the database, which a client does not reach; `url` is where the server is",
}


ONLY_REMOTE = {
    "url": "the server's address; a local study has `storage`",
    "tell_and_ask": "saves a request, where a local study has none to save",
}


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")} | {"__len__", "__enter__", "_repr_html_"}


def test_it_has_the_methods_of_study_with_their_signatures(site: Site) -> None:
    local, remote = new_study("memory"), surepath.connect(site.url, WRITE, "kept")
    ours = public(Study) | {name for name in vars(local) if not name.startswith("_")}
    theirs = public(RemoteStudy) | {name for name in vars(remote) if not name.startswith("_")}
    assert ours - theirs == set(ONLY_STUDY)
    assert theirs - ours == set(ONLY_REMOTE)
    for name in sorted(ours & theirs):
        here: Any = getattr(Study, name, None)
        there: Any = getattr(RemoteStudy, name, None)
        assert callable(here) == callable(there), name
        if callable(here):
            expected = str(inspect.signature(here))
            assert str(inspect.signature(there)).partition(" ->")[0] == expected.partition(" ->")[0], name
        if isinstance(here, property):
            assert isinstance(there, property), name


def test_a_remote_study_behaves_as_a_local_one(site: Site) -> None:
    twins: list[Any] = [new_study("memory", "twin"), None]
    new_study(site.app.state.studies.storage, "twin")
    twins[1] = surepath.connect(site.url, WRITE, "twin")
    for study in twins:
        rng = np.random.default_rng(1)
        study.enqueue({"chunk": "256", "retriever": "bm25", "answer": "small"})
        study.fail(study.ask(), [0.3], "spilled")
        study.cancel(study.ask())
        while not study.done:
            trial = study.ask()
            assert study.tell(trial, np.array(score(trial.plan)) + 0.1 * rng.standard_normal(3)) == "told"
    local, remote = twins
    assert remote.best_plan == local.best_plan
    assert remote.certified_gap == local.certified_gap
    assert (remote.epsilon, remote.delta, len(remote)) == (local.epsilon, local.delta, len(local))
    assert local.status().last_failure == "trial 1: spilled"
    same = {"storage": "memory", "now": 0.0, "created": 0.0}
    assert replace(remote.status(), **same) == replace(local.status(), **same)
    assert remote.digest == local.digest
    assert remote.explain() == local.explain()
    assert remote.certificate()["certified_gap"] == local.certificate()["certified_gap"]
    with pytest.raises(StoppedError, match="is done after"):
        remote.ask()
    assert remote.forecast().done
    times = ["asked", "told", "worker"]
    assert remote.trials.drop(times).equals(local.trials.drop(times))
    assert remote.trials.schema == local.trials.schema
    for study in twins:
        study.tighten(0.15)
        study.exclude({"retriever": "hybrid"})
    assert remote.best_plan == local.best_plan
    assert remote.epsilon == 0.15
    assert repr(remote) == f"RemoteStudy('twin', {site.url!r})"


def test_optimize_runs_trials_here_and_gives_them_back_when_interrupted(site: Site) -> None:
    local = new_study(site.app.state.studies.storage, "run")
    remote = surepath.connect(site.url, WRITE, "run")

    def interrupted(plan: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        remote.optimize(interrupted)
    with local.storage.reading("run") as log:
        assert [(row.state, row.attended) for row in log.trials(1, 9)] == [("cancelled", True)]
    remote.optimize(score, n_jobs=2)
    assert local.done
    assert remote.evidence_trials == local.evidence_trials >= 5


def test_errors_come_out_as_those_of_study(site: Site) -> None:
    study = surepath.connect(site.url, WRITE, "kept")
    assert study.certified_gap == float("inf")
    first, second = study.ask(2, worker="me")
    assert (first.worker, second.number) == ("me", first.number + 1)
    study.tell(first, {"chunk": 0.1, "retriever": 0.2, "answer": 0.3})
    with pytest.raises(ConflictError, match="never changes"):
        study.tell(first, [9.0, 9.0, 9.0])
    with pytest.raises(RewardError):
        study.tell(second, [float("nan"), 0.0, 0.0])
    for bad in ("123", [0.1, "0.2", 0.3], {"chunk": "high"}, [[0.1], [0.2, 0.3]]):
        with pytest.raises(RewardError, match="scores must be numbers"):
            study.tell(second, bad)
    with pytest.raises(SettingError, match="request"):
        study.ask(request="a\nb")
    with pytest.raises(StudyError, match="there is no trial 99"):
        study.cancel(99)
    assert study.renew(second) >= second.lease_until
    with pytest.raises(StudyError, match="there is no study 'other'"):
        surepath.connect(site.url, WRITE, "other")


def test_tokens_and_addresses_are_checked(site: Site) -> None:
    with pytest.raises(SettingError, match="this token was not accepted"):
        surepath.connect(site.url, "wrong", "kept")
    with pytest.raises(SettingError, match="may only read"):
        surepath.connect(site.url, READ, "kept").ask()
    with pytest.raises(SettingError, match="the address of a server is one such as"):
        surepath.connect("file:///etc/passwd", READ)
    with pytest.raises(SettingError, match="the address of a server is one such as"):
        surepath.connect("http://127.0.0.1:none", READ)
    with pytest.raises(StorageError, match="does not answer"):
        surepath.connect("http://127.0.0.1:9", READ, patience=0.2)


def test_a_lost_answer_changes_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every first answer is lost on its way back; the log has each trial and each queued plan once."""
    mine = new_study(site.app.state.studies.storage, "lossy")
    study = surepath.connect(site.url, WRITE, "lossy")
    real, lost = httpx.Client.request, [0]

    def lossy(self: Any, *arguments: Any, **options: Any) -> Any:
        answer = real(self, *arguments, **options)
        lost[0] += 1
        if lost[0] % 2:
            raise httpx.ReadError("the answer was lost")
        return answer

    monkeypatch.setattr(httpx.Client, "request", lossy)
    plan = {"chunk": "512", "retriever": "bm25", "answer": "small"}
    study.enqueue(plan)
    trials = study.ask(3)
    assert [trial.number for trial in trials] == [1, 2, 3]
    assert [trial.source for trial in trials] == ["queued", "asked", "asked"]
    assert study.tell(trials[0], [0.1, 0.2, 0.3]) == "repeated"
    study.fail(trials[1])
    study.cancel(trials[2])
    study.tighten(0.1)
    study.exclude({"answer": "large"})
    past = {"chunk": "512", "retriever": "dense", "answer": "small"}
    assert study.import_trials([(past, [0.1, 0.2, 0.3])] * 2, request="last year") == 2
    assert study.import_trials([(past, [0.1, 0.2, 0.3])] * 2, request="last year") == 2
    more = study.ask(2)
    results = [Result(more[0].number, [0.3, 0.2, 0.1]), Result(more[1].number, [0.3], failed=True, note="spilled")]
    assert study.tell_many(results) == ["repeated", "repeated"]
    assert lost[0] >= 20
    assert len(mine) == 3 + 2 + 2
    assert mine.epsilon == 0.1
    with mine.storage.reading("lossy") as log:
        assert [action.kind for action in log.actions_after(0)] == ["tighten", "exclude"]


def test_forecasts_and_frames_come_over_http(site: Site, tmp_path: Path) -> None:
    storage = site.app.state.studies.storage
    local = new_study(storage, "framed", trials=30, sigma=1.0)
    remote = surepath.connect(site.url, READ, "framed")
    local.enqueue({"chunk": "256", "retriever": "bm25", "answer": "small"})
    local.ask(worker="me")
    assert remote.trials.equals(local.trials)
    assert remote.record == local.record
    found, here = remote.forecast(5, 4, 1), local.forecast(5, 4, 1)
    assert (found.trials, found.certified_gap, found.more) == (30, here.certified_gap, 5)
    assert found.gaps == here.gaps
    assert "more trials" in str(found)
    end = time.monotonic() + 30  # the line of progress asks the server, which makes its forecast in the background
    while remote._trials_left() == float("inf") and time.monotonic() < end:
        time.sleep(0.1)
    assert 0 < remote._trials_left() < float("inf")
    with pytest.raises(SettingError, match="more"):
        remote.forecast(0)
    for name in ("log.jsonl", "log.csv"):
        assert remote.export(tmp_path / name) == local.export(tmp_path / f"local-{name}") == 31
        assert (tmp_path / name).read_bytes() == (tmp_path / f"local-{name}").read_bytes()
    assert Study.from_export(tmp_path / "log.jsonl", "memory").digest == remote.digest
    with pytest.raises(SettingError, match="an export ends in"):
        remote.export(tmp_path / "log.txt")
    assert remote._repr_html_().replace(site.url, storage.shown) == local._repr_html_()


def test_a_client_waits_for_a_trial_that_somebody_forgot(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "CHECK_EVERY", 0.05)
    study = new_study(site.app.state.studies.storage, "forgotten")
    study.ask(worker="the bench")
    remote = surepath.connect(site.url, WRITE, "forgotten")
    remote.optimize(score, timeout=1.0)
    now = remote.status()
    assert now.enough
    assert now.ahead == len(study) - 1 < 60
    seen = remote._call("status")
    assert seen["sentence"] == f"Nothing is proven yet: {now.ahead} results wait for trial 1, which still runs."
    assert seen["warnings"][0].startswith(f"{now.ahead} results suffice once trial 1 is settled; report it, or cancel")
    study.cancel(1)
    assert remote.done


# Importing ---------------------------------------------------------------------------------------------------------


def past(n: int, seed: int = 0) -> list[tuple[list[int], list[float]]]:
    """Results of before, more than fit into another request."""
    rng = np.random.default_rng(seed)
    return [([i % 2, 2 + 3 * (i % 2), 8], rng.random(3).tolist()) for i in range(n)]


def test_a_long_import_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "LARGEST_BODY", 50_000)
    local = new_study(database(tmp_path), epsilon=1e-6)
    results = past(1_000)
    assert len(json.dumps(results)) > web_server.LARGEST_BODY
    shuffled = random.Random(0).sample(results, len(results))
    with served(database(tmp_path)) as site, surepath.connect(site.url, WRITE) as remote:
        for rows in (results, results, shuffled):
            assert remote.import_trials(rows, "last year", request="old") == len(results)
        assert local.import_trials(shuffled, request="old") == len(results)
        assert local.trials["score.chunk"].to_list() == [scores[0] for _, scores in results]
        assert set(local.trials["note"]) == {"last year"}
        for rows in (results[:-1], [*results, ([0, 2, 8], [0.5])], past(10, seed=1)):
            for study in (remote, local):
                with pytest.raises(ConflictError, match="'old' was carried out before, with other content; nothing"):
                    study.import_trials(rows, request="old")
        for rows in (shuffled, shuffled + past(5, seed=2)):
            with pytest.raises(StudyError, match="in the log already, from an earlier import"):
                remote.import_trials(rows)
        with pytest.raises(RewardError):
            remote.import_trials([*past(3, seed=3), ([0, 2, 8], [float("nan")])])
        assert len(local) == len(results)
        assert remote.import_trials(results[:100], again=True) == 100
        assert len(local) == len(results) + 100


def test_an_import_whose_connection_breaks_leaves_nothing_behind(tmp_path: Path) -> None:
    local, results = new_study(database(tmp_path), epsilon=1e-6), past(2_000)
    body = {"results": [{"plan": p, "rewards": r} for p, r in results], "request": "old", "note": "last year"}
    text = json.dumps(body).encode()
    with served(database(tmp_path)) as site:
        for part in (len(text) // 2, len(text) - 1, len(text)):  # in the middle, before the end, before the answer
            with socket.create_connection(("127.0.0.1", site.port)) as cut:
                head = f"POST /api/import HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {WRITE}\r\n"
                head += f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
                cut.sendall(head.encode() + text[:part])
            time.sleep(0.2)
            if part < len(text):
                assert len(local) == 0
        remote = surepath.connect(site.url, WRITE)
        assert remote.import_trials(results, "last year", request="old") == len(results)
        remote.close()
    assert local.trials["score.chunk"].to_list() == [scores[0] for _, scores in results]


def test_names_may_be_as_long_over_http_as_in_a_study(site: Site) -> None:
    step, option, worker = "s" * 200, "o" * 200, "w" * 400
    mdp = MDP.from_steps({step: [option, "b"]}, sigma=0.1)
    Study.create(mdp, site.app.state.studies.storage, "long names", epsilon=0.1, delta=0.1)
    remote = surepath.connect(site.url, WRITE, "long names")
    remote._call("enqueue", {"plan": {step: option}})
    trial = remote.ask(worker=worker, request="r" * 400)
    assert (trial.plan, trial.worker) == ({step: option}, worker)
    assert remote._numbers_of("r" * 400) == [1]
    assert remote.tell(trial, {step: 0.5}) == "told"
    failed = remote.ask()
    remote.fail(failed, note="n" * 3_000)
    assert len(remote.trials["note"][1]) == 2_000


# Connections -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_shares_no_connection(site: Site) -> None:
    study = surepath.connect(site.url, WRITE, "endless")
    study.status()
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
    study.close()


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


def test_a_proxy_of_the_environment_is_used_except_on_this_machine(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "all_proxy", "NO_PROXY", "ALL_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as proxy, ThreadPoolExecutor() as thread:
        monkeypatch.setenv("http_proxy", f"http://me:secret@127.0.0.1:{proxy.getsockname()[1]}")
        assert surepath.connect(site.url, READ, "kept").name == "kept"
        elsewhere = Server("http://study.example:8700", "token")
        asking = thread.submit(elsewhere.send, "problem", {})
        taken, _ = proxy.accept()
        with taken:
            heard = taken.recv(65536)
            taken.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        assert isinstance(asking.exception(), StorageError)
    assert heard.startswith(b"GET http://study.example:8700/api/problem HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic " in heard
    monkeypatch.setenv("http_proxy", "http://me:secret@proxy:none")
    with pytest.raises(SettingError, match="a proxy that the environment names") as refused:
        surepath.connect("http://study.example:8700", "the-token", "rag", patience=0.0)
    assert "secret" not in shown_by(refused.value)


# Secrets -----------------------------------------------------------------------------------------------------------

SECRET = "Tops3cret"
TEXT = st.text("ab1:@/?#[]%&= .+", max_size=8)
NAMES = st.sampled_from(["password", "passfile", "sslpassword", "token", "PGPASSWORD", "key", "api_key", "x"])


def shown_by(error: BaseException) -> str:
    return "".join(traceback.format_exception(type(error), error, None))


@st.composite
def addresses(draw: Any) -> str:
    """Addresses in and out of form, with a secret where passwords and tokens stand."""
    scheme = draw(st.sampled_from(["postgresql://", "postgresql+psycopg://", "http://", "postgresql:/", "postgresql:"]))
    secret = draw(TEXT) + SECRET + draw(TEXT)
    before = scheme + draw(st.sampled_from(["", "me", "me:", "/me:"]))
    kinds = {
        "userinfo": f"{scheme}{draw(TEXT)}:{secret}@host{draw(st.sampled_from(['', ':5432', ':x', '/db', '/d?a=b']))}",
        "no host": f"{scheme}me:{SECRET}{draw(TEXT).replace('@', '')}",
        "query": f"{before}@host/db?{draw(NAMES)}={quote(secret)}&sslmode=require",
        "raw query": f"{scheme}host/db?sslmode=require&{draw(NAMES)}={secret}",
        "fragment": f"{scheme}host/#token={secret}",
    }
    return kinds[draw(st.sampled_from(sorted(kinds)))]


@given(addresses())
@example(f"http://1/:{SECRET}?@host")
@settings(max_examples=400, deadline=None)
def test_no_secret_of_an_address_is_shown(address: str) -> None:
    seen = [hidden(address)]
    tries: list[Any] = [lambda: Server(address, "token").url, lambda: Storage(address).shown]
    for attempt in tries:
        try:
            seen.append(attempt())
        except SurepathError as error:
            seen.append(shown_by(error))
    assert SECRET not in "".join(seen)


@given(st.text(max_size=40), st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_whatever_stands_before_the_host_is_hidden(user: str, rest: str) -> None:
    assert SECRET not in hidden(f"postgresql://{user}:{SECRET}@{rest}")
    assert SECRET not in hidden(f"{user}:{SECRET}@{rest}")


def test_what_is_no_secret_is_shown() -> None:
    for address in (
        "sqlite:///study.db",
        "sqlite:////home/me@work/study.db",
        "study.db",
        "memory",
        "http://127.0.0.1:8700",
        "postgresql://me@host:5432/db?sslmode=require&application_name=lab",
        "postgresql://[::1]:5432/db",
    ):
        assert hidden(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:{0}@127.0.0.1:1/db?sslpassword={0}&options={0}",
        "postgresql://127.0.0.1:1/db?bogus={0}&password={0}",
        "postgresql://127.0.0.1:1/db?port={0}",
        "postgresql://me:{0}@127.0.0.1:none/db",
        "postgresql:/me:{0}@h/db",
        "me:{0}@h/db",
        "postgresql//me:{0}@h/db",
        "host=h password={0}",
        "postgresql://127.0.0.1:1/db;password={0}",
        "postgresql://127.0.0.1:1/db?sslmode=prefer%26password={0}",
    ],
)
def test_errors_of_a_database_show_no_secret(address: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "surepath"), pytest.raises(StorageError) as refused:
        Storage(address.format(SECRET)).names()
    assert SECRET not in shown_by(refused.value) + caplog.text


def test_tokens_that_were_given_are_not_printed(tmp_path: Path) -> None:
    given_tokens, made = Access(SECRET, SECRET + "w"), Access("r", "a b&c", generated=True)
    assert SECRET not in repr(given_tokens) + "".join(lines("http://127.0.0.1:1/", given_tokens))
    assert lines("http://127.0.0.1:1/", made)[0] == "to read, ask and tell:  http://127.0.0.1:1/#token=a%20b%26c"
    new_study(database(tmp_path))
    with running(tmp_path, "serve", "study.db", "--write-token", SECRET) as (_, printed):
        assert set(printed) == {"address"}
        with surepath.connect(printed["address"], SECRET) as study:
            assert SECRET not in repr(study) + str(vars(study)) + str(study.status())
    with pytest.raises(SettingError, match="the address of a server is one such as") as refused:
        surepath.connect(f"http://me:{SECRET}@127.0.0.1:8700/#token={SECRET}")
    assert SECRET not in shown_by(refused.value)


def test_telling_and_asking_in_one_request(tmp_path: Path) -> None:
    """As tell and ask do, repeated after a lost answer too; and the number of another plan's trial is refused."""
    mine, rng = new_study(database(tmp_path)), np.random.default_rng(1)
    with served(database(tmp_path)) as site:
        with surepath.connect(site.url, WRITE) as study:
            trial, trials = study.ask(), 0
            while trial is not None:
                scores = np.array(score(trial.plan)) + 0.1 * rng.standard_normal(3)
                told, following = study.tell_and_ask(trial, scores, request=f"after {trial.number}")
                assert told == "told"
                again = study.tell_and_ask(trial, scores, request=f"after {trial.number}")
                assert (again[0], again[1] and again[1].number) == ("repeated", following and following.number)
                trial, trials = following, trials + 1
            assert study._call("enough") == {"enough": False}
        assert mine.done
        assert len(mine) == trials
        endless = new_study(database(tmp_path), "endless", epsilon=1e-9, sigma=5.0)
        with surepath.connect(site.url, WRITE, "endless") as study:
            study.enqueue({"chunk": "256", "retriever": "bm25", "answer": "small"})
            study.enqueue({"chunk": "512", "retriever": "bm25", "answer": "small"})
            trial, other = study.ask(2)
            with pytest.raises(StudyError, match="trial 1"):
                study.tell(replace(trial, path=other.path), SCORES)  # as after a backup was restored
            assert study.tell(trial, SCORES) == "told"
        endless.close()
