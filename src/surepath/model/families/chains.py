"""Pipelines: each step has its options, and what an option is worth depends on the option before."""

from __future__ import annotations

from importlib import resources

import numpy as np

from surepath._checks import one_sigma
from surepath.errors import ProblemError
from surepath.model.families.ids import Family, check_seed, check_size, counts, register
from surepath.model.instance import Instance
from surepath.model.mdp import MDP
from surepath.model.rewards import Gaussian

CHAIN = Family("chain", {"steps": "n", "options": "k"})
SUPPORT_TICKETS = Family("support_tickets")


@register(CHAIN)
def chain(steps: int = 8, options: int = 4, seed: int = 0, sigma: float = 0.1) -> Instance:
    """Build a pipeline of `steps` with `options` each; the state is the option before; means uniform on [0, 1].

    Example:
        >>> chain(8, 4).mdp.n_arcs, chain(8, 4).mdp.n_paths
        (116, 65536)
    """
    counts(steps=steps, options=options)
    check_size(steps * options * options)
    sigma = one_sigma(sigma, ProblemError)
    rng = np.random.default_rng(np.random.SeedSequence([check_seed(seed)]))
    next_state = np.broadcast_to(np.arange(options), (steps, options, options)).copy()
    means = rng.random((steps, options, options))
    name = CHAIN.id(steps=steps, options=options, seed=seed, sigma=sigma)
    return Instance(MDP.from_arrays(next_state), Gaussian(means, sigma), id=name)


@register(SUPPORT_TICKETS)
def support_tickets() -> Instance:
    """Build the embedded example: an LLM workflow that answers support tickets, 8 steps with 4 options each.

    Scores are simulated from a table in the package (sigma 0.1); no model was run. Choosing the best option of each
    step in turn ends 0.375 below the best plan.

    Example:
        >>> support_tickets().mdp.n_arcs
        116
    """
    from surepath.model.sources.files import parse_json_problem

    text = resources.files("surepath.model").joinpath("examples/support_tickets.json").read_text("utf-8")
    problem = parse_json_problem(text, "support_tickets.json")
    if problem.instance is None:
        raise ProblemError("the embedded example has lost its means")
    problem.instance.id = SUPPORT_TICKETS.id()
    return problem.instance
