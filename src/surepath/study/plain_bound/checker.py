"""Which plain implementation checks a study, and what it cannot check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from surepath._types import BoolArray, IntArray
from surepath.model.mdp import MDP
from surepath.study.plain_bound.bound import PlainBound
from surepath.study.plain_bound.entries import invalid_numbers, unknown_kinds
from surepath.study.plain_bound.evidence import Sums
from surepath.study.plain_bound.intervals import WIDTHS, LearnedIntervals, PlainIntervals
from surepath.study.plain_bound.learned import LEARNED_KINDS
from surepath.study.plain_bound.sigma import UnknownSigma, differing_sigmas

UNCHECKED = "no proof"  # begins the reason why something is never taken as proven
NO_GUARANTEE = "carries no guarantee at all"
ONLY_REPLAY = "only a replay of the log can check it"
BY_REPLAY = ("WholePlan", "Design")  # their evidence is about whole plans, or about a list fixed in advance


class Checker(Protocol):
    """A plain implementation of one learner's bound.

    Attributes:
        needs_scores: Whether sums are not enough, so that `Sums` must come with the scores themselves.
    """

    needs_scores: bool

    def proves(self, seen: Sums, path: IntArray, alive: BoolArray, gap: float) -> bool:
        """Return whether every path over `alive` is proven to be at most `gap` better than `path`."""

    def gap(self, seen: Sums, path: IntArray, alive: BoolArray, precision: float = 1e-3) -> float:
        """Find the least gap that is proven, or infinity."""

    def ruled_out(self, seen: Sums, path: IntArray, alive: BoolArray) -> BoolArray:
        """Find the arcs that are proven not to be on the best path, given that it lies within `alive`."""


def checker_of(mdp: MDP, settings: Mapping[str, Any], feasible: BoolArray) -> tuple[Checker | None, str]:
    """Return the plain implementation for these settings, and why it cannot check all of the bound, or none of it."""
    name, sigma = settings.get("name"), settings.get("sigma")
    if sigma != "unknown" and not (np.isfinite(sizes := np.asarray(sigma, dtype=np.float64)) & (sizes >= 0)).all():
        return None, f"{UNCHECKED}: every sigma must be a number of at least 0"
    if name == "Challenger":
        return _challenger(mdp, settings)
    if name in ("EPRL", "BPIUCRL", "Uniform"):
        if not 0 < float(settings["prior"]) < np.inf:
            return None, f"{UNCHECKED}: the prior of the widths must be above 0"
        if settings.get("widths") == "bernstein" and settings.get("preset", "theory") == "theory":
            return LearnedIntervals(mdp, settings, feasible), ""
        if settings.get("widths") not in WIDTHS or settings.get("preset", "theory") != "theory":
            return None, _no_guarantee(name)
        return PlainIntervals(mdp, settings, feasible), ""
    if name in BY_REPLAY:
        if settings.get("widths", "paper") not in (*WIDTHS, "bernstein"):  # a design has none
            return None, _no_guarantee(name)
        return None, f"what {name} proves does not follow from sums per option; {ONLY_REPLAY}"
    return None, f"{UNCHECKED}: this version knows no learner {name!r}"


def _no_guarantee(name: Any) -> str:
    return f"{UNCHECKED}: {name} with these settings (the authors' widths or rules) {NO_GUARANTEE}"


def _challenger(mdp: MDP, settings: Mapping[str, Any]) -> tuple[Checker | None, str]:
    bound, unknown_sigma = settings["bound"], settings["sigma"] == "unknown"
    invalid = invalid_numbers(bound)
    if invalid:
        return None, f"{UNCHECKED}: {'; '.join(invalid)}"
    unknown = unknown_kinds(bound)
    if unknown:
        return None, f"{UNCHECKED}: this version cannot check entries of kind {', '.join(unknown)}"
    if not unknown_sigma:
        return PlainBound(mdp, settings), ""
    sizes = differing_sigmas(mdp)
    if sizes:
        return None, f"{UNCHECKED}: one unknown sigma for all options, but noise from {sizes[0]:g} to {sizes[-1]:g}"
    if any(entry["kind"] in (*LEARNED_KINDS, "shifted") for entry in bound["entries"]):
        return None, f"the tilts of these entries count in units of a sigma that is unknown; {ONLY_REPLAY}"
    return UnknownSigma(mdp, settings), ""
