"""The quickest route to work: a networkx graph with routes of unequal length, a known price, times to minimise.

Run: python examples/commute.py
"""

import networkx as nx
import numpy as np

from surepath import MDP, Challenger

roads = nx.DiGraph()
roads.add_edge("home", "work", action="ring road", mean=31.0, sigma=4.0)
roads.add_edge("home", "station", action="walk", known=8.0)
roads.add_edge("home", "river", action="bicycle", mean=9.0, sigma=1.0)
roads.add_edge("station", "work", action="train", mean=19.0, sigma=2.0)
roads.add_edge("river", "work", action="ferry", mean=14.0, sigma=3.0)
roads.add_edge("river", "old town", action="bridge", mean=6.0, sigma=1.0)
roads.add_edge("old town", "work", action="bicycle", mean=7.0, sigma=1.0)

# The learner sees the graph, the noise and the known time; the means stay with the city.
mdp = MDP.from_networkx(roads, "home", "work", direction="minimize")
minutes = {(u, data["action"]): data.get("mean", 0.0) for u, _, data in roads.edges(data=True)}
rng = np.random.default_rng(0)

learner = Challenger(mdp, epsilon=1.0, delta=0.05)
while not learner.stopped:
    trip = learner.ask()
    legs = mdp.path_labels(trip)
    learner.tell(trip, [minutes.get(leg, 0.0) + noise * rng.normal() for leg, noise in zip(legs, learner.sigma[trip])])

route = [action for _, action in mdp.path_labels(learner.recommend()) if action != "(pass)"]
print(f"{' > '.join(route)}, within 1 minute of the quickest route (95 % sure), after {learner.episodes} trips")
