"""Streams of many runs: the same numbers as NumPy's own generators, whatever the seed; and runs that use them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from surepath.kernels.streams import Children, open_source, states_of
from surepath.learners.hooks import Hooks

from surepath import BPIUCRL, EPRL, Bernoulli, Gaussian, Instance, families
from surepath.kernels import streams
from surepath.kernels.arrays import reality_of
from surepath.learners.per_arc.learner import RuleLearner


@given(st.integers(0, 2**140), st.integers(0, 2**32 - 20), st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_states_are_those_of_numpy(seed: int, first: int, number: int) -> None:
    children = Children(seed, first, number)
    states = states_of(children, children.generator(0))
    assert states is not None
    for i in range(number):
        said = children.generator(i).bit_generator.state["state"]
        low, high, increment, upper = (int(word) for word in states[i])
        assert low | high << 64 == said["state"]
        assert increment | upper << 64 == said["inc"]


def test_a_generator_that_is_set_to_a_stream_draws_what_that_stream_draws() -> None:
    children = Children(7, 3, 5)
    source = open_source(children)
    assert source is not None
    for i in (4, 0, 2):
        source.words[:] = source.states[i]
        assert source.rng.standard_normal(5).tolist() == children.generator(i).standard_normal(5).tolist()


def test_runs_beyond_the_first_word_of_a_key_have_generators_of_their_own() -> None:
    assert states_of(Children(0, 2**32 - 1, 2), np.random.default_rng(0)) is None
    assert open_source(Children(0, 2**32, 1)) is None


def test_an_unknown_generator_is_not_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where NumPy's algorithm or memory differ from what is expected, there is no source."""
    monkeypatch.setattr(streams, "_MULTIPLIER", 5)
    assert open_source(Children(0, 0, 3)) is None


@pytest.mark.parametrize("options", [{"sampling": "max-diameter"}, {"sampling": "static-max-coverage"}, {}])
@pytest.mark.parametrize("noise", ["gaussian", "bernoulli"])
def test_many_runs_in_one_call_are_those_of_single_calls(options: dict[str, Any], noise: str) -> None:
    base = families.paper_random(seed=2)
    law = Gaussian(base.means, 0.3) if noise == "gaussian" else Bernoulli(base.means)
    instance = Instance(base.mdp, law)
    learners: list[RuleLearner] = [EPRL(base.mdp, 0.2, 0.1, 0.3, elimination="both", **options)]
    if not options:
        learners.append(BPIUCRL(base.mdp, 0.2, 0.1, 0.3, preset="experiment"))
    grid, children = np.array([0.4, 1.5, 0.2]), Children(11, 5, 12)
    for learner in learners:
        for budget in (300, 20_000):
            many = learner._run_many(reality_of(instance), children, budget, grid)
            single = Hooks._run_many(learner, reality_of(instance), children, budget, grid)
            for ours, theirs in zip(many, single, strict=True):
                assert ours.tolist() == theirs.tolist()
            assert len(set(many.tau.tolist())) > 5 or budget == 300
