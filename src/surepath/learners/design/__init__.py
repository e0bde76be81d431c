"""Design: decide before the first episode how often to play what, and analyse the data once, at the end.

How often to play what, and why that is enough, is in `kernels/flow/schedule.py`; the learner in `learner.py`.
"""
