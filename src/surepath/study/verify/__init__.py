"""Checking a certificate without trusting it: from the file alone, and against the log.

Read `verdict.py` (the order of the checks), `facts.py` (the file as arrays), `consistency.py` (what its parts say of
each other) and `proof.py` (the bound computed again); with a log, `log.py`, `sums.py` and `warnings.py`.
"""

from surepath.study.verify.verdict import Verdict as Verdict
from surepath.study.verify.verdict import verify as verify
