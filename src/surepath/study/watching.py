"""`study.watch`: how a study stands, renewed in place: in a notebook as a drawing, elsewhere as lines."""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, Any

from surepath._checks import real
from surepath.errors import SettingError

if TYPE_CHECKING:
    from surepath.study.study import Study


def watch(study: Study, every: float = 1.0) -> None:
    """Show the study until it is done; an interrupt ends the watch and nothing else."""
    pause = real("every", every)
    if pause <= 0:
        raise SettingError(f"every must be more than 0 seconds, not {every!r}")
    show = _shower(study)
    try:
        while not study.done:
            show()
            time.sleep(pause)
    except KeyboardInterrupt:
        pass
    show()


def _shower(study: Study) -> Any:
    """Return what shows the study: a drawing that is replaced, or a line where something has changed."""
    try:
        shell = importlib.import_module("IPython")
        notebook = shell.get_ipython() is not None
    except ImportError:
        notebook = False
    if notebook:
        handle = importlib.import_module("IPython.display").display(study, display_id=True)
        return lambda: handle.update(study)
    from surepath.study.progress import Progress

    progress, last = Progress(study, show=False), [""]

    def line() -> None:
        text = progress.text(len(study.status().running))
        if text != last[0]:
            print(text, flush=True)
            last[0] = text

    return line
