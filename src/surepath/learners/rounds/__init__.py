"""Rounds: the learner for plans that have one score, or one for some steps together."""

from __future__ import annotations

from surepath.learners.rounds.learner import Rounds as Rounds
