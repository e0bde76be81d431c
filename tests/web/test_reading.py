"""What is read of a study over HTTP: its status, its trials, its graph, the gap over time, the log as a file."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from fastapi.testclient import TestClient

from surepath.study.storage.memory import MemoryStorage
from surepath.web.views import warnings
from tests.web.site import Caller, new_study


def test_before_the_first_trial_it_says_that_nothing_is_proven(storage: MemoryStorage, reader: Caller) -> None:
    new_study(storage)
    status = reader.get("status")
    assert status["sentence"] == "Nothing is proven yet: no trial has been reported."
    assert status["certified_gap"] is None
    assert reader.get("gap") == {"points": [], "complete": True, "missing": 0}
    assert reader.get("trials") == {"trials": [], "total": 0, "next": None, "searched": None}


def test_the_log_can_be_kept_as_a_file(storage: MemoryStorage, reader: Caller, client: TestClient) -> None:
    study = new_study(storage, trials=12, epsilon=0.01)
    lines = client.get("/api/export", headers=reader.headers)
    assert lines.headers["content-type"] == "application/x-ndjson"
    assert lines.headers["surepath-trials"] == "12"
    assert len(lines.text.splitlines()) == 13
    table = client.get("/api/export", params={"format": "csv"}, headers=reader.headers)
    assert table.headers["content-type"].startswith("text/csv")
    assert table.text.splitlines()[0].startswith("number,state,source")
    assert len(table.text.splitlines()) == 1 + len(study)


def test_trials_come_by_page_and_by_filter(storage: MemoryStorage, reader: Caller) -> None:
    study = new_study(storage, trials=12, epsilon=0.01)
    running = study.ask(worker="slow one")
    page = reader.get("trials", limit=5)
    assert [trial["number"] for trial in page["trials"]] == [13, 12, 11, 10, 9]
    assert page["next"] == 9
    rest = reader.get("trials", limit=5, before=page["next"])
    assert [trial["number"] for trial in rest["trials"]] == [8, 7, 6, 5, 4]
    last = reader.get("trials", limit=5, before=rest["next"])
    assert [trial["number"] for trial in last["trials"]] == [3, 2, 1]
    assert last["next"] is None
    only = reader.get("trials", state="running")
    assert [trial["number"] for trial in only["trials"]] == [running.number]
    assert [trial["number"] for trial in reader.get("trials", text="SLOW")["trials"]] == [running.number]
    with_dense = reader.get("trials", text="dense", state="complete")["trials"]
    assert 0 < len(with_dense) < 12
    assert all("dense" in trial["plan"].values() for trial in with_dense)
    assert len(reader.get("trials", state="complete", limit=4)["trials"]) == 4
    assert reader.get("trials", state="failed")["trials"] == []


def test_the_graph_has_every_option_and_what_is_known_of_it(storage: MemoryStorage, reader: Caller) -> None:
    study = new_study(storage, trials=60)
    found = reader.get("graph")
    learner = study.learner
    assert found["steps"] == ["chunk", "retriever", "answer"]
    assert found["arcs"]["arc"] == list(range(study.mdp.n_arcs))
    assert found["arcs"]["visits"] == learner.visits.tolist()
    assert found["arcs"]["mean"] == pytest.approx(learner.means.tolist(), rel=1e-5)
    assert [state == 0 for state in found["arcs"]["state"]] == learner.active.tolist()
    assert found["label"] == [study.mdp.action_label(arc) for arc in range(study.mdp.n_arcs)]
    assert found["nodes"]["label"][-1] == "end"
    part = reader.get("graph", first=1, last=1)
    assert part["source"] == [1, 1, 1, 2, 2, 2]
    assert reader.get("graph", first=10**9)["first"] == 2


def test_the_gap_history_ends_in_what_is_proven(storage: MemoryStorage, reader: Caller) -> None:
    study = new_study(storage, trials=200)
    end = time.monotonic() + 60
    while not (found := reader.get("gap"))["complete"]:  # the past is read in the background
        assert time.monotonic() < end
    numbers = [point[0] for point in found["points"]]
    assert numbers == list(range(1, len(study) + 1))
    assert found["points"][-1][1] == pytest.approx(study.certified_gap, rel=1e-5)
    assert found["points"][0] == [1, None, 0.2]


def test_scores_that_contradict_what_was_declared_put_the_proof_in_doubt(
    storage: MemoryStorage, reader: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, rng = new_study(storage, sigma=0.01), np.random.default_rng(0)
    plans = [[0, 2, 8], [0, 3, 10], [0, 4, 12], [1, 5, 9], [1, 6, 11], [1, 7, 13]]
    study.import_trials([(plan, rng.standard_normal(3)) for plan in 30 * plans])
    status = reader.get("status")
    assert len(status["findings"]) > 3
    assert status["warnings"][3:] == [f"and {len(status['findings']) - 3} more findings"]
    assert re.findall(r"\b(episode|stage|arc|reward|path)s?\b", str(status["findings"] + status["warnings"])) == []
    monkeypatch.setattr("surepath.web.views.MOST_FINDINGS_SHOWN", len(status["findings"]) - 1)
    study.sync()
    assert warnings(study.mdp, study._fold)[-1] == "and 1 more finding"
    assert "if what was declared of the scores holds; they contradict it" in status["sentence"]
    study = new_study(storage, "sound", trials=20)
    assert "contradict" not in reader.get("status", study="sound")["sentence"]


def test_challengers_are_named_with_what_tells_them_apart(storage: MemoryStorage, reader: Caller) -> None:
    new_study(storage, trials=60, sigma=1.0)
    rivals = reader.get("explain", challengers=2)["rivals"]
    assert len(rivals) == 2
    assert rivals[0]["bound"] >= rivals[1]["bound"]
    for rival in rivals:
        assert "in place of" in rival["words"]
        assert "may still be better by up to" in rival["words"]
