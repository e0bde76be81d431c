"""Check a certificate: from the file alone, and against the log.

From the file alone: its hash, what its parts say of each other, and the bound, which is computed again by the plain
implementation: from the sums, or from the scores themselves where noise is learned. With the log, sums, scores, counts
and the hash over the log are computed again from the trials. Whoever forges a certificate with a right hash must forge
sums that prove it, and those the log contradicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from surepath.errors import CertificateError, SurepathError
from surepath.learners.watch.findings import DOUBT, contradiction
from surepath.study.certificate import Certificate
from surepath.study.certificate.file import checked_kind, content_hash, read
from surepath.study.certificate.words import unsaid_sigma
from surepath.study.verify.consistency import check_facts
from surepath.study.verify.facts import Facts, facts_of
from surepath.study.verify.log import Log, read_log_file, read_storage
from surepath.study.verify.proof import check_proof
from surepath.study.verify.sums import check_log
from surepath.study.verify.warnings import check_warnings

YES, NO, OPEN = "yes", "no", "open"
CONTRADICTED = "the scores contradict what was declared: "


@dataclass
class Verdict:
    """Whether a certificate holds.

    Attributes:
        answer: "yes"; "no"; "open": nothing is wrong, but the file alone does not prove it; or "in doubt": the
            arithmetic holds, but the scores contradict the noise, the independence or the steadiness that it assumes.
        differences: What is wrong, or missing for a yes.
        notes: What was checked, and what a yes rests on.
        certified_gap: The gap that the certificate states, or None.
        recomputed_gap: The least gap that the sums prove, where it was needed to say what differs.
    """

    answer: str = NO
    differences: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    certified_gap: float | None = None
    recomputed_gap: float | None = None

    @property
    def holds(self) -> bool:
        """Return whether the certificate was confirmed."""
        return self.answer == YES

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return dict(self.__dict__)

    def __str__(self) -> str:
        return "\n".join([self.answer, *(f"- {line}" for line in self.differences), *self.notes])


def verify(
    certificate: str | Path | Mapping[str, Any],
    storage: Any = None,
    name: str | None = None,
    log: str | Path | None = None,
) -> Verdict:
    """Check a certificate, against the study's storage or an exported log where one is given.

    Args:
        certificate: A file, or what `study.certificate()` returned.
        storage: The storage of the study, as a URL.
        name: The study's name there; by default the one in the certificate.
        log: An exported log (.csv or .jsonl) in place of a storage.

    Raises:
        CertificateError: When it is no certificate at all.

    Example:
        >>> from surepath import MDP, Study
        >>> mdp = MDP.from_steps({"model": ["a", "b"]}, sigma=0.1)
        >>> study = Study.create(mdp, storage="memory", epsilon=0.5, delta=0.1)
        >>> while not study.done:
        ...     trial = study.ask()
        ...     _ = study.tell(trial, [0.0 if trial.plan["model"] == "a" else 1.0])
        >>> verify(study.certificate()).answer
        'yes'
    """
    if storage is not None and log is not None:
        raise CertificateError("give the storage or an exported log, not both")
    if isinstance(certificate, Certificate):
        content = certificate.to_dict()
    elif isinstance(certificate, Mapping):
        content = checked_kind(dict(certificate), "this mapping")
    else:
        content = read(certificate)
    verdict = Verdict()
    gap = content.get("certified_gap")
    verdict.certified_gap = gap if isinstance(gap, float) else None
    logged: Log | None = None
    if storage is not None:
        logged = read_storage(storage, name or _name(content))
    file = str(certificate) if isinstance(certificate, (str, Path)) else "certificate.json"
    try:
        _check(content, file, verdict, logged, log)
    except (
        SurepathError,
        LookupError,
        TypeError,
        ValueError,
        ArithmeticError,
        AttributeError,
        AssertionError,
        MemoryError,
        RecursionError,
    ) as error:
        words = str(error) if isinstance(error, SurepathError) else f"{type(error).__name__}: {error}"
        verdict.differences.append(f"the certificate cannot be read as a whole: {words}")
    if verdict.differences and verdict.answer not in (OPEN, DOUBT):
        verdict.answer = NO
    return verdict


def _name(content: Mapping[str, Any]) -> str | None:
    study = content.get("study")
    name = study.get("name") if isinstance(study, Mapping) else None
    return name if isinstance(name, str) else None


def _check(content: dict[str, Any], file: str, verdict: Verdict, logged: Log | None, log: str | Path | None) -> None:
    wrong = verdict.differences
    if content.get("sha256") != content_hash(content):
        wrong.append("sha256 does not match: something in the file was changed after it was written")
    facts: Facts = facts_of(content, file)
    check_facts(content, facts, wrong)
    if wrong:
        return
    found = [str(warning["message"]) for warning in content["warnings"]]
    if logged is None and log is not None:
        logged = read_log_file(log, facts.mdp)
    if logged is not None:
        facts = check_log(content, facts, logged, wrong)
        found = [] if wrong else check_warnings(content, facts, logged, wrong)
        if not wrong:
            verdict.notes.append(f"the log was read: {facts.prefix} trials give these sums, counts and this hash")
    if not wrong:
        verdict.answer = YES
        unsaid = unsaid_sigma(content, facts.mdp)
        verdict.notes += [] if unsaid is None else [unsaid]
        check_proof(content, facts, logged, verdict)
        if verdict.answer == YES and not wrong and found and content["certified_gap"] is not None:
            verdict.answer = DOUBT
            wrong += [f"{CONTRADICTED}{contradiction(message)}" for message in found]
