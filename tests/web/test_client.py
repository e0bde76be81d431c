"""surepath.connect: the methods of Study over HTTP, sent again when an answer is lost."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surepath
from surepath import MDP, Study
from surepath.errors import (
    BudgetError,
    ConflictError,
    RewardError,
    SettingError,
    StoppedError,
    StorageError,
    StudyError,
)
from surepath.study.telling import Result
from surepath.web import client
from surepath.web.client import RemoteStudy
from tests.study.postgres import free_port
from tests.web.site import READ, WRITE, Site, database, new_study, score, served


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    place = database(tmp_path_factory.mktemp("client"))
    new_study(place, "kept")
    with served(place) as site:
        yield site


# What one has and the other has not, and why.
ONLY_STUDY = {
    "create": "makes a study in a database; a client connects to one that exists",
    "load": "opens a database; connect() takes its place",
    "from_export": "makes a study in a database",
    "learner": "a live object beside the log; the server's properties say what it knows",
    "storage": "the database, which a client does not reach; `url` is where the server is",
}
ONLY_REMOTE = {
    "url": "the server's address; a local study has `storage`",
    "overview": "the status as the page gets it, in one request",
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
            expected = str(inspect.signature(here)).replace("telling.", "")
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
    assert replace(remote.status(), storage="memory", now=0.0) == replace(local.status(), now=0.0)
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
        assert [row.state for row in log.trials(1, 9)] == ["cancelled"]
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
        with pytest.raises(RewardError, match="rewards must be numbers"):
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
    real, lost = study._server.connections.exchange, [0]

    def lossy(*arguments: Any) -> Any:
        answer = real(*arguments)
        lost[0] += 1
        if lost[0] % 2:
            raise ConnectionResetError("the answer was lost")
        return answer

    monkeypatch.setattr(study._server.connections, "exchange", lossy)
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
    assert (found.trials, found.certified_gap, found.more, found.wanted) == (30, here.certified_gap, 5, 4)
    assert found.gaps == here.gaps
    assert "more trials" in str(found)
    with pytest.raises(SettingError, match="more"):
        remote.forecast(0)
    for name in ("log.jsonl", "log.csv"):
        assert remote.export(tmp_path / name) == local.export(tmp_path / f"local-{name}") == 31
        assert (tmp_path / name).read_bytes() == (tmp_path / f"local-{name}").read_bytes()
    assert Study.from_export(tmp_path / "log.jsonl", "memory").digest == remote.digest
    with pytest.raises(SettingError, match="an export ends in"):
        remote.export(tmp_path / "log.txt")
    assert "<svg" in remote._repr_html_()
    assert remote._repr_html_().replace(site.url, storage.shown) == local._repr_html_()


def test_a_long_import_goes_in_several_requests(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    local = new_study(site.app.state.studies.storage, "imported", epsilon=1e-6)
    remote = surepath.connect(site.url, WRITE, "imported")
    monkeypatch.setattr(client, "MOST_SENT", 1_000)
    results = [([i % 2, 2 + 3 * (i % 2), 8], [float(i), 0.5, 0.25]) for i in range(100)]
    for _ in range(2):
        assert remote.import_trials(results, "last year", request="old") == 100
    assert local.trials["score.chunk"].to_list() == [float(i) for i in range(100)]
    assert set(local.trials["note"]) == {"last year"}
    with pytest.raises(RewardError):
        remote.import_trials([*results, ([0, 2, 8], [float("nan")])])
    assert len(local) == 100
    with pytest.raises(StudyError, match="in the log already, from an earlier import"):
        remote.import_trials(results)
    assert len(local) == 100
    assert remote.import_trials(results, again=True) == 100
    assert len(local) == 200


def test_the_progress_line_and_the_watch_work_over_http(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    new_study(site.app.state.studies.storage, "watched")
    remote = surepath.connect(site.url, WRITE, "watched")
    remote.optimize(score, n_trials=3, progress=True)
    assert "3 trials, 0 running" in capsys.readouterr().err
    remote.optimize(score)
    remote.watch()
    assert ", done (chunk=512" in capsys.readouterr().out


def test_a_worker_waits_for_a_server_that_restarts(tmp_path: Path) -> None:
    place = database(tmp_path)
    new_study(place)
    told: list[int] = []
    port = free_port()
    with served(place, port) as site:
        study = surepath.connect(site.url, WRITE, patience=60)

        def work() -> None:
            while not study.done:
                trial = study.ask()
                study.tell(trial, score(trial.plan))
                told.append(trial.number)

        worker = threading.Thread(target=work)
        worker.start()
        while not told:
            time.sleep(0.01)
    with served(place, port):
        worker.join(60)
    assert not worker.is_alive()
    local = Study.load(place)
    assert local.done
    assert told == list(range(1, len(local) + 1))


def test_the_link_that_a_server_prints_is_address_and_token(site: Site) -> None:
    assert surepath.connect(f"{site.url}/#token={READ}&study=kept").name == "kept"
    with pytest.raises(SettingError, match="give the token of the server, or the link that it prints"):
        surepath.connect(site.url)
    with pytest.raises(SettingError, match="this token was not accepted"):
        surepath.connect(f"{site.url}/#token={READ}", "another", "kept")


@pytest.mark.parametrize("rewards", [["a"] * 4, "abc", {"a": "x"}, [[1], [2, 3]], object()])
def test_what_is_no_number_is_refused_as_a_study_refuses_it(rewards: Any) -> None:
    with pytest.raises(RewardError, match="rewards must be numbers, not"):
        client._rewards(rewards)


def test_a_budget_is_kept_over_http(site: Site) -> None:
    steps = {"chunk": ["256", "512"], "model": ["small", "large"]}
    mdp = MDP.from_steps(steps, sigma=0.1, costs={"model": {"small": 1.0, "large": 2.0}})
    Study.create(mdp, site.app.state.studies.storage, "priced", epsilon=0.1, delta=0.1)
    remote = surepath.connect(site.url, WRITE, "priced")
    assert len(remote.ask(10, budget=4.0)) < 5
    with pytest.raises(BudgetError):
        remote.ask(budget=4.0)
    assert remote.spent == remote.status().spent == 0.0


def test_a_client_waits_for_a_trial_that_somebody_forgot(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "CHECK_EVERY", 0.05)
    study = new_study(site.app.state.studies.storage, "forgotten")
    study.ask(worker="the bench")
    remote = surepath.connect(site.url, WRITE, "forgotten")
    remote.optimize(score, timeout=1.0)
    now = remote.status()
    assert now.enough
    assert now.ahead == len(study) - 1 < 60
    seen = remote.overview()
    assert seen["sentence"] == f"Nothing is proven yet: {now.ahead} results wait for trial 1, which still runs."
    assert seen["warnings"][0].startswith(f"{now.ahead} results suffice once trial 1 is settled; report it, or cancel")
    study.cancel(1)
    assert remote.done
