"""What Bernstein widths are at least over a range of slopes, beside the widths themselves."""

from __future__ import annotations

import numpy as np
import pytest

from surepath import MDP, Challenger
from surepath.kernels.jit import bare_kernel
from surepath.learners import runs as tasks
from surepath.learners.challenger.noise import BERNSTEIN, fill_floors, learned_values
from surepath.learners.challenger.state import OWN, RIVAL, Pairs, Scratch

pytestmark = pytest.mark.pure


@bare_kernel
def floors(pairs: Pairs, work: Scratch, j: int, low: float, high: float) -> None:
    fill_floors(pairs.learned, work.learned_work, j, (low, high), work.extra, work.live, work.on, work.weight)


def test_they_are_at_most_the_widths_and_about_as_large_over_a_short_range() -> None:
    """Arcs with 1 to 3,000 rewards of little and of much noise, on both sides; ranges of 1.5 and of 1,000."""
    mdp = MDP.from_arrays(np.zeros((1, 1, 12), dtype=int), reward_range=(-1, 3))
    learner, rng = Challenger(mdp, 0.5, 0.1, noise="bernstein", dependence="independent"), np.random.default_rng(0)
    visits = np.array([1, 1, 2, 3, 5, 9, 17, 40, 100, 300, 1000, 3000])
    for arc, count in enumerate(visits.tolist()):
        spread = rng.choice([0.01, 0.3, 1.0])
        for _ in range(min(count, 120)):
            learner.tell([arc], [1.0 + spread * rng.choice([-2.0, 2.0])])
    learner._seen.squares[:] *= visits / learner.visits
    learner._seen.sums[:] *= visits / learner.visits
    learner._seen.visits[:] = visits
    work, pairs, learned = learner._work, learner.pairs, learner.pairs.learned
    learner._act(tasks.REFRESH)
    assert learned is not None
    assert work.learned_work is not None
    tight = []
    for side in (RIVAL, OWN):
        work.on[:], work.live[:] = side == OWN, True
        for j in np.flatnonzero(pairs.kind == BERNSTEIN).tolist():
            for ratio in (1.5, 1000.0):
                for low in np.exp(rng.uniform(np.log(1e-4), np.log(100), 15)).tolist():
                    slopes = low * ratio ** np.linspace(0.0, 1.0, 60)
                    floors(pairs, work, j, low, low * ratio)
                    for e in range(mdp.n_arcs):
                        widths = learned_values(learned, work.learned_work, BERNSTEIN, side, j, slopes, e)
                        assert work.weight[e] <= widths.min(), (side, j, ratio, low, e)
                        if ratio < 2:
                            tight.append(work.weight[e] / widths.min())
    assert np.median(tight) > 0.95


def test_an_arc_whose_noise_is_declared_counts_by_its_logarithm() -> None:
    mdp = MDP.from_arrays(np.zeros((1, 1, 2), dtype=int), reward_range=(0, 1))
    fields = {name: getattr(mdp, name) for name in ("first", "target", "stage_node", "node_state", "action")}
    sigma = np.array([np.nan, 0.3])
    mixed = MDP(**fields, sigma=sigma, reward_range=(np.array([0.0, np.nan]), np.array([1.0, np.nan])))
    learner = Challenger(mixed, 0.5, 0.1, noise="bernstein", dependence="independent")
    for arc in (0, 1, 1):
        learner.tell([arc], [0.5])
    work, j = learner._work, int(np.flatnonzero(learner.pairs.kind == BERNSTEIN)[0])
    work.on[:], work.live[:] = False, True
    floors(learner.pairs, work, j, 0.25, 2.0)
    assert work.weight[1] == pytest.approx(0.25 * work.extra[RIVAL, j, 1], rel=1e-11)
    assert work.weight[1] < 0.25 * work.extra[RIVAL, j, 1]
    assert work.weight[1] > 0


def test_an_arc_without_noise_has_no_width() -> None:
    """All arcs have a range and a sigma, 0 for one of them: its noise counts as learned, and its width is 0."""
    mdp = MDP.from_arrays(np.zeros((1, 1, 3), dtype=int), reward_range=(0, 1))
    learner = Challenger(mdp, 0.5, 0.1, [0.0, 0.3, 0.3], noise="bernstein", dependence="independent")
    for arc in (0, 1, 1, 2):
        learner.tell([arc], [0.5])
    work, j = learner._work, int(np.flatnonzero(learner.pairs.kind == BERNSTEIN)[0])
    work.on[:], work.live[:], work.weight[:] = False, True, 1.0
    floors(learner.pairs, work, j, 100.0, 150.0)
    assert work.a[RIVAL, j, 0] == 0.0
    assert work.weight[0] == 0.0
