"""What is known of an instance: gaps, minimum flows, and every bound of the paper as a number.

This part needs the true means; no learner imports it.
"""

from __future__ import annotations

from surepath.theory.flows import Flow as Flow
from surepath.theory.flows import minimum_flow as minimum_flow
from surepath.theory.flows import policy_cover as policy_cover
from surepath.theory.gaps import Gaps as Gaps
from surepath.theory.gaps import gaps as gaps
