"""EPRL: elimination-based PAC reinforcement learning for deterministic MDPs, Algorithm 1 of the paper."""

from __future__ import annotations

from copy import deepcopy
from typing import ClassVar

from numpy.typing import ArrayLike

from surepath._checks import one_of, positive, real, whole
from surepath.errors import SettingError
from surepath.kernels.widths import ARC_WIDTHS
from surepath.learners.own_rules import EliminationRule, SamplingRule, StoppingRule
from surepath.learners.per_arc.elimination import ELIMINATION, SCHEDULES
from surepath.learners.per_arc.learner import RuleLearner, states_times_actions
from surepath.learners.per_arc.presets import PRESETS, preset_of
from surepath.learners.per_arc.sampling import SAMPLING_RULES
from surepath.learners.per_arc.state import NO_PERIODS, PERIODS, PERIODS_AFTER_DROP, Rules
from surepath.learners.per_arc.stopping import DIAMETER, RECOMMENDATION
from surepath.model.mdp import MDP


class EPRL(RuleLearner):
    """Play, rule out arcs that no best path can use, stop when what is left is close enough or single.

    With the `theory` preset and `paper` or `mixture` widths the answer is within epsilon of the best with
    probability at least 1 - delta, whatever the sampling rule.

    Args:
        mdp: The layered graph to search.
        epsilon: How far from the best the answer may be; 0 stops by elimination only.
        delta: Allowed probability of a wrong answer.
        sigma: Sub-Gaussian factor, one number or one per arc.
        sampling: "max-coverage" (the paper's), "static-max-coverage", "max-diameter" or "coverage"; or
            a `SamplingRule` of your own.
        elimination: "return" (line 7), "value", "both" or "none"; or an `EliminationRule` of your own.
        schedule: When to eliminate: "every-episode", "every-sa" (every S * A episodes), "end-of-period", "geometric",
            or "paper" (the appendix: end of period for the coverage rules, every S * A episodes for max-diameter).
        widths: "paper", "mixture" (same guarantee, tighter from 15 to 60 visits of an arc on), "empirical" (the
            authors' code) or "uncapped" (the paper's appendix); the last two have no guarantee.
        recommendation: "optimistic" (line 10) or "cautious" (greedy on lower values).
        stopping: A `StoppingRule` of your own in place of line 9.
        preset: "theory" (Algorithm 1), "text" (the paper's experiments as written; no guarantee) or "experiment"
            (everything as the authors' code had it; no guarantee).
        prior: The constant c of the mixture width.
        growth: Ratio of the geometric schedule.
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
        sampling: str | SamplingRule = "max-coverage",
        elimination: str | EliminationRule | None = None,
        schedule: str | None = None,
        widths: str | None = None,
        recommendation: str | None = None,
        stopping: StoppingRule | None = None,
        preset: str = "theory",
        prior: float = 20.0,
        growth: float = 1.1,
        seed: int | None = None,
    ) -> None:
        for what, rule in (("sampling", sampling), ("elimination", elimination), ("stopping", stopping)):
            if isinstance(rule, type):
                raise SettingError(f"{what} must be an object of your rule, {rule.__name__}(), not the class itself")
        self.preset = one_of("preset", preset, PRESETS)
        usual = preset_of(self.preset)
        valid = ("max-coverage", "static-max-coverage", "max-diameter", "coverage")
        # A rule of the user's own is copied twice: one copy plays, the other stays as it came for learners like this.
        self.sampling: str | SamplingRule
        if isinstance(sampling, SamplingRule):
            self.sampling, self.sampling_rule = deepcopy(sampling), deepcopy(sampling)
        else:
            self.sampling = one_of("sampling", sampling, valid)
        self.elimination: str | EliminationRule
        if isinstance(elimination, EliminationRule):
            self.elimination, self.elimination_rule = deepcopy(elimination), deepcopy(elimination)
        else:
            self.elimination = one_of("elimination", elimination or usual.elimination, ELIMINATION)
        if stopping is not None and not isinstance(stopping, StoppingRule):
            raise SettingError(f"stopping must be a StoppingRule of your own, or None, not {stopping!r}")
        self.stopping, self.stopping_rule = deepcopy(stopping), deepcopy(stopping)
        self.schedule = one_of("schedule", schedule or usual.schedule, (*SCHEDULES, "paper"))
        self.widths = one_of("widths", widths or usual.widths, ARC_WIDTHS)
        self.recommendation = one_of("recommendation", recommendation or usual.recommendation, RECOMMENDATION)
        self.prior = positive("prior", prior)
        self.growth = real("growth", growth)
        if self.growth <= 1:
            raise SettingError(f"growth must be above 1, not {self.growth:g}")
        if sigma is None and isinstance(mdp, MDP) and mdp.noise_missing("") is not None:
            sigma = usual.sigma
        self.seed = None if seed is None else whole("seed", seed, low=0)
        self.rule_seed = self.seed or 0
        super().__init__(mdp, epsilon, delta, sigma)

    def _rules(self) -> Rules:
        authors = preset_of(self.preset).authors
        sampling = self.sampling if isinstance(self.sampling, str) else "max-diameter"
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
            growth=self.growth,
            sequential=int(authors),
            keep_last=int(authors),
            wait=int(authors),
            stopping=DIAMETER,
            strict=int(authors),
            at_eliminations=int(authors),
            single=1,
            recommendation=RECOMMENDATION.index(self.recommendation),
            least_played=int(authors and sampling == "max-diameter"),
            periods=self._periods(sampling != "max-diameter" or schedule == "end-of-period"),
            **self._width_settings(self.widths, self.prior),
        )

    def _periods(self, needed: bool) -> int:
        if not needed:
            return NO_PERIODS
        return PERIODS if self.elimination_rule is None else PERIODS_AFTER_DROP
