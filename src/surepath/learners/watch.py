"""Messages for violated assumptions: tests of declared noise, additivity and drift while a learner runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from surepath._checks import AnyArray, FloatArray, IntArray
from surepath._text import many
from surepath.model.mdp import MDP
from surepath.model.paths import step_in_words

# Contexts -------------------------------------------------------------------------------------------------------------
# What a reward is compared by: the arc before it, choices further back, and the time of its episode.

LOOK_BACK = 4  # how many of the latest choices a reward is compared by, besides the first of all
ANY = -1  # in place of a stage or an arc: none in particular


class Cells(NamedTuple):
    """Rewards of arcs by context; `Contexts` numbers the contexts."""

    context: IntArray  # [C]
    arc: IntArray  # [C]
    rewards: FloatArray  # [C] how many
    total: FloatArray  # [C] sum of z


class Contexts:
    """The contexts of a problem and their numbers.

    Below 0: a stretch of time, each twice as long as the one before, so that the latest holds half of all episodes.
    Below N: the arc taken just before, which tells how a state was reached. From N: an action taken further back.

    Attributes:
        earlier, later: The two stages of every comparison, int [P], by the later one: the latest few and the first.
    """

    def __init__(self, mdp: MDP) -> None:
        self.stage_arc, self.n_arcs, self._action = mdp.stage_arc, mdp.n_arcs, mdp.action
        self._actions = int(mdp.action.max()) + 1
        pairs = [(i, j) for j in range(mdp.horizon) for i in {0, *range(max(0, j - LOOK_BACK), j)} if i < j]
        self.earlier, self.later = np.array(sorted(pairs, key=lambda pair: pair[::-1]), dtype=np.int64).reshape(-1, 2).T
        self._upto = np.searchsorted(self.later, np.arange(mdp.horizon + 1)).tolist()

    def choices(self, path: IntArray) -> tuple[IntArray, IntArray]:
        """Return the (context, stage) pairs that the first stages of a path make, two int [P']."""
        pairs = slice(self._upto[len(path)])
        earlier, later = self.earlier[pairs], self.later[pairs]
        arc = path[earlier]
        further = self.n_arcs + earlier * self._actions + self._action[arc]
        return np.where(later - earlier == 1, arc, further), later

    @staticmethod
    def epoch(episode: int) -> int:
        """Return the context of the episode's time, for episodes 1, 2, ..."""
        return -episode.bit_length()

    def earlier_stage(self, context: IntArray) -> IntArray:
        """Return the stage where a context was chosen, ANY for a stretch of time."""
        further = (context - self.n_arcs) // self._actions
        return np.where(context < 0, ANY, np.where(context < self.n_arcs, self.stage(context), further))

    def stage(self, arc: IntArray) -> IntArray:
        """Return the stage of each arc."""
        return np.searchsorted(self.stage_arc, arc, side="right") - 1


# Evalues --------------------------------------------------------------------------------------------------------------
# The e-processes behind every finding; derived and proven in docs/watch-theory.md.
#
# Letters: n rewards, z = (reward - first reward of the arc) / sigma, Q = sum of squares of z about the arc's own mean.

# What is averaged over. Small ones see a slightly larger noise over many rewards, large ones a far larger one at once.
NOISE_TILTS = np.array([0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95])
# Variance, in units of sigma squared, of the shifts that a change of context may cause.
SHIFTS = np.array([1 / 16, 1.0, 16.0])
# The same for the mean of an arc, where contexts shift all arcs of a stage alike.
MARGINS = np.array([1 / 4, 1.0])
# Variance, in units of sigma squared, of luck that the steps of one trial share.
EVALUES_LUCK = np.array([1 / 16, 1 / 4, 1.0])
# Where one sigma is unknown: how strongly the calmer arcs speak for a small one.
CALM_TILTS = np.array([0.05, 0.2, 0.8, 3.0])
MOST_MEANS = 400  # with more arcs than this, luck is judged plan by plan only


def noise_price(n: FloatArray) -> FloatArray:
    """Return what n rewards cost in advance: -n/2 log(1 - tilt), float [G, K]."""
    return np.asarray(-0.5 * np.multiply.outer(n, np.log1p(-NOISE_TILTS)))


def shift_price(n: FloatArray) -> FloatArray:
    """Return what a context with n rewards costs in advance: 1/2 log(1 + shift n), float [C, K]."""
    return np.asarray(0.5 * np.log1p(np.multiply.outer(n, SHIFTS)))


def own_shifts(family: IntArray, count: FloatArray, total: FloatArray, variance: FloatArray) -> FloatArray:
    """Compute the log of the e-processes against "the mean of an arc is the same in every context", float [F].

    A family is one arc with its contexts c. The average over shifts of the product over c of (1 + shift n)^(-1/2)
    exp(weight (mean - centre)^2 / 2 / variance), weight = shift n^2 / (1 + shift n), at the weighted mean as centre.

    Args:
        family: Family of each context, int [C] from 0 to F - 1.
        count, total: Rewards seen in each context, and the sum of their z, float [C].
        variance: Of z in each family, at least 1, where 1 is what was declared, float [F].
    """
    families, mean = len(variance), (total / count)[:, None]
    grown = np.multiply.outer(count, SHIFTS)  # [C, K]
    weight = grown / (1 + grown) * count[:, None]
    centre = sums(family, weight * mean, families) / sums(family, weight, families)
    apart = sums(family, weight * (mean - centre[family]) ** 2, families)
    return averaged(0.5 * apart / variance[:, None] - sums(family, shift_price(count), families))


def shared_shifts(count: FloatArray, total: FloatArray, variance: float) -> tuple[float, float]:
    """Compute the log of the e-process against "no context shifts the arcs of a stage", one shift being shared by all.

    Every arc gets an effect of variance MARGINS and every context one of variance SHIFTS, around unknown means mu: with
    V the covariance of the rewards that follows, |V|^(-1/2) exp((r'r - r'V^-1 r) / 2) for r = z - mu, at the mu that
    makes it least; averaged over the variances. Returned with the sum of squares that the shifts account for.

    Args:
        count, total: Rewards of each arc in each context, and the sum of their z, float [A, C].
        variance: Of z, at least 1, where 1 is what was declared.
    """
    arcs = len(count)
    visits = count.sum(axis=1)
    centred = total - count * (total.sum(axis=1) / visits)[:, None]  # mu about the arc's mean: nothing large cancels
    gram = np.block([[np.diag(visits), count], [count.T, np.diag(count.sum(axis=0))]])
    margins, shifts = (
        np.repeat(x, y, axis=1) for x, y in ((MARGINS[:, None], arcs), (SHIFTS[:, None], count.shape[1]))
    )
    prior = np.concatenate([np.repeat(margins, len(shifts), axis=0), np.tile(shifts, (len(margins), 1))], axis=1)
    score = np.concatenate([np.zeros(arcs), centred.sum(axis=0)])
    inverse = np.linalg.inv(gram + prior[:, :, None] ** -1 * np.eye(len(score)))  # [K, A + C, A + C]
    side = inverse @ gram[:, :arcs]
    slope = np.swapaxes(side, 1, 2) @ score  # [K, A]
    moved = np.linalg.solve(gram[:, :arcs].T @ side, slope[..., None])[..., 0]
    apart = (inverse @ score) @ score - (slope * moved).sum(axis=1)
    return float(averaged(0.5 * apart / variance - shared_price(gram, prior))), float(apart.max())


def shared_price(gram: FloatArray, prior: FloatArray) -> FloatArray:
    """Return what arcs and contexts with these counts cost in advance: 1/2 log|V|, float [K]."""
    return np.asarray(0.5 * np.linalg.slogdet(np.eye(len(gram)) + prior[:, :, None] * gram)[1])


def shared_luck(
    path: IntArray, count: FloatArray, mean: FloatArray, spread: FloatArray, variance: float
) -> tuple[float, float]:
    """Compute the log of the e-process against "the steps of a trial are independent", and the correlation seen.

    Every trial gets an effect of variance LUCK on all of its h steps: with T the sum of its z and weight = luck /
    (1 + luck h), the average over LUCK of the product over trials of (1 + luck h)^(-1/2) exp(weight (T - mu)^2 / 2 /
    variance), where mu is the sum of the unknown means of its arcs: those that make this least.

    Args:
        path: Arcs of each plan tried, int [P, H], ANY (-1) at the steps that do not count.
        count, mean, spread: Trials of each plan, the mean of their T and the sum of squares about it, float [P].
        variance: Of z, at least 1, where 1 is what was declared.
    """
    from scipy.sparse import csr_matrix  # here, since it takes a tenth of a second

    rows, columns = np.nonzero(path >= 0)
    arcs, column = np.unique(path[rows, columns], return_inverse=True)
    design = csr_matrix((np.ones(len(rows)), (rows, column)), shape=(len(path), len(arcs)))
    steps = np.bincount(rows, minlength=len(path)).astype(np.float64)
    logs = np.empty(len(EVALUES_LUCK))
    for i, luck in enumerate(EVALUES_LUCK):
        weight = luck / (1 + luck * steps)
        apart = float(weight @ spread) + _between(design, weight * count, mean)[0]
        logs[i] = 0.5 * apart / variance - luck_price(count, steps)[i]
    between, means = _between(design, count, mean)
    freedom = max(1.0, float(count.sum()) - means)
    size = (float(spread.sum()) + between) / freedom * float(count.sum()) / variance
    pairs = float(count @ (steps * (steps - 1)))
    seen = (size - float(count @ steps)) / pairs if pairs > 0 else 0.0
    return float(averaged(logs)), min(max(seen, 0.0), 1.0)


def _between(design: Any, weight: FloatArray, mean: FloatArray) -> tuple[float, float]:
    """Return the least weighted sum of squares of plan means about sums of arc means, and how many means that takes."""
    plans, arcs = design.shape
    if arcs > MOST_MEANS:
        return 0.0, float(plans)  # a mean for each plan: less than the least, so as valid
    weighted = design.T.multiply(weight).tocsr()
    gram = (weighted @ design).toarray()
    inverse = np.linalg.inv(gram + 1e-10 * gram.max(initial=1e-300) * np.eye(arcs))  # gram is singular
    left = mean - design @ (inverse @ (weighted @ mean))
    return float(weight @ left**2), float((inverse * gram).sum())


def luck_price(count: FloatArray, steps: FloatArray) -> FloatArray:
    """Return what trials of plans with so many steps cost in advance: 1/2 log(1 + luck h) each, float [K]."""
    return np.asarray(0.5 * count @ np.log1p(np.multiply.outer(steps, EVALUES_LUCK)))


def calm_gain(n: FloatArray) -> FloatArray:
    """Return what n rewards of one arc may be given in advance for the claim that sigma is small, float [A, K].

    The sum over k = 2..n of 1/2 log(1 + 2 t (k - 1) / k), in closed form.
    """
    from scipy.special import gammaln

    shrink, n = 2 * CALM_TILTS / (1 + 2 * CALM_TILTS), n[:, None]
    drawn = gammaln(n + 1 - shrink) - gammaln(2 - shrink) - gammaln(n + 1)
    return np.asarray(0.5 * ((n - 1) * np.log1p(2 * CALM_TILTS) + drawn))


def larger_than(n: FloatArray, spread: FloatArray, gain: FloatArray, calm: FloatArray) -> FloatArray:
    """Compute the log of the e-process against "all have one sigma": the first arcs vary more than the others, [G].

    The average over NOISE_TILTS and CALM_TILTS of (1 - tilt)^(n/2) exp(tilt Q u / 2) exp(gain - t C u), at the unknown
    u = 1 / sigma^2 that makes it least. Its log is convex in u; a tangent bounds it from below.

    Args:
        n, spread: Rewards, and the sum Q, of the arcs that are said to vary more, float [G].
        gain, calm: `calm_gain`, float [G, K], and the sum C of Q, float [G], of all others.
    """
    groups = len(n)
    if groups == 0:
        return np.zeros(0)
    scale = np.maximum(spread + calm, np.finfo(float).tiny)[:, None, None]
    height = (gain[:, None, :] - noise_price(n)[:, :, None]).reshape(groups, -1)
    rise = (
        0.5 * np.multiply.outer(spread, NOISE_TILTS)[:, :, None] - np.multiply.outer(calm, CALM_TILTS)[:, None, :]
    ) / scale
    rise = rise.reshape(groups, -1)

    def slope(u: FloatArray) -> FloatArray:
        power = height + rise * u[:, None]
        share = np.exp(power - power.max(axis=1, keepdims=True))
        return np.asarray((rise * share).sum(axis=1) / share.sum(axis=1))

    low, high = np.zeros(groups), np.ones(groups)
    for _ in range(60):
        falls = slope(high) < 0
        if not falls.any():
            break
        low, high = np.where(falls, high, low), np.where(falls, 2 * high, high)
    least = averaged(height)  # at u = 0
    bounded = slope(high) >= 0
    for _ in range(60):
        middle = 0.5 * (low + high)
        falls = slope(middle) < 0
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
    tangent = averaged(height + rise * low[:, None]) + np.minimum(slope(low), 0) * (high - low)
    return np.asarray(np.where(bounded & (spread + calm > 0), np.minimum(least, tangent), -np.inf))


def averaged(exponents: FloatArray) -> FloatArray:
    """Compute the log of the mean of exp over the last axis, float [G]."""
    top: FloatArray = exponents.max(axis=-1)
    return np.asarray(top + np.log(np.exp(exponents - top[..., None]).mean(axis=-1)))


def sums(group: IntArray, values: FloatArray, groups: int) -> FloatArray:
    """Compute the column sums of values [C, K] by group, float [groups, K]."""
    return np.stack([np.bincount(group, column, groups) for column in values.T], axis=1)


# Findings -------------------------------------------------------------------------------------------------------------
# What is said when the data contradict what was declared, in people's words.

Kind = Literal["exact", "noise", "dependence", "drift", "luck", "unequal", "late", "refused"]
FINDING_KINDS: tuple[Kind, ...] = get_args(Kind)
EXACT, NOISE, DEPENDENCE, DRIFT, LUCK, UNEQUAL, *_ = range(len(FINDING_KINDS))

REPORT_P = 1e-3  # a finding with a smaller p-value is reported
SURE = 1e-6  # and reported without reserve below this


@dataclass(frozen=True)
class Finding:
    """Something declared that the rewards contradict.

    Attributes:
        kind: "exact": a reward declared exact differs. "noise": larger than declared. "dependence": the reward of a
            stage shifts with an earlier choice. "drift": with time. "luck": the rewards of one trial rise and fall
            together. "unequal": one unknown sigma was declared, and the noise differs. Studies find "late": trials that
            counted as lost had a result after all, and "refused": rewards that cannot be counted.
        where: The place in words: one arc, one stage or all of them.
        declared: What was declared: the noise; 0 for a shift or a correlation; for "unequal", the noise elsewhere.
        seen: The noise, the size of the shift or the correlation, estimated from the rewards.
        p_value: Probability, if all that was declared holds, that anything this striking is ever said: about any place,
            of any kind, at any time. 0 for what cannot happen at all.
        message: All of it in one sentence.
    """

    kind: Kind
    where: str
    declared: float
    seen: float
    p_value: float
    message: str


def finding(kind: Kind, where: str, earlier: str, declared: float, seen: float, p_value: float) -> Finding:
    """Return a finding with its sentence; `earlier` names the choice that a stage's reward depends on.

    Example:
        >>> finding("noise", "at step 2", "", 0.1, 0.31, 3e-8).message
        'the noise looks larger than declared (0.31 against 0.1 at step 2, p < 1e-6): the certificate does not hold'
    """
    size, chance, counted = f"{seen:.2g}", odds(p_value), {"late": "result", "refused": "trial"}
    some = many(int(seen), counted[kind]) if kind in counted else ""
    text = {
        "exact": f"scores declared exact differ by about {size} {where}",
        "noise": f"the noise looks larger than declared ({size} against {declared:.2g} {where}, {chance})",
        "dependence": f"the score {where} shifts with {earlier} (typically by {size}, {chance})",
        "luck": f"the scores of one trial rise and fall together (correlation about {size}, {chance}), and the proof "
        "counts every step as luck of its own",
        "unequal": f"the noise differs between options ({size} {where}, {declared:.2g} elsewhere, {chance}), and one "
        "sigma was declared for all",
        "late": f"{some} came after the trial was given up: slow trials are left out",
        "refused": f"{some} could not be counted, with scores too large or outside what was declared",
        "drift": f"the score {where} drifts over time (typically by {size}, {chance})",
    }[kind]
    certain = "does" if p_value < SURE and kind != "late" else "may"
    advice = ": read this log again with dependence any" if kind == "luck" else ""
    return Finding(kind, where, declared, seen, p_value, f"{text}: the certificate {certain} not hold{advice}")


def odds(p_value: float) -> str:
    """Return a p-value as people read it: "p < 1e-6", rounded up to a step of a thousand."""
    for power in (12, 9, 6, 3):
        if p_value < 10.0**-power:
            return f"p < 1e-{power}"
    return f"p = {p_value:.2g}"


# Judge ----------------------------------------------------------------------------------------------------------------
# Which places and kinds contradict what was declared: every e-value, weighed so that one union covers them all.
#
# Noise, dependence, drift and luck have a quarter of the weight each. Within noise a third goes to all arcs together,
# a third to the stages, a third to single arcs; within dependence and drift half to (pairs of) stages, half to single
# arcs. Where one sigma is unknown, only equal noise is judged: half for stages, half for arcs. The weights sum to at
# most 1, so 1 / (weight x e-value) is a p-value that has the union in it.

EXACT_TO = 2.0**-50  # rewards declared exact may differ by this much of their size
LARGEST_STAGE = 100  # a stage with more arcs and contexts than this is judged arc by arc only


class Counts(NamedTuple):
    """Counts of a `Watch`, on the arcs with noise that were played."""

    arc: IntArray  # [A]
    sigma: FloatArray  # [A]
    n: FloatArray  # [A] rewards
    spread: FloatArray  # [A] Q, the sum of squares of z about their mean


class Judged(NamedTuple):
    """One row for each place and kind judged."""

    kind: int
    log_p: FloatArray  # [R] above 0 where nothing contradicts what was declared
    stage: IntArray  # [R] or ANY
    arc: IntArray  # [R] or ANY
    earlier: IntArray  # [R] stage of the earlier choice, or ANY
    declared: FloatArray  # [R]
    seen: FloatArray  # [R]


def differing(contexts: Contexts, counts: Counts, origin: FloatArray) -> Judged:
    """Find rewards declared exact that differ: impossible, so they need no e-value and no weight."""
    root = np.sqrt(counts.spread)
    size = np.abs(origin).max(initial=0.0) + root.max(initial=0.0)  # of the rewards that are compared
    bad = np.flatnonzero(root > EXACT_TO * np.sqrt(counts.n) * size)
    arc, seen = counts.arc[bad], root[bad] / np.sqrt(counts.n[bad] - 1)
    none = np.full(len(bad), ANY)
    return Judged(EXACT, np.full(len(bad), -np.inf), contexts.stage(arc), arc, none, 0 * seen, seen)


def unequal(contexts: Contexts, counts: Counts) -> Iterator[Judged]:
    """Judge whether the noise of a stage or an arc differs from that of all others, where one sigma is unknown."""
    arc, _, n, spread = counts
    stage, none = contexts.stage(arc), np.full(len(arc), ANY)
    columns = np.column_stack([n, spread, n - 1, calm_gain(n)])
    everything = columns.sum(axis=0)
    for union, group_of, at_arc in ((4 * (len(contexts.stage_arc) - 1), stage, none), (4 * contexts.n_arcs, arc, arc)):
        _, first, group = np.unique(group_of, return_index=True, return_inverse=True)
        own = sums(group, columns, len(first))
        others = everything - own
        size, elsewhere = (np.sqrt(np.maximum(x[:, 1], 0) / np.maximum(x[:, 2], 1)) for x in (own, others))
        for more, less in ((own, others), (others, own)):
            log_e = larger_than(more[:, 0], np.maximum(more[:, 1], 0), less[:, 3:], np.maximum(less[:, 1], 0))
            yield Judged(UNEQUAL, np.log(union) - log_e, stage[first], at_arc[first], none[first], elsewhere, size)


def _noise(contexts: Contexts, counts: Counts, independent: bool) -> Iterator[Judged]:
    """Judge whether noise is larger than declared; an arc played once adds nothing and costs its price."""
    arc, sigma, n, spread = counts
    stage, none = contexts.stage(arc), np.full(len(arc), ANY)
    columns = np.stack([n, spread, n - 1, n * sigma], axis=1)
    stages = len(contexts.stage_arc) - 1
    groups = [(12, none, none, none), (12 * stages, stage, stage, none), (12 * contexts.n_arcs, arc, stage, arc)]
    for union, group_of, at_stage, at_arc in groups if independent else groups[1:]:
        _, first, group = np.unique(group_of, return_index=True, return_inverse=True)
        count, square, freedom, weighted = sums(group, columns, len(first)).T
        # "The noise is at most as declared": (1 - tilt)^(n/2) exp(tilt Q / 2), for groups with n rewards and a sum Q.
        log_p = np.log(union) - averaged(0.5 * np.multiply.outer(square, NOISE_TILTS) - noise_price(count))
        declared = weighted / count
        seen = declared * np.sqrt(square / np.maximum(freedom, 1))
        yield Judged(NOISE, log_p, at_stage[first], at_arc[first], none[first], declared, seen)


def _shifts(kind: int, contexts: Contexts, counts: Counts, cells: Cells, explained: FloatArray) -> Iterator[Judged]:
    """Judge whether means differ by context, at the larger of the declared and the seen noise."""
    before = contexts.earlier_stage(cells.context)
    base = len(contexts.stage_arc) + 1
    _, first, family = np.unique(cells.arc * base + before, return_index=True, return_inverse=True)
    arc, earlier, later = cells.arc[first], before[first], contexts.stage(cells.arc[first])
    at = np.searchsorted(counts.arc, arc)
    sigma, n, spread = counts.sigma[at], counts.n[at], counts.spread[at]
    count, total, several = sums(
        family, np.stack([cells.rewards, cells.total, np.ones(len(family))], axis=1), len(arc)
    ).T
    apart = cells.rewards * (cells.total / cells.rewards - (total / count)[family]) ** 2
    between = np.bincount(family, apart)
    variance = np.maximum(1.0, spread / np.maximum(n - 1, 1))
    sizes = np.diff(contexts.stage_arc)
    pairs, arcs = (
        (len(contexts.later), sizes[contexts.later].sum()) if kind == DEPENDENCE else (len(sizes), sizes.sum())
    )

    log_p = np.log(8 * arcs) - own_shifts(family, cells.rewards, cells.total, variance)
    seen = sigma * np.sqrt(np.maximum(between - (several - 1) * variance, 0) / count)
    yield Judged(kind, log_p, later, arc, earlier, 0 * seen, seen)
    found = log_p < np.log(REPORT_P)

    _, head, pair = np.unique(later * base + earlier, return_index=True, return_inverse=True)
    log_p, seen = np.empty(len(head)), np.empty(len(head))
    for row, (own, mine) in enumerate(zip(_members(pair), _members(pair[family]))):  # arcs and cells of a pair
        freedom = max(1.0, float((n[own] - 1).sum()))
        noise = max(1.0, float(spread[own].sum()) / freedom)
        log_e, shift = _table(cells.arc[mine], cells.context[mine], cells.rewards[mine], cells.total[mine], noise)
        log_p[row] = np.log(8 * pairs) - log_e
        seen[row] = shift * np.average(sigma[own], weights=count[own])
        found[own] |= log_p[row] < np.log(REPORT_P)
    yield Judged(kind, log_p, later[head], np.full(len(head), ANY), earlier[head], 0 * seen, seen)
    np.maximum.at(explained, at[found], between[found])


def _table(arc: IntArray, context: IntArray, count: FloatArray, total: FloatArray, noise: float) -> tuple[float, float]:
    """Compute the log e-value of shifts shared by all arcs of a stage, and their typical size in units of sigma."""
    arcs, row = np.unique(arc, return_inverse=True)
    contexts, column = np.unique(context, return_inverse=True)
    if len(contexts) < 2 or len(arcs) + len(contexts) > LARGEST_STAGE:
        return -np.inf, 0.0
    counts, totals = np.zeros((2, len(arcs), len(contexts)))
    counts[row, column], totals[row, column] = count, total
    log_e, apart = shared_shifts(counts, totals, noise)
    return log_e, float(np.sqrt(max(0.0, apart - (len(contexts) - 1) * noise) / count.sum()))


def _members(group: IntArray) -> list[IntArray]:
    """List the positions of the members of each group 0, 1, ..., none of them empty."""
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)


