"""A server in production: nobody can stop it, its database may go away, a proxy stands before it, it says how it is."""

from __future__ import annotations

import configparser
import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

import surepath
from surepath import Study
from surepath.errors import SettingError
from surepath.study.forecast import forecast
from surepath.web import live, routes
from surepath.web import server as web_server
from surepath.web.live import AWAY
from surepath.web.routes import open_access
from surepath.web.server import Sparing
from tests.cli.test_serve import running
from tests.documents import blocks
from tests.study.postgres import Server
from tests.web.proxies import nginx
from tests.web.site import READ, WRITE, Site, database, large_mdp, new_study, score, served

TOKEN = {"Authorization": f"Bearer {WRITE}"}


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A PostgreSQL server that a test may stop."""
    running = Server()
    yield running
    running.remove()


def opened(site: Site, count: int, text: bytes = b"") -> list[socket.socket]:
    """Open connections that say only this."""
    found = []
    for _ in range(count):
        found.append(socket.create_connection(("127.0.0.1", site.port), 5))
        found[-1].sendall(text)
    return found


def closed(one: socket.socket, within: float) -> bool:
    """Return whether the other side closes a connection in time."""
    one.settimeout(within)
    try:
        while one.recv(4096):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


# Nobody can stop it ---------------------------------------------------------------------------------------------------


def test_idle_connections_make_room_for_who_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "MOST_CONNECTIONS", 50)
    new_study(database(tmp_path))
    with served(database(tmp_path)) as site:
        post = b"POST /api/ask HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        for one in opened(site, 20, post):  # without a token: the rest is not waited for
            one.settimeout(web_server.HEAD_PATIENCE / 2)
            assert b"401" in one.recv(4096)
        idle = opened(site, 80) + opened(site, 80, b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        begun = time.monotonic()
        with surepath.connect(site.url, WRITE) as study:
            trial = study.ask()
            assert study.tell(trial, score(trial.plan)) == "told"
            shown = httpx.get(f"{site.url}/metrics", headers=TOKEN).text
            assert 45 <= float(re.findall(r"^surepath_connections (.*)$", shown, re.MULTILINE)[0]) <= 50
        assert time.monotonic() - begun < web_server.HEAD_PATIENCE / 2  # none of them had to time out
        assert sum(closed(one, 0.01) for one in idle) >= 110
        for one in idle:
            one.close()


def test_whoever_sends_nothing_or_slowly_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "HEAD_PATIENCE", 0.5)
    monkeypatch.setattr(web_server, "BODY_PATIENCE", 0.5)
    new_study(database(tmp_path))
    body = f"POST /api/ask HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {WRITE}\r\nContent-Type: application/json\r\n"
    with served(database(tmp_path)) as site:
        silent, head, half = (opened(site, 1, text)[0] for text in (b"", b"GET / HT", body.encode()))
        half.sendall(b"Content-Length: 100\r\n\r\n{")
        head.sendall(b"TP/1.1\r\nA: b")  # more of it does not begin the time anew
        assert closed(silent, 3)
        assert closed(head, 3)
        half.settimeout(5)
        assert b"408" in half.recv(4096)
        for one in (silent, head, half):
            one.close()
        assert httpx.get(f"{site.url}/health").json()["status"] == "alive"


def test_streams_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "MOST_STREAMS", 2)
    new_study(database(tmp_path))
    with served(database(tmp_path)) as site, contextlib.ExitStack() as open_streams:
        kept = []  # what is no longer read is closed
        for _ in range(2):
            stream = open_streams.enter_context(httpx.stream("GET", f"{site.url}/api/changes", headers=TOKEN))
            kept.append(stream.iter_lines())
            assert next(kept[-1]) == "event: hello"
        shown = httpx.get(f"{site.url}/metrics", headers=TOKEN).text
        assert re.findall("^surepath_streams.*$", shown, re.MULTILINE) == ["surepath_streams 2.0"]
        refused = httpx.get(f"{site.url}/api/changes", headers=TOKEN)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert refused.json()["message"] == "too many pages follow a study; try again"
        assert httpx.get(f"{site.url}/api/status", headers=TOKEN).status_code == 200


def test_readers_hold_up_nobody_who_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While every reader computes, and more wait, trials are asked for and told."""
    new_study(database(tmp_path), trials=10, sigma=5.0)
    going, computed = threading.Event(), []

    def slow(learner: Any, count: int) -> list[Any]:
        computed.append(count)
        going.wait(30)
        return []

    monkeypatch.setattr(routes, "explain_challengers", slow)
    monkeypatch.setattr(routes, "MOST_WAITING", 20 - routes.READERS)
    with served(database(tmp_path)) as site, surepath.connect(site.url, WRITE) as study:
        answers: list[int] = []
        where = f"{site.url}/api/explain"

        def read() -> None:
            answers.append(httpx.get(where, headers=TOKEN, timeout=60).status_code)

        readers = [threading.Thread(target=read) for _ in range(20)]
        for one in readers:
            one.start()
        while site.app.state.readers.statistics().tasks_waiting < 20 - routes.READERS:
            time.sleep(0.01)
        for _ in range(5):
            trial = study.ask()
            assert study.tell(trial, score(trial.plan)) == "told"
        assert answers == []
        refused = httpx.get(where, headers=TOKEN)
        assert (refused.status_code, refused.json()["message"]) == (
            503,
            "too many people read at the same time; try again",
        )
        going.set()
        for one in readers:
            one.join()
        assert answers == [200] * 20
        assert len(computed) < 20  # of one state it is computed once


