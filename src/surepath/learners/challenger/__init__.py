"""Challenger: paths against paths.

Read `check.py` (the inequality and the stop), `stages.py` (steps that depend on each other), `run.py` (what to play,
and the loop), then `learner.py`; `state.py` has the arrays and every number, `noise.py` the noise that is learned.
"""
