"""Design: decide before the first trial how often to play what, and look once, at the end.

Read `schedule.py` (how often, and why that is enough), then `learner.py`.
"""
