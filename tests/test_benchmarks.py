"""Benchmarks keep their figures: a run is JSON, the page shows the newest, and a benchmark that fails loses nothing."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import benchmarks.__main__ as command
import pytest
from benchmarks import keep, page, record


def bench(monkeypatch: pytest.MonkeyPatch, name: str, do: Any) -> None:
    """Put a benchmark of this name in place of those that are there."""
    module: Any = ModuleType(f"benchmarks.bench_{name}", "What is measured.\n\nMore.")
    module.main = do
    monkeypatch.setitem(sys.modules, f"benchmarks.bench_{name}", module)
    there = [*getattr(command, "_tried", []), name]
    monkeypatch.setattr(command, "_tried", there, raising=False)
    monkeypatch.setattr(command, "names", lambda: there)


def twice_as_fast() -> None:
    print("ours <fast>")
    record.record("theirs over ours", 2.0, "x", "at least 1.5x")


def test_a_run_is_kept_as_json_and_still_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench(monkeypatch, "toy", twice_as_fast)
    command.main(["toy"], tmp_path)
    assert "ours <fast>\n" in capsys.readouterr().out
    (file,) = tmp_path.glob("*.json")
    run = json.loads(file.read_text())
    (part,) = run["parts"]
    assert part["figures"] == [{"name": "theirs over ours", "value": 2.0, "unit": "x", "target": "at least 1.5x"}]
    assert (part["printed"], part["command"], part["about"]) == (
        "ours <fast>\n", "python -m benchmarks toy", "What is measured.",
    )  # fmt: skip
    assert {"processor", "cores", "python", "numba"} <= set(run["machine"])
    assert socket.gethostname() not in json.dumps(run["machine"])


def test_what_was_measured_before_a_failure_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise RuntimeError("no")

    bench(monkeypatch, "good", twice_as_fast)
    bench(monkeypatch, "bad", fails)
    with pytest.raises(RuntimeError):
        command.main([], tmp_path)
    assert [part["name"] for run in record.load_all(tmp_path) for part in run["parts"]] == ["good"]


def kept(value: float, name: str = "toy") -> dict[str, Any]:
    machine = dict.fromkeys(("processor", "cores", "memory", "system", "python", "numba", "numpy", "surepath"), "some")
    figure = {"name": "ratio", "value": value, "unit": "x", "target": ""}
    part = {"name": name, "about": "<b>", "command": "run it", "begun": "then", "seconds": 1.0, "load": 0.5}
    return {"format": 1, "machine": machine, "parts": [{**part, "printed": "<i>", "figures": [figure]}]}


def test_the_page_has_the_newest_figures_and_obeys_nothing() -> None:
    text = page.render([kept(1.5), kept(2.5), kept(7.0, "other")])
    assert text.index('<h2 id="other">') < text.index('<h2 id="toy">')
    assert "<td>ratio</td><td>2.5x</td><td></td><td>1.5x</td>" in text
    assert "run it" in text
    assert "<b>" not in text
    assert "<i>" not in text


def test_a_figure_outside_of_a_run_is_not_kept_and_an_unknown_name_is_refused() -> None:
    record.record("alone", 1.0)
    assert record._current == []
    with pytest.raises(SystemExit, match="no benchmark is called 'gapss'"):
        command.main(["gapss"])


def test_the_page_of_the_documentation_is_what_was_kept() -> None:
    run = json.loads(keep.KEPT.read_text(encoding="utf-8"))
    assert keep.DOCUMENT.read_text(encoding="utf-8") == keep.render(run)
    assert {part["name"] for part in run["parts"]} == set(command.names())


@pytest.mark.parametrize("claim", keep.CLAIMS, ids=lambda claim: f"{claim.part}, {claim.figure}")
def test_the_readme_says_what_was_measured(claim: keep.Claim) -> None:
    readme = (keep.ROOT / "README.md").read_text(encoding="utf-8")
    assert claim.words in readme
    assert claim.number in claim.words
    _, figure = keep.value_of(json.loads(keep.KEPT.read_text(encoding="utf-8")), claim)
    assert claim.agrees(figure["value"]), figure


def test_a_claim_may_be_rounded_and_no_more() -> None:
    claim = keep.Claim("about 1,512 trials", "1,512", "trials", "trials")
    assert claim.agrees(1511.6)
    assert not claim.agrees(1512.6)
    assert keep.Claim("1.5 times", "1.5", "trials", "ratio").agrees(1.46)
    assert keep.Claim("0.05 ms", "0.05", "episode", "time", slack=0.1, scale=1e-3).agrees(54.0)
    assert not keep.Claim("0.05 ms", "0.05", "episode", "time", slack=0.1, scale=1e-3).agrees(60.0)


def test_figures_of_different_machines_are_not_mixed() -> None:
    other = kept(2.0, "other")
    other["machine"]["cores"] = 64
    with pytest.raises(SystemExit, match="different machines"):
        keep.newest_parts([kept(1.0), other])
    assert [part["name"] for part in keep.newest_parts([kept(1.0), kept(2.0, "other")])["parts"]] == ["other", "toy"]
