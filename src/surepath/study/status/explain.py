"""What a study knows now, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surepath._text import many, shown, words_of_users
from surepath.model.costs import in_words
from surepath.study.spending import money
from surepath.study.trial import CANCELLED, EXPIRED, FAILED, LATE, PARTIAL, WORST
from surepath.verify.file import ADVICE

if TYPE_CHECKING:
    from surepath.study.study import Study


@words_of_users()
def explain(study: Study) -> str:
    """Describe in words what a study knows now."""
    with study._lock:
        learner, tally, window = study.learner, study._fold.tally, len(study._fold.window)
        trials, spent = study._fold.prefix, study._fold.spent
    lines = [
        f"study {study.name}: {many(trials, 'trial')} settled" + (f", {window} under way or waiting" if window else "")
    ]
    lines[0] += "" if spent is None else f"; spent {money(spent)}"
    lines += [f"counted: {in_words(study.mdp)}"] if study.mdp.charge is not None else []
    lines += str(learner.explain()).split("\n")
    worst = study.options.on_failure == WORST  # then a failed trial is evidence: its step has its worst score
    states = (EXPIRED, CANCELLED) if worst else (FAILED, EXPIRED, CANCELLED)
    left_out = {state: tally.states[state] for state in states if tally.states[state]}
    if worst and (failed := tally.states[FAILED] + tally.states[PARTIAL]):
        lines.append(f"{many(failed, 'trial')} failed; the step at which one failed counts as its worst score")
    if left_out:
        said = ", ".join(f"{count} {state}" for state, count in left_out.items())
        late = f" ({many(tally.sources[LATE], 'result')} came too late to count)" if tally.sources[LATE] else ""
        lines.append(f"left out of the proof: {said}{late}; their being left out must not depend on their scores")
    findings = learner.findings()
    if findings:
        first = min(findings, key=lambda found: found.p_value)
        if first.message not in lines:
            lines.append(first.message)
        lines.append(f"what to do: {ADVICE[first.kind]}")
    return "\n".join(shown(line) for line in lines)
