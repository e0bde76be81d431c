"""Who may read and who may write: tokens, given or made here, or named in a file.

Tokens are compared in constant time. Clients read this file too, so that it imports nothing of the server.
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
import secrets
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from surepath.errors import SettingError

log = logging.getLogger("surepath.web")

PORT = 8700
KEEP_ALIVE = 5  # seconds that a connection is kept open for its next request; each is an open file
LARGEST_IMPORT = 64_000_000  # bytes; past results are taken as a whole, from who may write
SLOWEST = 100_000  # bytes a second of a body that a server takes in at the least
READ, WRITE = "read", "write"
SHORTEST = 16  # characters of a token that others may guess at
LONGEST_TOKEN = 500


class Token(NamedTuple):
    """A token of a file: whose it is, what it allows, and when it ends, in seconds since 1970."""

    role: str
    name: str
    secret: str
    until: float | None


@dataclass
class Access:
    """The tokens of a server; a write token may read too, and without a write token nobody may write.

    A file of tokens has one a line: the role (read or write), a name, the token, and if it ends the last day, in UTC,
    as in "write alice 3f9c62d1a8e44b07 2027-03-31". What follows # is a remark.

    Attributes:
        generated: Whether they were made here: then they are shown once, to whoever started the server. Tokens that
            were given are known, and never printed.
        file: Where further ones are.
    """

    read_token: str | None = field(repr=False)
    write_token: str | None = field(repr=False)
    generated: bool = False
    file: Path | None = None
    named: tuple[Token, ...] = field(default=(), repr=False)

    def role(self, header: str | None) -> str | None:
        """Return "write", "read" or None for an Authorization header."""
        kind, _, token = (header or "").partition(" ")
        if kind.lower() != "bearer":
            return None
        given, now, found = token.strip().encode(), time.time(), None
        own = (Token(READ, "", self.read_token or "", None), Token(WRITE, "", self.write_token or "", None))
        for one in (*own, *self.named):
            if one.secret and hmac.compare_digest(given, one.secret.encode()):
                found = one.role if one.until is None or now < one.until else None
        return found

    def read_file(self) -> None:
        """Read the file of tokens again, if any; what cannot be read is logged, and the tokens stay as they were."""
        if self.file is None:
            return
        try:
            self.named = read_tokens(self.file)
            log.info("%d tokens read from %s", len(self.named), self.file)
        except SettingError as error:
            log.error("the tokens stay as they were: %s", error)


def read_tokens(file: Path) -> tuple[Token, ...]:
    """Read a file of tokens; see `Access`."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise SettingError(
            f"the tokens in {file} cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from None
    found: list[Token] = []
    for number, line in enumerate(lines, start=1):
        words, place = line.partition("#")[0].split(), f"{file}, line {number}"
        if not words:
            continue
        if len(words) not in (3, 4) or words[0] not in (READ, WRITE):
            raise SettingError(
                f'{place}: a token is a line such as "write alice TOKEN" or "read board TOKEN 2027-03-31"'
            )
        role, name, secret = words[:3]
        check_token(f"token of {name} ({place})", secret)
        if len(secret) < SHORTEST:
            raise SettingError(f"the token of {name} ({place}) needs {SHORTEST} characters or more")
        if any(secret == other.secret for other in found):
            raise SettingError(f"the token of {name} ({place}) is another one's too: each must differ")
        until = None
        if len(words) == 4:
            try:
                until = (datetime.strptime(words[3], "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=1)).timestamp()
            except (ValueError, OverflowError):
                day = f'{place}: the last day of a token is one such as "2027-03-31", not {words[3]!r}'
                raise SettingError(day) from None
        found.append(Token(role, name, secret, until))
    return tuple(found)


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_token(what: str, token: str) -> None:
    """Refuse a token that cannot be sent in a header."""
    if not (token.isascii() and token.isprintable() and 1 <= len(token.strip()) <= LONGEST_TOKEN):
        raise SettingError(f"the {what} must be 1 to {LONGEST_TOKEN} printable ASCII characters")


def open_access(host: str, read_token: str | None, write_token: str | None, tokens: str | None = None) -> Access:
    """Choose the tokens of a server: what is given; on a loopback address random ones where nothing is.

    Raises:
        SettingError: For a public address without any token, or with one that is easily guessed.
    """
    given = {"read token": read_token, "write token": write_token}
    for what, token in given.items():
        if token is not None:
            check_token(what, token)
    if read_token is not None and read_token == write_token:
        raise SettingError("the read token and the write token must differ")
    few = [token for token in given.values() if token is not None]
    if not few and tokens is None:
        if is_loopback(host):
            return Access(secrets.token_urlsafe(16), secrets.token_urlsafe(16), generated=True)
        raise SettingError(
            f"{host} can be reached from other machines: give --read-token, --write-token or --tokens, or serve on "
            f"127.0.0.1"
        )
    if not is_loopback(host) and any(len(token) < SHORTEST for token in few):
        raise SettingError(f"{host} can be reached from other machines: a token needs {SHORTEST} characters or more")
    file = None if tokens is None else Path(tokens)
    return Access(read_token, write_token, file=file, named=() if file is None else read_tokens(file))
