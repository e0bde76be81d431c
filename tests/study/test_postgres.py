"""PostgreSQL as it is run: behind pgbouncer, with time-outs and few privileges, its clock and not the worker's."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from surepath import Study
from surepath.errors import StorageError
from surepath.study.storage import Storage
from surepath.study.tables import TransientError, storage_error
from tests.cli.shell import SOURCE
from tests.documents import blocks
from tests.study.postgres import Server, free_port
from tests.web.proxies import pgbouncer
from tests.web.site import new_study, score


def run_sql(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for one in statements:
            connection.execute(one)  # type: ignore[arg-type]


def work(url: str, pairs: int, failed: list[str]) -> None:
    try:
        with Study.load(url) as study:
            for i in range(pairs):
                trial = study.ask()
                study.tell(trial, [value + 0.01 * ((trial.number + i) % 7) for value in score(trial.plan)])
    except Exception as error:
        failed.append(repr(error))


def test_workers_share_a_pgbouncer_in_transaction_mode(server: Server, postgres: str) -> None:
    with pgbouncer(server, postgres.rpartition("/")[2]) as address:
        new_study(address, epsilon=1e-9, sigma=5.0).close()
        failed: list[str] = []
        threads = [threading.Thread(target=work, args=(address, 10, failed)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        study = Study.load(address)
        assert (len(study), study.status().states["complete"]) == (80, 80)
        study.close()
    with psycopg.connect(postgres) as left:  # no setting of ours stays in a session
        assert left.execute("SHOW lock_timeout").fetchone() == ("0",)


def test_a_statement_that_took_too_long_is_repeated(postgres: str) -> None:
    study = new_study(postgres)
    trial = study.ask()
    database = postgres.rpartition("/")[2]
    run_sql(postgres, f"ALTER DATABASE {database} SET statement_timeout = 300")
    study.storage.close()  # the next connection has it
    with psycopg.connect(postgres) as other:
        other.execute("SELECT 1 FROM surepath_heads FOR UPDATE")
        ended: list[str] = []
        thread = threading.Thread(target=lambda: ended.append(study.tell(trial, score(trial.plan))))
        thread.start()
        time.sleep(1.0)
        assert not ended
    thread.join(30)
    assert ended == ["told"]
    assert study.evidence_trials == 1
    study.close()


@pytest.mark.parametrize("state", ["40001", "40P01", "57014", "55P03", "53300"])
def test_faults_that_pass_are_known_by_their_state(state: str, postgres: str) -> None:
    with psycopg.connect(postgres) as connection, pytest.raises(psycopg.Error) as found:
        connection.execute(f"DO $$ BEGIN RAISE SQLSTATE '{state}'; END $$")  # type: ignore[arg-type]
    assert isinstance(storage_error(found.value, Storage(postgres)._url), TransientError)


def test_what_no_waiting_helps_fails_at_once(postgres: str, tmp_path: Path) -> None:
    port = postgres.rpartition(":")[2].partition("/")[0]
    for url, words in (
        (f"{postgres}?sslmode=require", "SSL"),
        (f"{postgres}_none", "does not exist"),
        (f"postgresql://surepath@/study?host={tmp_path}&port={port}", "No such file"),
        ("postgresql://surepath@no-such-host.invalid/study", "Name or service|No address|not known|resolve"),
    ):
        begun = time.monotonic()
        with pytest.raises(StorageError, match=words):
            Study.load(url)
        assert time.monotonic() - begun < 20  # patience would be 120 s


def test_the_size_of_the_pool_is_set_in_the_address(postgres: str) -> None:
    new_study(postgres).close()
    storage = Storage(f"{postgres}?pool_size=2&max_overflow=0")
    assert storage.names() == ["rag"]
    pool: Any = storage._engine.pool
    assert (pool.size(), pool._max_overflow) == (2, 0)
    storage.close()
    for wrong in ("pool_size=0", "pool_size=many", "max_overflow=-1"):
        with pytest.raises(StorageError, match="its parameters cannot be read"):
            Storage(f"{postgres}?{wrong}")


def test_workers_need_no_more_than_the_documented_privileges(postgres: str) -> None:
    new_study(postgres, trials=3, sigma=5.0).close()
    run_sql(postgres, "DROP ROLE IF EXISTS surepath_worker", "DROP ROLE IF EXISTS surepath_reader")
    (guide,) = [block.body for block in blocks() if block.document == "docs/team.md" and block.language == "sql"]
    run_sql(postgres, *filter(str.strip, guide.split(";")))
    worker = Study.load(postgres.replace("surepath@", "surepath_worker@"))
    trial = worker.ask()
    worker.tell(trial, score(trial.plan))
    worker.tighten(0.1)
    worker.cancel(worker.ask())
    reader = Study.load(postgres.replace("surepath@", "surepath_reader@"))
    assert (reader.status().trials, reader.epsilon) == (5, 0.1)
    with pytest.raises(StorageError, match="permission denied"):
        reader.ask()
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        run_sql(postgres.replace("surepath@", "surepath_worker@"), "DROP TABLE surepath_trials")
    for study in (worker, reader):
        study.close()
    for role in ("surepath_worker", "surepath_reader"):
        run_sql(postgres, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_worker_whose_clock_is_hours_off_harms_nothing(postgres: str) -> None:
    study = new_study(postgres, lease=60)
    mine = study.ask(worker="here")
    code = (
        "import sys, time; real = time.time; time.time = lambda: real() + float(sys.argv[2])\n"
        "from surepath import Study\n"
        "with Study.load(sys.argv[1]) as study:\n"
        "    trial = study.ask(worker='off'); study.renew(trial); study.sync()\n"
        "    print(trial.lease_until, study.status().states['expired'])\n"
    )
    for hours in (5, -5):
        command = [sys.executable, "-c", code, postgres, str(3600 * hours)]
        found = subprocess.run(command, env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, check=True)
        lease, expired = found.stdout.split()
        assert abs(float(lease) - mine.lease_until) < 60
        assert expired == "0"
    assert study.tell(mine, score(mine.plan)) == "told"
    study.close()


def test_a_missing_socket_of_a_server_that_was_there_is_waited_for(tmp_path: Path) -> None:
    """A server that restarts takes its socket away for a moment."""
    storage = Storage(f"postgresql://surepath@/study?host={tmp_path}&port={free_port()}")
    gone = psycopg.OperationalError('connection failed: connection to server on socket "x": No such file or directory')
    assert not isinstance(storage_error(gone, storage._url), TransientError)
    assert isinstance(storage_error(gone, storage._url, known=True), TransientError)