def test_a_forecast_ends_when_nobody_asks_for_it_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PAUSE", 0.5)
    monkeypatch.setattr(live, "forecast", partial(forecast, more=1_000_000, draws=1_000))  # ten seconds of work
    Study.create(large_mdp(6, 60), database(tmp_path), "large", epsilon=0.01, delta=0.1, sigma=1.0).close()
    with served(database(tmp_path)) as site:
        spent = time.process_time()
        for _ in range(10):
            assert httpx.get(f"{site.url}/api/forecast", headers=TOKEN).json()["pending"]
            time.sleep(0.1)
        site.app.state.studies.get("large").forecast._worker.join()
        assert time.process_time() - spent < 6


def test_log_lines_are_limited_in_rate_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    import logging

    few = Sparing(3)
    lines = [logging.makeLogRecord({"msg": "line %d", "args": (i,), "created": 10.0 + i / 100}) for i in range(10)]
    assert [few.filter(line) for line in lines] == [True] * 3 + [False] * 7
    later = logging.makeLogRecord({"msg": "later", "created": 12.0})
    assert few.filter(later)
    assert later.getMessage() == "later (7 lines before it were left out)"


# Database away --------------------------------------------------------------------------------------------------------

NEED_IT = ["studies", "status", "graph", "gap", "trials", "explain", "forecast", "export", "certificate"]