# Watch ----------------------------------------------------------------------------------------------------------------
# Watch: counts the rewards of every episode as they come, and says what they contradict.
#
# Work is O(H) an episode; memory is a few numbers for each arc, one cell for each (arc, context) seen, at most about
# MOST_CELLS, and one for each path, at most about MOST_PATHS: what is first met after that is left out, which costs
# power, never validity. Judging happens when somebody asks.

MOST_CELLS = 100_000
MOST_PATHS = 20_000
MOST_FINDINGS = 20
LEAST_SCALE = 1e-150  # a smaller sigma counts as this one, so that nothing overflows
FARTHEST = 1e100  # in units of sigma; a larger deviation counts as this one
OF_ARCS, COUNTED = ("_visits", "_origin", "_mean", "_spread"), ("trials", "refused", "late")


class Watch:
    """Watch the rewards for what contradicts the declared noise, additivity, independence and steadiness.

    It never changes a decision. The probability that it ever says anything, over all episodes and however often it is
    asked, is at most 1e-3 while each reward is sigma-sub-Gaussian around its arc's mean given all that was told before;
    unless `independent`, given all earlier episodes. Rewards of known arcs are left out.

    Args:
        mdp: The problem.
        sigma: The declared sub-Gaussian factor of each arc, float [N]; 0 declares an exact reward, infinity Gaussian
            noise of one size that is unknown: then only exact rewards and equal noise are judged.
        independent: Whether the rewards of one episode are declared independent.

    Example:
        >>> mdp = MDP.from_arrays([[[0, 0]]])
        >>> watch, rng = Watch(mdp, np.array([0.1, 0.1])), np.random.default_rng(0)
        >>> for episode in range(60):
        ...     watch.observe(np.array([episode % 2]), 0.3 * rng.standard_normal(1))
        >>> print(watch.findings()[0].message.partition(":")[0])
        the noise looks larger than declared (0.27 against 0.1 over all steps, p < 1e-12)
    """

    def __init__(self, mdp: MDP, sigma: FloatArray, independent: bool = True) -> None:
        self.mdp, self.independent = mdp, independent
        self.sigma: FloatArray = np.asarray(sigma, dtype=np.float64)
        # NaN makes every number of a known arc NaN, and those are never read.
        self._unknown = bool(np.isinf(self.sigma).any())
        declared = (self.sigma > 0) & np.isfinite(self.sigma)
        self._scale = np.where(declared, np.maximum(self.sigma, LEAST_SCALE), 1.0)
        self._scale[mdp.is_known] = np.nan
        self._contexts = Contexts(mdp)
        self.trials = 0
        self._visits = np.zeros(mdp.n_arcs)
        self._origin = np.zeros(mdp.n_arcs)
        self._mean = np.zeros(mdp.n_arcs)  # of z = (reward - origin) / sigma
        self._spread = np.zeros(mdp.n_arcs)
        self._cells: dict[int, float] = {}  # (context x N + arc) -> rewards
        self._totals: dict[int, float] = {}  # the same -> sum of z
        self._noisy = declared & ~mdp.is_known
        # (path, how many of its rewards were told) -> [episodes, mean and spread of the sum of z over noisy arcs]
        self._plans: dict[tuple[bytes, int], list[float]] = {}
        self.refused = self.late = 0  # trials of a study, see `Finding`

    def __deepcopy__(self, memo: dict[int, Any]) -> Watch:
        """Copy what was seen; the cells are many and flat, which the general copy does not know."""
        copied = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, (dict, np.ndarray)):
                setattr(copied, name, value.copy())
        copied._plans = {key: cell.copy() for key, cell in self._plans.items()}
        return copied

    def observe(self, path: IntArray, gains: FloatArray) -> None:
        """Take in one episode: its path [H] and its rewards [k], fewer than H where the episode failed."""
        self.trials += 1
        arcs = path[: len(gains)]
        n = self._visits[arcs] + 1
        origin = np.where(n == 1, gains, self._origin[arcs])
        z = np.minimum(np.maximum((gains - origin) / self._scale[arcs], -FARTHEST), FARTHEST)
        mean = self._mean[arcs]
        off = z - mean
        mean += off / n
        self._visits[arcs], self._origin[arcs], self._mean[arcs] = n, origin, mean
        self._spread[arcs] += off * (z - mean)
        if self._unknown:
            return
        self._add_plan(path, z)
        contexts, stages = self._contexts.choices(arcs)
        time = np.full(len(arcs), Contexts.epoch(self.trials))
        keys = np.concatenate([contexts, time]) * self.mdp.n_arcs + np.concatenate([arcs[stages], arcs])
        for key, value in zip(keys.tolist(), np.concatenate([z[stages], z]).tolist()):
            if value == value and (key in self._cells or len(self._cells) < MOST_CELLS):  # else of a known arc
                self._cells[key] = self._cells.get(key, 0.0) + 1.0
                self._totals[key] = self._totals.get(key, 0.0) + value

    def _add_plan(self, path: IntArray, z: FloatArray) -> None:
        """Add the sum of z over the noisy arcs; whether an episode counts is known before its first reward."""
        noisy, key = self._noisy[path], np.asarray(path, dtype=np.int64).tobytes()
        full = len(self._plans) >= MOST_PATHS and (key, len(path)) not in self._plans
        if not self.independent or full or not len(z) or noisy.sum() < 2:
            return
        total = float(z[noisy[: len(z)]].sum())
        cell = self._plans.setdefault((key, len(z)), [0.0, 0.0, 0.0])
        cell[0] += 1.0
        off = total - cell[1]
        cell[1] += off / cell[0]
        cell[2] += off * (total - cell[1])

    def findings(self) -> list[Finding]:
        """List what the rewards so far contradict, strongest first, MOST_FINDINGS at most; often nothing."""
        found = [
            (float(log_p), int(stage), int(arc), int(earlier), rows.kind, float(declared), float(seen))
            for rows in self._judged()
            for log_p, stage, arc, earlier, declared, seen in np.stack(rows[1:], axis=1)[rows.log_p < np.log(REPORT_P)]
        ]
        said = [(kind, n) for kind, n in (("refused", self.refused), ("late", self.late)) if n]
        first = [finding(kind, "", "", 0.0, float(n), 0.0) for kind, n in said]  # type: ignore[arg-type]
        return first + [self._finding(*row) for row in sorted(found)[: MOST_FINDINGS - len(first)]]

    def p_value(self) -> float:
        """Return the least p-value of all places and kinds, at most 1, with the union over them and time in it."""
        return float(np.exp(min(0.0, *(rows.log_p.min(initial=0.0) for rows in self._judged()))))

    def _judged(self) -> Iterator[Judged]:
        """Judge every place and kind.

        Where a shift is found, what it accounts for is taken out of the noise, and luck, which it can look like, is not
        judged: so one cause is not reported as two. Where the stages of an episode may depend on each other, neither
        luck nor the noise of all stages together is judged: those e-values multiply over the stages of an episode. All
        others are about one stage, of which an episode has one reward, and the union over them is an average.
        """
        seen, contexts = self._seen(), self._contexts
        noisy = self.sigma[seen] > 0
        exact, noise = (
            Counts(arcs, self.sigma[arcs], self._visits[arcs], self._spread[arcs])
            for arcs in (seen[~noisy], seen[noisy])
        )
        yield differing(contexts, exact, self._origin[exact.arc])
        if self._unknown:
            yield from unequal(contexts, noise)
            return
        explained = np.zeros(len(noise.arc))
        keys, values = self._cell_columns()
        context, arc = np.divmod(keys, self.mdp.n_arcs)
        for kind, some in ((DEPENDENCE, context >= 0), (DRIFT, context < 0)):
            some &= self.sigma[arc] > 0
            if some.any():
                yield from _shifts(kind, contexts, noise, Cells(context[some], arc[some], *values[some].T), explained)
        if self.independent and self._plans and not explained.any():
            variance = max(1.0, float(noise.spread.sum()) / max(1.0, float((noise.n - 1).sum())))
            path, told, plans = self._plan_columns()
            path[(np.arange(self.mdp.horizon) >= told[:, None]) | ~self._noisy[path]] = ANY
            log_e, size = shared_luck(path, plans[:, 0], plans[:, 1], plans[:, 2], variance)
            none = np.full(1, ANY)
            yield Judged(LUCK, np.log(4) - np.array([log_e]), none, none, none, np.zeros(1), np.array([size]))
        if len(noise.arc):
            left = noise._replace(spread=np.maximum(noise.spread - explained, 0))
            yield from _noise(contexts, left, self.independent)

    def _seen(self) -> IntArray:
        """Return the arcs played, without known ones."""
        return np.flatnonzero((self._visits > 0) & ~self.mdp.is_known)

    def _cell_columns(self) -> tuple[IntArray, FloatArray]:
        """Return the keys of the cells [C], and their rewards and sums of z [C, 2]."""
        values = [np.fromiter(of.values(), np.float64, len(of)) for of in (self._cells, self._totals)]
        return np.fromiter(self._cells, np.int64, len(self._cells)), np.stack(values, axis=1)

    def _plan_columns(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the paths [P, H], how many of their rewards were told [P], and the cells [P, 3]."""
        path = np.frombuffer(b"".join(key for key, _ in self._plans), dtype=np.int64).reshape(-1, self.mdp.horizon)
        told = np.array([told for _, told in self._plans], dtype=np.int64)
        return path.copy(), told, np.array(list(self._plans.values())).reshape(-1, 3)

    def _finding(
        self, log_p: float, stage: int, arc: int, earlier: int, kind: int, declared: float, seen: float
    ) -> Finding:
        where = "over all steps" if stage == ANY else f"at {step_in_words(self.mdp, stage)}"
        if arc != ANY:
            state = self.mdp.state_label(int(self.mdp.source[arc]))
            where = f"on {self.mdp.action_label(arc)!r} in state {state!r} at {step_in_words(self.mdp, stage)}"
        before = "the step before it"
        if earlier != stage - 1:
            before = f"what was chosen at {step_in_words(self.mdp, earlier)}"
        p_value = 0.0 if log_p == -np.inf else max(float(np.exp(log_p)), 5e-324)
        return finding(FINDING_KINDS[kind], where, before, declared, seen, p_value)

    # Saved and loaded ------------------------------------------------------------------------------------------

    def evidence(self) -> dict[str, AnyArray]:
        """Return all that has been counted, as plain arrays; `load` on a new Watch continues bit for bit."""
        seen = self._seen()
        cell, of_cell = self._cell_columns()
        path, told, plans = self._plan_columns()
        return {
            "counted": np.array([getattr(self, name) for name in COUNTED]),
            "arc": seen,
            "of_arc": np.stack([getattr(self, name)[seen] for name in OF_ARCS], axis=1),
            "cell": cell,
            "of_cell": of_cell,
            "plan": path,
            "told": told,
            "of_plan": plans,
        }

    def load(self, evidence: Mapping[str, AnyArray]) -> None:
        """Take over what another Watch over the same problem had counted."""
        names = ("counted", "arc", "of_arc", "cell", "of_cell", "plan", "told", "of_plan")
        counted, arcs, of_arc, cell, of_cell, path, told, plans = (np.asarray(evidence[name]) for name in names)
        self.trials, self.refused, self.late = counted.tolist()
        for name, column in zip(OF_ARCS, of_arc.reshape(-1, len(OF_ARCS)).T):
            getattr(self, name)[:] = 0
            getattr(self, name)[arcs.astype(np.int64)] = column
        self._cells, self._totals = (dict(zip(cell.tolist(), one)) for one in of_cell.reshape(-1, 2).T.tolist())
        path = path.astype(np.int64).reshape(-1, self.mdp.horizon)
        keys = zip((one.tobytes() for one in path), told.tolist())
        self._plans = dict(zip(keys, plans.tolist()))
