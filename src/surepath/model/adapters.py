"""Problems from elsewhere: networkx graphs, Gymnasium environments, and transitions found by trying."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import FloatArray, IntArray, is_whole, real, repeated, whole
from surepath._optional import need
from surepath.errors import NotDeterministicError, ProblemError, RewardError, SettingError
from surepath.model.edges import NUMBERS, PASS, build, read_rows
from surepath.model.mdp import MDP

# Naming ---------------------------------------------------------------------------------------------------------------
# Names for states that people hold as any value: readable, and different for different values.
#
# Types count: 1, "1", True, (1,) and [1] are five names. Text is quoted; arrays are named by type, shape and content.

LONGEST_LABEL = 80  # characters of a name; longer ones end in a hash
SMALL_ARRAY = 64  # entries of an array that are written out


def state_name(value: Any) -> str:
    """Return the name of a value; two values that differ, in type or content, never share one.

    Integers of Python and NumPy are alike, and so are their floats.

    Example:
        >>> [state_name(value) for value in (1, "1", ("a, b", "c"), ("a", "b, c"))]
        ['1', "'1'", "('a, b', 'c')", "('a', 'b, c')"]
    """
    text = _text(value)
    if len(text) <= LONGEST_LABEL:
        return text
    return f"{text[:48]}... {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _text(value: Any) -> str:
    if value is None or isinstance(value, (bool, np.bool_)):
        return str(value)
    if isinstance(value, str):
        return repr(str(value))
    if is_whole(value):
        return str(int(value))
    if isinstance(value, (float, np.floating)) and not isinstance(value, np.longdouble):
        return repr(float(value))
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_text, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, Mapping):
        items = sorted((_text(key), _text(item)) for key, item in value.items())
        return "{" + ", ".join(f"{key}: {item}" for key, item in items) + "}"
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.dtype.hasobject or array.size <= SMALL_ARRAY:
            shape = "" if array.size else f", shape {array.shape}"
            return f"array({_text(array.tolist())}{shape}, {array.dtype})"
        digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:32]
        return f"array({'x'.join(map(str, array.shape))}, {array.dtype}, {digest})"
    kind = type(value)
    return f"<{kind.__module__}.{kind.__qualname__} {value!r}>"


# Networkx dag ---------------------------------------------------------------------------------------------------------
# Problems from networkx graphs.


def from_networkx(graph: Any, source: Any, target: Any, sigma: float | None, direction: str) -> MDP:
    """Build an MDP whose plans are the paths from source to target; see `MDP.from_networkx`."""
    networkx = need("networkx", "graph")
    if not isinstance(graph, networkx.Graph):
        raise ProblemError(f"a networkx graph is needed, not {type(graph).__name__}")
    if not graph.is_directed():
        raise ProblemError("the graph has no directions; a plan needs a DiGraph or a MultiDiGraph")
    labels = {node: str(node) for node in graph}
    if (twice := repeated(labels.values())) is not None:
        raise ProblemError(f"two nodes of the graph are both called {twice!r}")
    for what, node in (("source", source), ("target", target)):
        if node not in labels:
            raise ProblemError(f"the {what} {node!r} is not a node of the graph")
    if graph.is_multigraph():
        found = list(graph.edges(keys=True, data=True))
    else:
        found = [(u, v, None, data) for u, v, data in graph.edges(data=True)]
    edges = read_rows([_row(edge, labels) for edge in found], lambda i: f"edge {i + 1} of the graph")
    return build(edges, source=labels[source], target=labels[target], sigma=sigma, direction=direction)[0]


def _row(edge: tuple[Any, Any, Any, dict[str, Any]], labels: dict[Any, str]) -> dict[str, Any]:
    u, v, key, data = edge
    action = data.get("action")
    if action is None:
        action = key if isinstance(key, str) else f"{labels[v]} ({key})" if key else labels[v]
    row = {"state": labels[u], "action": action, "next_state": labels[v]}
    return row | {column: data[column] for column in NUMBERS if data.get(column) is not None}


# Gymnasium env --------------------------------------------------------------------------------------------------------
# Problems from deterministic Gymnasium environments: the graph is found by replaying actions from a reset.
#
# `reset(seed)` fixes the start. After it `np_random`, the generator that Gymnasium gives an environment, is replaced
# by a fresh one at every replay, so that chance drawn from it cannot hide behind the seed. Two things are not seen:
# chance from a generator of the environment's own, which `reset(seed)` seeds again each time, and an observation that
# leaves out what matters later. A (stage, observation) is explored along the first path found to it, and taken to go
# on alike along all others.


class _Place(NamedTuple):
    """A (stage, observation) and one path to it."""

    name: str | None  # None: the episode has ended, which no observation can say
    actions: tuple[int, ...]  # available here, as numbers of the environment
    trail: tuple[tuple[str, int], ...]  # (observation, action) from the start


def from_gymnasium(env: Any, horizon: int, seed: int, max_arcs: int, direction: str) -> MDP:
    """Discover the reachable (stage, observation) graph of an environment.

    Honours `info["action_mask"]` and `env.action_masks()`. After termination or truncation a plan waits on
    pass-through arcs of known reward 0. Every transition is tried twice along one path to its state, and
    checked again whenever it lies on the path to another one; a second outcome is an error, and so are two paths to an
    observation that allow different actions. Not caught: chance that is rare or hidden in a generator other than
    `np_random`, and two paths to one observation that only go on differently. `play` checks each episode.
    """
    spaces = need("gymnasium", "gym").spaces
    horizon = whole("horizon", horizon, low=1, error=ProblemError)
    space = getattr(env, "action_space", None)
    if not isinstance(space, spaces.Discrete):
        raise ProblemError(f"the environment needs a Discrete action space; it has {space}")
    walker = _Walker(env, seed, int(space.start), int(space.n))
    rows: list[tuple[int, str, int, str | None]] = []
    here = [walker.walk(())]
    for stage in range(horizon):
        ahead: dict[str, _Place] = {}
        for place in here:
            for action in place.actions:
                trail = (*place.trail, (str(place.name), action))
                reached = walker.walk(trail)
                walker.same(trail, reached.name, walker.walk(trail).name)
                rows.append((stage, str(place.name), action, reached.name))
                if len(rows) > max_arcs:
                    raise ProblemError(f"more than {max_arcs:,} options by step {stage + 1}; lower the horizon")
                if reached.name is not None and stage < horizon - 1:
                    _meet(stage + 1, ahead.setdefault(reached.name, reached), reached)
        here = list(ahead.values())
    padded = any(stage < horizon - 1 and ahead_of is None for stage, _, _, ahead_of in rows)
    actions = [str(int(space.start) + i) for i in range(int(space.n))]
    plain = not padded and int(space.start) == 0
    names = None if plain else actions
    return build(read_rows(rows), source=rows[0][1], horizon=horizon, direction=direction, actions=names)[0]


def table_of_gymnasium(env: Any, horizon: int, seed: int) -> tuple[list[dict[str, Any]], str]:
    """Return the rows of `Instance.from_gymnasium`, those that can be reached within the horizon, and the start."""
    whole("horizon", horizon, low=1, error=ProblemError)
    table = _attribute(getattr(env, "unwrapped", env), "P")
    if table is None:
        raise ProblemError(
            "the environment has no table of transitions P; MDP.from_gymnasium finds the graph of others by replay"
        )
    start, rows = int(env.reset(seed=seed)[0]), []
    here = {start}
    for stage in range(horizon):
        ahead: set[int] = set()
        for state in sorted(here):
            for action, outcomes in table[state].items():
                if len({(int(to), bool(end)) for chance, to, _, end in outcomes if chance > 0}) != 1:
                    raise NotDeterministicError(
                        f"not deterministic: state {state}, option {action} leads to several states by chance; "
                        f"surepath needs a known next state for each choice"
                    )
                mean = sum(chance * float(reward) for chance, _, reward, _ in outcomes)
                _, to, _, ended = outcomes[0]
                row = {"stage": stage, "state": str(state), "action": str(action), "mean": mean}
                rows.append(row | {"next_state": None if ended or stage == horizon - 1 else str(int(to))})
                if not ended:
                    ahead.add(int(to))
        here = ahead
    return rows, str(start)


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
                f"at step {stage + 1} the environment is {_place(found)}, the graph {_place(expected)}; "
                f"this play is no data: the environment does not always go where it went when the graph was made"
            )
        if waits:
            break
        observation, reward, terminated, truncated, _ = env.step(int(mdp.action_label(arc)))
        rewards[stage] = float(reward)
        ended = bool(terminated or truncated)
    return rewards


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
                f"not deterministic: step {len(trail)}, state {state!r}, option {action} led to "
                f"{first or 'the end'!r} and then to {second or 'the end'!r}; "
                "surepath needs a known next state for each choice"
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
            raise ProblemError(f"step {stage + 1}, state {name!r} can be reached but its action mask allows no option")
        return tuple(action for action, open in zip(self.actions, flags.tolist()) if open)


def _meet(stage: int, old: _Place, new: _Place) -> None:
    if old.actions != new.actions:
        raise NotDeterministicError(
            f"not deterministic: step {stage + 1}, state {old.name!r} allowed the options {list(old.actions)} and then "
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


# Discovery ------------------------------------------------------------------------------------------------------------
# Unknown transitions: learn the graph from episodes alone, in at most N of them.
#
# In a deterministic problem one visit to an arc shows where it leads (paper, section 2). Every episode is steered, by
# one backward pass over what is known, to the path with the most untried arcs; it tries at least one, so N episodes
# are enough. Where to go depends on transitions only, never on rewards, so the rewards seen on the way are valid data
# for any learner afterwards.

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
            raise ProblemError(f"step {stage + 1}, state {self._state!r} has no option {taken!r}; it has: {list(arcs)}")
        number = real("the score", reward, error=RewardError)
        ahead = None if stage == self.horizon - 1 else next_state
        if arcs[taken] is not _UNTRIED and arcs[taken] != ahead:
            raise NotDeterministicError(
                f"not deterministic: step {stage + 1}, state {self._state!r}, option {taken!r} led to {arcs[taken]!r} "
                f"and now to {ahead!r}; surepath needs a known next state for each choice"
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
        if not self.done:
            raise SettingError("the graph is not known yet: some options have not been tried; go on until `done`")
        rows = [
            (stage, str(state), str(action), None if ahead is None else str(ahead))
            for stage, places in enumerate(self._stages)
            for state, arcs in places.items()
            for action, ahead in arcs.items()
        ]
        start = str(self._start)
        return build(read_rows(rows), source=start, horizon=self.horizon, sigma=sigma, direction=direction)[0]

    def data(self, mdp: MDP) -> list[Episode]:
        """Return every finished episode as a path of the MDP that `mdp()` gave, with its rewards."""
        found = []
        for walk in self._finished:
            path, rewards = np.zeros(self.horizon, dtype=np.int64), np.zeros(self.horizon)
            node = 0
            for stage in range(self.horizon):
                if stage < len(walk):
                    state, action, rewards[stage] = walk[stage]
                    path[stage] = mdp.arc(stage, str(state), str(action))
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
            raise ProblemError(f"step {stage + 1}, state {state!r} can be reached but has no option")
        if (twice := repeated(map(str, names))) is not None:
            raise ProblemError(f"two options of step {stage + 1}, state {state!r} are both called {twice!r}")
        if (other := self._taken.setdefault(str(state), state)) != state:
            raise ProblemError(f"two states are both called {str(state)!r}: {other!r} and {state!r}")
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


_UNTRIED = object()
