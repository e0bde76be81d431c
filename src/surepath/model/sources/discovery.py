"""Unknown transitions: learn the graph from episodes alone, in at most N of them.

In a deterministic problem one visit to an arc shows where it leads (paper, section 2). Every episode is steered, by
one backward pass over what is known, to the path with the most untried arcs; it tries at least one, so N episodes
are enough. Where to go depends on transitions only, never on rewards, so the rewards seen on the way are valid data
for any learner afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from surepath._checks import real, whole
from surepath._types import FloatArray, IntArray
from surepath.errors import NotDeterministicError, ProblemError, RewardError, SettingError
from surepath.model.mdp import MDP
from surepath.model.sources.edges import EdgeTable, read_edges

State = Hashable
Actions = int | Sequence[Any] | Callable[[int, Any], Sequence[Any]]


class Episode(NamedTuple):
    """One finished episode on the discovered graph."""

    path: IntArray  # [H] arcs
    rewards: FloatArray  # [H]; 0 on pass-through arcs


class Discovery:
    """Find out which action leads where, one episode at a time.

    Args:
        horizon: Number of stages H.
        actions: How many actions every state has, their names, or a function (stage, state) -> names.

    Attributes:
        episodes: How many episodes have been finished.

    Example:
        >>> discovery = Discovery(horizon=2, actions=2)
        >>> while not discovery.done:
        ...     state = discovery.start("s")
        ...     for _ in range(2):
        ...         state = discovery.observe(f"{state}{discovery.act()}", reward=0.0)
        >>> discovery.mdp().n_arcs, discovery.episodes
        (6, 4)
    """

    def __init__(self, horizon: int, actions: Actions) -> None:
        self.horizon = whole("horizon", horizon, low=1, error=ProblemError)
        if isinstance(actions, str) or not (callable(actions) or isinstance(actions, (int, np.integer, Sequence))):
            raise SettingError(f"actions must be a number, names or a function of (stage, state); got {actions!r}")
        if isinstance(actions, (int, np.integer)):  # True and durations are refused by `whole`
            actions = list(range(whole("actions", actions, low=1)))
        self._actions = actions
        self._start: State | None = None
        # What each place is known to offer: action -> next state; _UNTRIED until it was taken.
        self._stages: list[dict[State, dict[Any, Any]]] = [{} for _ in range(self.horizon)]
        self._taken: dict[str, State] = {}  # the state behind each name
        self._untried = 0
        self._finished: list[list[tuple[State, Any, float]]] = []
        self._walk: list[tuple[State, Any, float]] | None = None
        self._state: State = None
        self._plan: dict[tuple[int, State], int] = {}

    @property
    def episodes(self) -> int:
        """Return how many episodes have been finished."""
        return len(self._finished)

    @property
    def done(self) -> bool:
        """Return whether every reachable arc has been tried."""
        return self._start is not None and self._untried == 0

    def start(self, state: Any) -> Any:
        """Begin an episode in its first state, which must be the same every time; an unfinished one is dropped."""
        if self._start is not None and state != self._start:
            raise NotDeterministicError(f"episodes started in {self._start!r} and now in {state!r}; the start is fixed")
        self._meet(0, state)
        self._start = state
        self._state, self._walk, self._plan = state, [], self._untried_ahead()
        return state

    def act(self) -> Any:
        """Return the action to take now: towards the most untried arcs, the first listed among equals."""
        walk = self._open()
        stage = len(walk)
        arcs = self._stages[stage][self._state]
        return max(arcs, key=lambda action: self._promise(stage, arcs[action]))

    def observe(self, next_state: Any, reward: float, action: Any = None) -> Any:
        """Take in what the action led to; nothing changes when it contradicts what is known.

        Args:
            next_state: The state reached; None when the episode has ended. Ignored at the last stage.
            reward: The reward of this step.
            action: The action taken, when it was not the one `act` gave.
        """
        walk = self._open()
        stage, arcs = len(walk), self._stages[len(walk)][self._state]
        taken = self.act() if action is None else action
        if taken not in arcs:
            raise ProblemError(f"stage {stage}, state {self._state!r} has no action {taken!r}; it has: {list(arcs)}")
        number = real("the reward", reward, error=RewardError)
        ahead = None if stage == self.horizon - 1 else next_state
        if arcs[taken] is not _UNTRIED and arcs[taken] != ahead:
            raise NotDeterministicError(
                f"not deterministic: stage {stage}, state {self._state!r}, action {taken!r} led to {arcs[taken]!r} and "
                f"now to {ahead!r}; surepath needs a known next state for each choice"
            )
        if ahead is not None:
            self._meet(stage + 1, ahead)
        self._untried -= arcs[taken] is _UNTRIED
        arcs[taken] = ahead
        walk.append((self._state, taken, number))
        self._state = ahead
        if ahead is None:
            self._finished.append(walk)
            self._walk = None
        return ahead

    def mdp(self, *, sigma: float | None = None, direction: str = "maximize") -> MDP:
        """Return the graph found, once `done`.

        Args:
            sigma: Sub-Gaussian factor of every arc, where you know it.
            direction: "maximize" or "minimize".
        """
        return self._table(sigma, direction).mdp

    def data(self, mdp: MDP) -> list[Episode]:
        """Return every finished episode as a path of the MDP that `mdp()` gave, with its rewards."""
        names = self._names()
        found = []
        for walk in self._finished:
            path, rewards = np.zeros(self.horizon, dtype=np.int64), np.zeros(self.horizon)
            node = 0
            for stage in range(self.horizon):
                if stage < len(walk):
                    state, action, rewards[stage] = walk[stage]
                    path[stage] = mdp.arc(stage, names[state], str(action))
                else:
                    path[stage] = mdp.first[node]
                node = int(mdp.target[path[stage]])
            found.append(Episode(path, rewards))
        return found

    def tell(self, learner: Any) -> int:
        """Tell every episode to a learner on the discovered MDP, until it stops; return how many it took."""
        taken = 0
        for episode in self.data(learner.mdp):
            if learner.stopped:
                break
            learner.tell(episode.path, episode.rewards)
            taken += 1
        return taken

    # Inside ----------------------------------------------------------------------------------------------------

    def _open(self) -> list[tuple[State, Any, float]]:
        if self._walk is None:
            raise SettingError("no episode is running; call start(state) first")
        return self._walk

    def _meet(self, stage: int, state: State) -> None:
        if state is None or not isinstance(state, Hashable):
            raise ProblemError(
                f"a state must be hashable and not None, such as a number, text or a tuple; got {state!r}"
            )
        if state in self._stages[stage]:
            return
        names = list(self._actions(stage, state)) if callable(self._actions) else list(self._actions)
        if not names:
            raise ProblemError(f"stage {stage}, state {state!r} can be reached but has no action")
        name = str(state)
        if self._taken.get(name, state) != state:
            raise ProblemError(f"two states are both called {name!r}: {self._taken[name]!r} and {state!r}")
        called = {str(action): action for action in reversed(names)}
        for action in names:
            if called[str(action)] != action:
                raise ProblemError(
                    f"two actions of stage {stage}, state {state!r} are both called {str(action)!r}: "
                    f"{called[str(action)]!r} and {action!r}"
                )
        self._taken[name] = state
        self._stages[stage][state] = dict.fromkeys(names, _UNTRIED)
        self._untried += len(self._stages[stage][state])

    def _promise(self, stage: int, ahead: Any) -> int:
        """Count the untried arcs on the best continuation; an untried arc counts for all the stages it may open."""
        if ahead is _UNTRIED:
            return self.horizon - stage
        return 0 if ahead is None else self._plan.get((stage + 1, ahead), self.horizon - stage - 1)

    def _untried_ahead(self) -> dict[tuple[int, State], int]:
        self._plan = plan = {}
        for stage in range(self.horizon - 1, -1, -1):
            for state, arcs in self._stages[stage].items():
                plan[stage, state] = max(self._promise(stage, ahead) for ahead in arcs.values())
        return plan

    def _names(self) -> dict[State, str]:
        return {state: str(state) for stage in self._stages for state in stage}

    def _table(self, sigma: float | None, direction: str) -> EdgeTable:
        if not self.done:
            raise SettingError("the graph is not known yet: some arcs have not been tried; go on until `done`")
        names = self._names()
        rows = [
            (stage, names[state], str(action), None if ahead is None else names[ahead])
            for stage, places in enumerate(self._stages)
            for state, arcs in places.items()
            for action, ahead in arcs.items()
        ]
        return read_edges(rows, source=names[self._start], horizon=self.horizon, sigma=sigma, direction=direction)


class _Untried:
    def __repr__(self) -> str:
        return "untried"


_UNTRIED = _Untried()
