"""The demo as a study in a file, and played slowly on the live page."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surepath.cli._demo_view import STEPS

if TYPE_CHECKING:
    from surepath.model.instance import Instance
    from surepath.model.mdp import MDP
    from surepath.study.study import Study

DEMO_FILE = "surepath-demo.db"
NAME = "support tickets"
STUDY_PACE = 0.4  # seconds a trial: about half a minute in all
POLL = 0.2  # seconds between two checks whether somebody watches


def with_steps(mdp: MDP) -> MDP:
    """Return the same graph with the names of its steps."""
    from surepath.model.mdp import MDP

    _, (fields,) = mdp.__reduce__()
    return MDP(**{**fields, "step_labels": STEPS})


def new_study(instance: Instance, file: Path | None, epsilon: float, delta: float) -> Study:
    """Create the study in a file, under a name that is still free there; in memory where no file is wanted."""
    from surepath.study.storage import open_storage
    from surepath.study.study import Study

    place = open_storage("memory" if file is None else f"sqlite:///{file}")
    taken = place.names() if file is not None and file.exists() else []
    names = (NAME if n == 1 else f"{NAME} {n}" for n in range(1, len(taken) + 2))
    name = next(name for name in names if name not in taken)
    return Study.create(with_steps(instance.mdp), place, name, epsilon=epsilon, delta=delta)


def play(study: Study, instance: Instance, seed: int, pause: float, watched: Any) -> None:
    """Wait until somebody watches, then ask, draw scores and tell until the answer is proven."""
    import numpy as np

    rng = np.random.default_rng(seed)
    while not watched():
        time.sleep(POLL)
    while not study.done:
        trial = study.ask(worker="demo")
        time.sleep(pause)
        noise = instance.sigma[trial.path] * rng.standard_normal(len(trial.path))
        study.tell(trial, instance.means[trial.path] + noise)


def serve_demo(instance: Instance, file: Path, port: int, seed: int, pause: float, settings: Any, show: Any) -> None:
    """Serve the file's studies and play a new one on the page."""
    from surepath._optional import need

    need("fastapi", "web")
    need("uvicorn", "web")
    from surepath.web.server import serve

    study = new_study(instance, file, *settings)

    def started(address: str, access: Any, app: Any) -> None:
        show(address, access, study.name)

        def watched() -> bool:
            return bool(app.state.watchers.watched(study.name))

        worker = threading.Thread(target=play, args=(study, instance, seed, pause, watched), daemon=True)
        worker.start()

    serve(f"sqlite:///{file}", port=port, started=started)
