"""BPI-UCRL for deterministic MDPs: optimism, and a stop when the optimal value is known to within epsilon."""

from __future__ import annotations

from typing import ClassVar

from numpy.typing import ArrayLike

from surepath._checks import one_of, positive
from surepath.kernels.widths import ARC_WIDTHS
from surepath.learners.per_arc.elimination import EVERY_EPISODE, EVERY_SA
from surepath.learners.per_arc.learner import RuleLearner, states_times_actions
from surepath.learners.per_arc.presets import PRESETS, preset_of
from surepath.learners.per_arc.sampling import OPTIMISTIC
from surepath.learners.per_arc.state import Rules
from surepath.learners.per_arc.stopping import OPTIMAL_GAP, RECOMMEND_CAUTIOUS
from surepath.model.mdp import MDP


class BPIUCRL(RuleLearner):
    """Play the most optimistic path; stop when the upper and lower optimal values are within epsilon.

    BPI-UCRL and BPI-UCBVI differ only in how they bound unknown transition probabilities, so in deterministic MDPs
    they are the same algorithm: this one. With epsilon = 0 it never stops.

    Args:
        mdp: The layered graph to search.
        epsilon: How far from the best the answer may be.
        delta: Allowed probability of a wrong answer.
        sigma: Sub-Gaussian factor, one number or one per arc.
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
            sequential=int(authors),
            keep_last=int(authors),
            wait=int(authors),
            stopping=OPTIMAL_GAP,
            at_eliminations=int(authors),
            recommendation=RECOMMEND_CAUTIOUS,
            widths_first=int(authors),
            least_played=int(authors),
            **self._width_settings(self.widths, self.prior),
        )
