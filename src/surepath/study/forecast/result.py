"""What a forecast says: trials until done and the gap after further ones, over simulated worlds, also in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

LOW, MIDDLE, HIGH = 0.1, 0.5, 0.9  # shares of the worlds


@dataclass(frozen=True)
class Forecast:
    """What may come; `str()` gives it in words.

    Attributes:
        done: Whether the study is done already.
        trials: Trials so far, those that count.
        certified_gap: What is proven now.
        more: The further trials that `gaps` are about.
        left: In each world played to its end, trials until done; infinite where time ran out before.
        played: In each of them, how many trials were simulated.
        gaps: In each world, the certified gap after `more` trials, or at the stop if that comes first.
        cut: Whether time ran out before all worlds were done.
        wanted: How many worlds were asked for.
    """

    done: bool
    trials: int
    certified_gap: float
    more: int
    left: tuple[float, ...]
    played: tuple[int, ...]
    gaps: tuple[float, ...]
    cut: bool
    wanted: int

    def trials_left(self, share: float = MIDDLE) -> float:
        """Return the trials until done that this share of the worlds needs at most; infinite where a cut hides it."""
        found = _quantile(self.left, share)
        return found if found <= self._cut_after() else float("inf")

    def _cut_after(self) -> float:
        """Return the trials after which the first world was cut short; infinite where none was."""
        return float(min((n for n, left in zip(self.played, self.left) if np.isinf(left)), default=np.inf))

    def gap_after(self, share: float = MIDDLE) -> float:
        """Return the certified gap after `more` trials that this share of the worlds has at most."""
        return _quantile(self.gaps, share)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        shares = (("low", LOW), ("median", MIDDLE), ("high", HIGH))
        return {
            "done": self.done,
            "trials": self.trials,
            "certified_gap": self.certified_gap,
            "trials_left": {name: self.trials_left(share) for name, share in shares},
            "more": self.more,
            "gap_after_more": {name: self.gap_after(share) for name, share in shares},
            "worlds": len(self.left),
            "cut": self.cut,
        }

    def __str__(self) -> str:
        if self.done:
            return f"the study is done after {self.trials} trials: nothing more is needed"
        if not self.left:
            return "no forecast: there was no time to simulate a single world"
        words = [self._trials_in_words(), self._gap_in_words()]
        said = f"simulated from what is known now, in {len(self.gaps)} worlds"
        return "; ".join(words) + f"; {said}" + (", some cut short for time" if self.cut else "")

    def _trials_in_words(self) -> str:
        low, middle, high = (self.trials_left(share) for share in (LOW, MIDDLE, HIGH))
        if np.isinf(middle):
            return f"more than {self._cut_after():,.0f} further trials until done in most worlds"
        most = f"{high:,.0f}" if np.isfinite(high) else f"over {self._cut_after():,.0f}"
        return f"about {middle:,.0f} more trials until done (in 8 worlds of 10: {low:,.0f} to {most})"

    def _gap_in_words(self) -> str:
        low, middle, high = (self.gap_after(share) for share in (LOW, MIDDLE, HIGH))
        if np.isinf(middle):
            return f"{self.more} more trials would prove nothing yet in most worlds"
        before = f"from {self.certified_gap:.3g}" if np.isfinite(self.certified_gap) else "from nothing"
        most = f"{high:.3g}" if np.isfinite(high) else "nothing"
        spread = f"{low:.3g} to {most}"
        return f"{self.more} more trials would bring the proven gap {before} to about {middle:.3g} ({spread})"


def _quantile(values: tuple[float, ...], share: float) -> float:
    if not values:
        return float("inf")
    return float(np.sort(values)[min(len(values) - 1, int(share * len(values)))])
