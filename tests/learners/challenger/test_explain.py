"""What Challenger says of itself: its rivals, what is missing, and what cannot be settled."""

from __future__ import annotations

import numpy as np

from surepath import MDP, Challenger, Gaussian, Instance
from tests.learners.challenger.plays import chain, play


def test_the_explanation_names_challengers_and_what_is_missing() -> None:
    instance = chain()
    learner = Challenger(instance.mdp, 0.1, 0.1, 0.2)
    early = learner.explain()
    assert early.rivals == []
    assert f"{instance.mdp.n_arcs} arcs have no reward yet" in early.remark
    play(learner, instance, np.random.default_rng(0), 40)
    now = learner.explain(challengers=2)
    assert now.incumbent == learner.recommend().tolist()
    assert now.certified_gap == learner.certified_gap()
    assert len(now.rivals) == 2
    assert now.rivals[0].bound >= now.rivals[1].bound
    assert now.rivals[0].bound <= now.certified_gap * 1.02 + 1e-9
    assert all(rival.path != now.incumbent and rival.separating for rival in now.rivals)
    assert now.to_dict()["rivals"][0]["path"] == now.rivals[0].path
    text = str(now)
    assert "after 40 episodes: " in text
    assert "may be better by up to" in text
    assert "separated by: " in text
    assert now.remark == ""


def test_the_explanation_says_that_a_tie_cannot_be_settled_at_epsilon_zero() -> None:
    instance = Instance(MDP.from_arrays([[[0, 0]]]), Gaussian([0.5, 0.5], 0.1))
    learner = Challenger(instance.mdp, 0.0, 0.1, 0.1)
    play(learner, instance, np.random.default_rng(0), 50)
    assert not learner.stopped
    assert "epsilon is 0: this stops only if the best path is unique" in str(learner.explain())
