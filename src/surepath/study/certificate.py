"""The certificate of a study: a JSON file that a sceptic can check with `surepath verify`, which does not trust it.

It holds the problem, the settings with every number of the bound, the plan, the gap, and what was seen, arc by arc, so
that the bound can be computed again from the file alone; and a hash over the log, so that the file can be compared with
the trials themselves. `sha256` is a hash over everything else in the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from surepath._text import shown
from surepath._version import __version__
from surepath.errors import CertificateError, ProblemError
from surepath.model.sources.textfile import read_text, write_text
from surepath.study import certificate_proof
from surepath.study.certificate_words import ADVICE, FORMAT, assumptions, statement
from surepath.study.storage.contract import Reading
from surepath.study.storage.records import ActionRow, TrialRow
from surepath.study.tally import LEFT_OUT, MARKED

if TYPE_CHECKING:
    from surepath.study.study import Study

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
        """Proven distance from the best; infinite while nothing is proven."""
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
            _refuse(file, "a field stands twice in one object")
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
    if form > FORMAT:
        raise CertificateError(f"{name} has format {form}; this version of surepath reads up to {FORMAT}: upgrade it")
    return content


def content_hash(content: Mapping[str, Any]) -> str:
    """Return the hash over everything but the hash itself, whatever the order of keys and the white space."""
    rest = {key: value for key, value in content.items() if key != "sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def make(study: Study) -> Certificate:
    """Write down what a study has proven by now."""

    def read_log(log: Reading) -> tuple[list[ActionRow], Any]:
        study._fold.sync(log)
        actions = log.actions_after(0)[: study._fold.actions]
        return actions, certificate_proof.claim(study._fold, lambda n: log_rows(log, n), actions)

    study.sync()
    with study._lock:
        actions, claim = study._read(read_log)
        findings = study._fold.learner.findings()
        epsilon = float(study._fold.learner.epsilon)
        done = bool(study._fold.learner.stopped)
    mdp, record, tally = study.mdp, study.record, claim.tally
    by_arc = {
        name: {str(arc): int(row[arc]) for arc in row.nonzero()[0].tolist()}
        for names, rows in ((LEFT_OUT, tally["left_out"]), (MARKED, tally["marked"]))
        for name, row in zip(names, rows)
    }
    content: dict[str, Any] = {
        "kind": KIND,
        "format": FORMAT,
        "statement": "",
        "certified_gap": claim.gap,
        "plan": {str(step): str(option) for step, option in mdp.plan(claim.path).items()},
        "path": claim.path.tolist(),
        "done": done and claim.gap is not None,
        "epsilon": epsilon,
        "delta": float(study.delta),
        "assumptions": [],
        "warnings": [{**found.__dict__, "advice": ADVICE[found.kind]} for found in findings],
        "trials": {
            "number": claim.prefix,
            "states": dict(tally["states"]),
            "sources": dict(tally["sources"]),
            "refused": int(tally["refused"]),
            "by_arc": by_arc,
            **({} if mdp.cost is None else {"spent": float(tally["spent"])}),
        },
        "actions": [
            {"number": row.number, "after": row.after, "kind": row.kind, "content": json.loads(row.content)}
            for row in actions
        ],
        "log": {"trials": claim.prefix, "actions": claim.actions, "digest": claim.digest},
        "proof": claim.proof,
        "evidence": claim.evidence,
        "settings": json.loads(record.settings),
        "problem": json.loads(record.problem),
        "problem_hash": record.problem_hash,
        "study": {
            "name": record.name,
            "options": json.loads(record.options),
            "created": _moment(record.created),
            "version": record.version,
        },
        "version": __version__,
        "created": _moment(datetime.now(UTC).timestamp()),
    }
    content["statement"], content["assumptions"] = statement(content), assumptions(content, mdp)
    content["sha256"] = content_hash(content)
    return Certificate(content)


def log_rows(log: Reading, last: int) -> Iterator[TrialRow]:
    """Read the first trials of a log, page by page."""
    first = 1
    while first <= last and (rows := log.trials(first, min(5_000, last - first + 1))):
        yield from rows
        first = rows[-1].number + 1


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