@pytest.mark.parametrize("how", ["stopped", "hanging"])
def test_a_database_that_is_away_is_said_within_three_seconds(own_server: Server, how: str, tmp_path: Path) -> None:
    url = own_server.empty_database()
    local = new_study(url, trials=3, sigma=5.0)
    with served(url) as site, surepath.connect(site.url, WRITE) as study, httpx.Client(timeout=30) as client:
        trial = study.ask()
        told: list[str] = []
        with httpx.stream("GET", f"{site.url}/api/changes?study=rag", headers=TOKEN, timeout=30) as stream:
            lines = stream.iter_lines()
            while not next(lines).startswith('data: {"change"'):
                pass
            workers = children(own_server)
            if how == "stopped":
                own_server.stop(signal.SIGQUIT)
            else:
                for pid in workers:
                    os.kill(pid, signal.SIGSTOP)
            try:
                worker = threading.Thread(target=lambda: told.append(study.tell(trial, score(trial.plan))))
                worker.start()

                def refused(method: str, path: str) -> None:
                    begun = time.monotonic()
                    body: Any = {} if method == "POST" else None
                    answer = client.request(method, f"{site.url}/{path}", headers=TOKEN, json=body)
                    assert (answer.status_code, answer.headers.get("retry-after")) == (503, "1"), (path, answer.text)
                    assert answer.json()["message"] == AWAY
                    assert time.monotonic() - begun < 3.3, path

                with ThreadPoolExecutor(16) as at_once:
                    asked = [("GET", f"api/{verb}?study=rag") for verb in NEED_IT]
                    asked += [("POST", "api/ask?study=rag"), ("GET", "ready")]
                    list(at_once.map(refused, *zip(*asked)))
                for path in ("/", "/static/app.js", "/health", "/metrics"):
                    assert client.get(f"{site.url}{path}", headers=TOKEN).status_code == 200, path
                assert not told
            finally:
                if how == "stopped":
                    own_server.start()
                else:
                    for pid in workers:
                        os.kill(pid, signal.SIGCONT)
            worker.join(60)
            assert told[0] in ("told", "repeated")
            said = events(lines)
            assert "away" in said
            assert said[-1] == "change"
        assert client.get(f"{site.url}/ready").json() == {"status": "ready"}
    local.sync()
    assert local.evidence_trials == 4
    local.close()


def events(lines: Iterator[str]) -> list[str]:
    """Read a stream until it goes on after the database was away."""
    found: list[str] = []
    for line in lines:
        if line.startswith("event: "):
            found.append(line.removeprefix("event: "))
            if "away" in found and found[-1] == "change":
                break
    return found


def children(server: Server) -> list[int]:
    """List the processes of a database server, its own first."""
    main = server._process
    assert main is not None
    text = subprocess.run(["ps", "-o", "pid=", "--ppid", str(main.pid)], capture_output=True, text=True, check=True)
    return [main.pid, *map(int, text.stdout.split())]


# Behind a proxy -------------------------------------------------------------------------------------------------------


def test_page_stream_and_workers_pass_through_nginx_under_a_path(tmp_path: Path, browser: Any) -> None:
    new_study(database(tmp_path), trials=3, sigma=5.0)
    options: dict[str, Any] = {"root_path": "/team/plans", "proxy_headers": True, "forwarded_allow_ips": "127.0.0.1"}
    with served(database(tmp_path), **options) as site, nginx(proxied(site.url)) as front:
        address = f"{front}/team/plans/"
        page = browser.new_page()
        page.goto(f"{address}#token={WRITE}&study=rag")
        page.wait_for_selector("#live .dot")
        with surepath.connect(f"{address}#token={WRITE}") as study:
            assert study.url == address.rstrip("/")
            trial = study.ask(worker="behind nginx")
            page.wait_for_selector("text=behind nginx", timeout=20_000)  # through the stream, at once
            assert study.tell(trial, score(trial.plan)) == "told"
            assert study.import_trials([(trial.path, score(trial.plan))] * 20_000, again=True) == 20_000
        page.close()
        assert httpx.get(f"{address}api/openapi.json").json()["servers"] == [{"url": "/team/plans"}]
        assert httpx.get(f"{address}api/nothing", headers=TOKEN).status_code == 404
        assert httpx.get(f"{front}/api/status", headers=TOKEN).status_code == 404  # nginx's own


def proxied(upstream: str) -> str:
    """The location of the guide, before a server of these tests."""
    return guide("nginx").replace("http://127.0.0.1:8700", upstream)


def guide(language: str) -> str:
    """The only block of the guide for teams in a language."""
    (found,) = [block.body for block in blocks() if block.document == "docs/team.md" and block.language == language]
    return found


