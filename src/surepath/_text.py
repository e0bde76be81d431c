"""Names as people see them: what a terminal would obey rather than show is written out."""

from __future__ import annotations

import re
import unicodedata

_CONTROLS = ("Cc", "Cs", "Zl", "Zp")
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
    return "".join(
        c.encode("unicode_escape").decode("ascii") if c in _TURNS or unicodedata.category(c) in _CONTROLS else c
        for c in words
    )


def many(count: int, thing: str) -> str:
    """Return a number of things in words.

    Example:
        >>> many(1, "trial"), many(2_000, "trial")
        ('1 trial', '2,000 trials')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


# Parameters of an address whose values may be shown; whatever else stands there may be a secret.
OPEN_PARAMETERS = ("application_name", "connect_timeout", "dbname", "host", "mode", "port", "sslmode", "study", "user")
_PLACE = re.compile(r"(\[[^\]]*\]|[^:@/\[\]\s]*)(:\d{0,5})?(/[^@:;=]*)?", re.DOTALL)  # host, port and path
_OPEN_VALUE = re.compile(r"[\w.,:/\[\]-]*")  # no mark, and no escape of one, that could begin another parameter
_DSN = re.compile(r"\bpass\w*\s*=", re.IGNORECASE)  # "host=lab password=..."
_USER = re.compile(r"[^:@/?#%\s]+")


def hidden(address: str) -> str:
    """Return the address of a database or server without its secrets: passwords, tokens, parameters not known as open.

    Of an address that cannot be read for certain, nothing is shown between its scheme and its host, or at all.

    Example:
        >>> hidden("postgresql://me:pw@host/db?sslmode=require&password=pw")
        'postgresql://me:***@host/db?sslmode=require&***'
        >>> hidden("postgresql://me:p?w@host/db"), hidden("http://host/#token=abc"), hidden("sqlite:///me@home/a.db")
        ('postgresql://***', 'http://host/#***', 'sqlite:///me@home/a.db')
    """
    scheme, mark, rest = address.partition("://")
    if not mark:
        if re.match(r"[A-Za-z][\w+.-]+:", address) or "@" in address.partition(":")[2] or _DSN.search(address):
            return "***"  # perhaps its slashes are missing
        scheme, rest = "", address
    elif not re.fullmatch(r"[A-Za-z][\w+.-]*", scheme):
        return "***"
    base, query, fragment = _parts(rest)
    if "@" in query + fragment:  # perhaps a password that holds a question mark
        return f"{scheme}{mark}***"
    if mark and not (scheme.startswith("sqlite") and base.startswith("/")):  # else it is a file
        user, at, place = base.rpartition("@")
        if not _PLACE.fullmatch(place):
            return f"{scheme}{mark}***"
        name, colon, _ = user.partition(":")
        is_name = _USER.fullmatch(name) and not scheme.startswith("http")  # there it may be a token
        base = f"{name if is_name else '***'}{':***' if is_name and colon else ''}@{place}" if at else place
    given = (pair.partition("=") for pair in re.split("[&;]", query[1:]))
    pairs = "&".join("".join(pair) if is_open(pair[0], pair[2]) else "***" for pair in given) if query else ""
    return f"{scheme}{mark}{base}{query[:1]}{pairs}{'#***' if fragment else ''}"


def is_open(name: str, value: str) -> bool:
    """Return whether a parameter of an address may be shown with its value."""
    numeric = name in ("connect_timeout", "port")
    return name in OPEN_PARAMETERS and bool(value.isdigit() if numeric else _OPEN_VALUE.fullmatch(value))


def _parts(rest: str) -> tuple[str, str, str]:
    """Split what follows a scheme into what comes before the query, the query and the fragment, with their marks."""
    base = re.split("[?#]", rest, maxsplit=1)[0]
    query, mark, fragment = rest[len(base) :].partition("#")
    return base, query, mark + fragment
