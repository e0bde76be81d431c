"""Gymnasium: FrozenLake and CliffWalking with noisy rewards. The graph is found by replay, then its best path.

Both worlds are deterministic here: the same move from the same place leads to the same place. The rewards get Gaussian
noise with a standard deviation of NOISE, which is what is declared to surepath.

Run: python examples/gymnasium_worlds.py        (needs the extra gym: pip install '.[gym]')
"""

import gymnasium
import numpy as np

from surepath import MDP, Challenger
from surepath.model.adapters import play

NOISE = 0.2
rng = np.random.default_rng(0)


def best_path(name, horizon, moves, epsilon, **settings):
    """Find a path within epsilon of the best, wrong with probability 0.05 at most."""
    exact = gymnasium.make(name, **settings)
    noisy = gymnasium.wrappers.TransformReward(exact, lambda reward: float(reward) + NOISE * rng.normal())
    mdp = MDP.from_gymnasium(noisy, horizon=horizon)
    learner = Challenger(mdp, epsilon=epsilon, delta=0.05, sigma=NOISE)
    while not learner.stopped:
        path = learner.ask()
        learner.tell(path, play(noisy, mdp, path))  # every step is compared with the graph
    best = learner.recommend()
    steps = [moves[int(action)] for _, action in mdp.path_labels(best) if action != "(pass)"]
    print(f"{name}: {mdp.n_arcs:,} options, about {mdp.n_paths:.2g} plans, {learner.episodes} trials")
    print(f"  {', '.join(steps)}: score {play(exact, mdp, best).sum():g} without the noise")


best_path("FrozenLake-v1", 6, ["left", "down", "right", "up"], 0.5, is_slippery=False)
best_path("CliffWalking-v1", 14, ["up", "right", "down", "left"], 0.9)
