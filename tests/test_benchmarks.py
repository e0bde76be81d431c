"""Benchmarks keep their figures: a run is JSON, the page shows the newest, and a benchmark that fails loses nothing."""

from __future__ import annotations

import json

import benchmarks.__main__ as command
import pytest
from benchmarks import keep


def test_the_page_of_the_documentation_is_what_was_kept() -> None:
    run = json.loads(keep.KEPT.read_text(encoding="utf-8"))
    assert keep.DOCUMENT.read_text(encoding="utf-8") == keep.render(run)
    assert {part["name"] for part in run["parts"]} <= set(command.names())


@pytest.mark.parametrize("claim", keep.CLAIMS, ids=lambda claim: f"{claim.part}, {claim.figure}")
def test_the_readme_says_what_was_measured(claim: keep.Claim) -> None:
    readme = (keep.ROOT / "README.md").read_text(encoding="utf-8")
    assert claim.words in readme
    assert claim.number in claim.words
    _, figure = keep.value_of(json.loads(keep.KEPT.read_text(encoding="utf-8")), claim)
    assert claim.agrees(figure["value"]), figure
