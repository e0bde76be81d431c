"""Uniform: a baseline that plays uniformly at random and stops by proof all the same."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import one_of, positive, whole
from surepath.kernels.widths import ARC_WIDTHS
from surepath.learners.per_arc.elimination import EVERY_EPISODE
from surepath.learners.per_arc.learner import RuleLearner
from surepath.learners.per_arc.sampling import UNIFORM_SAMPLING
from surepath.learners.per_arc.state import Rules
from surepath.learners.per_arc.stopping import OPTIMAL_GAP, RECOMMEND_CAUTIOUS
from surepath.model.mdp import MDP


class Uniform(RuleLearner):
    """At every state each action with the same chance; stop when the optimal value is known to within epsilon.

    Its stop and its answer are those of BPI-UCRL, so the guarantee is the same: only the choice of paths is blind.

    Args:
        mdp: The layered graph to search.
        epsilon: How far from the best the answer may be; with 0 it never stops.
        delta: Allowed probability of a wrong answer.
        sigma: Sub-Gaussian factor, one number or one per arc.
        widths: "paper" or "mixture", or without a guarantee "empirical" or "uncapped".
        seed: Of the choices; a simulated run draws its own.
        prior: The constant c of the mixture width.

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
        self.widths = one_of("widths", widths or "paper", ARC_WIDTHS)
        self.seed = whole("seed", seed, low=0)
        self.prior = positive("prior", prior)
        super().__init__(mdp, epsilon, delta, sigma)

    def _rules(self) -> Rules:
        return Rules(
            sampling=UNIFORM_SAMPLING,
            schedule=EVERY_EPISODE,
            every=1,
            stopping=OPTIMAL_GAP,
            recommendation=RECOMMEND_CAUTIOUS,
            seed=self.seed % (1 << 62),
            **self._width_settings(self.widths, self.prior),
        )

    def _rules_for(self, rng: np.random.Generator) -> Rules:
        return self.rules._replace(seed=int(rng.integers(1 << 62)))

    def _begin(self, rng: np.random.Generator) -> None:
        self.rules = self._rules_for(rng)
