"""Presets: the cap and the sigma of each, and the figures' claims, in kind, on fresh instances."""

from __future__ import annotations

import numpy as np
import pytest

from surepath import EPRL, MDP, families, simulate, theory

MDP_OF_TWO = MDP.from_arrays([[[0, 0]]])
RULES = {
    "bpi": {"name": "BPIUCRL"},
    "diameter": {"name": "EPRL", "sampling": "max-diameter"},
    "coverage": {"name": "EPRL", "sampling": "max-coverage"},
}


@pytest.mark.slow
def test_learners_relate_as_the_paper_says() -> None:
    """Large epsilon: BPI-UCRL is cheapest, by about 2x and 3x at most; small epsilon: EPRL wins by far."""
    large: dict[str, list[float]] = {name: [] for name in RULES}
    small: dict[str, list[float]] = {name: [] for name in RULES}
    for seed in range(5):
        instance = families.paper_random(seed=seed, sigma=0.5)
        gaps = theory.gaps(instance).value
        least = float(gaps[gaps > 1e-9].min())
        for name, rule in RULES.items():
            spec = {**rule, "delta": 0.1, "preset": "experiment", "sigma": 0.5}
            result = simulate(spec, instance, 10, seed, epsilons=[10 * least, 0.05 * least], budget=250_000)
            large[name].append(result.mean_tau(10 * least))
            small[name].append(result.mean_tau(0.05 * least))
            if name == "bpi":
                assert result.censored[result.at(0.05 * least)].all()
    for at in range(5):
        assert large["bpi"][at] < large["diameter"][at] < 2.3 * large["bpi"][at]
        assert large["bpi"][at] < large["coverage"][at] < 3.3 * large["bpi"][at]
        assert 10 * small["diameter"][at] < small["bpi"][at]
        assert 10 * small["coverage"][at] < small["bpi"][at]
    wins = np.array(small["diameter"]) < np.array(small["coverage"])
    assert wins.sum() >= 3


def test_the_text_has_no_cap_and_the_authors_code_has_one() -> None:
    for preset, before, after in (("text", np.inf, 5 * np.sqrt(2 * np.log(2 / 0.1))), ("experiment", 1.0, 1.0)):
        learner = EPRL(MDP_OF_TWO, 0.1, 0.1, 5.0, preset=preset)
        assert learner.widths_now().tolist() == [before, before]
        learner.tell([0], [0.5])
        assert learner.widths_now().tolist() == pytest.approx([after, before])


def test_presets_say_their_sigma_where_nobody_else_does() -> None:
    assert EPRL(MDP_OF_TWO, 0.1, 0.1, preset="text").sigma.tolist() == [1.0, 1.0]
    assert EPRL(MDP_OF_TWO, 0.1, 0.1, preset="experiment").sigma.tolist() == [0.5, 0.5]
    declared = MDP.from_edges([("s", "a", "t"), ("s", "b", "t")], sigma=0.25)
    assert EPRL(declared, 0.1, 0.1, preset="text").sigma.tolist() == [0.25, 0.25]
