"""Gymnasium: real environments, masks, padding, and chance that does not stay hidden."""

from __future__ import annotations

import re
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from surepath import MDP
from surepath.errors import NotDeterministicError, ProblemError
from surepath.model.adapters import play


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


def test_frozen_lake_best_plan_reaches_the_goal() -> None:
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    mdp = MDP.from_gymnasium(env, 6)
    path: list[int] = []
    node = 0
    for action in ("1", "1", "2", "1", "2", "2"):  # down, down, right, down, right, right
        path.append(mdp.arc(len(path), mdp.state_label(node), action))
        node = int(mdp.target[path[-1]])
    assert play(env, mdp, path).tolist() == [0, 0, 0, 0, 0, 1]


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

    class Breaking(Toy):
        def step(self, action: int) -> Any:
            out = super().step(action)
            return (*out[:2], bool(self.np_random.random() < 0.5), *out[3:])

    for env, message in [
        (Boxed(), "the environment needs a Discrete action space; it has Box"),
        (NoWay(), "'total': array([0], int64)}\" can be reached but its action mask allows no option"),
        (Odd(), "the action mask has shape (1,), not (2,)"),
        (Wandering(), "'total': array([1], int64)}\" and then in \"{'name': 'toy', 'total': array([2], int64)}\""),
        (Forgetful(), "step 1, state '0' allowed the options [1, 2] and then [1]"),
        (Breaking(), "and then to"),
    ]:
        with pytest.raises(ProblemError, match=re.escape(message)):
            MDP.from_gymnasium(env, 5)
    with pytest.raises(ProblemError, match="more than 3 options by step 1; lower the horizon"):
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
    assert f"at step 1 the environment is {there}, the graph {graph}; this play is no data" in message


class Told(gymnasium.Env):
    """Shows one of two given observations after the first step, and then pays by which it was."""

    action_space: Any = spaces.Discrete(2)

    def __init__(self, first: Any, second: Any) -> None:
        self.shown = (first, second)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return "begin", {}

    def step(self, action: int) -> Any:
        self.steps += 1
        return self.shown[action], float(action), False, False, {}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("a, b", "c"), ("a", "b, c")),
        (1, "1"),
        (1, True),
        ((1,), [1]),
        (np.array([1]), np.array([1.0])),
        (np.array([[1, 2]]), np.array([1, 2])),
        ({"a": 1}, {"a": "1"}),
        ("(end)", "'(end)'"),
        ("x" * 100 + "a", "x" * 100 + "b"),
        (np.arange(1000), np.arange(1000) + (np.arange(1000) == 500)),
    ],
    ids=[str(i) for i in range(10)],
)
def test_different_observations_are_different_states(first: Any, second: Any) -> None:
    env = Told(first, second)
    mdp = MDP.from_gymnasium(env, 2)
    assert mdp.n_nodes == 3
    assert play(env, mdp, [1, int(mdp.first[mdp.target[1]])]).tolist() == [1.0, 0.0]
