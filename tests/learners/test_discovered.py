"""From unknown transitions to an answer: discover, hand the data over, go on learning."""

from __future__ import annotations

import numpy as np

from surepath import Challenger, families
from surepath.model.adapters import Discovery


def test_a_learner_goes_on_from_what_discovery_saw() -> None:
    world = families.chain(3, 3, seed=2, sigma=0.05)
    rng = np.random.default_rng(1)
    discovery = Discovery(world.mdp.horizon, actions=3)
    while not discovery.done:
        state = discovery.start(0)
        for stage in range(world.mdp.horizon):
            action = discovery.act()
            reward = world.means[world.mdp.arc(stage, state, action)] + 0.05 * rng.normal()
            state = discovery.observe(action if stage < world.mdp.horizon - 1 else None, reward)
    mdp = discovery.mdp(sigma=0.05)
    assert mdp.n_arcs == world.mdp.n_arcs
    learner = Challenger(mdp, epsilon=0.1, delta=0.05)
    assert discovery.tell(learner) == learner.episodes > 0
    assert learner.visits.sum() == learner.episodes * mdp.horizon
    assert (learner.visits > 0).all()  # every arc was seen while the graph was found
    for _ in range(100_000):
        if learner.stopped:
            break
        path = learner.ask()
        learner.tell(path, world.means[path] + 0.05 * rng.normal(size=mdp.horizon))
    assert learner.stopped
    assert world.regret_of(learner.recommend()) <= 0.1
