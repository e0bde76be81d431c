"""What further trials would bring: a guess by simulation from what is known, never a promise.

Read `futures.py`: worlds are drawn from the evidence (`worlds.py`), by the log's hash, and in every one a copy of
the learner goes on with simulated scores (`run.py`). `result.py` holds what came of it. Nothing
of it touches the proof.
"""

from surepath.study.forecast.futures import forecast as forecast
from surepath.study.forecast.result import Forecast as Forecast
