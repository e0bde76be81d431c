"""A problem file of two steps, and study commands on it in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from surepath.cli.main import app

STEPS = {"chunk": ["256", "512"], "model": ["small", "large"]}
SCORE = {"256": 0.5, "512": 0.7, "small": 0.4, "large": 0.7}


def problem(folder: Path, **more: Any) -> Path:
    """A problem file of two steps."""
    edges = [{"stage": 0, "state": "start", "action": c, "next_state": c} for c in STEPS["chunk"]]
    edges += [{"stage": 1, "state": c, "action": m} for c in STEPS["chunk"] for m in STEPS["model"]]
    head = {"format": "surepath-problem", "version": 1, "name": "pipeline", "epsilon": 0.2, "delta": 0.05, "sigma": 0.1}
    file = folder / "problem.json"
    file.write_text(json.dumps({**head, "step_names": list(STEPS), **more, "edges": edges}))
    return file


def call(*words: str, code: int = 0, error: type[Exception] | None = None, answer: str | None = None) -> str:
    """Run a study command in this process; what it prints on standard output, or the words of its error."""
    done = CliRunner().invoke(app, ["study", *words], input=answer)
    if error is not None:
        assert isinstance(done.exception, error), (done.exception, done.output)
        return str(done.exception)
    assert done.exit_code == code, (done.output, done.exception)
    return done.stdout if code == 0 else done.output


def facts(*words: str) -> Any:
    return json.loads(call(*words, "--json"))


def created(*words: str) -> None:
    call("create", "problem.json", *words)
