"""A server on a free port in a thread of its own, studies to serve, and who calls the API."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from fastapi.testclient import TestClient

from surepath import MDP, Study
from surepath.study.trial import TrialRow
from surepath.web.routes import Access
from surepath.web.server import configured, create_app, listen

READ, WRITE = "read-token-of-the-tests", "write-token-of-the-tests"
STEPS = {"chunk": ["256", "512"], "retriever": ["bm25", "dense", "hybrid"], "answer": ["small", "large"]}
GOOD = {"512": 0.9, "hybrid": 0.8, "large": 0.7}


def score(plan: dict[Any, Any]) -> list[float]:
    return [GOOD.get(str(option), 0.1) for option in plan.values()]


def new_study(storage: Any, name: str = "rag", trials: int = 0, **options: Any) -> Study:
    mdp = MDP.from_steps(STEPS, sigma=0.1)
    study = Study.create(mdp, storage, name, **{"epsilon": 0.2, "delta": 0.1, **options})
    rng = np.random.default_rng(0)
    for _ in range(trials):
        if study.done:
            break
        trial = study.ask()
        study.tell(trial, np.array(score(trial.plan)) + 0.1 * rng.standard_normal(3))
    return study


class Caller:
    """Calls the API of one application with a token."""

    def __init__(self, client: TestClient, token: str) -> None:
        self.client, self.headers = client, {"Authorization": f"Bearer {token}"}

    def get(self, verb: str, expect: int = 200, **query: Any) -> Any:
        answer = self.client.get(f"/api/{verb}", params=query, headers=self.headers)
        assert answer.status_code == expect, answer.text
        return answer.json()

    def post(self, verb: str, body: Any = None, expect: int = 200, **query: Any) -> Any:
        answer = self.client.post(f"/api/{verb}", json=body or {}, params=query, headers=self.headers)
        assert answer.status_code == expect, answer.text
        return answer.json()


class Site:
    """A served storage."""

    def __init__(self, storage: Any, port: int) -> None:
        self.app = create_app(storage, Access(READ, WRITE))
        self.port, self.url = port, f"http://127.0.0.1:{port}"


@contextmanager
def served(storage: Any, port: int = 0, **options: Any) -> Iterator[Site]:
    place: socket.socket = listen("127.0.0.1", port)
    site = Site(storage, place.getsockname()[1])
    server = uvicorn.Server(configured(site.app, log_level="error", **options))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield site
    finally:
        server.should_exit = True
        site.app.state.watchers.closing = True
        thread.join(10)
        place.close()


def database(folder: Path) -> str:
    return f"sqlite:///{folder / 'study.db'}"


def large_mdp(stages: int, states: int) -> MDP:
    """A graph in which every state of a stage leads to every state of the next."""
    table = np.zeros((stages, states, states), dtype=int)
    table[:] = np.arange(states)
    return MDP.from_arrays(table)


def fifty_steps(storage: str) -> Study:
    """A study of many steps with long names, in which some options are ruled out."""
    options = ["a rather long option", "short", "plain", "other"]
    mdp = MDP.from_steps({f"step number {i}": options for i in range(1, 51)}, depends="none", sigma=0.1)
    study, rng = Study.create(mdp, storage, "fifty steps", epsilon=0.3, delta=0.1), np.random.default_rng(0)
    means = rng.random(mdp.n_arcs)
    for trial in study.ask(30):
        study.tell(trial, means[trial.path] + 0.1 * rng.standard_normal(50))
    return study


def rounds(storage: str) -> Study:
    """A study of one score at the end, in its third round."""
    steps = {**STEPS, "prompt": ["short", "long", "with examples"], "check": ["none", "by a second model"]}
    mdp = MDP.from_steps(steps, scores="end", structure="additive", sigma=0.5)
    study, rng = Study.create(mdp, storage, "rounds", epsilon=0.02, delta=0.1), np.random.default_rng(0)
    while study.learner.round < 3 or study.learner.progress[0] < 9:
        trial = study.ask()
        study.tell(trial, [sum(score(trial.plan)) + 0.5 * rng.standard_normal()])
    return study


def long_study(storage: str, trials: int, name: str = "long") -> None:
    """A study of many trials, written into the tables at once, with the snapshot that its workers would have left."""
    study = new_study(storage, name, epsilon=0.001)
    mdp, rng = study.mdp, np.random.default_rng(0)
    paths = np.zeros((trials, mdp.horizon), dtype=np.int64)
    node = np.zeros(trials, dtype=np.int64)
    for stage in range(mdp.horizon):
        size = mdp.first[node + 1] - mdp.first[node]
        paths[:, stage] = mdp.first[node] + (rng.random(trials) * size).astype(int)
        node = mdp.target[paths[:, stage]]
    means = np.array([GOOD.get(mdp.action_label(arc), 0.1) for arc in range(mdp.n_arcs)])
    rewards = means[paths] + 0.1 * rng.standard_normal(paths.shape)
    rewards[:, 1] = np.where(means[paths[:, 1]] > 0.5, 0.1 + (rewards[:, 1] - 0.1) * 1e-3, rewards[:, 1])  # near ties
    rows = [
        TrialRow(i + 1, "complete", tuple(path), "asked", rewards=tuple(reward), worker="worker", told=0.0)
        for i, (path, reward) in enumerate(zip(paths.tolist(), np.round(rewards, 3).tolist()))
    ]
    with study.storage.writing(name) as log:
        log.add_trials(rows)
    study.sync()
    with study.storage.writing(name) as log:
        log.save_snapshot(study._fold.snapshot())
    study.close()
