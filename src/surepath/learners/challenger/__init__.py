"""Challenger, the learner to use: everything it is made of, from its settings to its compiled runs.

Read `bound.py` (the inequality), `check.py` (the stop), `sampling.py` (what to play), `run.py` (the loop), then
`learner.py`.
"""
