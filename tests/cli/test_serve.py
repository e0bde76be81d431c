"""surepath serve and surepath demo --serve: what they print, how they end, what they refuse."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from surepath import Study, connect
from tests.cli.shell import SOURCE, shell
from tests.web.site import database, new_study, score


@contextmanager
def running(folder: Path, *arguments: str, port: int = 0) -> Iterator[tuple[Any, dict[str, Any]]]:
    """A command that serves, on a free port by default, with what it printed."""
    command = [sys.executable, "-m", "surepath", *arguments, "--port", str(port), "--json"]
    environment = {"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin:/bin"}
    environment |= {name: value for name, value in os.environ.items() if name.startswith("SUREPATH_STORAGE")}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        text = ""
        while not text.endswith("}\n") or text.count("{") != text.count("}"):
            line = process.stdout.readline()
            assert line, process.communicate()[1]
            text += line
        yield process, json.loads(text)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_workers_use_it_until_it_is_interrupted(tmp_path: Path) -> None:
    new_study(database(tmp_path), "rag")
    with running(tmp_path, "serve", "study.db") as (process, printed):
        assert printed["address"].startswith("http://127.0.0.1:")
        study = connect(printed["address"], printed["write_token"])
        while not study.done:
            trial = study.ask()
            study.tell(trial, score(trial.plan))
        page = urllib.request.urlopen(printed["address"], timeout=60).read().decode()
        assert "static/app.js" in page
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "Traceback" not in said
    assert Study.load(database(tmp_path)).done


def test_what_cannot_be_served_is_refused(tmp_path: Path) -> None:
    public = shell("serve", "study.db", "--host", "0.0.0.0", folder=tmp_path)
    assert public.returncode == 3
    assert "0.0.0.0 can be reached from other machines: give --read-token, --write-token or --tokens" in public.stderr
    missing = shell("serve", "study.db", folder=tmp_path)
    assert missing.returncode in (3, 5)
    assert "there is no file study.db" in missing.stderr
    new_study(database(tmp_path))
    elsewhere = shell("serve", "study.db", "--host", "192.0.2.1", "--read-token", "a" * 16, folder=tmp_path)
    assert elsewhere.returncode == 3
    assert "cannot serve on 192.0.2.1, port 8700" in elsewhere.stderr


def test_the_demo_begins_when_somebody_watches(tmp_path: Path) -> None:
    with running(tmp_path, "demo", "--serve", "--fast") as (_, printed):
        assert printed["study"] == {"file": "surepath-demo.db", "name": "support tickets"}
        study = connect(printed["address"], printed["read_token"])
        assert len(study) == 0
        asked = urllib.request.Request(
            f"{printed['address']}api/changes", headers={"Authorization": f"Bearer {printed['read_token']}"}
        )
        with urllib.request.urlopen(asked, timeout=60) as stream:
            for line in stream:
                if line.startswith(b"data:") and json.loads(line[5:]).get("status", {}).get("done"):
                    break
        assert study.done
        assert next(iter(study.best_plan)) == "clean the ticket"
    assert Study.load(f"sqlite:///{tmp_path / 'surepath-demo.db'}").done
