"""The way to a server: straight, or by the proxy of the environment, as programs of the standard library go."""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

import surepath
from surepath.errors import StorageError
from surepath.web.route import Route, route

NAMED = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMED:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_without_a_proxy_it_is_straight() -> None:
    assert route(urlsplit("http://study.example:8700")) == Route(False, "study.example:8700")
    assert route(urlsplit("https://study.example")) == Route(True, "study.example")
    assert route(urlsplit("http://[::1]:8700")).connection().host == "::1"


def test_a_proxy_of_the_environment_is_used_except_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://me:a%40b@proxy.example:3128")
    monkeypatch.setenv("https_proxy", "proxy.example:3128")
    monkeypatch.setenv("no_proxy", "near.example")
    password = {"Proxy-Authorization": "Basic " + base64.b64encode(b"me:a@b").decode()}
    plain = route(urlsplit("http://study.example:8700"))
    assert plain == Route(False, "proxy.example:3128", None, "http://study.example:8700", password)
    assert plain.headers == password
    assert route(urlsplit("https://study.example")) == Route(True, "proxy.example:3128", "study.example", "", {})
    for straight in ("http://near.example:8700", "http://127.0.0.1:8700", "http://localhost", "https://[::1]:1"):
        assert route(urlsplit(straight)).place == urlsplit(straight).netloc


@pytest.fixture
def proxy() -> Iterator[tuple[str, list[bytes]]]:
    """A proxy that keeps the first request it gets and refuses all."""
    place, heard = socket.create_server(("127.0.0.1", 0)), list[bytes]()

    def refuse() -> None:
        while True:
            try:
                taken, _ = place.accept()
            except OSError:
                return
            with taken:
                heard.append(taken.recv(65536))
                taken.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")

    threading.Thread(target=refuse, daemon=True).start()
    yield f"127.0.0.1:{place.getsockname()[1]}", heard
    place.shutdown(socket.SHUT_RDWR)
    place.close()


def test_a_proxy_reads_the_whole_address(proxy: tuple[str, list[bytes]], monkeypatch: pytest.MonkeyPatch) -> None:
    place, heard = proxy
    monkeypatch.setenv("http_proxy", f"http://me:secret@{place}")
    with pytest.raises(StorageError, match="the server answered 407 Proxy Authentication Required"):
        surepath.connect("http://study.example:8700", "the-token", "rag", patience=0.0)
    (said,) = heard
    assert said.startswith(b"GET http://study.example:8700/api/problem?study=rag HTTP/1.1\r\n")
    assert b"Host: study.example:8700\r\n" in said
    assert b"Proxy-Authorization: Basic " in said
    assert b"Bearer the-token" in said


def test_a_tunnel_shows_a_proxy_no_token_and_the_server_no_password(
    proxy: tuple[str, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, heard = proxy
    monkeypatch.setenv("https_proxy", f"http://me:secret@{place}")
    with pytest.raises(StorageError, match="does not answer: Tunnel connection failed: 407"):
        surepath.connect("https://study.example", "the-token", "rag", patience=0.0)
    (said,) = heard
    assert said.startswith(b"CONNECT study.example:443 HTTP/1.")
    assert b"Proxy-Authorization: Basic " in said
    assert b"the-token" not in said
    assert route(urlsplit("https://study.example")).headers == {}
