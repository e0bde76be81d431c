"""Names as people see them: what a terminal would obey rather than show is written out."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Marks that turn the direction of what follows, so that a line reads otherwise than it is.
_TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def shown(text: object) -> str:
    """Return the text with control characters, line breaks, marks of direction and halves of characters escaped.

    Example:
        >>> shown("plain, żółw, \\x1b[2J and\\nmore")
        'plain, żółw, \\\\x1b[2J and\\\\nmore'
    """
    words = str(text)
    if words.isprintable():
        return words
    return "".join(_escaped(c) if c in _TURNS or unicodedata.category(c) in _CONTROLS else c for c in words)


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes: two for a wide letter, none for a mark on the one before.

    Example:
        >>> columns("long"), columns("長い"), columns("e\u0301")
        (4, 4, 1)
    """
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


_to_users = False  # whether messages go to people who run studies, who know no rewards, stages and arcs


def choose_words_of_users(wanted: bool) -> bool:
    """Choose the words of messages in this process, and return what was chosen before; commands write for users."""
    global _to_users
    before, _to_users = _to_users, wanted
    return before


_within = ContextVar("within", default=False)  # whether this thread is in a block of `words_of_users`


@contextmanager
def words_of_users() -> Iterator[None]:
    """Choose the words of users in a block, for this thread alone: what a study keeps is the same whoever runs it.

    Example:
        >>> with words_of_users():
        ...     word("reward", "score")
        'score'
        >>> word("reward", "score")
        'reward'
    """
    token = _within.set(True)
    try:
        yield
    finally:
        _within.reset(token)


def word(of_api: str, of_users: str) -> str:
    """Choose one of two words for the same thing: that of the API and the theory, or that of people who run studies."""
    return of_users if _to_users or _within.get() else of_api


def many(count: int, thing: str) -> str:
    """Return a number of things in words.

    Example:
        >>> many(1, "trial"), many(2_000, "trial")
        ('1 trial', '2,000 trials')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


_CONTROLS = ("Cc", "Cs", "Zl", "Zp")


def safe_json(text: str) -> str:
    """Rewrite JSON text so that it says the same, with what a terminal would obey written as JSON's own escapes.

    Example:
        >>> safe_json('"\x9b2J"')
        '"\\\\u009b2J"'
    """
    if text.isprintable():
        return text
    return "".join(
        f"\\u{ord(c):04x}" if c != "\n" and (c in _TURNS or unicodedata.category(c) in _CONTROLS) else c for c in text
    )


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
