"""What the docs say of the widths: from how many visits on the mixture is the tighter one."""

from __future__ import annotations

import pytest

from surepath import EPRL, MDP
from surepath.learners.widths import new_table

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
