"""A certificate as a JSON file: one that a sceptic can check with `surepath verify`, which does not trust it.

It holds the problem, the settings with every number of the bound, the plan, the gap, and what was seen, arc by arc, so
that the bound can be computed again from the file alone; and a hash over the log, so that the file can be compared with
the trials themselves. `sha256` is a hash over everything else in the file.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from surepath._numbers import shortened
from surepath._text import shown
from surepath.errors import CertificateError, ProblemError
from surepath.model.sources.textfile import read_text, write_text
from surepath.study.certificate.words import CERTIFICATE_FORMAT

KIND = "surepath certificate"


class Certificate(Mapping[str, Any]):
    """What is proven, and what proves it; a mapping that can be saved as JSON.

    Example:
        >>> from surepath import MDP, Study
        >>> mdp = MDP.from_steps({"model": ["small", "large"]}, sigma=0.1)
        >>> study = Study.create(mdp, storage="memory", epsilon=0.3, delta=0.1)
        >>> while not study.done:
        ...     trial = study.ask()
        ...     _ = study.tell(trial, [0.9 if trial.plan["model"] == "large" else 0.2])
        >>> certificate = study.certificate()
        >>> certificate["plan"], certificate["certified_gap"] <= 0.3
        ({'model': 'large'}, True)
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._content = dict(content)

    def __getitem__(self, key: str) -> Any:
        return self._content[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    @property
    def certified_gap(self) -> float:
        """Return the proven distance from the best; infinite while nothing is proven."""
        gap = self._content["certified_gap"]
        return float("inf") if gap is None else float(gap)

    def __str__(self) -> str:
        return shown(self._content["statement"])

    def __repr__(self) -> str:
        return f"Certificate({shown(self._content['statement'])!r})"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        copy: dict[str, Any] = json.loads(json.dumps(self._content))
        return copy

    def save(self, path: str | Path) -> None:
        """Write the certificate as a JSON file."""
        write_text(Path(path), json.dumps(self._content, indent=1, allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate without checking it; `verify` does."""
        return cls(read(path))


def read(path: str | Path) -> dict[str, Any]:
    """Read a certificate file, or say why it is none."""
    file = Path(path)
    try:
        text = read_text(file)
    except ProblemError as error:
        raise CertificateError(str(error)) from None

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            twice, _ = Counter(key for key, _ in items).most_common(1)[0]
            _refuse(file, f"the field {shortened(twice)} appears twice in one object")
        return found

    def constant(word: str) -> NoReturn:
        _refuse(file, f"it holds {word}, which is no number")

    try:
        content = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        if isinstance(error, CertificateError):
            raise
        _refuse(file, "it is not JSON")
    return checked_kind(content, str(file))


def _refuse(file: object, why: str) -> NoReturn:
    raise CertificateError(f"{file} is no certificate: {why}")


def checked_kind(content: Any, name: str) -> dict[str, Any]:
    """Refuse what is no certificate, or one of a later version."""
    if not isinstance(content, dict) or content.get("kind") != KIND:
        _refuse(name, f'it lacks "kind": "{KIND}"')
    form = content.get("format")
    if not isinstance(form, int) or isinstance(form, bool) or form < 1:
        _refuse(name, f"its format is {form!r}, which is no version number")
    if form > CERTIFICATE_FORMAT:
        raise CertificateError(
            f"{name} has format {form}; this version of surepath reads up to {CERTIFICATE_FORMAT}: upgrade it"
        )
    return content


def content_hash(content: Mapping[str, Any]) -> str:
    """Return the hash over everything but the hash itself, whatever the order of keys and the white space."""
    rest = {key: value for key, value in content.items() if key != "sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
