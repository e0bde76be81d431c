"""surepath.connect: the methods of Study over HTTP, sent again when an answer is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surepath
from surepath import Study
from surepath.errors import ConflictError, RewardError, SettingError, StoppedError, StorageError, StudyError
from surepath.web.client import RemoteStudy
from tests.web.site import READ, WRITE, Site, database, new_study, score, served


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    place = database(tmp_path_factory.mktemp("client"))
    new_study(place, "kept")
    with served(place) as site:
        yield site


def test_it_has_the_methods_of_study() -> None:
    verbs = {
        "ask",
        "tell",
        "fail",
        "cancel",
        "renew",
        "enqueue",
        "exclude",
        "tighten",
        "optimize",
        "status",
        "explain",
        "certificate",
        "close",
    }
    known = {"done", "best_path", "best_plan", "certified_gap", "epsilon", "delta", "mdp", "name", "options"}
    for name in verbs | (known - {"mdp", "name", "options"}):
        assert hasattr(Study, name)
        assert hasattr(RemoteStudy, name), name


def test_a_remote_study_behaves_as_a_local_one(site: Site) -> None:
    twins: list[Any] = [new_study("memory", "twin"), None]
    new_study(site.app.state.shelf.storage, "twin")
    twins[1] = surepath.connect(site.url, WRITE, "twin")
    for study in twins:
        rng = np.random.default_rng(1)
        study.enqueue({"chunk": "256", "retriever": "bm25", "answer": "small"})
        study.fail(study.ask(), [0.3])
        study.cancel(study.ask())
        while not study.done:
            trial = study.ask()
            assert study.tell(trial, np.array(score(trial.plan)) + 0.1 * rng.standard_normal(3)) == "told"
    local, remote = twins
    assert remote.best_plan == local.best_plan
    assert remote.certified_gap == local.certified_gap
    assert (remote.epsilon, remote.delta, len(remote)) == (local.epsilon, local.delta, len(local))
    assert replace(remote.status(), storage="memory", now=0.0) == replace(local.status(), now=0.0)
    assert remote.explain() == local.explain()
    assert remote.certificate()["certified_gap"] == local.certificate()["certified_gap"]
    with pytest.raises(StoppedError, match="is done after"):
        remote.ask()
    for study in twins:
        study.tighten(0.15)
        study.exclude({"retriever": "hybrid"})
    assert remote.best_plan == local.best_plan
    assert remote.epsilon == 0.15
    assert repr(remote) == f"RemoteStudy('twin', {site.url!r})"


def test_optimize_runs_trials_here_and_gives_them_back_when_interrupted(site: Site) -> None:
    local = new_study(site.app.state.shelf.storage, "run")
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
    with pytest.raises(StudyError, match="there is no trial 99"):
        study.cancel(99)
    assert study.renew(second) >= second.lease_until
    with pytest.raises(StudyError, match="there is no study 'other'"):
        surepath.connect(site.url, WRITE, "other")


def test_tokens_and_addresses_are_checked(site: Site) -> None:
    with pytest.raises(SettingError, match="this needs a token"):
        surepath.connect(site.url, "wrong", "kept")
    with pytest.raises(SettingError, match="may only read"):
        surepath.connect(site.url, READ, "kept").ask()
    with pytest.raises(SettingError, match="the address of a server looks like"):
        surepath.connect("file:///etc/passwd", READ)
    with pytest.raises(StorageError, match="does not answer"):
        surepath.connect("http://127.0.0.1:9", READ, patience=0.2)


def test_a_lost_answer_changes_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every first answer is lost on its way back; the log has each trial and each queued plan once."""
    mine = new_study(site.app.state.shelf.storage, "lossy")
    study = surepath.connect(site.url, WRITE, "lossy")
    real, lost = study._opener.open, [0]

    def lossy(*arguments: Any, **options: Any) -> Any:
        answer = real(*arguments, **options)
        lost[0] += 1
        if lost[0] % 2:
            answer.close()
            raise ConnectionResetError("the answer was lost")
        return answer

    monkeypatch.setattr(study._opener, "open", lossy)
    plan = {"chunk": "512", "retriever": "bm25", "answer": "small"}
    study.enqueue(plan)
    trials = study.ask(3)
    assert [trial.number for trial in trials] == [1, 2, 3]
    assert [trial.source for trial in trials] == ["queued", "asked", "asked"]
    assert study.tell(trials[0], [0.1, 0.2, 0.3]) == "repeated"
    study.fail(trials[1])
    study.cancel(trials[2])
    study.tighten(0.1)
    assert lost[0] >= 12
    assert len(mine) == 3
    assert mine.epsilon == 0.1


def test_a_worker_waits_for_a_server_that_restarts(tmp_path: Path) -> None:
    place = database(tmp_path)
    new_study(place)
    told: list[int] = []
    with served(place) as site:
        study = surepath.connect(site.url, WRITE, patience=20)
        port = site.port

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
        worker.join(30)
    assert not worker.is_alive()
    local = Study.load(place)
    assert local.done
    assert told == list(range(1, len(local) + 1))
