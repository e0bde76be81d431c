"""check_rule: try a rule of your own on awkward graphs before you trust it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from surepath._checks import one_of, seed_number, whole
from surepath.errors import SettingError, SurepathError
from surepath.learners.base import Learner
from surepath.learners.challenger.learner import Challenger
from surepath.learners.own_rules import OUT, OwnRule, own_rule, view_of
from surepath.learners.per_arc.eprl import EPRL
from surepath.model.mdp import MDP
from surepath.model.worlds import Gaussian, Instance

_ENDINGS = 20  # graphs on which a sampling rule must come to an end


def check_rule(
    rule: Callable[..., Any], role: str = "sampling", *, graphs: int = 60, episodes: int = 40, seed: int = 0
) -> dict[str, Any]:
    """Play a rule on small random graphs (ties, masked actions, known rewards, one path) and check its answers.

    A sampling rule must give a path, the same one when asked again (a rule that draws takes its numbers from `chance`),
    and let EPRL or Challenger end: where max-diameter stops, within some tens of times its episodes. An elimination
    rule must, while all confidence intervals hold, never drop an arc of a best path. A stopping rule must, while they
    hold, never stop on a path more than epsilon from the best. Passing is evidence, not proof.

    Args:
        rule: A function, which is run in Python here, so that an index out of range is an error. Whether Numba compiles
            it is said by `compiled` in the answer.
        role: "sampling", "elimination" or "stopping".
        graphs: How many.
        episodes: At most on each graph.
        seed: Of the graphs.

    Returns:
        What was played: compiled, graphs, episodes, stopped, eliminated; for a sampling rule also `ends`, on how many
        graphs each learner came to its end with it.

    Raises:
        SettingError: What is wrong, on which graph, after how many episodes.

    Example:
        >>> from surepath.learners.own_rules import best_path
        >>> def widest(view, path):
        ...     best_path(view, view.widths, path)
        >>> check_rule(widest, graphs=5)["graphs"]
        5
    """
    own = own_rule(one_of("role", role, OUT), rule)
    if own is None:
        raise SettingError(f"check_rule needs a function (view, ...), not {type(rule).__name__}")
    played: dict[str, Any] = {"compiled": own.compiled is not None, "graphs": 0, "episodes": 0}
    played |= {"stopped": 0, "eliminated": 0}
    own.compiled = None
    if role == "sampling":
        played["ends"] = {"EPRL": 0, "Challenger": 0}
    for number in range(whole("graphs", graphs, low=1)):
        rng = np.random.default_rng(np.random.SeedSequence([seed_number(seed), number]))
        instance = _awkward(rng)
        options: dict[str, Any] = {"sampling": "max-diameter", role: own}
        learner = EPRL(instance.mdp, float(rng.choice([0.0, 0.2, 1.0])), 0.1, instance.sigma, **options)
        played["episodes"] += _play(own, learner, instance, rng, number, episodes)
        played["graphs"] += 1
        played["stopped"] += int(learner.stopped)
        played["eliminated"] += int((~learner.active).sum())
        if role == "sampling" and number < _ENDINGS:
            for name in _must_end(own, instance, rng, number):
                played["ends"][name] += 1
    return played


def _must_end(rule: OwnRule, instance: Instance, rng: np.random.Generator, number: int) -> list[str]:
    """Let max-diameter and then the rule play on until they stop; return the learners that do with the rule."""
    known = EPRL(instance.mdp, 0.2, 0.1, instance.sigma, sampling="max-diameter")
    if not _ends(known, instance, rng, 1000):
        return []  # too hard to tell
    limit = 100 + 40 * known.episodes
    tried: tuple[Learner, ...] = (
        EPRL(instance.mdp, 0.2, 0.1, instance.sigma, sampling=rule),  # type: ignore[arg-type]
        Challenger(instance.mdp, 0.2, 0.1, instance.sigma, sampling=rule, dependence="independent"),  # type: ignore[arg-type]
    )
    ends = [learner.name for learner in tried if _ends(learner, instance, rng, limit)]
    if not ends:
        raise SettingError(
            f"{rule.label}: the learner does not end with it; max-diameter stops within a fortieth of its "
            f"{limit} episodes. Play every arc that is still active now and then (graph {number})"
        )
    return ends


def _ends(learner: Learner, instance: Instance, rng: np.random.Generator, limit: int) -> bool:
    while not learner.stopped and learner.episodes < limit:
        path = learner.ask()
        learner.tell(path, instance.means[path] + instance.sigma[path] * rng.standard_normal(len(path)))
    return learner.stopped


def _awkward(rng: np.random.Generator) -> Instance:
    states, actions, horizon = (int(rng.integers(1, 4)) for _ in range(3))
    available = rng.random((horizon, states, actions)) < rng.choice([0.5, 1.0])
    available[..., 0] |= ~available.any(axis=-1)
    next_state = rng.integers(states, size=(horizon, states, actions))
    mdp = MDP.from_arrays(next_state, available=available)
    means = rng.random(mdp.n_arcs) if rng.random() < 0.5 else rng.integers(0, 3, mdp.n_arcs) / 2
    if rng.random() < 0.3:
        known = np.where(rng.random(mdp.n_arcs) < 0.4, means, np.nan)
        parts = {name: getattr(mdp, name) for name in ("first", "target", "stage_node", "node_state", "action")}
        mdp = MDP(**parts, known=known)
    return Instance(mdp, Gaussian(means, float(rng.choice([0.01, 0.1]))))


def _play(
    rule: OwnRule, learner: EPRL, instance: Instance, rng: np.random.Generator, number: int, episodes: int
) -> int:
    best = instance.best_path()

    def fail(message: str) -> SettingError:
        return SettingError(f"{rule.label}: {message} (graph {number}, after {learner.episodes} episodes)")

    def ask(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:
            kind = "" if isinstance(error, SurepathError) else f"{type(error).__name__}: "
            raise fail(f"{kind}{error}") from error

    while learner.episodes < episodes and not learner.stopped:
        path = ask(learner.ask)
        if rule.role == "sampling" and ask(learner.ask).tolist() != path.tolist():
            raise fail("asked twice without news it gave two paths; draw its numbers by chance(view, i)")
        rewards = instance.means[path] + instance.sigma[path] * rng.standard_normal(len(path))
        ask(partial(learner.tell, path, rewards))
        view = view_of(learner)
        held = bool((np.abs(view.means - instance.gains) <= view.widths + 1e-12).all())
        if held and rule.role == "elimination":
            for arc in best.tolist():
                if not learner.active[arc]:
                    raise fail(f"it dropped {learner.mdp.describe_arc(arc)} of a best path while all intervals held")
        if held and bool(learner.stopped) and rule.role == "stopping":
            regret = instance.regret_of(learner.recommend())
            if regret > learner.epsilon + 1e-9:
                raise fail(f"it stopped on a path {regret:g} from the best, epsilon is {learner.epsilon:g}")
    return learner.episodes
