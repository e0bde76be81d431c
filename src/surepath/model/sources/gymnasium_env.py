"""Problems from deterministic Gymnasium environments: the graph is found by replaying actions from a reset.

`reset(seed)` fixes the start. After it `np_random`, the generator that Gymnasium gives an environment, is replaced by a
fresh one at every replay, so that chance drawn from it cannot hide behind the seed. Two things are not seen: chance
from a generator of the environment's own, which `reset(seed)` seeds again each time, and an observation that leaves
out what matters later. A (stage, observation) is explored along the first path found to it, and taken to go on alike
along all others.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import whole
from surepath._optional import need
from surepath._types import FloatArray
from surepath.errors import NotDeterministicError, ProblemError
from surepath.model.mdp import MDP
from surepath.model.sources.edges import read_edges
from surepath.model.sources.layering import PASS
from surepath.model.sources.naming import state_name

Report = Callable[[int, int, int], None]


class _Place(NamedTuple):
    """A (stage, observation) and one path to it."""

    name: str | None  # None: the episode has ended, which no observation can say
    actions: tuple[int, ...]  # available here, as numbers of the environment
    trail: tuple[tuple[str, int], ...]  # (observation, action) from the start


def from_gymnasium(
    env: Any,
    horizon: int,
    *,
    seed: int = 0,
    replays: int = 1,
    max_arcs: int = 1_000_000,
    direction: str = "maximize",
    progress: Report | bool | None = None,
) -> MDP:
    """Discover the reachable (stage, observation) graph of an environment.

    Honours `info["action_mask"]` and `env.action_masks()`. After termination or truncation a plan waits on
    pass-through arcs of known reward 0. Every transition is tried `1 + replays` times along one path to its state, and
    checked again whenever it lies on the path to another one; a second outcome is an error, and so are two paths to an
    observation that allow different actions. Not caught: chance that is rare or hidden in a generator other than
    `np_random`, and two paths to one observation that only go on differently. `play` checks each episode.

    Args:
        env: A Gymnasium environment with a Discrete action space.
        horizon: Number of stages H.
        seed: Passed to every `reset`; it fixes the start.
        replays: How often each new transition is tried again.
        max_arcs: Stop with an error beyond this size.
        direction: "maximize" or "minimize".
        progress: A function (stage, horizon, arcs so far), True or False; by default shown on a terminal.
    """
    spaces = need("gymnasium", "gym").spaces
    horizon = whole("horizon", horizon, low=1, error=ProblemError)
    whole("replays", replays, low=0, error=ProblemError)
    space = getattr(env, "action_space", None)
    if not isinstance(space, spaces.Discrete):
        raise ProblemError(f"the environment needs a Discrete action space; it has {space}")
    report = _reporter(progress)
    walker = _Walker(env, seed, int(space.start), int(space.n))
    rows: list[tuple[int, str, int, str | None]] = []
    here = [walker.walk(())]
    for stage in range(horizon):
        ahead: dict[str, _Place] = {}
        for place in here:
            for action in place.actions:
                trail = (*place.trail, (str(place.name), action))
                reached = walker.walk(trail)
                for _ in range(replays):
                    walker.same(trail, reached.name, walker.walk(trail).name)
                rows.append((stage, str(place.name), action, reached.name))
                if len(rows) > max_arcs:
                    raise ProblemError(f"more than {max_arcs:,} arcs by stage {stage}; lower the horizon")
                if reached.name is not None and stage < horizon - 1:
                    _meet(stage + 1, ahead.setdefault(reached.name, reached), reached)
            report(stage, horizon, len(rows))
        here = list(ahead.values())
    padded = any(stage < horizon - 1 and ahead_of is None for stage, _, _, ahead_of in rows)
    actions = [str(int(space.start) + i) for i in range(int(space.n))]
    plain = not padded and int(space.start) == 0
    names = None if plain else actions
    return read_edges(rows, source=rows[0][1], horizon=horizon, direction=direction, actions=names).mdp


def play(env: Any, mdp: MDP, path: ArrayLike, *, seed: int = 0, noise: int | None = None) -> FloatArray:
    """Return the rewards of one episode along a path of an MDP made by `from_gymnasium`, float [H]; 0 after the end.

    Every step is compared with the graph: the state, and whether the episode has ended. What happens after the last
    stage is not the graph's.

    Args:
        env: The environment.
        mdp: Its graph.
        path: The arcs to play.
        seed: The seed that fixed the start.
        noise: Seed of the environment's generator after the reset; fresh by default, so that episodes are independent.
    """
    arcs = mdp.check_path(path)
    rewards = np.zeros(mdp.horizon)
    observation, _ = env.reset(seed=seed)
    _stir(env, noise)
    ended = False
    for stage, arc in enumerate(arcs.tolist()):
        waits = mdp.action_label(arc) == PASS
        expected = None if waits else mdp.state_label(int(mdp.source[arc]))
        found = None if ended else state_name(observation)
        if found != expected:
            raise NotDeterministicError(
                f"at stage {stage} the environment is {_place(found)}, the graph {_place(expected)}; "
                f"this play is no data: the environment does not always go where it went when the graph was made"
            )
        if waits:
            break
        observation, reward, terminated, truncated, _ = env.step(int(mdp.action_label(arc)))
        rewards[stage] = float(reward)
        ended = bool(terminated or truncated)
    return rewards


def _goal(name: str | None) -> str:
    return "the end" if name is None else repr(name)


def _place(name: str | None) -> str:
    return "at its end" if name is None else f"in state {name!r}"


class _Walker:
    """Play actions from a reset and check every step against what was seen before."""

    def __init__(self, env: Any, seed: int, start: int, n: int) -> None:
        self.env, self.seed, self.actions = env, seed, range(start, start + n)
        self.count = 0

    def walk(self, trail: tuple[tuple[str, int], ...]) -> _Place:
        """Return where the trail's actions lead; its observations must come back."""
        observation, info = self.env.reset(seed=self.seed)
        self.count += 1
        _stir(self.env, self.count)
        ended = False
        for i, (expected, action) in enumerate(trail):
            found = None if ended else state_name(observation)
            if i == 0 and found != expected:
                raise NotDeterministicError(
                    f"reset(seed={self.seed}) started in state {expected!r} and then in {found!r}; "
                    f"the start must be fixed"
                )
            self.same(trail[:i], expected, found)
            observation, _, terminated, truncated, info = self.env.step(action)
            ended = bool(terminated or truncated)
        if ended:
            return _Place(None, (), trail)
        name = state_name(observation)
        return _Place(name, self._available(info, name, len(trail)), trail)

    def same(self, trail: tuple[tuple[str, int], ...], first: str | None, second: str | None) -> None:
        """Refuse a second outcome of the last step of a trail."""
        if first != second and trail:
            state, action = trail[-1]
            raise NotDeterministicError(
                f"not deterministic: stage {len(trail) - 1}, state {state!r}, action {action} led to {_goal(first)} "
                f"and then to {_goal(second)}; surepath needs a known next state for each choice"
            )

    def _available(self, info: dict[str, Any], name: str, stage: int) -> tuple[int, ...]:
        mask = info.get("action_mask")
        if mask is None:
            masks = _attribute(self.env, "action_masks")
            mask = masks() if callable(masks) else None
        if mask is None:
            return tuple(self.actions)
        flags = np.asarray(mask)
        if flags.shape != (len(self.actions),):
            raise ProblemError(f"state {name!r}: the action mask has shape {flags.shape}, not ({len(self.actions)},)")
        if not flags.any():
            raise ProblemError(f"stage {stage}, state {name!r} can be reached but its action mask allows no action")
        return tuple(action for action, open in zip(self.actions, flags.tolist()) if open)


def _meet(stage: int, old: _Place, new: _Place) -> None:
    if old.actions != new.actions:
        raise NotDeterministicError(
            f"not deterministic: stage {stage}, state {old.name!r} allowed the actions {list(old.actions)} and then "
            f"{list(new.actions)}; the observation must say everything that matters"
        )


def _stir(env: Any, seed: int | None) -> None:
    """Give the environment's chance a fresh start that does not depend on the reset."""
    inner = getattr(env, "unwrapped", env)
    if hasattr(inner, "np_random"):
        inner.np_random = np.random.default_rng(seed)


def _attribute(env: Any, name: str) -> Any:
    """Return an attribute of the environment or of one it wraps."""
    try:
        return env.get_wrapper_attr(name)
    except AttributeError:
        return getattr(env, name, None)


def _reporter(progress: Report | bool | None) -> Report:
    if callable(progress):
        return progress
    if progress is False or (progress is None and not sys.stderr.isatty()):
        return lambda stage, horizon, arcs: None

    last = 0.0

    def show(stage: int, horizon: int, arcs: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > 0.2:
            last = now
            print(f"discovering stage {stage + 1} of {horizon}: {arcs:,} arcs", end="\r", file=sys.stderr, flush=True)

    return show
