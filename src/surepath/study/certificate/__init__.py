"""Certificates: what a study has proven, written so that whoever does not trust it can compute it again.

Read `file.py` (what a certificate holds), `write.py` (writing one), `claim.py` (which gap it states, and what proves
it) over `replay.py` (the log again, trial by trial), then `words.py` (its sentences). `study/verify/` checks them.
"""

from surepath.study.certificate.file import Certificate as Certificate
