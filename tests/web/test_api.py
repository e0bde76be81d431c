"""The API: what is read and written, by whom, what is refused and in which words, and any request at all."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, settings

from surepath import MDP, Study
from surepath.errors import SettingError
from surepath.study.storage import Storage
from surepath.web.routes import Access, open_access
from surepath.web.server import LARGEST_BODY, create_app
from surepath.web.views import warnings
from tests.study.test_bad_places import as_nobody
from tests.web.site import READ, WRITE, Caller, database, new_study


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
            other = [("exclude", {"option": [3], "request": "e"}), ("tighten", {"epsilon": 0.1, "request": "t"})]
            for verb, body in [*other, ("enqueue", {"plan": [0, 2, 8], "request": "q"})]:
                said = Caller(client, WRITE).post(verb, body, expect=409)["message"]
                assert "was carried out before, with other content; nothing was changed" in said
    assert answers[0] == answers[1]
    with study.storage.reading("rag") as log:
        assert [(action.kind, action.content) for action in log.actions_after(0)] == [
            ("exclude", [2, 5]),
            ("tighten", 0.15),
        ]
        assert (log.last_number, len(log.queue(9))) == (21, 1)


def test_many_results_are_taken_or_none(storage: Storage, writer: Caller) -> None:
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
    notes = {trial["number"]: trial["note"] for trial in writer.get("trials")["trials"]}
    assert notes[2] == "spilled"


def test_trials_come_by_page_and_by_filter(storage: Storage, reader: Caller) -> None:
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


def test_the_graph_has_every_option_and_what_is_known_of_it(storage: Storage, reader: Caller) -> None:
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


def test_scores_that_contradict_what_was_declared_put_the_proof_in_doubt(
    storage: Storage, reader: Caller, monkeypatch: pytest.MonkeyPatch
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
    assert warnings(study.mdp, study._fold, status["findings"])[-1] == "and 1 more finding"
    assert "if what was declared of the scores holds; they contradict it" in status["sentence"]
    study = new_study(storage, "sound", trials=20)
    assert "contradict" not in reader.get("status", study="sound")["sentence"]


JSON = "application/json"


@pytest.mark.parametrize(
    ("route", "body", "kind", "said"),
    [
        ("trials/1/tell", '{"rewards": ["a", 1, 2]}', "input", "rewards.0: Input should be a valid number"),
        ("trials/1/tell", '{"rewards": [0.1, 0.2, 0.3], "more": 1}', "input", "there is no field more here; /api/"),
        ("trials/1/tell", '{"rewards": [1e400, 0.2, 0.3]}', "RewardError", ""),
        ("ask", '{"n": 1001}', "input", "n: Input should be less than or equal to 1000"),
        ("ask", '{"request": "a\\nb"}', "SettingError", "request must be printable text"),
        ("ask", "{n: 1}", "input", "the body is not JSON: "),
        ("ask", "[1]", "input", "the body must be a JSON object, such as {}"),
        ("import", '{"results": [{"plan": [0, 2, 8], "rewards": []}]}', "SettingError", "at least one score"),
        ("enqueue", '{"plan": {"chunk": "1024"}}', "PathError", "1024"),
        ("exclude", '{"option": {"chunk": "nothing"}}', "SettingError", "nothing"),
        ("tighten", "{}", "input", "epsilon: Field required"),
    ],
)
def test_what_is_wrong_is_said_in_words(
    storage: Storage, writer: Caller, client: TestClient, route: str, body: str, kind: str, said: str
) -> None:
    new_study(storage)
    writer.post("ask")
    answer = client.post(f"/api/{route}", content=body, headers={**writer.headers, "Content-Type": JSON})
    assert (answer.status_code, answer.json()["error"]) == (422, kind), answer.text
    assert said in answer.json()["message"]


@pytest.mark.parametrize(
    ("method", "route", "said"),
    [
        ("POST", "ask", "JSON, sent with the header Content-Type: application/json"),
        ("GET", "trials?state=compleet", "state: String should match pattern '^(running|cancelled|complete|"),
        ("GET", "statu", "there is no /api/statu here; /api/openapi.json lists the routes"),
        ("GET", "ask", "/api/ask does not take GET; it takes POST"),
    ],
)
def test_a_request_that_is_none_is_told_what_to_send(
    storage: Storage, writer: Caller, client: TestClient, method: str, route: str, said: str
) -> None:
    new_study(storage)
    content = "{}" if method == "POST" else None
    answer = client.request(method, f"/api/{route}", content=content, headers=writer.headers)
    assert said in answer.json()["message"]


def test_unknown_studies_and_trials(storage: Storage, writer: Caller) -> None:
    assert writer.get("studies") == {"studies": [], "total": 0}
    assert writer.get("status", expect=404)["message"] == "there is no study here yet"
    new_study(storage, "one/two <b>")
    new_study(storage, "..")
    said = writer.get("status", expect=404)["message"]
    assert said == "name the study, as in ?study=NAME: there are 2 here ('..', 'one/two <b>')"
    assert writer.get("studies")["studies"] == ["..", "one/two <b>"]
    assert writer.get("status", study="..")["name"] == ".."
    assert writer.get("status", study="one/two <b>")["name"] == "one/two <b>"
    assert "there is no study 'three'" in writer.get("status", study="three", expect=404)["message"]
    for verb in ("tell", "renew", "cancel"):
        body = {"rewards": [1.0]} if verb == "tell" else {}
        assert writer.post(f"trials/7/{verb}", body, study="..", expect=404)["message"].startswith(
            "there is no trial 7"
        )
    assert writer.post("trials/0/renew", study="..", expect=422)["error"] == "input"


def test_errors_say_nothing_of_the_machine(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    new_study(database(tmp_path))
    app = create_app(database(tmp_path), Access(READ, WRITE))
    with TestClient(app, raise_server_exceptions=False) as client:
        caller = Caller(client, WRITE)
        caller.get("status")
        for file in tmp_path.iterdir():
            file.write_bytes(b"no database")
        app.state.studies.close()
        told = caller.get("status", expect=503)
        assert told == {
            "error": "StorageError",
            "message": "the storage cannot be read or written; the server's log says why",
        }
        assert str(tmp_path) in caplog.text
        app.state.studies.get = None
        told = caller.get("status", expect=500)
        assert told["message"] == "something went wrong; the server's log says what"


def test_who_has_no_token_sees_nothing(client: TestClient, storage: Storage) -> None:
    new_study(storage)
    described = client.get("/api/openapi.json").json()
    for path, verbs in described["paths"].items():
        for verb in verbs:
            answer = client.request(verb, path.replace("{number}", "1"), json={})
            assert answer.status_code == 401, path
            assert "rag" not in answer.text


def test_a_read_token_cannot_write(client: TestClient, storage: Storage, reader: Caller) -> None:
    study = new_study(storage)
    described = client.get("/api/openapi.json").json()
    bodies = {"tell": {}, "enqueue": {"plan": []}, "exclude": {"option": []}, "tighten": {"epsilon": 0.1}}
    bodies |= {"tell-many": {"results": []}, "import": {"results": []}}
    posts = [path for path, verbs in described["paths"].items() if "post" in verbs]
    assert len(posts) == 9
    for path in posts:
        verb = path.removeprefix("/api/").replace("{number}", "1")
        assert reader.post(verb, bodies.get(verb.rpartition("/")[2]), expect=403)["error"] == "write-token"
    assert len(study) == 0


def test_a_public_address_needs_a_token_that_is_hard_to_guess() -> None:
    with pytest.raises(SettingError, match=r"0.0.0.0 can be reached from other machines: give --read-token"):
        open_access("0.0.0.0", None, None)
    with pytest.raises(SettingError, match="a token needs 16 characters"):
        open_access("::", None, "short")
    with pytest.raises(SettingError, match="must differ"):
        open_access("127.0.0.1", "same", "same")
    with pytest.raises(SettingError, match="printable ASCII"):
        open_access("127.0.0.1", "a\nb", None)
    only_read = open_access("10.0.0.1", "a" * 16, None)
    assert only_read.role("Bearer " + "a" * 16) == "read"
    for host in ("127.0.0.1", "::1", "localhost"):
        first, second = open_access(host, None, None), open_access(host, None, None)
        assert first.write_token
        assert len(first.write_token) >= 16
        assert len({first.write_token, first.read_token, second.write_token, second.read_token}) == 4


def test_large_bodies_are_refused(client: TestClient, writer: Caller, storage: Storage) -> None:
    new_study(storage)
    big = b'{"note": "' + b"x" * LARGEST_BODY + b'"}'
    headers = {**writer.headers, "Content-Type": "application/json"}
    told = client.post("/api/trials/1/tell", content=big, headers=headers)
    chunks = (big[i : i + 50_000] for i in range(0, len(big), 50_000))
    streamed = client.post("/api/trials/1/tell", content=chunks, headers=headers)
    for answer in (told, streamed):
        assert answer.status_code == 413
        assert answer.json()["message"] == "the body of this request may have at most 1,000,000 bytes"


def test_every_answer_forbids_loading_from_elsewhere(client: TestClient) -> None:
    for path in ("/", "/api/status", "/static/page.css", "/nothing"):
        headers = client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'self'")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    assert client.get("/docs").status_code == 404


WRITES: list[tuple[str, Any]] = [
    ("ask", {"request": "a"}),
    ("trials/21/tell", {"failed": True}),
    ("trials/21/renew", {}),
    ("enqueue", {"plan": [0, 2, 8]}),
    ("exclude", {"option": {"retriever": "bm25"}}),
    ("tighten", {"epsilon": 0.1}),
    ("import", {"results": [{"plan": [0, 2, 8], "rewards": [0.1, 0.2, 0.3]}]}),
    ("tell-many", {"results": [{"number": 21, "rewards": [0.1, 0.2, 0.3]}]}),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike pytest's."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)
        os.chmod(name, 0o755)


def visit(place: str, writes: list[tuple[str, Any]]) -> dict[str, Any]:
    """Read all there is to read, and try to write."""
    found: dict[str, Any] = {}
    with TestClient(create_app(place, Access(READ, WRITE)), raise_server_exceptions=False) as client:
        caller = Caller(client, WRITE)
        found["trials"] = caller.get("status")["trials"]
        for verb in ("graph", "gap", "explain", "forecast", "certificate", "trials", "problem", "studies"):
            caller.get(verb)
        found["export"] = len(client.get("/api/export", headers=caller.headers).text.splitlines())
        found["writes"] = [caller.post(verb, body, expect=409) for verb, body in writes]
    return found


@pytest.mark.parametrize("sealed", [True, False])
def test_a_read_only_file_is_shown_and_not_written(folder: Path, sealed: bool) -> None:
    """Sealed: neither the file nor its folder can be written; else a writer has it open beside us."""
    study = new_study(database(folder), trials=20, sigma=1.0)
    study.ask()
    visit(database(folder), [])  # nobody cannot import what Numba needs, where Python is root's
    if sealed:
        study.close()
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    before = (folder / "study.db").read_bytes()
    found = as_nobody(lambda: visit(database(folder), WRITES))
    assert found["trials"] == 21
    assert found["export"] == 22
    message = "this storage can be read and not written: the file or its folder is read-only"
    assert found["writes"] == [{"error": "StorageError", "message": message}] * len(WRITES)
    assert (folder / "study.db").read_bytes() == before
    study.close()


EXAMPLES = 10  # of each of the routes

any_storage = Storage("memory")
new_study(any_storage, trials=8, sigma=1.0).ask(3)
schema = schemathesis.openapi.from_asgi("/api/openapi.json", create_app(any_storage, Access(READ, WRITE)))


@schema.exclude(path="/api/changes").parametrize()  # a stream does not end; test_page.py reads it
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_no_request_makes_the_server_fail(case: Any) -> None:
    response = case.call(headers={"Authorization": f"Bearer {WRITE}"})
    case.validate_response(response, checks=[schemathesis.checks.not_a_server_error])
    documented = case.operation.definition.raw["responses"]
    assert str(response.status_code) in documented or response.status_code in (400, 405), response.text
    kinds = documented.get(str(response.status_code), {}).get("content", {"application/json": {}})
    assert response.headers["content-type"][0].partition(";")[0] in kinds
    if response.status_code >= 400:
        assert set(response.json()) == {"error", "message"}


def test_a_study_in_rounds_over_http(storage: Storage, writer: Caller) -> None:
    """Round, options by what they change in the plan, rivals, forecast: the page has them all, and a plate is told."""
    steps = {"model": ["small", "large"], "prompt": ["short", "long", "cot"], "search": ["bm25", "dense"]}
    mdp = MDP.from_steps(steps, "none", scores="end", structure="additive", sigma=0.05)
    study, rng = Study.create(mdp, storage, "rounds", epsilon=0.01, delta=0.1), np.random.default_rng(0)
    assert "no round is complete" in str(study.forecast())
    asked = writer.post("ask", {"n": 99})["trials"]
    assert len(asked) == 16
    assert asked[0]["known"] == [True, True, False]  # the score is for the whole plan
    assert "every plan of round 1 is assigned" in writer.post("ask", expect=409)["message"]
    for trial in asked:
        value = 0.5 + 0.1 * (trial["plan"]["model"] == "large") + 0.05 * rng.normal()
        writer.post(f"trials/{trial['number']}/tell", {"rewards": [value]})
    status = writer.get("status")
    assert status["round"] == {"number": 2, "told": 0, "size": status["round"]["size"], "effects": study.learner.d}
    assert "if effects add up" in status["sentence"]
    assert status["notes"] == ["What is proven changes at the end of a round"]
    values = writer.get("graph")["arcs"]
    assert values["mean"][values["arc"].index(study.best_path[0])] == 0  # the plan's own option changes nothing
    small = values["arc"].index(int(mdp.path({"model": "small", "prompt": "short", "search": "bm25"})[0]))
    assert values["mean"][small] < -0.03 < 0.05 < values["width"][small]
    assert writer.get("explain")["rivals"][0]["bound"] > 0
    assert len(writer.get("scores", stage=0, option="large")["scores"]) == sum(
        trial["plan"]["model"] == "large" for trial in asked
    )
    found = study.forecast(draws=4)
    assert found.gap_after() <= study.certified_gap
    assert found.trials_left() > 16
    assert (
        "cannot be part of a study in rounds"
        in writer.post("enqueue", {"plan": asked[0]["path"]}, expect=409)["message"]
    )


def test_the_pace_counts_results_and_adds_up_what_they_cost(storage: Storage, reader: Caller) -> None:
    study = new_study(storage)
    for cost in (None, 2.0, 0.5):
        study.tell(study.ask(), [0.1, 0.2, 0.3], cost=cost)
    study.ask()  # without a result
    points = reader.get("pace", study="rag")["points"]
    assert [point[1:] for point in points] == [[1, None], [2, 2.0], [3, 2.5]]
    assert points == sorted(points)
