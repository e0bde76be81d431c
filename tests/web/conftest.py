"""An API to call; one browser and one server for the session; a page that fails when the console says anything."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from surepath import MDP, Study, families
from surepath.study.storage import Storage
from surepath.web.routes import Access
from surepath.web.server import create_app
from tests.web.site import (
    READ,
    WRITE,
    Caller,
    Site,
    database,
    fifty_steps,
    large_mdp,
    long_study,
    new_study,
    rounds,
    served,
)

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
AXE = "axe-core@4.10.3"
PATIENCE = 60.0  # seconds; a busy machine takes its time
NASTY = '<img src=x onerror="alert(1)"> & 🦉'


@pytest.fixture
def storage() -> Storage:
    return Storage("memory")


@pytest.fixture
def client(storage: Storage) -> Iterator[TestClient]:
    with TestClient(create_app(storage, Access(READ, WRITE)), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def reader(client: TestClient) -> Caller:
    return Caller(client, READ)


@pytest.fixture
def writer(client: TestClient) -> Caller:
    return Caller(client, WRITE)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs chromium, Debian's package: make system")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    return database(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="session")
def site(place: str) -> Iterator[Site]:
    new_study(place, "rag", trials=60, sigma=1.0)
    new_study(place, "empty")
    steps = {NASTY: ["<b>bold</b>", "plain"], "answer": ["<script>alert(2)</script>", "🦉 owl"]}
    strange = Study.create(MDP.from_steps(steps, sigma=0.1), place, NASTY, epsilon=0.1, delta=0.1)
    strange.fail(strange.ask(worker="<i>worker</i>"), [], "<u>note</u>")
    instance = families.support_tickets()
    demo = Study.create(instance.mdp, place, "support tickets", epsilon=0.3, delta=0.1)
    rng = np.random.default_rng(0)
    while not demo.done:
        trial = demo.ask()
        demo.tell(trial, instance.means[trial.path] + 0.1 * rng.standard_normal(8))
    fifty_steps(place)
    rounds(place)
    options = [f"option {i}, whose name goes on and on" for i in range(3)]
    long = MDP.from_steps({f"a step with a long name, number {i}": options for i in range(6)}, sigma=0.1)
    named = Study.create(long, place, "long names", epsilon=0.5, delta=0.1)
    for trial in named.ask(20):
        named.tell(trial, 0.1 * rng.random(6))
    big = Study.create(large_mdp(20, 10), place, "2000 arcs", epsilon=0.5, delta=0.1, sigma=0.1)
    for trial in big.ask(40):
        big.tell(trial, rng.random(20))
    beyond = Study.create(large_mdp(40, 16), place, "beyond", epsilon=0.5, delta=0.1, sigma=0.1)
    beyond.tell(beyond.ask(), rng.random(40))
    with served(place) as site:
        yield site


@pytest.fixture(scope="session")
def long_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    place = database(tmp_path_factory.mktemp("long"))
    long_study(place, 30_000)
    with served(place) as site:
        yield site


def until(page: Any, expression: str) -> None:
    """Wait until an expression holds; the browser's own way to wait evaluates text, which the page forbids."""
    end = time.monotonic() + PATIENCE
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(50)


class Window:
    """A page of the browser, with what its console said."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.context.set_default_timeout(1000 * PATIENCE)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.asked: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, site: Site, study: str | None = None, token: str | None = WRITE) -> Any:
        from urllib.parse import urlencode

        wanted = {name: value for name, value in (("token", token), ("study", study)) if value is not None}
        self.page.goto("about:blank")  # else what an earlier study shows would be looked at
        self.page.goto(f"{site.url}/#{urlencode(wanted)}")
        if study is not None:
            self.page.wait_for_selector("#live .dot")
        return self.page


@pytest.fixture
def windows(browser: Any) -> Iterator[Callable[..., Window]]:
    """Open windows; none may say anything in its console, or load anything from elsewhere."""
    opened: list[Window] = []

    def new(**options: Any) -> Window:
        opened.append(Window(browser, **options))
        return opened[-1]

    yield new
    for window in opened:
        window.context.close()
        assert window.said == []
        assert all(url.startswith(("http://127.0.0.1:", "blob:")) for url in window.asked)


@pytest.fixture
def window(windows: Callable[..., Window]) -> Window:
    return windows()


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str | None:
    """The text of axe-core's script, from its npm package, fetched now and kept nowhere; None where it cannot be."""
    folder = tmp_path_factory.mktemp("axe")
    npm = shutil.which("npm")
    if npm is None:
        return None
    command = [npm, "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder), AXE]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:  # a network that swallows what is sent would hold up the suite for many minutes
        return None
    file: Path = folder / "node_modules" / "axe-core" / "axe.min.js"
    if done.returncode or not file.exists():
        return None
    return file.read_text(encoding="utf-8")
