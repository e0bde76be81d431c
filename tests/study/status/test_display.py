"""study.watch: renewed in place in a notebook, lines elsewhere, until the study is done."""

from __future__ import annotations

import sys
import threading
import time
from types import ModuleType
from typing import Any

import pytest

from surepath.errors import SettingError
from tests.web.site import new_study, score


def test_a_notebook_shows_one_drawing_that_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, study: Any) -> None:
            shown.append(study._repr_html_())

    def display(study: Any, display_id: bool) -> Handle:
        assert display_id
        shown.append(study._repr_html_())
        return Handle()

    shell, inner = ModuleType("IPython"), ModuleType("IPython.display")
    shell.get_ipython, inner.display = (lambda: object()), display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", inner)
    study = new_study("memory")

    def work() -> None:
        end = time.monotonic() + 30
        while not study.done:
            drawn = len(shown)
            while len(shown) == drawn and time.monotonic() < end:  # each trial is drawn before the next one
                time.sleep(0.001)
            trial = study.ask()
            study.tell(trial, score(trial.plan))

    worker = threading.Thread(target=work)
    worker.start()
    study.watch(every=0.001)
    worker.join()
    assert len(shown) >= 3
    assert "not proven yet" in shown[0]
    assert "<svg" in shown[0]
    assert "proven" in shown[-1]
    assert "not proven yet" not in shown[-1]


def test_elsewhere_a_line_tells_of_every_change(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "IPython", None)
    study = new_study("memory", trials=60)
    study.watch()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    assert ", done (" in lines[0]


def test_an_interrupt_ends_only_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.setattr("surepath.study.status.time.sleep", interrupt)
    study = new_study("memory")
    study.watch()
    assert not study.done
    with pytest.raises(SettingError, match="more than 0 seconds"):
        study.watch(every=0)
