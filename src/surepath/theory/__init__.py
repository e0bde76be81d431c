"""Numbers of a known instance: gaps, minimum flows, and every bound of the paper as a number.

This part needs the true means; no learner imports it.
"""

from __future__ import annotations

from surepath.theory.bounds import LowerBound as LowerBound
from surepath.theory.bounds import UpperBound as UpperBound
from surepath.theory.bounds import design_episodes as design_episodes
from surepath.theory.bounds import lower_bound as lower_bound
from surepath.theory.bounds import most_trials as most_trials
from surepath.theory.bounds import tree_lower_bound as tree_lower_bound
from surepath.theory.bounds import tree_upper_bound as tree_upper_bound
from surepath.theory.bounds import upper_bound as upper_bound
from surepath.theory.bounds import worst_case_lower_bound as worst_case_lower_bound
from surepath.theory.bounds import worst_case_upper_bound as worst_case_upper_bound
from surepath.theory.characteristic_time import CharacteristicTime as CharacteristicTime
from surepath.theory.characteristic_time import characteristic_time as characteristic_time
from surepath.theory.flows import EndDesign as EndDesign
from surepath.theory.flows import Flow as Flow
from surepath.theory.flows import design as design
from surepath.theory.flows import minimum_flow as minimum_flow
from surepath.theory.flows import policy_cover as policy_cover
from surepath.theory.gaps import Gaps as Gaps
from surepath.theory.gaps import gaps as gaps
from surepath.theory.gaps import is_tree as is_tree
