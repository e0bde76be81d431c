"""Names shown to people: nothing that a terminal obeys, and nothing lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepath._text import safe_json, shown

NASTY = ["\x1b[2J", "\x9b31m", "a\nb", "\x7f", "\u202ea", "\u2066x", "\ud800", "\u2028", "\0"]


@pytest.mark.parametrize("text", NASTY)
def test_what_a_terminal_obeys_is_written_out(text: str) -> None:
    words = shown(text)
    assert words.isprintable()
    assert words.encode().decode("unicode_escape") == text


def test_what_people_write_stays() -> None:
    for text in ("plain", "żółw Ünïcode", "数据", "👨\u200d👩\u200d👧", "a\u00a0b", r"C:\new", ""):
        assert shown(text) == text


@given(st.text(alphabet=st.characters(), max_size=30))
def test_json_is_the_same_data(text: str) -> None:
    safe = safe_json(json.dumps({"name": text}, ensure_ascii=False, indent=2))
    assert json.loads(safe) == {"name": text}
    for c in "\x7f\x9b\u202e\u2028":
        assert c not in safe
