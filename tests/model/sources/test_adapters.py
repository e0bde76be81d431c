"""Problems from environments, graphs and episodes."""

from __future__ import annotations

import re
from typing import Any

import gymnasium
import networkx as nx
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from surepath import MDP
from surepath.errors import NotDeterministicError, ProblemError, RewardError, SettingError
from surepath.model.adapters import Discovery, play, state_name
from tests.naive.paths import all_paths
from tests.strategies import mdps

# Gymnasium: real environments, masks, padding, and chance that does not stay hidden -----------------------------------


def naive_reachable(env: gymnasium.Env, horizon: int) -> set[tuple[int, int, int]]:
    """(stage, state, action) triples by the transition table that toy-text environments carry."""
    table, (start, _) = env.unwrapped.P, env.reset(seed=0)  # type: ignore[attr-defined]
    here, found = {start}, set()
    for stage in range(horizon):
        ahead = set()
        for state in here:
            for action, ((_, goal, _, ended),) in table[state].items():
                found.add((stage, state, action))
                if not ended:
                    ahead.add(goal)
        here = ahead
    return found


@pytest.mark.parametrize(
    ("name", "options", "horizon"), [("FrozenLake-v1", {"is_slippery": False}, 7), ("CliffWalking-v1", {}, 6)]
)
def test_toy_text_graphs_match_their_own_tables(name: str, options: dict[str, Any], horizon: int) -> None:
    env = gymnasium.make(name, **options)
    mdp = MDP.from_gymnasium(env, horizon)
    arcs = [arc for arc in range(mdp.n_arcs) if not mdp.is_known[arc]]
    stage = mdp.arcs.stage
    found = {(int(stage[a]), int(mdp.state_label(int(mdp.source[a]))), int(mdp.action_label(a))) for a in arcs}
    assert mdp.horizon == horizon
    assert found == naive_reachable(env, horizon)


def test_a_slippery_lake_is_refused_with_state_action_and_both_outcomes() -> None:
    env = gymnasium.make("FrozenLake-v1", is_slippery=True)
    pattern = r"step \d, state '\d+', option \d led to '.+' and then to '.+'; surepath needs a known next state"
    with pytest.raises(NotDeterministicError, match=pattern):
        MDP.from_gymnasium(env, 5)


class Toy(gymnasium.Env):
    """Counts up by the action; every part can be bent by the tests."""

    action_space: Any = spaces.Discrete(2, start=1)
    observation_space = spaces.Discrete(100)
    ends_at = 99

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.total = 0
        return self.observe(), {}

    def observe(self) -> Any:
        return {"total": np.array([self.total]), "name": "toy"}

    def step(self, action: int) -> Any:
        self.total += int(action)
        return self.observe(), float(self.total), self.total >= self.ends_at, False, {}


def test_plans_wait_after_termination_up_to_the_horizon() -> None:
    class Short(Toy):
        ends_at = 2

    mdp = MDP.from_gymnasium(Short(), 4)
    assert mdp.horizon == 4
    assert mdp.n_paths == 3
    assert mdp.known is not None
    waiting = [mdp.describe_arc(int(arc)) for arc in np.flatnonzero(mdp.is_known)]
    assert all(text.startswith("option '(pass)' of step ") for text in waiting)
    assert mdp.arcs.stage[mdp.is_known].tolist() == [1, 2, 3]
    assert play(Short(), mdp, [1, *np.flatnonzero(mdp.is_known)]).tolist() == [2.0, 0.0, 0.0, 0.0]


def test_bad_environments_are_refused_in_words() -> None:
    class Boxed(Toy):
        action_space = spaces.Box(0, 1)

    class NoWay(Toy):
        def action_masks(self) -> Any:
            return [False, False]

    class Odd(Toy):
        def action_masks(self) -> Any:
            return [True]

    class Wandering(Toy):
        starts = 0

        def reset(self, **options: Any) -> Any:
            super().reset(**options)
            Wandering.starts += 1
            self.total = Wandering.starts
            return self.observe(), {}

    class Forgetful(Toy):
        """Shows the same for every total but allows other actions."""

        def observe(self) -> Any:
            return 0

        def action_masks(self) -> Any:
            return [True, self.total < 2]

    for env, message in [
        (Boxed(), "the environment needs a Discrete action space; it has Box"),
        (NoWay(), "'total': array([0], int64)}\" can be reached but its action mask allows no option"),
        (Odd(), "the action mask has shape (1,), not (2,)"),
        (Wandering(), "'total': array([1], int64)}\" and then in \"{'name': 'toy', 'total': array([2], int64)}\""),
        (Forgetful(), "step 2, state '0' allowed the options [1, 2] and then [1]"),
    ]:
        with pytest.raises(ProblemError, match=re.escape(message)):
            MDP.from_gymnasium(env, 5)
    with pytest.raises(ProblemError, match="more than 3 options by step 2; lower the horizon"):
        MDP.from_gymnasium(Toy(), 5, max_arcs=3)
    with pytest.raises(ProblemError, match="horizon must be at least 1, not 0"):
        MDP.from_gymnasium(Toy(), 0)


