"""Unknown transitions: find out which step leads where from trials alone, then learn which plan is best.

Run: python examples/unknown_graph.py
"""

import numpy as np

from surepath import Challenger, families
from surepath.model.adapters import Discovery

world = families.chain(steps=4, options=3, seed=1, sigma=0.1)  # a simulated system whose graph nobody wrote down
rng = np.random.default_rng(0)


def step(stage: int, state: int, action: int) -> tuple[int | None, float]:
    """Simulate one step of the system: return the next state and a noisy score."""
    arc = world.mdp.arc(stage, state, action)
    ahead = int(world.mdp.target[arc])
    following = None if ahead == world.mdp.n_nodes else int(world.mdp.node_state[ahead])
    return following, world.means[arc] + 0.1 * rng.normal()


discovery = Discovery(horizon=4, actions=3)
while not discovery.done:
    state = discovery.start(0)
    for stage in range(4):
        state = discovery.observe(*step(stage, state, discovery.act()))
mdp = discovery.mdp(sigma=0.1)
print(f"{mdp.n_arcs} options found in {discovery.episodes} trials")

learner = Challenger(mdp, epsilon=0.2, delta=0.05)
discovery.tell(learner)  # what was seen on the way is valid data
while not learner.stopped:
    path = learner.ask()
    states = [int(state) for state, _ in mdp.path_labels(path)]
    actions = [int(action) for _, action in mdp.path_labels(path)]
    learner.tell(path, [step(h, states[h], actions[h])[1] for h in range(4)])

plan = learner.recommend()
names = [action for _, action in mdp.path_labels(plan)]
print(f"plan {names} is {world.regret_of(plan):.3f} short of the best (asked: 0.2), {learner.episodes} trials in all")
