"""The compiled loop of the paper's learners: prepare, play, take in, eliminate, stop."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath.kernels.jit import Whole, bare_kernel, folded_kernel, fresh_kernel, hot_kernel, inner_kernel, rule_kernel
from surepath.kernels.sweeps import Layers, Reality, draw, normal
from surepath.learners import runs as tasks
from surepath.learners.own_rules import RuleView
from surepath.learners.per_arc import bounds as at
from surepath.learners.per_arc.bounds import (
    BIG,
    HALF_BIG,
    NO_PERIODS,
    PERIODS_AFTER_DROP,
    Rules,
    State,
    arc_width,
    backward_masked,
    find_origin,
    forget_measures,
    refer,
    refresh_values,
    write_bounds,
)
from surepath.learners.per_arc.elimination import (
    EVERY_EPISODE,
    EVERY_SA,
    eliminate,
    is_due,
    is_idle,
    mark,
    note,
    refresh_passable,
    start_over,
    survey,
)
from surepath.learners.per_arc.rules import (
    DIAMETER,
    MAX_DIAMETER,
    OPTIMAL_GAP,
    OPTIMISTIC,
    STATIC_MAX_COVERAGE,
    certified_gap,
    choose,
    follow_cover,
    is_close,
    is_exact,
    is_within,
)
from surepath.learners.runs import BUDGET, GAP, GO_ON, SINGLE, RunRecord
from surepath.model.worlds import GAUSSIAN

# Prepare state --------------------------------------------------------------------------------------------------------


@inner_kernel
def lay_out(graph: Layers, rules: Rules, state: State) -> None:
    """Compute everything that follows from visits, sums, bases, active arcs and the period."""
    arc, flag, number = state.arc, state.flag, state.number
    tally, horizon = state.tally, state.path.shape[1]
    unseen, unseen_active, low = 0, 0, 0
    active, crowded = 0, 0
    for i in range(len(graph.first) - 1):
        degree = 0
        for e in range(graph.first[i], graph.first[i + 1]):
            flag[at.PASSABLE, e] = False
            arc[at.WIDTH, e] = -np.inf
            arc[at.UPPER, e] = -np.inf
            arc[at.TOP, e] = -np.inf
            arc[at.LOWER, e] = -np.inf
            number[at.INFINITE, e] = 0
            flag[at.APART, e] = flag[at.IS_KNOWN, e] or arc[at.ORIGIN, e] != 0.0 or arc[at.BASE, e] != 0.0
            degree += 1 if flag[at.ACTIVE, e] else 0
            if flag[at.IS_KNOWN, e] or number[at.VISITS, e] > 0:
                write_bounds(rules, state, e)
            else:
                unseen += 1
                unseen_active += 1 if flag[at.ACTIVE, e] else 0
                arc[at.TOP, e] = min(BIG, rules.cap)
                if rules.cap < np.inf:
                    arc[at.LOWER, e] = -rules.cap
                else:
                    number[at.INFINITE, e] = horizon + 1 if flag[at.ACTIVE, e] else 1
            if flag[at.ACTIVE, e] and not flag[at.IS_KNOWN, e] and number[at.VISITS, e] < tally[at.PERIOD]:
                low += 1
        state.degree[i] = degree
        active += degree
        crowded += 1 if degree > 1 else 0
    tally[at.UNSEEN] = unseen
    tally[at.UNSEEN_ACTIVE] = unseen_active
    tally[at.N_ACTIVE] = active
    tally[at.CROWDED] = crowded
    tally[at.LOW] = low if rules.periods != NO_PERIODS else 1  # then no period ever ends
    refresh_passable(graph, rules, state)
    forget_measures(state)


@folded_kernel
def set_up(graph: Layers, rules: Rules, state: State) -> None:
    """Prepare a run, whatever was played with these arrays before; CENTRE holds the gains of known arcs."""
    tally, arc = state.tally, state.arc
    flag, stage = state.flag, state.stage
    for e in range(len(graph.target)):
        flag[at.ACTIVE, e] = True
        flag[at.STARTED, e] = True
        flag[at.MARKED, e] = False
        state.number[at.VISITS, e] = 0
        state.number[at.FLOW_LEFT, e] = 0
        arc[at.SUMS, e] = 0.0
        arc[at.ORIGIN, e] = 0.0
        arc[at.BASE, e] = 0.0
        arc[at.CENTRE, e] = arc[at.CENTRE, e] if flag[at.IS_KNOWN, e] else 0.0
        arc[at.TOP_SEEN, e] = 0.0
        arc[at.LOWER_SEEN, e] = 0.0
    tally[at.EPISODES] = 0
    tally[at.CHECKED] = 0
    tally[at.COVER_LEFT] = 0
    tally[at.SETTLED] = 0
    state.real[at.USED] = 0.0
    state.real[at.LIFTED] = 0.0
    state.real[at.GUARD] = 0.0
    tally[at.PERIOD] = 1 if rules.periods != NO_PERIODS else -1  # nothing is below -1 visits
    tally[at.COVER_STALE] = 1
    for h in range(state.path.shape[1]):
        stage[at.FALLEN, h] = 0.0
        stage[at.RISEN, h] = 0.0
        refer(graph, rules, state, h)
    lay_out(graph, rules, state)


# Episode --------------------------------------------------------------------------------------------------------------


@folded_kernel
def take_in(graph: Layers, rules: Rules, state: State) -> None:
    """Count the row PATH as played: sum, mean, width and interval of its arcs (line 6 of Algorithm 1)."""
    tally, arc = state.tally, state.arc
    flag, number = state.flag, state.number
    for h in range(state.path.shape[1]):
        e = np.uint64(state.path[at.PATH, h])
        n = number[at.VISITS, e] + 1
        number[at.VISITS, e] = n
        if flag[at.IS_KNOWN, e]:
            continue
        gain = state.stage[at.GAIN, h]
        if n == 1:
            first_visit(tally, flag, number, e)
            find_origin(graph, rules, state, h, e, gain)
        total = arc[at.SUMS, e] + (gain - arc[at.ORIGIN, e])
        arc[at.SUMS, e] = total
        width = arc_width(rules, state, e, n)
        mean = arc[at.BASE, e] + total / n
        arc[at.TOP, e] = mean + width
        arc[at.LOWER, e] = mean - width
        if flag[at.PASSABLE, e]:
            state.real[at.SPREAD_LEFT] -= max(0.0, arc[at.WIDTH, e] - width)
            arc[at.WIDTH, e] = width
            arc[at.UPPER, e] = mean + width
        if n == tally[at.PERIOD] and flag[at.ACTIVE, e]:
            tally[at.LOW] -= 1
        note(state, h, e, mean + width, mean - width)
    tally[at.FRESH_FLOOR] = 0
    tally[at.FRESH_CLEAR] = 0
    tally[at.FRESH_BEST] = 0
    tally[at.FRESH_SPREAD] = 0


@inner_kernel
def first_visit(tally: IntArray, flag: BoolArray, number: IntArray, e: np.uint64) -> None:
    """Count an arc that is visited for the first time: its width is finite from now on."""
    tally[at.UNSEEN] -= 1
    if flag[at.ACTIVE, e]:
        tally[at.UNSEEN_ACTIVE] -= 1
    if number[at.INFINITE, e] > 0:
        number[at.INFINITE, e] = 0
        if flag[at.PASSABLE, e]:
            tally[at.PASSABLE_INFINITE] -= 1


@inner_kernel
def roll_period(tally: IntArray, visits: IntArray, flag: BoolArray) -> None:
    """Start the next period when every active arc has reached k visits: k_t = 1 + min of n^{t-1} over active arcs."""
    least, low = -1, 0
    for e in range(len(visits)):
        if flag[at.ACTIVE, e] and not flag[at.IS_KNOWN, e]:
            if least < 0 or visits[e] < least:
                least, low = visits[e], 0
            low += 1 if visits[e] == least else 0
    if least < 0:
        return
    tally[at.PERIOD] = least + 1
    tally[at.COVER_STALE] = 1
    tally[at.LOW] = low
    for e in range(len(visits)):
        flag[at.STARTED, e] = flag[at.ACTIVE, e]


@folded_kernel
def spend_cover(graph: Layers, state: State) -> None:
    """Use up a path of the cover after an odd episode."""
    tally = state.tally
    if tally[at.EPISODES] % 2 == 1 and tally[at.COVER_LEFT] > 0:
        follow_cover(graph, state, np.bool_(True))


# Draw ahead -----------------------------------------------------------------------------------------------------------
# Draw rewards in runs of the per-arc learners, many normal numbers at a time.
#
# Where all laws are Gaussian, standard normal numbers are drawn ahead, many in a tight loop, and used in the order of
# the stream: the rewards are the same numbers as drawn one by one, for a third of the time.


@inner_kernel
def draw_more(state: State, rng: np.random.Generator) -> None:
    """Fill the numbers drawn ahead: what is left moves to the front, new ones follow."""
    ahead, left = state.ahead, state.tally[at.LEFT_AHEAD]
    for i in range(left):
        ahead[i] = ahead[len(ahead) - left + i]
    for i in range(left, len(ahead)):
        ahead[i] = normal(rng)
    state.tally[at.LEFT_AHEAD] = len(ahead)


# Sprint ---------------------------------------------------------------------------------------------------------------
# Play many episodes in a row, for the two rules that sample by one value: max-diameter and optimism.
#
# Both choose the next path and test their stop on the same backward pass, SPREAD or BEST. When that pass is fresh,
# every width is finite and nothing can be eliminated, an episode is no more than: walk, draw, take in, pass. A sprint
# plays such episodes in a row. That the return rule eliminates nothing is proved by its slack; the value rule is
# surveyed before an episode that eliminations follow, as that rule wants it; the stop of BPI-UCRL is tested here too. A
# sprint ends before an episode in which the value rule may eliminate something, and after one when the return rule may
# or the stop is near; the rules themselves then judge. What is decided is the same: only what provably changes nothing
# is left out.
#
# The bookkeeping of slack is done here in coarse steps. A bound that moves further than its stage allows is given some
# allowance ahead, a small share of what is left to spend, so that the next moves need no note.


@folded_kernel
def may_sprint(graph: Layers, rules: Rules, state: State) -> bool:
    """Return whether the rules are one of the two, eliminations have fixed times, and a sprint may begin now."""
    tally = state.tally
    wide = rules.sampling == MAX_DIAMETER and rules.stopping == DIAMETER
    hopeful = rules.sampling == OPTIMISTIC and rules.stopping == OPTIMAL_GAP and tally[at.FRESH_BEST] == 1
    timed = (rules.schedule == EVERY_EPISODE or rules.schedule == EVERY_SA) and rules.periods == 0
    finite = tally[at.PASSABLE_INFINITE] == 0 and (rules.cap == np.inf or tally[at.UNSEEN] == 0)
    undecided = tally[at.CROWDED] > 0 or rules.stopping == OPTIMAL_GAP
    if not ((wide or hopeful) and timed and finite and undecided):
        return False
    if wide:
        refresh_values(graph, state, np.int64(at.FRESH_SPREAD), np.int64(at.WIDTH), np.int64(at.SPREAD))
    return rules.by_value == 0 or until_due(rules, tally[at.EPISODES]) > 1 or survey(graph, state)


@folded_kernel
def until_due(rules: Rules, t: int) -> int:
    """Count the episodes after episode t up to the next one that eliminations follow, by a schedule of fixed times."""
    return 1 if rules.schedule == EVERY_EPISODE else int(rules.every - t % rules.every)


@folded_kernel
def limits(rules: Rules, state: State, value: float, epsilon: float) -> tuple[float, float, bool]:
    """Return a bar, the allowance, and whether the return rule may take something out.

    The stop is out of reach while the value of the start is above the bar.
    """
    real, spare, spent, bar = state.real, HALF_BIG, False, 0.5 * epsilon
    if rules.by_return == 1:
        spent = not is_idle(real)
        spare = real[at.RETURN_SLACK] - real[at.USED] - real[at.GUARD]
    if rules.sampling == OPTIMISTIC:
        bar = real[at.FLOOR_SEEN] + real[at.LIFTED] + epsilon + real[at.GUARD]
        spare = min(spare, value - bar)
    return bar, max(0.0, spare) / (4.0 * state.path.shape[1]), spent


@hot_kernel
def sprint(
    graph: Layers, rules: Rules, state: State, reality: Reality, rng: np.random.Generator, limit: Whole, epsilon: float
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
    measured, allowance = True, 0.0
    while True:
        if moved:
            bar, spare, spent = limits(rules, state, value[0], epsilon)
            allowance = spare if measured else allowance  # given once, after a measurement
            moved, measured = False, False
        if begun:
            until -= 1
            judging = not value[0] > bar and (until == 0 or rules.authors == 0)
            if judging and not wide:
                backward_masked(graph, arc[at.LOWER], floor)
                judging = is_within(rules, value[0] - floor[0], epsilon)
                if not judging:
                    start_over(state)
                    state.real[at.FLOOR_SEEN] = floor[0]
                    measured = moved = True
            judging |= spent and until == 0
            until = every if until == 0 else until
        begun = True
        if judging or t >= limit:
            break
        if rules.by_value == 1 and until == 1:
            state.tally[at.FRESH_CLEAR] = 0
            if not survey(graph, state):
                break
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
                gain = draw(reality, chosen, rng)
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
    state.real[at.SPREAD_LEFT] = -np.inf
    tally[at.FRESH_BEST] = 0 if wide else 1
    return judging


# Run ------------------------------------------------------------------------------------------------------------------

# What `play` answers when static max-coverage must find a cover first: whoever called renews it and calls again.
NEEDS_COVER = -2.0


@folded_kernel
def draw_rewards(state: State, reality: Reality, rng: np.random.Generator) -> None:
    """Draw a reward for each arc of the row PATH into the row GAIN."""
    tally = state.tally
    for h in range(state.path.shape[1]):
        e = np.uint64(state.path[at.PATH, h])
        if reality.plain == 1 and reality.kind[e] == GAUSSIAN:
            if tally[at.LEFT_AHEAD] == 0:
                draw_more(state, rng)
            z = state.ahead[len(state.ahead) - tally[at.LEFT_AHEAD]]
            tally[at.LEFT_AHEAD] -= 1
            state.stage[at.GAIN, h] = reality.sign * (reality.a[e] + reality.b[e] * z)
        else:
            state.stage[at.GAIN, h] = draw(reality, e, rng)


@folded_kernel
def settle(state: State, record: RunRecord, epsilons: int, reason: np.int64, gap: float) -> None:
    """Record the answer of this run for the next of its epsilons."""
    place = state.tally[at.RUN_NUMBER] * epsilons + state.tally[at.SETTLED]
    record.tau[place] = state.tally[at.EPISODES]
    record.reason[place] = reason
    for h in range(state.path.shape[1]):
        record.path[place, h] = state.path[at.ADVICE, h]
    record.eliminated[place] = state.arc.shape[1] - state.tally[at.N_ACTIVE]
    record.gap[place] = gap
    state.tally[at.SETTLED] += 1


@bare_kernel
def play(
    graph: Layers,
    rules: Rules,
    state: State,
    reality: Reality,
    rng: np.random.Generator,
    task: Whole,
    limit: Whole,
    epsilons: FloatArray,
    record: RunRecord,
) -> float:
    """Play a whole run, or one step of one: the one entry point from Python.

    SET_UP prepares the state. ASK leaves the path to play in PATH. TELL takes in the episode in PATH and GAIN and
    returns the verdict for epsilons[0], TAKEN does so for one that is taken in, TEST returns it again; DROP takes the
    MARKED arcs out of the active sets. ADVISE leaves the recommended path in ADVICE and returns the certified gap. RUN
    sets up if need be and plays until every epsilon (in decreasing order) is settled or `limit` episodes are played,
    and may be called again to go on; FINISH is RUN with what is not settled at the limit recorded as censored.

    One kernel for all of them, because each entry point takes seconds to compile and because so the steps
    cannot differ from the run. Every larger kernel is called from one place here: the compiler copies it into each.
    """
    tally = state.tally
    running, dropping = task >= tasks.RUN, task == tasks.DROP
    while True:
        if tally[at.PERIOD] == 0:
            set_up(graph, rules, state)
        if task == tasks.SET_UP:
            return 0.0
        if running and tally[at.SETTLED] == len(epsilons):
            return 0.0
        over = running and tally[at.EPISODES] >= limit
        if over and task == tasks.RUN:
            return 0.0
        if not over and task != tasks.TEST and task != tasks.ADVISE:
            due, marked = False, dropping
            if running and may_sprint(graph, rules, state):
                if not sprint(graph, rules, state, reality, rng, limit, epsilons[tally[at.SETTLED]]):
                    continue
                due = is_due(rules, state)
            elif task == tasks.TAKEN:
                due = is_due(rules, state)
            elif not dropping:
                if task != tasks.TELL:
                    if rules.sampling == STATIC_MAX_COVERAGE and tally[at.COVER_STALE] == 1:
                        return NEEDS_COVER
                    choose(graph, rules, state)
                if task == tasks.ASK:
                    return 0.0
                if running:
                    draw_rewards(state, reality, rng)
                tally[at.EPISODES] += 1
                due = is_due(rules, state)
                marked = due and mark(graph, rules, state)  # with the quantities of the previous episode
                take_in(graph, rules, state)
            if due or dropping:  # line 7 of Algorithm 1
                eliminate(graph, rules, state, np.bool_(marked), np.bool_(not dropping))
            if rules.sampling == STATIC_MAX_COVERAGE and not dropping:
                spend_cover(graph, state)
            if tally[at.LOW] == 0 and (dropping or rules.periods != PERIODS_AFTER_DROP):
                roll_period(tally, state.number[at.VISITS], state.flag)
            if dropping:
                return 0.0
            tally[at.CHECKED] = 1 if due or rules.authors == 0 else 0
        while tally[at.SETTLED] < len(epsilons):  # line 9: GAP, SINGLE (one action at most in every state) or GO_ON
            epsilon, reason = epsilons[tally[at.SETTLED]], BUDGET if over else GO_ON
            asked = over or task == tasks.ADVISE
            close = not asked and is_close(graph, rules, state, epsilon)
            single = rules.stopping == DIAMETER and tally[at.CROWDED] == 0 and tally[at.CHECKED] == 1
            if asked or close or single:
                gap = certified_gap(graph, rules, state)
                if task == tasks.ADVISE:
                    return gap
                proven = close and is_within(rules, gap, epsilon)
                if close and not proven and gap < np.inf and not epsilon > 0.0:
                    proven = is_exact(graph, rules, state)
                if proven:
                    reason = GAP
                elif single and not over:
                    reason = SINGLE
                if running and reason != GO_ON:
                    settle(state, record, len(epsilons), np.int64(reason), gap)
            if not running:
                return float(reason)
            if reason == GO_ON:
                break


# Runs with rules of the user's own ------------------------------------------------------------------------------------
# A loop around `play`, compiled for each set of functions and not kept: `play` itself comes from the cache.

NOT_A_PATH = -3


@inner_kernel
def is_path(graph: Layers, path: IntArray) -> bool:
    """Return whether the arcs make a path."""
    node = np.uint32(0)
    for h in range(len(path)):
        if path[h] < graph.first[node] or path[h] >= graph.first[node + 1]:
            return False
        node = graph.target[path[h]]
    return True


@folded_kernel
def is_quiet(rules: Rules, state: State, epsilon: float) -> bool:
    """Return whether neither the return rule nor the stop can act after this episode: the call of `play` is saved."""
    idle = rules.by_return == 0 or is_idle(state.real)
    return bool(idle and 2.0 * state.real[at.SPREAD_LEFT] > epsilon and state.tally[at.CROWDED] > 0)


@inner_kernel
def show_arc(rules: Rules, state: State, view: RuleView, e: int) -> None:
    """Write mean and width of an arc where the functions read them."""
    n = state.number[at.VISITS, e]
    if state.flag[at.IS_KNOWN, e] or n == 0:
        return  # as it was
    mean = state.arc[at.ORIGIN, e] + state.arc[at.SUMS, e] / n
    width = arc_width(rules, state, e, n)
    view.means[e] = mean
    view.widths[e] = width
    view.upper[e] = mean + width
    view.lower[e] = mean - width


def _nothing(view: RuleView, out: IntArray | BoolArray) -> None:
    """Stand in for a rule that is not the user's own."""


