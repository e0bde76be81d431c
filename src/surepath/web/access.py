"""Who may read and who may write: two tokens, compared in constant time; refused logins are logged with their rate."""

from __future__ import annotations

import hmac
import ipaddress
import logging
import secrets
import time
from collections import deque
from dataclasses import dataclass, field

from surepath.errors import SettingError

log = logging.getLogger("surepath.web")

READ, WRITE = "read", "write"
SHORTEST = 16  # characters of a token that others may guess at
LONGEST_TOKEN = 500
WINDOW = 60.0  # seconds over which refused logins are counted
QUIET = 5.0  # seconds between two log lines about them


@dataclass
class Access:
    """The tokens of a server; a write token may read too, and without a write token nobody may write."""

    read_token: str | None
    write_token: str | None
    _refused: deque[float] = field(default_factory=lambda: deque(maxlen=10_000))
    _logged: float = -QUIET

    def role(self, header: str | None) -> str | None:
        """Return "write", "read" or None for an Authorization header."""
        kind, _, token = (header or "").partition(" ")
        if kind.lower() != "bearer":
            return None
        given = token.strip().encode()
        found = None
        for role, wanted in ((READ, self.read_token), (WRITE, self.write_token)):
            if wanted is not None and hmac.compare_digest(given, wanted.encode()):
                found = role
        return found

    def refuse(self, client: str, now: float | None = None) -> int:
        """Count a refused login and log it, with the rate, at most every few seconds; returns how many a minute."""
        at = time.monotonic() if now is None else now
        self._refused.append(at)
        while self._refused[0] < at - WINDOW:
            self._refused.popleft()
        if at - self._logged >= QUIET:
            self._logged = at
            log.warning("refused a wrong token from %s; %d in the last minute", client, len(self._refused))
        return len(self._refused)


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def open_access(host: str, read_token: str | None, write_token: str | None) -> Access:
    """Choose the tokens of a server: what is given; on a loopback address random ones where nothing is.

    Raises:
        SettingError: For a public address without any token, or with one that is easily guessed.
    """
    for what, token in (("read token", read_token), ("write token", write_token)):
        if token is not None and not (
            token.isascii() and token.isprintable() and 1 <= len(token.strip()) <= LONGEST_TOKEN
        ):
            raise SettingError(f"the {what} must be 1 to {LONGEST_TOKEN} printable ASCII characters")
    if read_token is not None and read_token == write_token:
        raise SettingError("the read token and the write token must differ")
    given = [token for token in (read_token, write_token) if token is not None]
    if is_loopback(host):
        if not given:
            return Access(secrets.token_urlsafe(16), secrets.token_urlsafe(16))
        return Access(read_token, write_token)
    if not given:
        raise SettingError(
            f"{host} can be reached from other machines: give --read-token or --write-token, or serve on 127.0.0.1"
        )
    if any(len(token) < SHORTEST for token in given):
        raise SettingError(f"{host} can be reached from other machines: a token needs {SHORTEST} characters or more")
    return Access(read_token, write_token)
