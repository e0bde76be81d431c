"""EPRL with its presets, BPI-UCRL and Uniform: the paper's learners as classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import IntArray, one_of, positive, whole
from surepath.errors import SettingError
from surepath.learners.own_rules import RuleView, chance, own_rule
from surepath.learners.per_arc.elimination import ELIMINATION, EVERY_EPISODE, EVERY_SA, SCHEDULES
from surepath.learners.per_arc.learner import RuleLearner, states_times_actions
from surepath.learners.per_arc.rules import (
    DIAMETER,
    OPTIMAL_GAP,
    OPTIMISTIC,
    RECOMMEND_CAUTIOUS,
    RECOMMENDATION,
    SAMPLING_RULES,
)
from surepath.learners.per_arc.state import NO_PERIODS, PERIODS, PERIODS_AFTER_DROP, Rules
from surepath.learners.widths import ARC_WIDTHS
from surepath.model.mdp import MDP

# Presets --------------------------------------------------------------------------------------------------------------
# Presets of EPRL and BPI-UCRL: the three things that the paper and its code call by one name.
#
# theory      Algorithm 1 of the paper with the widths of its theorems. The only one with a guarantee.
# text        The paper's experiment section and its appendix as written: sigma 1, beta = 2 sigma^2 log((n + 1) / delta)
#             without a cap, max-coverage on odd episodes and max-diameter on even ones, value eliminations besides line
#             7, on the appendix' schedule; all else as in Algorithm 1.
# experiment  What the authors' published code did.
#
# docs/learners.md has the table of how they differ.


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


# Eprl -----------------------------------------------------------------------------------------------------------------
# EPRL: elimination-based PAC reinforcement learning for deterministic MDPs, Algorithm 1 of the paper.


class EPRL(RuleLearner):
    """Play, rule out arcs that no best path can use, stop when what is left is close enough or single.

    With the `theory` preset and `paper` or `mixture` widths the answer is within epsilon of the best with
    probability at least 1 - delta, whatever the sampling rule.

    Args:
        mdp, epsilon, delta, sigma: As in `Learner`: epsilon 0 stops by elimination only.
        sampling: "max-coverage" (the paper's), "static-max-coverage", "max-diameter" or "coverage"; or a rule of your
            own, a function (see `surepath.learners.own_rules`).
        elimination: "return" (line 7), "value", "both" or "none"; or a rule of your own.
        schedule: When to eliminate: "every-episode", "every-sa" (every S * A episodes), "end-of-period", or
            "paper" (the appendix: end of period for the coverage rules, every S * A episodes for max-diameter).
        widths: "paper", "mixture" (same guarantee, tighter from 15 to 60 visits of an arc on), "empirical" (the
            authors' code) or "uncapped" (the paper's appendix); the last two have no guarantee.
        recommendation: "optimistic" (line 10) or "cautious" (greedy on lower values).
        stopping: A rule of your own in place of line 9.
        preset: "theory" (Algorithm 1), "text" (the paper's experiments as written; no guarantee) or "experiment"
            (everything as the authors' code had it; no guarantee).
        prior: The constant c of the mixture width.
        seed: Of the stream that a sampling rule of your own draws from; a simulated run has its own.

    Example:
        >>> from surepath import MDP
        >>> learner = EPRL(MDP.from_arrays([[[0, 0]]]), epsilon=0.5, delta=0.1, sigma=0.1, sampling="max-diameter")
        >>> while not learner.stopped:
        ...     path = learner.ask()
        ...     learner.tell(path, [float(path[0])])
        >>> learner.recommend().tolist()
        [1]
    """

    name: ClassVar[str] = "EPRL"

    def __init__(
        self,
        mdp: MDP,
        epsilon: float,
        delta: float,
        sigma: ArrayLike | None = None,
        *,
        sampling: str | Callable[..., Any] = "max-coverage",
        elimination: str | Callable[..., Any] | None = None,
        schedule: str | None = None,
        widths: str | None = None,
        recommendation: str | None = None,
        stopping: Callable[..., Any] | None = None,
        preset: str = "theory",
        prior: float = 20.0,
        seed: int | None = None,
    ) -> None:
        self.preset = one_of("preset", preset, PRESETS)
        usual = preset_of(self.preset)
        valid = ("max-coverage", "static-max-coverage", "max-diameter", "coverage")
        self.sampling_rule, self.elimination_rule, self.stopping_rule = (
            own_rule(what, rule)
            for what, rule in (("sampling", sampling), ("elimination", elimination), ("stopping", stopping))
        )
        self.sampling: Any = self.sampling_rule or one_of("sampling", sampling, valid)
        known = elimination or usual.elimination
        self.elimination: Any = self.elimination_rule or one_of("elimination", known, ELIMINATION)
        if stopping is not None and self.stopping_rule is None:
            raise SettingError(f"stopping must be a rule of your own, or None, not {stopping!r}")
        self.stopping = self.stopping_rule
        self.schedule = one_of("schedule", schedule or usual.schedule, (*SCHEDULES, "paper"))
        self.widths = one_of("widths", widths or usual.widths, ARC_WIDTHS)
        self.recommendation = one_of("recommendation", recommendation or usual.recommendation, RECOMMENDATION)
        self.prior = positive("prior", prior)
        if sigma is None and isinstance(mdp, MDP) and mdp.noise_missing("") is not None:
            sigma = usual.sigma
        self.seed = None if seed is None else whole("seed", seed, low=0)
        self.rule_seed = self.seed or 0
        super().__init__(mdp, epsilon, delta, sigma)

    def _rules(self) -> Rules:
        authors = preset_of(self.preset).authors
        sampling = self.sampling if self.sampling_rule is None else "max-diameter"
        schedule = self.schedule
        if authors and sampling == "max-coverage":
            sampling = "coverage"  # the authors' code covers in every episode
        if schedule == "paper":
            schedule = "every-sa" if sampling == "max-diameter" else "end-of-period"
        return Rules(
            sampling=SAMPLING_RULES.index(sampling),
            by_return=int(self.elimination in ("return", "both")),
            by_value=int(self.elimination in ("value", "both")),
            schedule=SCHEDULES.index(schedule),
            every=states_times_actions(self.mdp),
            stopping=DIAMETER,
            recommendation=RECOMMENDATION.index(self.recommendation),
            authors=int(authors),
            least_played=int(authors and sampling == "max-diameter"),
            periods=self._periods(sampling != "max-diameter" or schedule == "end-of-period"),
            **self._width_settings(self.widths, self.prior),
        )

    def _periods(self, needed: bool) -> int:
        if not needed:
            return NO_PERIODS
        return PERIODS if self.elimination_rule is None else PERIODS_AFTER_DROP


# Bpi ucrl -------------------------------------------------------------------------------------------------------------
# BPI-UCRL for deterministic MDPs: optimism, and a stop when the optimal value is known to within epsilon.


class BPIUCRL(RuleLearner):
    """Play the most optimistic path; stop when the upper and lower optimal values are within epsilon.

    BPI-UCRL and BPI-UCBVI differ only in how they bound unknown transition probabilities, so in deterministic MDPs
    they are the same algorithm: this one. With epsilon = 0 it never stops.

    Args:
        mdp, epsilon, delta, sigma: As in `Learner`.
        elimination: "none" or "value" (value-based eliminations; upper values are then over active policies).
        widths: "paper" or "mixture", or without a guarantee "empirical" or "uncapped".
        preset: "theory" (the appendix with proven widths), "text" (the paper's experiments as written; no guarantee)
            or "experiment" (everything as the authors' code had it; no guarantee).
        prior: The constant c of the mixture width.

    Example:
        >>> from surepath import MDP
        >>> learner = BPIUCRL(MDP.from_arrays([[[0, 0]]]), epsilon=0.5, delta=0.1, sigma=0.1)
        >>> while not learner.stopped:
        ...     path = learner.ask()
        ...     learner.tell(path, [float(path[0])])
        >>> learner.recommend().tolist()
        [1]
    """

    name: ClassVar[str] = "BPIUCRL"

    def __init__(
        self,
        mdp: MDP,
        epsilon: float,
        delta: float,
        sigma: ArrayLike | None = None,
        *,
        elimination: str | None = None,
        widths: str | None = None,
        preset: str = "theory",
        prior: float = 20.0,
    ) -> None:
        self.preset = one_of("preset", preset, PRESETS)
        usual = preset_of(self.preset)
        self.elimination = one_of("elimination", elimination or usual.bpi_elimination, ("none", "value"))
        self.widths = one_of("widths", widths or usual.widths, ARC_WIDTHS)
        self.prior = positive("prior", prior)
        if sigma is None and isinstance(mdp, MDP) and mdp.noise_missing("") is not None:
            sigma = usual.sigma
        super().__init__(mdp, epsilon, delta, sigma)

    def _rules(self) -> Rules:
        authors = preset_of(self.preset).authors
        return Rules(
            sampling=OPTIMISTIC,
            by_value=int(self.elimination == "value"),
            schedule=EVERY_SA if authors else EVERY_EPISODE,
            every=states_times_actions(self.mdp),
            stopping=OPTIMAL_GAP,
            recommendation=RECOMMEND_CAUTIOUS,
            authors=int(authors),
            least_played=int(authors),
            **self._width_settings(self.widths, self.prior),
        )


# Uniform --------------------------------------------------------------------------------------------------------------
# Random paths with the stop of BPI-UCRL: what blind sampling costs.


def random_walk(view: RuleView, path: IntArray) -> None:
    """Take each action of a state with the same chance."""
    node = np.uint64(0)
    for h in range(len(path)):
        start, stop = np.uint64(view.first[node]), np.uint64(view.first[node + np.uint64(1)])
        path[h] = start + np.uint64((stop - start) * chance(view, h))
        node = np.uint64(view.target[np.uint64(path[h])])


class Uniform(BPIUCRL):
    """At every state play each action with the same chance; stop when the optimal value is known to within epsilon.

    Its stop, answer and guarantee are those of BPI-UCRL: only the choice of paths is blind.

    Args:
        mdp, epsilon, delta, sigma: As in `Learner`; with epsilon 0 it never stops.
        widths, prior: As in `BPIUCRL`.
        seed: Of the choices; a simulated run draws its own.

    Example:
        >>> from surepath import MDP
        >>> learner = Uniform(MDP.from_arrays([[[0, 0]]]), epsilon=0.5, delta=0.1, sigma=0.1)
        >>> while not learner.stopped:
        ...     path = learner.ask()
        ...     learner.tell(path, [float(path[0])])
        >>> learner.recommend().tolist()
        [1]
    """

    name: ClassVar[str] = "Uniform"

    def __init__(
        self,
        mdp: MDP,
        epsilon: float,
        delta: float,
        sigma: ArrayLike | None = None,
        *,
        widths: str | None = None,
        seed: int = 0,
        prior: float = 20.0,
    ) -> None:
        self.seed = self.rule_seed = whole("seed", seed, low=0)
        self.sampling_rule = own_rule("sampling", random_walk)
        super().__init__(mdp, epsilon, delta, sigma, widths=widths, prior=prior)