def _never(view: RuleView) -> bool:
    return False


@lru_cache(maxsize=32)
def own_run(sampling: Any, elimination: Any, stopping: Any) -> Any:
    """Compile a whole run around the user's functions; None where a rule is not their own."""
    samples, eliminates, stops = sampling is not None, elimination is not None, stopping is not None
    sample = sampling or rule_kernel(_nothing)
    drop, halt = elimination or rule_kernel(_nothing), stopping or rule_kernel(_never)

    def run(
        graph: Layers,
        rules: Rules,
        state: State,
        reality: Reality,
        rng: np.random.Generator,
        limit: int,
        epsilons: FloatArray,
        record: RunRecord,
        view: RuleView,
        marks: BoolArray,
    ) -> int:
        """Play until the rules stop (the reason), a path is none (NOT_A_PATH), or `limit` is reached (GO_ON)."""
        tally, path = state.tally, state.path[at.PATH]
        zero, reason = np.int64(0), np.int64(GO_ON)
        calm = rules.by_value == 0 and rules.periods == NO_PERIODS
        while tally[at.EPISODES] < limit:
            if samples:
                sample(_now(view, tally[at.EPISODES]), path)
                if not is_path(graph, path):
                    return NOT_A_PATH
            else:
                play(graph, rules, state, reality, rng, np.int64(tasks.ASK), zero, epsilons, record)
            draw_rewards(state, reality, rng)
            if calm:
                tally[at.EPISODES] += 1
                take_in(graph, rules, state)
            if not (calm and is_quiet(rules, state, epsilons[0])):
                task = np.int64(tasks.TAKEN if calm else tasks.TELL)
                reason = np.int64(play(graph, rules, state, reality, rng, task, zero, epsilons, record))
            for h in range(len(path)):
                show_arc(rules, state, view, path[h])
            if eliminates:
                for e in range(len(marks)):
                    marks[e] = False
                drop(_now(view, tally[at.EPISODES]), marks)
                for e in range(len(marks)):
                    state.flag[at.MARKED, e] = marks[e]
                play(graph, rules, state, reality, rng, np.int64(tasks.DROP), zero, epsilons, record)
                reason = np.int64(play(graph, rules, state, reality, rng, np.int64(tasks.TEST), zero, epsilons, record))
            if stops:
                reason = np.int64(GAP if halt(_now(view, tally[at.EPISODES])) else GO_ON)
            if reason != GO_ON:
                break
        return int(reason)

    return fresh_kernel(run)


@folded_kernel
def _now(view: RuleView, episodes: int) -> RuleView:
    """Return the view with the number of episodes as it is now."""
    return RuleView(
        view.first, view.target, view.visits, view.means, view.widths, view.upper, view.lower, view.sigma, view.active,
        view.passable, view.known, view.scratch, view.epsilon, view.delta, episodes, view.seed,
    )  # fmt: skip