class Brittle(Toy):
    """Ends by chance at total 2, from a generator that `reset` seeds again, so that discovery sees one side only."""

    observation_space: Any = spaces.Text(5)
    share, ends_in_discovery = 0.05, False

    def observe(self) -> Any:
        return self.total

    def step(self, action: int) -> Any:
        observation, reward, _, _, info = super().step(action)
        turned = self.playing and self.chance.random() < self.share
        ended = self.total == 2 and (turned != self.ends_in_discovery)
        return observation, reward, ended, False, info


@pytest.mark.parametrize("ends", [False, True], ids=["ends early", "goes on"])
def test_an_end_that_the_graph_does_not_know_is_noticed(ends: bool) -> None:
    env = Brittle()
    env.ends_in_discovery, env.playing, env.chance = ends, False, np.random.default_rng(0)
    mdp = MDP.from_gymnasium(env, 4)
    env.playing = True
    path = [mdp.arc(0, "0", "2")]
    while len(path) < 4:
        path.append(int(mdp.first[mdp.target[path[-1]]]))
    refused: list[str] = []
    there, graph = ("in state '2'", "at its end") if ends else ("at its end", "in state '2'")
    for _ in range(400):
        try:
            rewards = play(env, mdp, path)
        except NotDeterministicError as error:
            refused.append(str(error))
        else:
            assert rewards.tolist() == ([2, 0, 0, 0] if ends else [2, 3, 4, 5])
    assert 5 < len(refused) < 50
    (message,) = set(refused)
    assert f"at step 2 the environment is {there}, the graph {graph}; this play is no data" in message


# networkx graphs: the same ways as networkx itself finds, and refusals in words ---------------------------------------


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(1, 7)).filter(lambda uv: uv[0] < uv[1]), max_size=14))
def test_plans_are_the_simple_paths_of_networkx(edges: set[tuple[int, int]]) -> None:
    graph = nx.DiGraph([*sorted(edges), (0, 7)])
    mdp = MDP.from_networkx(graph, 0, 7)
    names = {
        int(arc): (mdp.state_label(int(mdp.source[arc])), mdp.action_label(int(arc)))
        for arc in np.flatnonzero(~mdp.is_known)
    }
    edge_of = {arc: (int(state), int(action)) for arc, (state, action) in names.items()}
    ways = [[edge_of[arc] for arc in path if arc in edge_of] for path in all_paths(mdp)]
    assert sorted(ways) == sorted(map(list, nx.all_simple_edge_paths(graph, 0, 7)))


BAD: list[tuple[Any, Any, Any, str]] = [
    ("graph", 0, 1, "a networkx graph is needed, not str"),
    (nx.Graph([(0, 1)]), 0, 1, "the graph has no directions; a plan needs a DiGraph or a MultiDiGraph"),
    (nx.DiGraph([(0, 1)]), 7, 1, "the source 7 is not a node of the graph"),
    (nx.DiGraph([(0, 1)]), 0, 7, "the target 7 is not a node of the graph"),
    (nx.DiGraph([(0, 1), (1, "1")]), 0, 1, "two nodes of the graph are both called '1'"),
    (nx.DiGraph([(0, 1), (1, 2), (2, 1), (1, 3)]), 0, 3, "the edges form a cycle: '1' -> '2' -> '1'"),
    (nx.DiGraph([(0, 1), (2, 3)]), 0, 3, "the source '0' cannot reach the target '3'"),
]


@pytest.mark.parametrize(("graph", "source", "target", "message"), BAD)
def test_bad_graphs_are_refused_in_words(graph: Any, source: Any, target: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(message)):
        MDP.from_networkx(graph, source, target)


# Discovery of unknown transitions: at most N episodes, the right graph, and data that can be handed on ----------------


