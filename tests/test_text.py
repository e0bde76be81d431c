"""Names shown to people: nothing that a terminal obeys, and nothing lost."""

from __future__ import annotations

import pytest

from surepath._text import shown

NASTY = ["\x1b[2J", "\x9b31m", "a\nb", "\x7f", "\u202ea", "\u2066x", "\ud800", "\u2028", "\0"]


@pytest.mark.parametrize("text", NASTY)
def test_what_a_terminal_obeys_is_written_out(text: str) -> None:
    words = shown(text)
    assert words.isprintable()
    assert words.encode().decode("unicode_escape") == text


def test_what_people_write_stays() -> None:
    for text in ("plain", "żółw Ünïcode", "数据", "👨\u200d👩\u200d👧", "a\u00a0b", r"C:\new", ""):
        assert shown(text) == text
