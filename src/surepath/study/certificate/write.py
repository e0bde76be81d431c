"""Writing a certificate: what a study has proven by now, and all that proves it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from surepath._text import words_of_users
from surepath._version import __version__
from surepath.study.certificate.claim import best_claim
from surepath.study.certificate.file import KIND, Certificate, content_hash
from surepath.study.certificate.words import ADVICE, CERTIFICATE_FORMAT, assumptions, statement
from surepath.study.sheets.rows import all_trials
from surepath.study.storage import ActionRow, Reading
from surepath.study.tally import LEFT_OUT, MARKED

if TYPE_CHECKING:
    from surepath.study.study import Study


def write_certificate(study: Study) -> Certificate:
    """Write down what a study has proven by now."""

    def read_log(log: Reading) -> tuple[list[ActionRow], Any]:
        study._fold.sync(log)
        actions = log.actions_after(0)[: study._fold.actions]
        return actions, best_claim(study._fold, lambda n: all_trials(log, n), actions)

    study.sync()
    with study._lock:
        actions, claim = study._read(read_log)
        with words_of_users():
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
        "format": CERTIFICATE_FORMAT,
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


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
