"""Names as people see them: what a terminal would obey rather than show is written out."""

from __future__ import annotations

import unicodedata

# Marks that turn the direction of what follows, so that a line reads otherwise than it is.
_TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def shown(text: object) -> str:
    """The text with control characters, line breaks, marks of direction and halves of characters escaped.

    Example:
        >>> shown("plain, żółw, \\x1b[2J and\\nmore")
        'plain, żółw, \\\\x1b[2J and\\\\nmore'
    """
    words = str(text)
    if words.isprintable():
        return words
    return "".join(_escaped(c) if c in _TURNS or unicodedata.category(c) in _CONTROLS else c for c in words)


def many(count: int, thing: str) -> str:
    """A number of things in words.

    Example:
        >>> many(1, "trial"), many(2_000, "trial")
        ('1 trial', '2,000 trials')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


_CONTROLS = ("Cc", "Cs", "Zl", "Zp")


def safe_json(text: str) -> str:
    """JSON text that says the same, with what a terminal would obey written as JSON's own escapes.

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
