"""The status of a study in words."""

from __future__ import annotations

from surepath.study.status import MOST_WORKERS_LISTED
from tests.study.worlds import NEVER, new_study, scores


def test_a_status_is_printed_in_words() -> None:
    study = new_study()
    study.optimize(scores)
    lines = str(study.status()).splitlines()
    assert lines[0].startswith(f"{study.name} in ")
    assert lines[1] == f"trials: {len(study):,} complete"
    assert lines[2].startswith("best plan: model=")
    assert lines[3].endswith(", wrong with probability 0.1 at most: done")


def test_many_workers_share_lines() -> None:
    study = new_study(epsilon=NEVER)
    for worker in range(MOST_WORKERS_LISTED + 3):
        study.ask(worker=f"w{worker}")
    lines = [line for line in str(study.status()).splitlines() if line.startswith("running: ")]
    assert len(lines) == MOST_WORKERS_LISTED + 1
    assert lines[-1] == "running: 3 by 3 other workers"
