"""The former place of `surepath.learners.own_rules`, from which these names can still be imported."""

from surepath.learners.own_rules import EliminationRule, SamplingRule, StoppingRule, View, checked_mask

__all__ = ["EliminationRule", "SamplingRule", "StoppingRule", "View", "checked_mask"]