def test_the_unit_and_the_container_of_the_guide_start_a_healthy_server(tmp_path: Path) -> None:
    """Their commands, with other places for the files and the port."""
    (tmp_path / "tokens").write_text(guide("text"))
    new_study(database(tmp_path))
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(guide("ini"))
    from_unit = shlex.split(unit["Service"]["ExecStart"])
    container = guide("dockerfile")
    from_container = json.loads(container[container.index("ENTRYPOINT") :].partition(" ")[2])
    assert container.index("USER surepath") < container.index("ENTRYPOINT")
    for command in (from_unit, from_container):
        assert os.path.basename(command[0]) == "surepath"
        arguments = [str(tmp_path / "tokens") if one.endswith("/tokens") else one for one in command[2:]]
        with served_by_command(tmp_path, *arguments) as (process, address):
            port = address.rstrip("/").rpartition(":")[2]
            check = json.loads(re.findall(r"HEALTHCHECK CMD (.*)", container)[0])
            subprocess.run([sys.executable, *[one.replace("8700", port) for one in check[1:]]], check=True)
            token = guide("text").split()[2]
            asked = httpx.get(f"http://127.0.0.1:{port}/api/session", headers={"Authorization": f"Bearer {token}"})
            assert asked.json()["role"] == "write"
            os.kill(process.pid, signal.SIGHUP)  # what ExecReload sends
            assert unit["Service"]["ExecReload"] == "/bin/kill -HUP $MAINPID"


def test_forwarded_addresses_are_believed_from_the_named_proxy_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    new_study(database(tmp_path))
    forged = {"Authorization": "Bearer wrong", "X-Forwarded-For": "203.0.113.9"}
    trusting = {"proxy_headers": True, "forwarded_allow_ips": "127.0.0.1"}
    cases: list[tuple[dict[str, Any], str]] = [({}, "127.0.0.1"), (trusting, "203.0.113.9")]
    for options, seen in cases:
        caplog.clear()
        with served(database(tmp_path), **options) as site:
            assert httpx.get(f"{site.url}/api/status", headers=forged).status_code == 401
        assert f"refused a wrong token from {seen}\n" in caplog.text


# Health, metrics, logs ------------------------------------------------------------------------------------------------


def test_it_says_how_it_is(tmp_path: Path) -> None:
    study = new_study(database(tmp_path), trials=3, sigma=5.0)
    study.fail(study.ask())
    study.ask()
    with served(database(tmp_path)) as site, httpx.Client(base_url=site.url) as client:
        assert client.get("/health").json()["status"] == "alive"
        assert client.get("/ready").json() == {"status": "ready"}
        assert client.get("/metrics").status_code == 401
        for path in ("/", "/health", "/static/app.js", "/api/status"):
            head, whole = client.head(path, headers=TOKEN), client.get(path, headers=TOKEN)
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["content-type"] == whole.headers["content-type"]
        assert client.head("/api/changes", headers=TOKEN).status_code == 405
        client.post("/api/ask", headers=TOKEN, json={})
        read = {"Authorization": f"Bearer {READ}"}
        lines = client.get("/metrics", headers=read).text.splitlines()
        for line in (
            'surepath_answers_total{route="/api/ask",status="200"} 1.0',
            'surepath_request_seconds_count{route="/api/status"} 2.0',
            'surepath_open_trials{study="rag"} 2.0',
            'surepath_trials{state="failed",study="rag"} 1.0',
            'surepath_trials{state="expired",study="rag"} 0.0',
            'surepath_certified_gap{study="rag"} +Inf',
            "surepath_connections 1.0",
        ):
            assert line in lines


def test_requests_are_logged_without_secrets(tmp_path: Path) -> None:
    new_study(database(tmp_path))
    with running(tmp_path, "serve", "study.db", "--log-level", "info", "--read-token", "r" * 16) as (process, printed):
        headers = {"Authorization": f"Bearer {'r' * 16}"}
        assert httpx.get(f"{printed['address']}api/status", headers=headers).status_code == 200
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert '"GET /api/status HTTP/1.1" 200' in said
    assert "r" * 16 not in said + json.dumps(printed)