def run(world: MDP, wander: float = 0.0, seed: int = 0) -> Discovery:
    """Discover an MDP through its states and actions alone; with some probability act at random instead."""
    rng = np.random.default_rng(seed)
    arcs = world.arcs

    def actions(stage: int, state: int) -> list[int]:
        return arcs.action[(arcs.stage == stage) & (arcs.state == state)].tolist()  # type: ignore[no-any-return]

    discovery = Discovery(world.horizon, actions)
    while not discovery.done:
        state = discovery.start(int(world.node_state[0]))
        for stage in range(world.horizon):
            action = discovery.act() if rng.random() >= wander else int(rng.choice(actions(stage, state)))
            arc = world.arc(stage, state, action)
            ahead = None if stage == world.horizon - 1 else int(world.node_state[world.target[arc]])
            state = discovery.observe(ahead, reward=float(arc), action=action)
    return discovery


@given(mdps())
def test_at_most_n_episodes_give_back_the_graph(world: MDP) -> None:
    discovery = run(world)
    found = discovery.mdp()
    assert found == world
    assert discovery.episodes <= world.n_arcs
    for episode in discovery.data(found):
        assert (episode.rewards == found.check_path(episode.path)).all()  # each reward was its arc's number


def test_early_ends_are_padded() -> None:
    discovery = Discovery(3, ["stop", "go"])
    while not discovery.done:
        state: Any = discovery.start("s")
        while state is not None:
            action = discovery.act()
            state = discovery.observe("s" if action == "go" else None, 1.0)
    mdp = discovery.mdp(direction="minimize", sigma=0.5)
    assert (mdp.horizon, mdp.n_paths, mdp.direction) == (3, 4, "minimize")
    for episode in discovery.data(mdp):
        mdp.check_path(episode.path)
        assert (episode.rewards == np.where(mdp.is_known[episode.path], 0.0, 1.0)).all()


def test_contradictions_and_misuse_are_refused_and_change_nothing() -> None:
    discovery = Discovery(2, actions=2)
    with pytest.raises(SettingError, match=re.escape("no episode is running; call start(state) first")):
        discovery.act()
    discovery.start("s")
    assert discovery.act() == 0
    discovery.observe("t", 1.0)
    discovery.observe("end", 1.0)
    with pytest.raises(NotDeterministicError, match="episodes started in 's' and now in 'z'; the start is fixed"):
        discovery.start("z")
    discovery.start("s")
    with pytest.raises(
        NotDeterministicError,
        match="not deterministic: step 1, state 's', option 0 led to 't' and now to 'u'; surepath needs",
    ):
        discovery.observe("u", 1.0, action=0)
    with pytest.raises(RewardError, match="the score must be finite, not nan"):
        discovery.observe("t", float("nan"))
    with pytest.raises(ProblemError, match=re.escape("step 1, state 's' has no option 7; it has: [0, 1]")):
        discovery.observe("t", 1.0, action=7)
    with pytest.raises(SettingError, match="the graph is not known yet: some options have not been tried"):
        discovery.mdp()
    assert discovery.episodes == 1
    discovery.observe("t", 1.0, action=1)
    discovery.observe(None, 1.0)
    assert discovery.done
    assert discovery.mdp().n_arcs == 4
    with pytest.raises(SettingError, match="actions must be a number, names or a function"):
        Discovery(2, actions="ab")
    with pytest.raises(ProblemError, match="step 1, state 's' can be reached but has no option"):
        Discovery(2, actions=lambda stage, state: []).start("s")
    message = "two options of step 1, state 's' are both called '1'"
    with pytest.raises(ProblemError, match=message):
        Discovery(2, actions=[1, "1"]).start("s")


# Names of states: readable, and never the same for two values ---------------------------------------------------------

scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=6))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner),
        st.tuples(inner, inner),
        st.dictionaries(scalars, inner, max_size=2),
    ),
    max_leaves=5,
)


def typed(value: Any) -> Any:
    """The value with its types spelled out, so that 1, True and 1.0 differ."""
    if isinstance(value, (list, tuple)):
        return type(value).__name__, *map(typed, value)
    if isinstance(value, dict):
        return "dict", frozenset((typed(key), typed(item)) for key, item in value.items())
    return type(value).__name__, repr(value)


@given(values, values)
def test_names_are_the_same_only_for_the_same_value(one: Any, other: Any) -> None:
    assert (state_name(one) == state_name(other)) == (typed(one) == typed(other))


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (np.int64(3), "3"),
        ("start", "'start'"),
        ("3", "'3'"),
        ("(end)", "'(end)'"),
        ({"b": 1, "a": [2]}, "{'a': [2], 'b': 1}"),
        (np.array([1, 2]), "array([1, 2], int64)"),
    ],
)
def test_names_are_readable(value: Any, name: str) -> None:
    assert state_name(value) == name
