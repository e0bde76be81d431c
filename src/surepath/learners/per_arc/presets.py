"""Presets of EPRL and BPI-UCRL: the three things that the paper and its code call by one name.

theory      Algorithm 1 of the paper with the widths of its theorems. The only one with a guarantee.
text        The paper's experiment section and its appendix as written: sigma 1, beta = 2 sigma^2 log((n + 1) / delta)
            without a cap, max-coverage on odd episodes and max-diameter on even ones, value eliminations besides line
            7, on the appendix' schedule; all else as in Algorithm 1.
experiment  What the authors' published code did.

docs/learners.md has the table of how they differ.
"""

from __future__ import annotations

from typing import NamedTuple

from surepath._checks import one_of


class Preset(NamedTuple):
    """What a preset fixes, and its defaults where the user says nothing.

    Attributes:
        elimination, bpi_elimination: Rules of EPRL and of BPI-UCRL.
        schedule: When EPRL eliminates.
        widths, recommendation: As in `EPRL`.
        sigma: Where neither the learner nor the MDP says it; None: it must be said.
        authors: Whether the habits of the authors' code are on: coverage on every episode, nothing eliminated before
            every active arc has a visit, the last action of a state kept, the value rule before the return rule,
            stops tested at eliminations and strictly, ties to the least played action.
    """

    elimination: str
    bpi_elimination: str
    schedule: str
    widths: str
    recommendation: str
    sigma: float | None
    authors: bool


_PRESETS = {
    "theory": Preset("return", "none", "every-episode", "paper", "optimistic", None, authors=False),
    "text": Preset("both", "value", "paper", "uncapped", "optimistic", 1.0, authors=False),
    "experiment": Preset("both", "value", "paper", "empirical", "cautious", 0.5, authors=True),
}
PRESETS = tuple(_PRESETS)


def preset_of(name: str) -> Preset:
    """Find a preset by its name."""
    return _PRESETS[one_of("preset", name, PRESETS)]