# Secrets and processes ------------------------------------------------------------------------------------------------

TOKENS = """# role name token [last day]
write alice {a}
write bob {b}
read  board {c} 2020-01-31
"""


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.rare)])
def test_a_worker_is_shut_out_while_the_others_go_on(tmp_path: Path, processes: int) -> None:
    alice, bob, board = ("alice-" + "a" * 16, "bob-" + "b" * 16, "board-" + "c" * 16)
    file = tmp_path / "tokens"
    file.write_text(TOKENS.format(a=alice, b=bob, c=board))
    new_study(database(tmp_path), epsilon=1e-9, sigma=5.0)
    with served_by_command(tmp_path, "--tokens", "tokens", "--processes", str(processes)) as (process, address):
        with open(f"/proc/{process.pid}/cmdline", "rb") as command:
            assert b"study.db" not in command.read()  # the address of the database came by the environment
        studies = {name: surepath.connect(address, token) for name, token in (("alice", alice), ("bob", bob))}
        with pytest.raises(SettingError, match="this token was not accepted"):
            surepath.connect(address, board)
        for study in studies.values():
            study.tell(study.ask(), [0.1, 0.2, 0.3])
        file.write_text(f"write alice {alice}\nread board {board} 2999-01-31\n")
        process.send_signal(signal.SIGHUP)
        end, seen = time.monotonic() + 120, [0]
        while set(seen[-20:]) != {401}:  # each process is replaced in its turn
            seen.append(httpx.get(f"{address}api/session", headers={"Authorization": f"Bearer {bob}"}).status_code)
            assert time.monotonic() < end
            time.sleep(0.05)
        assert httpx.get(f"{address}api/session", headers={"Authorization": f"Bearer {board}"}).status_code == 200
        with pytest.raises(SettingError, match="this token was not accepted"):
            studies["bob"].ask()
        studies["alice"].tell(studies["alice"].ask(), [0.1, 0.2, 0.3])
        file.write_text("write alice short\n")
        process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert studies["alice"].ask().number == 4  # the tokens stay as they were


@contextlib.contextmanager
def served_by_command(folder: Path, *arguments: str) -> Iterator[tuple[Any, str]]:
    """The command, with the storage in its environment."""
    os.environ["SUREPATH_STORAGE"] = database(folder)
    try:
        with running(folder, "serve", *arguments) as (process, printed):
            end = time.monotonic() + 60
            while True:
                with contextlib.suppress(httpx.HTTPError):
                    if httpx.get(f"{printed['address']}ready").status_code == 200:
                        break
                assert time.monotonic() < end
                time.sleep(0.1)
            yield process, printed["address"]
    finally:
        del os.environ["SUREPATH_STORAGE"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("write alice", 'a token is a line such as "write alice TOKEN"'),
        ("admin alice aaaaaaaaaaaaaaaa", 'a token is a line such as "write alice TOKEN"'),
        ("write alice short", "the token of alice .* needs 16 characters or more"),
        ("write a aaaaaaaaaaaaaaaa\nread b aaaaaaaaaaaaaaaa", "the token of b .*line 2.* is another one's too"),
        ("write alice aaaaaaaaaaaaaaaa 31.3.2027", 'the last day of a token is one such as "2027-03-31"'),
    ],
)
def test_a_file_of_tokens_is_checked(tmp_path: Path, line: str, words: str) -> None:
    (tmp_path / "tokens").write_text(line)
    with pytest.raises(SettingError, match=words):
        open_access("0.0.0.0", None, None, str(tmp_path / "tokens"))
    with pytest.raises(SettingError, match=r"the tokens in .* cannot be read: No such file"):
        open_access("0.0.0.0", None, None, str(tmp_path / "none"))
