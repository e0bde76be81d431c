"""EPRL with its presets, BPI-UCRL and Uniform: the paper's learners as classes.

A preset fixes what the paper and its code call by one name; docs/learners.md has the table of how the two differ.

theory      Algorithm 1 of the paper with the widths of its theorems. The only one with a guarantee.
experiment  What the authors' published code did: smaller widths, coverage in every episode, nothing eliminated before
            every active arc has a visit, the last action of a state kept, the value rule before the return rule, stops
            tested at eliminations and strictly, ties to the least played action, greedy answers on lower values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import IntArray, one_of, whole
from surepath.errors import SettingError
from surepath.learners.own_rules import RuleView, chance, own_rule
from surepath.learners.per_arc.elimination import ELIMINATION, EVERY_EPISODE, EVERY_SA, SCHEDULES
from surepath.learners.per_arc.learner import RuleLearner, states_times_actions
from surepath.learners.per_arc.rules import DIAMETER, OPTIMAL_GAP, OPTIMISTIC, SAMPLING_RULES
from surepath.learners.per_arc.state import NO_PERIODS, PERIODS, PERIODS_AFTER_DROP, Rules
from surepath.model.mdp import MDP

PRESETS = ("theory", "experiment")


class EPRL(RuleLearner):
    """Play, rule out arcs that no best path can use, stop when what is left is close enough or single: Algorithm 1.

    With the `theory` preset the answer is within epsilon of the best with probability at least 1 - delta, whatever the
    sampling rule.

    Args:
        mdp, epsilon, delta, sigma: As in `Learner`: epsilon 0 stops by elimination only.
        sampling: "max-coverage" (the paper's), "static-max-coverage", "max-diameter" or "coverage"; or a rule of your
            own, a function (see `surepath.learners.own_rules`).
        elimination: "return" (line 7), "value", "both" or "none"; or a rule of your own.
        schedule: When to eliminate: "every-episode", "every-sa" (every S * A episodes), "end-of-period", or
            "paper" (the appendix: end of period for the coverage rules, every S * A episodes for max-diameter).
        stopping: A rule of your own in place of line 9.
        preset: "theory" (Algorithm 1) or "experiment" (everything as the authors' code had it; no guarantee, and
            sigma 0.5 where nobody says one).
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
        stopping: Callable[..., Any] | None = None,
        preset: str = "theory",
        seed: int | None = None,
    ) -> None:
        self.preset = one_of("preset", preset, PRESETS)
        self.sampling_rule, self.elimination_rule, self.stopping_rule = (
            own_rule(what, rule)
            for what, rule in (("sampling", sampling), ("elimination", elimination), ("stopping", stopping))
        )
        valid = ("max-coverage", "static-max-coverage", "max-diameter", "coverage")
        self.sampling: Any = self.sampling_rule or one_of("sampling", sampling, valid)
        known = elimination or ("both" if self.authors else "return")
        self.elimination: Any = self.elimination_rule or one_of("elimination", known, ELIMINATION)
        if stopping is not None and self.stopping_rule is None:
            raise SettingError(f"stopping must be a rule of your own, or None, not {stopping!r}")
        self.stopping = self.stopping_rule
        usual = "paper" if self.authors else "every-episode"
        self.schedule = one_of("schedule", schedule or usual, (*SCHEDULES, "paper"))
        self.seed = None if seed is None else whole("seed", seed, low=0)
        self.rule_seed = self.seed or 0
        super().__init__(mdp, epsilon, delta, sigma)

    def _rules(self) -> Rules:
        sampling = self.sampling if self.sampling_rule is None else "max-diameter"
        schedule = self.schedule
        if self.authors and sampling == "max-coverage":
            sampling = "coverage"  # the authors' code covers in every episode
        if schedule == "paper":
            schedule = "every-sa" if sampling == "max-diameter" else "end-of-period"
        periods = NO_PERIODS
        if sampling != "max-diameter" or schedule == "end-of-period":
            periods = PERIODS if self.elimination_rule is None else PERIODS_AFTER_DROP
        return Rules(
            sampling=SAMPLING_RULES.index(sampling),
            schedule=SCHEDULES.index(schedule),
            every=states_times_actions(self.mdp),
            stopping=DIAMETER,
            by_return=int(self.elimination in ("return", "both")),
            by_value=int(self.elimination in ("value", "both")),
            least_played=int(self.authors and sampling == "max-diameter"),
            periods=periods,
            **self._widths(),
        )


class BPIUCRL(RuleLearner):
    """Play the most optimistic path; stop when the upper and lower optimal values are within epsilon.

    BPI-UCRL and BPI-UCBVI differ only in how they bound unknown transition probabilities, so in deterministic MDPs
    they are the same algorithm: this one. With epsilon = 0 it never stops.

    Args:
        mdp, epsilon, delta, sigma: As in `Learner`.
        elimination: "none" or "value" (value-based eliminations; upper values are then over active policies).
        preset: As in `EPRL`: "theory" (the appendix with proven widths) or "experiment".

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
        preset: str = "theory",
    ) -> None:
        self.preset = one_of("preset", preset, PRESETS)
        usual = "value" if self.authors else "none"
        self.elimination = one_of("elimination", elimination or usual, ("none", "value"))
        super().__init__(mdp, epsilon, delta, sigma)

    def _rules(self) -> Rules:
        return Rules(
            sampling=OPTIMISTIC,
            schedule=EVERY_SA if self.authors else EVERY_EPISODE,
            every=states_times_actions(self.mdp),
            stopping=OPTIMAL_GAP,
            by_value=int(self.elimination == "value"),
            least_played=int(self.authors),
            **self._widths(),
        )


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
        self, mdp: MDP, epsilon: float, delta: float, sigma: ArrayLike | None = None, *, seed: int = 0
    ) -> None:
        self.seed = self.rule_seed = whole("seed", seed, low=0)
        self.sampling_rule = own_rule("sampling", random_walk)
        super().__init__(mdp, epsilon, delta, sigma)
