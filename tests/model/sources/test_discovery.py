"""Discovery of unknown transitions: at most N episodes, the right graph, and data that can be handed on."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepath import MDP
from surepath.errors import NotDeterministicError, ProblemError, RewardError, SettingError
from surepath.model.adapters import Discovery
from tests.strategies import mdps


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


@given(mdps(), st.integers(0, 100))
def test_other_actions_than_advised_are_data_too(world: MDP, seed: int) -> None:
    assert run(world, wander=0.5, seed=seed).mdp() == world


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


class Ledger:
    """The part of a learner that discovery needs."""

    def __init__(self, mdp: MDP, stops_after: int) -> None:
        self.mdp, self.stops_after, self.told = mdp, stops_after, 0

    @property
    def stopped(self) -> bool:
        return self.told >= self.stops_after

    def tell(self, path: Any, rewards: Any) -> None:
        self.mdp.check_path(path)
        self.told += 1


def test_a_learner_takes_the_episodes_until_it_stops() -> None:
    discovery = run(MDP.from_arrays([[[0, 1], [1, 0]], [[0, 0], [0, 0]]]))
    mdp = discovery.mdp()
    assert discovery.tell(Ledger(mdp, 100)) == discovery.episodes == 4
    assert discovery.tell(Ledger(mdp, 2)) == 2


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
        match="not deterministic: step 0, state 's', option 0 led to 't' and now to 'u'; surepath needs",
    ):
        discovery.observe("u", 1.0, action=0)
    with pytest.raises(RewardError, match="the score must be finite, not nan"):
        discovery.observe("t", float("nan"))
    with pytest.raises(ProblemError, match=re.escape("step 0, state 's' has no option 7; it has: [0, 1]")):
        discovery.observe("t", 1.0, action=7)
    with pytest.raises(ProblemError, match=re.escape("a state must be hashable and not None")):
        discovery.observe([1, 2], 1.0, action=1)
    with pytest.raises(SettingError, match="the graph is not known yet: some options have not been tried"):
        discovery.mdp()
    assert discovery.episodes == 1
    discovery.observe("t", 1.0, action=1)
    discovery.observe(None, 1.0)
    assert discovery.done
    assert discovery.mdp().n_arcs == 4
    with pytest.raises(SettingError, match="actions must be a number, names or a function"):
        Discovery(2, actions="ab")
    with pytest.raises(ProblemError, match="step 0, state 's' can be reached but has no option"):
        Discovery(2, actions=lambda stage, state: []).start("s")
    mixed = Discovery(2, actions=lambda stage, state: ["x"] if stage else ["x", "y"])
    mixed.start("s")
    mixed.observe(1, 0.0)
    mixed.observe(None, 0.0)
    mixed.start("s")
    with pytest.raises(ProblemError, match="two states are both called '1': 1 and '1'"):
        mixed.observe("1", 0.0)
    mixed.observe(1, 0.0)  # the refusal changed nothing
    message = "two options of step 0, state 's' are both called '1': 1 and '1'"
    with pytest.raises(ProblemError, match=message):
        Discovery(2, actions=[1, "1"]).start("s")
