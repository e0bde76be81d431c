"""What the docs say of the widths: from how many visits on the mixture is the tighter one, and what the cap does."""

from __future__ import annotations

import numpy as np
import pytest

from surepath import EPRL, MDP
from surepath.kernels.widths import new_table

MDP_OF_TWO = MDP.from_arrays([[[0, 0]]])


@pytest.mark.parametrize(
    ("arcs", "delta", "visits"), [(8, 0.1, 15), (116, 0.01, 27), (1000, 0.1, 26), (98_000, 1e-6, 59)]
)
def test_mixture_widths_are_wider_at_first_and_tighter_from_there_on(arcs: int, delta: float, visits: int) -> None:
    paper, mixture = (
        new_table(EPRL(MDP_OF_TWO, 0.1, delta, 1.0, widths=widths).rules._replace(arcs=float(arcs)), 2000)
        for widths in ("paper", "mixture")
    )
    assert (mixture[1:visits] > paper[1:visits]).all()
    assert (mixture[visits:] < paper[visits:]).all()


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
