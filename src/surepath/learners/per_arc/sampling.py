"""Sampling rules: which path to play next. `choose` dispatches on the rule's number.

A rule only says which path is due; the kernels that find it are shared (`cached_values.py`, `covers.py`,
`random_path`), because each copy of them takes time to compile. k_t = 1 + min of n^{t-1} over active arcs is the period
of episode t; it never falls and may jump. Arcs with a known reward are never undersampled. Ties: lowest arc, unless a
rule says otherwise.
"""

from __future__ import annotations

import numpy as np

from surepath._types import IntArray
from surepath.kernels.arrays import Layers
from surepath.kernels.jit import folded_kernel, hot_kernel, inner_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.cached_values import BY_UPPER, BY_WIDTH, walk
from surepath.learners.per_arc.covers import cover, follow_cover
from surepath.learners.per_arc.state import Rules, State

SAMPLING_RULES = ("max-coverage", "static-max-coverage", "max-diameter", "coverage", "optimistic", "uniform")
MAX_COVERAGE, STATIC_MAX_COVERAGE, MAX_DIAMETER, COVERAGE, OPTIMISTIC, UNIFORM_SAMPLING = range(6)

# What a rule can ask for: the active policy of largest diameter, or of largest upper value; a path with most
# undersampled arcs, judged on the arcs that were active when the period began or are active now; the next path of the
# period's cover; random actions.
WIDEST_PATH, HIGHEST_PATH, COVER_STARTED, COVER_ACTIVE, NEXT_OF_COVER, RANDOM_PATH = range(6)


@folded_kernel
def max_coverage(rules: Rules, tally: IntArray) -> int:
    """Ask for a covering path and the widest one in turn: the sampling rule of Algorithm 1.

    Odd episodes: the policy, among ALL policies, that visits most undersampled arcs,

        argmax sum_h 1{ (s_h, a_h) active when period k_t began, n^{t-1}(s_h, a_h) < k_t };

    even episodes: max-diameter over active policies. Eliminated arcs may be played to cover faster. The episode about
    to be played is number EPISODES + 1.
    """
    return WIDEST_PATH if tally[at.EPISODES] % 2 == 1 else COVER_STARTED


@folded_kernel
def static_max_coverage(rules: Rules, tally: IntArray) -> int:
    """Ask for the next path of the period's cover and for the widest one in turn (appendix on algorithms).

    When the period changes, every arc active then with fewer than k visits demands one visit, an integer minimum flow
    over the FULL graph meets the demands, and its paths, a smallest set of policies that visits them all, are played
    one by one on odd episodes. Even episodes play max-diameter. If the cover runs out while the period lasts, or once
    arcs were excluded, the greedy rule of max-coverage takes over. Each path follows the arc with most flow left.
    """
    if tally[at.EPISODES] % 2 == 1:
        return WIDEST_PATH
    return NEXT_OF_COVER if tally[at.COVER_LEFT] > 0 else COVER_STARTED


@folded_kernel
def max_diameter(rules: Rules, tally: IntArray) -> int:
    """Ask for an active policy with the largest sum of widths (the function MaxDiameter of Algorithm 1).

        pi^t in argmax over Pi^{t-1} of sum_h b_h^{t-1}(s_h, a_h)

    Unvisited arcs have infinite width: the path with most of them wins, then the finite part. Its value is half the
    diameter that the stopping rule tests, so one backward pass serves both. Ties: lowest arc (least played action under
    the `experiment` preset).
    """
    return WIDEST_PATH


@folded_kernel
def coverage(rules: Rules, tally: IntArray) -> int:
    """Ask for the policy that visits most undersampled arcs, in every episode: how the authors ran max-coverage.

        pi^t in argmax over ALL policies of sum_h 1{ (s_h, a_h) in A, n^{t-1}(s_h, a_h) < k_t }

    with A the arcs active now. Eliminated arcs may be played on the way.
    """
    return COVER_ACTIVE


@folded_kernel
def optimistic(rules: Rules, tally: IntArray) -> int:
    """Ask for the active policy of largest upper value: the sampling rule of BPI-UCRL.

        pi^t_h(s) = argmax_a  Qbar_h^{t-1}(s, a)

    An unvisited arc has an infinite upper value: the path with most of them wins, then the finite part. Under the
    `experiment` preset it plays on widths alone while some arc is unvisited, as the authors' code does. Ties: lowest
    arc (least played action under that preset).
    """
    return WIDEST_PATH if rules.widths_first == 1 and tally[at.UNSEEN] > 0 else HIGHEST_PATH


@folded_kernel
def uniform(rules: Rules, tally: IntArray) -> int:
    """Ask for random actions, each of a state with the same chance: a baseline that learns nothing from the rewards.

    No active sets, no ties; arcs that have left the graph are not played.
    """
    return RANDOM_PATH


@folded_kernel
def choose(graph: Layers, rules: Rules, state: State, full: int | None) -> None:
    """Write the path to play into the row PATH: the rule says which one is due, shared kernels find it.

    With `full` None the rule is max-coverage or coverage.
    """
    if rules.sampling == MAX_COVERAGE:
        turn = max_coverage(rules, state.tally)
    elif full is None or rules.sampling == COVERAGE:
        turn = coverage(rules, state.tally)
    elif rules.sampling == MAX_DIAMETER:
        turn = max_diameter(rules, state.tally)
    elif rules.sampling == OPTIMISTIC:
        turn = optimistic(rules, state.tally)
    elif rules.sampling == STATIC_MAX_COVERAGE:
        turn = static_max_coverage(rules, state.tally)
    else:
        turn = uniform(rules, state.tally)
    if turn in (COVER_STARTED, COVER_ACTIVE):
        cover(graph, state, np.int64(at.ACTIVE if turn == COVER_ACTIVE else at.STARTED))
    elif full is not None and turn == NEXT_OF_COVER:
        follow_cover(graph, state, np.bool_(False))
    elif full is not None and turn == RANDOM_PATH:
        random_path(graph, rules, state)
    else:
        walk(graph, rules, state, np.int64(BY_UPPER if turn == HIGHEST_PATH else BY_WIDTH))


@inner_kernel
def random_path(graph: Layers, rules: Rules, state: State) -> None:
    """Write a path of random actions into the row PATH.

    The chance comes from a hash of (seed, episode, stage), so that asking twice gives the same path and a run can be
    repeated from any point.
    """
    node = np.uint32(0)
    key = mix(np.int64(rules.seed)) ^ mix(state.tally[at.EPISODES] + 1)
    for h in range(state.path.shape[1]):
        chosen, degree = np.int64(graph.first[node]), np.int64(graph.first[node + 1]) - np.int64(graph.first[node])
        draw = mix(np.int64(key >> np.uint64(1)) + h * 7919) >> np.uint64(1)
        chosen += np.int64(draw % np.uint64(degree))
        state.path[at.PATH, h] = chosen
        node = graph.target[chosen]


@hot_kernel
def mix(key: np.int64) -> np.uint64:
    """Mix the bits of a key in the manner of splitmix64: every input bit moves every output bit."""
    z = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
