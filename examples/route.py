"""The quickest route from a table of legs: a CSV file, times to minimise, one leg whose time is known.

The table names places, legs and the least and most minutes of each; routes of unequal length are fine. What a leg
really takes is unknown and differs from day to day.

Run: python examples/route.py
"""

import random
from pathlib import Path

from surepath import MDP, Challenger

mdp = MDP.load(Path(__file__).with_name("route.csv"))
TRUE_MINUTES = {
    "motorway": 34,
    "river road": 33,
    "truck": 21,
    "van": 19,
    "old bridge": 11,
    "cargo bike": 37,
    "tram": 12,
}


def drive(leg, low, high):
    """Simulate a trip of today: minutes around the leg's mean, inside its range."""
    reach = min(TRUE_MINUTES[leg] - low, high - TRUE_MINUTES[leg], 5)
    return TRUE_MINUTES[leg] + random.uniform(-reach, reach)


learner = Challenger(mdp, epsilon=8, delta=0.05)  # minutes
while not learner.stopped:
    path = learner.ask()
    minutes = []
    for arc in path:
        if mdp.is_known[arc]:  # the walk, and waiting where a route is shorter
            minutes.append(mdp.known[arc])
        else:
            minutes.append(drive(mdp.action_label(arc), mdp.reward_range[0][arc], mdp.reward_range[1][arc]))
    learner.tell(path, minutes)

route = [leg for _, leg in mdp.path_labels(learner.recommend()) if leg != "(pass)"]
gap = learner.certified_gap()
found = f"{' > '.join(route)}, proven within {gap:.1f} minutes of the quickest (95 % sure)"
print(f"{found}, after {learner.episodes} trips")
