"""A pipeline with one accuracy at the end: six steps, 486 plans, and a proof about all of them.

Each trial runs the whole pipeline on fresh questions and sees one number. `structure="additive"` says that an accuracy
is the sum of what each option adds: then a trial says something about every step, and all plans are covered. What holds
if effects do not add up is found out at the end, by fresh plays of the answer against today's plan.

Put your pipeline in the place of `accuracy`. Run: python examples/end_score.py
"""

import random

from surepath import MDP, Study

STEPS = {
    "chunk": ["256", "512", "1024"],
    "search": ["bm25", "dense", "both"],
    "rerank": ["no", "yes"],
    "prompt": ["short", "examples", "steps"],
    "model": ["small", "medium", "large"],
    "check": ["none", "critic", "vote"],
}
TODAY = {"chunk": "512", "search": "bm25", "rerank": "no", "prompt": "short", "model": "medium", "check": "none"}
ADDS = {"512": 0.03, "1024": 0.01, "dense": 0.04, "both": 0.07, "yes": 0.03, "examples": 0.05, "steps": 0.06}
ADDS |= {"medium": 0.06, "large": 0.11, "critic": 0.01, "vote": 0.05}
QUESTIONS = 100  # fresh ones in each trial: an accuracy over them is good to 0.5 / sqrt(100)


def accuracy(plan):
    """Answer fresh questions by the plan, here pretended, and return the share of right answers."""
    chance = 0.45 + sum(ADDS.get(option, 0.0) for option in plan.values())
    return sum(random.random() < chance for _ in range(QUESTIONS)) / QUESTIONS


mdp = MDP.from_steps(STEPS, depends="none", scores="end", structure="additive", sigma=0.5 / QUESTIONS**0.5)
print(f"{mdp.n_paths:,} plans, {mdp.n_effects} effects, first round {3 * mdp.n_effects + 1} trials")
study = Study.create(mdp, "memory", epsilon=0.1, delta=0.1)
study.optimize(accuracy, n_jobs=4)
print(study.certificate())
print(study.confirm(accuracy, rivals=[TODAY], margin=0.05))
