"""Which plain implementation checks a study, and what it cannot check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from surepath._types import BoolArray, IntArray
from surepath.model.mdp import MDP
from surepath.study.plain_bound import PlainBound
from surepath.study.plain_bound_arcs import WIDTHS, PlainIntervals
from surepath.study.plain_bound_entries import KINDS, Sums, invalid_numbers, unknown_kinds

UNCHECKED = "no proof"  # begins the reason why something is never taken as proven
NO_GUARANTEE = "carries no guarantee at all"
ONLY_REPLAY = "only a replay of the log can check it"
BY_REPLAY = ("WholePlan", "Design")  # their evidence is about whole plans, or about a list fixed in advance


class Checker(Protocol):
    """A plain implementation of one learner's bound."""

    def proves(self, seen: Sums, path: IntArray, alive: BoolArray, gap: float) -> bool:
        """Tell whether every path over `alive` is proven to be at most `gap` better than `path`."""

    def gap(self, seen: Sums, path: IntArray, alive: BoolArray, precision: float = 1e-3) -> float:
        """Find the least gap that is proven, or infinity."""

    def ruled_out(self, seen: Sums, path: IntArray, alive: BoolArray) -> BoolArray:
        """Find the arcs that are proven not to be on the best path, given that it lies within `alive`."""


def checker_of(mdp: MDP, settings: Mapping[str, Any], feasible: BoolArray) -> tuple[Checker | None, str]:
    """Return the plain implementation for these settings, and why it cannot check all of the bound, or none of it."""
    name = settings.get("name")
    if name == "Challenger" and (settings.get("noise", "sigma") != "sigma" or settings.get("sigma") == "unknown"):
        return None, "learned noise does not follow from sums per option; only a replay of the log can check it"
    if name == "Challenger":
        return _challenger(mdp, settings)
    if name in ("EPRL", "BPIUCRL", "Uniform"):
        if settings.get("widths") == "bernstein" and settings.get("preset", "theory") == "theory":
            return None, f"learned noise does not follow from sums per option; {ONLY_REPLAY}"
        if settings.get("widths") not in WIDTHS or settings.get("preset", "theory") != "theory":
            return (
                None,
                f"{UNCHECKED}: {name} with these settings (the authors' widths or rules) {NO_GUARANTEE}",
            )
        return PlainIntervals(mdp, settings, feasible), ""
    if name in BY_REPLAY:
        return None, f"what {name} proves does not follow from sums per option; {ONLY_REPLAY}"
    return None, f"{UNCHECKED}: this version knows no learner {name!r}"


def _challenger(mdp: MDP, settings: Mapping[str, Any]) -> tuple[Checker | None, str]:
    """Check what can be checked: the entries of a bound hold together, and so does any part of them."""
    from surepath.learners.challenger.recipe import KINDS as BUILT

    bound = settings["bound"]
    invalid = invalid_numbers(bound)
    if invalid:
        return None, f"{UNCHECKED}: {'; '.join(invalid)}"
    unknown = unknown_kinds(bound)
    if any(kind not in BUILT for kind in unknown):
        return None, f"{UNCHECKED}: this version cannot check entries of kind {', '.join(unknown)}"
    if settings["sigma"] == "unknown":
        return None, "a bound with an unknown sigma does not follow from sums per option; " + ONLY_REPLAY
    if not unknown:
        return PlainBound(mdp, settings), ""
    known = [entry for entry in bound["entries"] if entry["kind"] in KINDS]
    why = f"entries of kind {', '.join(unknown)} do not follow from sums per option; {ONLY_REPLAY}"
    return (PlainBound(mdp, {**settings, "bound": {**bound, "entries": known}}) if known else None), why
