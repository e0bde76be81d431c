"""What a learner says of itself."""

from __future__ import annotations

from typing import Any

from surepath.learners.base import Learner


def answers(learner: Learner) -> list[Any]:
    """List all that a learner shows: equal lists before and after say that nothing has changed."""
    return [
        learner.visits.tolist(),
        learner.sums.tolist(),
        learner.active.tolist(),
        learner.stopped,
        learner.stop_reason,
        learner.episodes,
        learner.recommend().tolist(),
        learner.certified_gap(),
    ]
