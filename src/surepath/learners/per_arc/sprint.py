"""Play many episodes in a row, for the two rules that sample by one value: max-diameter and optimism.

Both choose the next path and test their stop on the same backward pass, SPREAD or BEST. When that pass is fresh, every
width is finite and nothing can be eliminated, an episode is no more than: walk, draw, take in, pass. A sprint plays
such episodes in a row. That nothing is eliminated is proved by `elimination/slack.py`, or else judged here: by the
value rule before an episode that eliminations follow, as that rule wants it; the stop of BPI-UCRL is tested here too. A
sprint ends before an episode in which the value rule may eliminate something, and after one when the return rule may or
the stop is near; the rules themselves then judge. What is decided is the same: this file leaves out only what provably
changes nothing.

The bookkeeping of `slack.py` is done here in coarse steps. A bound that moves further than its stage allows is given
some allowance ahead, a small share of what is left to spend, so that the next moves need no note. Where it does not
pay, at the beginning of a run, no notes are taken.
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers, Reality
from surepath.kernels.jit import folded_kernel, hot_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.arc_bounds import arc_width
from surepath.learners.per_arc.draw_ahead import draw_more, draw_slowly
from surepath.learners.per_arc.elimination import EVERY_EPISODE, EVERY_SA
from surepath.learners.per_arc.elimination.slack import is_clear, is_idle, measure_or_pause, note, note_nothing
from surepath.learners.per_arc.elimination.value_gap import keep_clear, least_clear, survey
from surepath.learners.per_arc.sampling import MAX_DIAMETER, OPTIMISTIC
from surepath.learners.per_arc.state import HALF_BIG, Rules, State
from surepath.learners.per_arc.stopping import DIAMETER, OPTIMAL_GAP, is_within
from surepath.learners.per_arc.sweeps import backward_masked
from surepath.model.rewards import GAUSSIAN


@folded_kernel
def may_sprint(rules: Rules, state: State) -> bool:
    """Return whether the rules are one of the two, eliminations have fixed times, and a sprint may begin now."""
    tally = state.tally
    wide = rules.sampling == MAX_DIAMETER and rules.stopping == DIAMETER and tally[at.FRESH_SPREAD] == 1
    hopeful = rules.sampling == OPTIMISTIC and rules.stopping == OPTIMAL_GAP and tally[at.FRESH_BEST] == 1
    timed = (rules.schedule == EVERY_EPISODE or rules.schedule == EVERY_SA) and rules.periods == 0
    finite = tally[at.PASSABLE_INFINITE] == 0 and (rules.cap == np.inf or tally[at.UNSEEN] == 0)
    undecided = tally[at.CROWDED] > 0 or rules.single == 0
    if not ((wide or hopeful) and timed and finite and undecided):
        return False
    return rules.by_value == 0 or until_due(rules, tally[at.EPISODES]) > 1 or is_clear(state.stage, state.real)


@folded_kernel
def until_due(rules: Rules, t: int) -> int:
    """Count the episodes after episode t up to the next one that eliminations follow, by a schedule of fixed times."""
    return 1 if rules.schedule == EVERY_EPISODE else int(rules.every - t % rules.every)


@folded_kernel
def limits(rules: Rules, state: State, value: float, epsilon: float) -> tuple[float, float, bool, bool]:
    """Return a bar, the allowance, and whether the return rule or the value rule may take something out.

    The stop is out of reach while the value of the start is above the bar.
    """
    real, spare, spent = state.real, HALF_BIG, False
    stale, bar = False, 0.5 * epsilon
    if rules.by_return == 1:
        spent = not is_idle(real, real[at.RETURN_SLACK])
        spare = real[at.RETURN_SLACK] - real[at.USED] - real[at.GUARD]
    if rules.by_value == 1:
        stale = not is_clear(state.stage, real)
        spare = min(spare, real[at.VALUE_SLACK] - real[at.USED] - real[at.GUARD])
    if rules.sampling == OPTIMISTIC:
        bar = real[at.FLOOR_SEEN] + real[at.LIFTED] + epsilon + real[at.GUARD]
        spare = min(spare, value - bar)
    return bar, max(0.0, spare) / (4.0 * state.path.shape[1]), spent, stale


@hot_kernel
def sprint(
    graph: Layers,
    rules: Rules,
    state: State,
    reality: Reality,
    rng: np.random.Generator,
    limit: int,
    epsilon: float,
    full: int,
) -> bool:
    """Play quick episodes up to `limit`; return whether the rules must judge after the last one.

    The choice of an arc is written to the path at once, inside the branch: a store keeps the compiler from turning the
    branch into a conditional move, so the processor runs ahead on the likely path instead of waiting for each sum.
    """
    first, target = graph.first, graph.target
    path, horizon = state.path[at.PATH], state.path.shape[1]
    arc, visits = state.arc, state.number[at.VISITS]
    known, ahead = state.flag[at.IS_KNOWN], state.ahead
    apart, fallen, risen = state.flag[at.APART], state.stage[at.FALLEN], state.stage[at.RISEN]
    wide, one = rules.sampling == MAX_DIAMETER, np.uint64(1)
    weight = arc[at.WIDTH] if wide else arc[at.UPPER]
    value, floor = state.node[at.SPREAD] if wide else state.node[at.BEST], state.node[at.FLOOR]
    drawn, size, t = len(ahead) - state.tally[at.LEFT_AHEAD], len(ahead), state.tally[at.EPISODES]
    until, every = until_due(rules, t), 1 if rules.schedule == EVERY_EPISODE else rules.every
    judging, begun, moved = False, False, True
    measured, allowance, rest = True, 0.0, state.tally[at.EAGER]
    if t < rest and rules.by_return == 0:
        note_nothing(state)
    while True:
        if moved:
            bar, spare, spent, stale = limits(rules, state, value[0], epsilon)
            allowance = spare if measured else allowance  # given once, after a measurement
            moved, measured = False, False
        if begun:
            until -= 1
            judging = not value[0] > bar and (until == 0 or rules.at_eliminations == 0)
            if judging and not wide:
                backward_masked(graph, arc[at.LOWER], floor)
                judging = is_within(rules, value[0] - floor[0], epsilon)
                if not judging and t >= rest:
                    measured = measure_or_pause(rules, state, t, every)
                    moved, rest = True, state.tally[at.EAGER]
            judging |= spent and until == 0
            until = every if until == 0 else until
        begun = True
        if judging or t >= limit:
            break
        if stale and until == 1:
            state.tally[at.FRESH_CLEAR] = 0
            survey(graph, state)
            slack = least_clear(state.stage)
            if slack < 0.0:
                break
            if t >= rest and not measured:
                measured = measure_or_pause(rules, state, t, every)
                moved, rest = True, state.tally[at.EAGER]
            if measured:
                keep_clear(state.stage, state.real, slack)
        t += 1
        if drawn + horizon > size and reality.plain == 1:
            state.tally[at.LEFT_AHEAD] = size - drawn
            draw_more(state, rng)
            drawn = 0
        node = np.uint64(0)
        for h in range(horizon):
            start, stop = np.uint64(first[node]), np.uint64(first[node + one])
            path[h] = start
            best = weight[start] + value[target[start]]
            e = start + one
            while e < stop:
                x = weight[e] + value[target[e]]
                if x > best:
                    best = x
                    path[h] = e
                elif rules.least_played == 1 and x == best and visits[e] < visits[np.uint64(path[h])]:
                    path[h] = e
                e += one
            chosen = np.uint64(path[h])
            node = np.uint64(target[chosen])
            n = visits[chosen] + 1
            visits[chosen] = n
            if reality.plain == 1 and reality.kind[chosen] == GAUSSIAN:
                gain = reality.sign * (reality.a[chosen] + reality.b[chosen] * ahead[np.uint64(drawn)])
                drawn += 1
            else:
                gain = draw_slowly(reality, chosen, rng, full)
            if apart[chosen]:
                if known[chosen]:
                    continue
                total = arc[at.SUMS, chosen] + (gain - arc[at.ORIGIN, chosen])
                mean = arc[at.BASE, chosen] + total / n
            else:  # the same with zeros
                total = arc[at.SUMS, chosen] + gain
                mean = total / n
            arc[at.SUMS, chosen] = total
            width = arc_width(rules, state, chosen, n)
            top, lower = mean + width, mean - width
            arc[at.TOP, chosen] = top
            arc[at.UPPER, chosen] = top
            arc[at.LOWER, chosen] = lower
            arc[at.WIDTH, chosen] = width
            if arc[at.TOP_SEEN, chosen] - top > fallen[h] or lower - arc[at.LOWER_SEEN, chosen] > risen[h]:
                note(state, h, chosen, top - allowance, lower + allowance)
                moved = True
        backward_masked(graph, weight, value)
    tally = state.tally
    tally[at.LEFT_AHEAD] = size - drawn
    tally[at.EPISODES] = t
    tally[at.FRESH_FLOOR] = 0
    tally[at.FRESH_CLEAR] = 0
    tally[at.FRESH_SPREAD] = 1 if wide else 0
    tally[at.FRESH_BEST] = 0 if wide else 1
    return judging
