"""The second implementation of the bounds, in plain NumPy: an independent reading for those who check a proof.

Read `checker.py` (which learner's bound is checked by what), `bound.py` (Challenger's theorem) over `entries.py` and
`passes.py`, then `intervals.py` (EPRL, BPI-UCRL, Uniform). Where noise is learned: `learned.py` over `bernstein.py` and
`betting.py`; `sigma.py` for one unknown sigma. Nothing is shared with the learners but the problem and the visits that
a shifted entry plans in advance.
"""
