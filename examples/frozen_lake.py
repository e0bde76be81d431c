"""Gymnasium: discover the graph of a frozen lake by replay, then find a way across.

Run: python examples/frozen_lake.py
"""

import gymnasium

from surepath import MDP, Challenger
from surepath.model.sources.gymnasium_env import play

env = gymnasium.make("FrozenLake-v1", is_slippery=False)
mdp = MDP.from_gymnasium(env, horizon=6)
print(f"{mdp.n_arcs} options, {mdp.n_paths} plans")

learner = Challenger(mdp, epsilon=0.5, delta=0.05, sigma=0.05)
while not learner.stopped:
    path = learner.ask()
    learner.tell(path, play(env, mdp, path))

plan = learner.recommend()
moves = ["left", "down", "right", "up"]
steps = [moves[int(action)] for _, action in mdp.path_labels(plan) if action != "(pass)"]
print(f"{', '.join(steps)}: score {play(env, mdp, plan).sum():g} after {learner.episodes} trials")
