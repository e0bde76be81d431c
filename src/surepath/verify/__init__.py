"""A second opinion: whether a certificate holds, by an implementation of its own that trusts nothing in it.

Read `verify.py` (the order of the checks), `file.py` (what a certificate holds and says), `bound.py` (Challenger's
theorem in plain NumPy) and `noise.py` (learned noise), then `log.py` (the trials added up again). Nothing here imports
a learner, a kernel or a study: whoever has a study passes its log in as plain rows.
"""
