"""The status of a study: one small value, and how to display it.

Read `status.py` (the value), `progress.py` (one line of it), `display.py` (notebooks and `watch`), `explain.py` (what
is known, in words), then `gap_history.py` (the proven gap over the trials).
"""

from surepath.study.status.status import Status as Status
