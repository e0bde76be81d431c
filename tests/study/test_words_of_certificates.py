"""The assumptions that a certificate lists are all that its proof rests on."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from surepath import MDP, Study
from surepath.study.certificate import verify
from surepath.verify.file import assumptions, statement
from tests.verify.tools import mended

STEPS = {"model": ["a", "b", "c", "d"]}


def certificate_of(mdp: MDP, **settings: Any) -> tuple[Study, dict[str, Any]]:
    """A finished study of coins."""
    learner = {"name": "challenger", **settings}
    study, rng = Study.create(mdp, "memory", learner=learner, epsilon=0.6, delta=0.5), np.random.default_rng(1)
    while not study.done:
        study.tell(study.ask(), (rng.random(1) < 0.5).astype(float))
    return study, study.certificate().to_dict()


def noise_in(content: dict[str, Any]) -> str:
    return str(content["assumptions"][1])


@pytest.mark.parametrize("noise", ["betting", "bernstein"])
def test_a_sigma_that_counts_beside_a_range_is_an_assumption(noise: str) -> None:
    """Coins with a sigma of 0.01 declared too: two trials of them prove the best by that sigma, not by a range."""
    study, content = certificate_of(MDP.from_steps(STEPS, sigma=0.01, reward_range=(0, 1)), noise=noise)
    assert re.search(r"noise of a score of 4 options is sub-Gaussian .* \(0\.01\)", noise_in(content))
    assert verify(content, storage=study.storage).answer == "yes"
    given = certificate_of(MDP.from_steps(STEPS, reward_range=(0, 1)), noise=noise, sigma=[0.5, 0.02, 0.5, 0.5])[1]
    assert re.search(r"a score of 1 options is sub-Gaussian .* \(0\.02\)", noise_in(given))


@pytest.mark.parametrize("sigma", [None, 0.5, 0.7])
def test_half_the_range_and_more_follows_from_the_range(sigma: float | None) -> None:
    content = certificate_of(MDP.from_steps(STEPS, sigma=sigma, reward_range=(0, 1)), noise="bernstein")[1]
    assert noise_in(content).endswith("and nothing else is assumed of its noise.")


def test_options_without_noise_are_named() -> None:
    content = certificate_of(MDP.from_steps(STEPS), sigma=[0.0, 0.5, 0.5, 0.5])[1]
    assert "1 options are declared to have no noise at all" in noise_in(content)


def test_what_an_earlier_format_left_out_is_noted() -> None:
    mdp = MDP.from_steps(STEPS, sigma=0.01, reward_range=(0, 1))
    content = {**certificate_of(mdp, noise="bernstein")[1], "format": 2}
    content["statement"], content["assumptions"] = statement(content), assumptions(content, mdp)
    verdict = verify(mended(content))
    assert verdict.answer == "yes"
    assert "sub-Gaussian with the sigma that was declared for it (0.01)" in verdict.notes[0]


@pytest.mark.parametrize("sigma", [-0.1, [0.1, -1.0, 0.1, 0.1]])
def test_a_sigma_below_zero_proves_nothing(sigma: Any) -> None:
    mdp = MDP.from_steps(STEPS)
    content = certificate_of(mdp, sigma=0.1)[1]
    content["settings"]["sigma"] = sigma
    content["assumptions"] = assumptions(content, mdp)
    assert verify(mended(content)).answer == "no"
