"""Writes the files of a release that later versions must still open: `python -m tests.study.make_kept_files`.

Run once for each release; the files of earlier releases stay as they are.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np

from surepath import Study
from surepath._version import __version__
from tests.study.pipelines import SIGMA, means_of, pipeline, play

FOLDER = Path(__file__).resolve().parent.parent / "data"


def names(version: str) -> tuple[Path, Path]:
    """Return the study file and the certificate of a release."""
    return FOLDER / f"study-{version}.db", FOLDER / f"certificate-{version}.json"


def main() -> None:
    """Write a study under way, a finished one, and the certificate of the latter."""
    database, certificate = names(__version__)
    database.unlink(missing_ok=True)
    url = f"sqlite:///{database}"
    with Study.create(pipeline(), storage=url, name="under way", epsilon=0.05, delta=0.1, lease="3d") as study:
        play(study, trials=12, mishaps=True)
        study.exclude({"parse": "z"})
        study.enqueue({"fetch": "b", "parse": "y", "rank": "low"})
        first, second = study.ask(2)  # one is told out of turn, the other is still running
        study.tell(second, means_of(study.mdp)[second.path] + SIGMA * np.array([0.5, -0.5, 1.0]))
        assert first.number < second.number
    with Study.create(pipeline(), storage=url, name="finished", epsilon=0.3, delta=0.1) as study:
        play(study, mishaps=True)
        study.certificate().save(certificate)
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("UPDATE surepath_trials SET worker = 'worker'")
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA page_size = 1024")
        connection.execute("VACUUM")


if __name__ == "__main__":
    main()
