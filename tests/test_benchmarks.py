"""The page of benchmarks shows what was kept, and the README says what was measured."""

from __future__ import annotations

import pytest
from benchmarks import keep


def test_the_page_of_the_documentation_is_what_was_kept() -> None:
    assert keep.DOCUMENT.read_text(encoding="utf-8") == keep.render(keep.load())


@pytest.mark.parametrize("claim", keep.CLAIMS, ids=lambda claim: f"{claim.part}, {claim.figure}")
def test_the_readme_says_what_was_measured(claim: keep.Claim) -> None:
    readme = (keep.ROOT / "README.md").read_text(encoding="utf-8")
    assert claim.words in readme
    assert claim.number in claim.words
    assert claim.agrees(keep.value_of(keep.load(), claim)["value"])
