"""What changes a study over HTTP: every verb, what a key repeats, and what is taken as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

from fastapi.testclient import TestClient

from surepath._numbers import rounded_up
from surepath.study.sql import SqlStorage
from surepath.web.access import Access
from surepath.web.app import create_app
from tests.web.site import READ, WRITE, Caller, database, new_study, score


def test_a_study_runs_to_its_proof_over_http(storage: SqlStorage, writer: Caller) -> None:
    study = new_study(storage)
    while not writer.get("status")["done"]:
        (trial,) = writer.post("ask")["trials"]
        assert writer.post(f"trials/{trial['number']}/tell", {"rewards": score(trial["plan"])}) == {"outcome": "told"}
    status = writer.get("status")
    assert [row["option"] for row in status["best_plan"]] == ["512", "hybrid", "large"]
    assert study.done
    assert status["certified_gap"] == study.certified_gap <= 0.2
    assert status["trials"] == status["settled"] == len(study)
    words = (
        f"Proven after {len(study)} trials: this plan is within {rounded_up(study.certified_gap)} of the best of all"
    )
    assert status["sentence"].startswith(words)
    assert "study 'rag' is done" in writer.post("ask", expect=409)["message"]


def test_asking_again_with_the_same_key_changes_nothing(storage: SqlStorage, writer: Caller) -> None:
    study = new_study(storage)
    first = writer.post("ask", {"n": 3, "request": "a", "worker": "me"})
    assert writer.post("ask", {"n": 3, "request": "a", "worker": "me"}) == first
    assert len(study) == 3
    assert writer.post("ask", {"request": "b"})["trials"][0]["number"] == 4


def test_telling_again_changes_nothing_and_telling_otherwise_is_refused(storage: SqlStorage, writer: Caller) -> None:
    new_study(storage)
    writer.post("ask", {"n": 2})
    assert writer.post("trials/1/tell", {"rewards": [0.1, 0.2, 0.3]})["outcome"] == "told"
    assert writer.post("trials/1/tell", {"rewards": [0.1, 0.2, 0.3]})["outcome"] == "repeated"
    told = writer.post("trials/1/tell", {"rewards": [0.1, 0.2, 0.4]}, expect=409)
    assert told["error"] == "ConflictError"
    by_step = {"rewards": {"chunk": 1.0, "retriever": 0.5, "answer": 0.0}}
    assert writer.post("trials/2/tell", by_step)["outcome"] == "told"
    assert writer.get("trials/2")["rewards"] == [1.0, 0.5, 0.0]


def test_failures_cancellations_and_leases(storage: SqlStorage, writer: Caller) -> None:
    new_study(storage)
    writer.post("ask", {"n": 4, "worker": "bench 3"})
    workers = writer.get("status")["workers"]
    assert [(one["worker"], one["trials"]) for one in workers] == [("bench 3", 4)]
    assert 590 < workers[0]["left"] <= 600
    assert writer.post("trials/1/fail", {"rewards": [0.5], "note": "spilled"})["outcome"] == "told"
    assert writer.post("trials/2/fail")["outcome"] == "told"
    before = writer.get("trials/3")["lease"]
    assert writer.post("trials/3/renew")["lease_until"] >= before
    writer.post("trials/4/cancel")
    states = [writer.get(f"trials/{number}")["state"] for number in (1, 2, 3, 4)]
    assert states == ["partial", "failed", "running", "cancelled"]
    assert writer.get("trials/1")["note"] == "spilled"
    assert "only a running trial" in writer.post("trials/4/renew", expect=409)["message"]


def test_queued_plans_are_assigned_next_and_once(storage: SqlStorage, writer: Caller) -> None:
    new_study(storage)
    plan = {"chunk": "256", "retriever": "dense", "answer": "small"}
    for _ in range(2):
        writer.post("enqueue", {"plan": plan, "request": "one"})
    assert writer.get("status")["waiting"] == 1
    trials = writer.post("ask", {"n": 2})["trials"]
    assert [trial["source"] for trial in trials] == ["queued", "asked"]
    assert trials[0]["plan"] == plan


def test_exclude_and_tighten(storage: SqlStorage, writer: Caller) -> None:
    study = new_study(storage, trials=60)
    writer.post("tighten", {"epsilon": 0.15, "request": "t"})
    writer.post("tighten", {"epsilon": 0.15, "request": "t"})
    assert study.epsilon == 0.15
    writer.post("exclude", {"option": {"retriever": "hybrid"}})
    assert "hybrid" not in study.best_plan.values()
    assert "an epsilon below" in writer.post("tighten", {"epsilon": 0.5}, expect=422)["message"]
    assert any("excluded as infeasible" in said for said in writer.get("status")["warnings"])


def test_decisions_keep_their_keys_when_the_server_restarts(tmp_path: Path) -> None:
    """The answer to a decision is lost, the server restarts, the request comes again: one action is in the log."""
    study = new_study(database(tmp_path), trials=20, sigma=1.0)
    decisions = [
        ("exclude", {"option": {"retriever": "bm25"}, "request": "e"}),
        ("tighten", {"epsilon": 0.15, "request": "t"}),
        ("import", {"results": [{"plan": [0, 3, 10], "rewards": [0.1, 0.2, 0.3]}], "request": "i"}),
        ("enqueue", {"plan": [0, 3, 10], "request": "q"}),
    ]
    answers = []
    for _ in range(2):
        with TestClient(create_app(database(tmp_path), Access(READ, WRITE))) as client:
            answers.append([Caller(client, WRITE).post(verb, body) for verb, body in decisions])
    assert answers[0] == answers[1]
    with study.storage.reading("rag") as log:
        assert [(action.kind, action.content) for action in log.actions_after(0)] == [
            ("exclude", "[2, 5]"),
            ("tighten", "0.15"),
        ]
        assert (log.last_number(), len(log.queue(9))) == (21, 1)


def test_many_results_are_taken_or_none(storage: SqlStorage, writer: Caller) -> None:
    study = new_study(storage)
    trials = writer.post("ask", {"n": 3})["trials"]
    good = [
        {"number": 1, "rewards": [0.1, 0.2, 0.3], "path": trials[0]["path"]},
        {"number": 2, "rewards": [0.5], "failed": True, "note": "spilled"},
    ]
    wrong = {"number": 3, "rewards": [0.1], "path": trials[0]["path"], "where": "sheet.csv, line 4"}
    told = writer.post("tell-many", {"results": [*good, wrong]}, expect=409)
    assert told["message"].startswith("sheet.csv, line 4: trial 3 is the plan")
    assert study.status().states["running"] == 3
    assert writer.post("tell-many", {"results": good}) == {"outcomes": ["told", "told"]}
    assert writer.post("tell-many", {"results": good}) == {"outcomes": ["repeated", "repeated"]}
    assert writer.post("tell-many", {"results": []}) == {"outcomes": []}
    assert writer.post("tell-many", {"results": [{"number": 9, "rewards": [0.1]}]}, expect=404)["error"] == "StudyError"
    assert writer.get("trials/2")["note"] == "spilled"
