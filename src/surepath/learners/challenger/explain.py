"""Explain where a Challenger run stands: the bound of one pair of paths, and what is still needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray, rounded_up, whole
from surepath._text import many
from surepath.learners.challenger.check import make_row
from surepath.learners.challenger.noise import BERNSTEIN, learned_values
from surepath.learners.challenger.state import DETOUR, EXCURSION, KEPT, OWN, RIVAL, SHIFTED, table_conjugate
from surepath.learners.runs import CHECK, INCUMBENT, proven_gap
from surepath.learners.watch import headline
from surepath.model.mdp import MDP
from surepath.model.paths import best_path_through, stage_of, step_in_words, values_through

if TYPE_CHECKING:
    from surepath.learners.challenger.learner import Challenger


# Plays ----------------------------------------------------------------------------------------------------------------
# What a learner remembers of plays besides their rewards: those under way, and arcs that keep failing.
#
# An episode that breaks off at stage k is a failure of the arc it was about to play there. After `PATIENCE` failures
# in a row an arc rests, so that episodes are not wasted on what is broken: while it does, paths around it are played
# where there are any. Each further failure makes the rest longer, and one success ends it. What is played never
# touches the guarantee. Nothing is proven while an arc was never seen: one that cannot be run at all must be excluded
# before the learner can stop.

PATIENCE = 3  # failures in a row before an arc rests
GROWTH = 1.3  # ratio of a rest to the one before: an arc that fails now and then must not starve
MOST_IN_A_ROW = 30  # failures in a row beyond which rests grow no more


class UnderWay:
    """Plays given to workers and not told yet: paths, in the order in which they were first asked for."""

    def __init__(self, horizon: int) -> None:
        self.horizon = horizon
        self._count: dict[bytes, int] = {}

    def add(self, path: IntArray) -> None:
        """Add one play of a path, int64 [H]."""
        key = path.tobytes()
        self._count[key] = self._count.get(key, 0) + 1

    def remove(self, path: IntArray) -> bool:
        """Remove one play of this path; False when there is none."""
        key = path.tobytes()
        left = self._count.get(key, 0) - 1
        if left > 0:
            self._count[key] = left
        elif left == 0:
            del self._count[key]
        return left >= 0

    def __iter__(self) -> Iterator[IntArray]:
        for key, count in self._count.items():
            for _ in range(count):
                yield np.frombuffer(key, dtype=np.int64)

    def __len__(self) -> int:
        return sum(self._count.values())

    def as_array(self) -> IntArray:
        """Return all plays, int [n, H]."""
        return np.array(list(self), dtype=np.int64).reshape(-1, self.horizon)


class Failures:
    """Failures in a row of each arc, and until which episode it rests.

    Attributes:
        in_a_row: int [N].
        until: Number of told episodes at which an arc is tried again, int [N].
        total: Failures of each arc so far, int [N].
    """

    def __init__(self, n_arcs: int) -> None:
        self.in_a_row: IntArray = np.zeros(n_arcs, dtype=np.int64)
        self.until: IntArray = np.zeros(n_arcs, dtype=np.int64)
        self.total: IntArray = np.zeros(n_arcs, dtype=np.int64)

    def note(self, path: IntArray, played: int, told: int) -> None:
        """Take in an episode of which `played` rewards were seen; `told` counts the episodes told so far."""
        self.in_a_row[path[:played]] = 0
        self.until[path[:played]] = 0
        if played < len(path):
            self.blame(int(path[played]), told)

    def blame(self, arc: int, told: int) -> None:
        """Count a failure of one arc; `told` counts the episodes told so far."""
        self.total[arc] += 1
        self.in_a_row[arc] += 1
        if self.in_a_row[arc] >= PATIENCE:
            self.until[arc] = told + ceil(2 * GROWTH ** min(int(self.in_a_row[arc]), MOST_IN_A_ROW))

    def resting(self, path: IntArray, told: int) -> bool:
        """Return whether the path uses an arc that rests."""
        return bool((self.until[path] > told).any())

    def rested(self, told: int) -> BoolArray:
        """Return which arcs do not rest, bool [N]."""
        return self.until <= told


# Pair bound -----------------------------------------------------------------------------------------------------------
# G(q | p) for one pair of paths in plain NumPy: how much better than p the path q may still be.


def pair_bound(learner: Challenger, challenger: IntArray, incumbent: IntArray) -> float:
    """Return the least bound over the entries and a fine grid of slopes; infinite while a separating arc is unvisited.

    Under the excursion prior every excursion has a bound of its own, and the bound of the pair is their sum. Under any
    dependence the pair has both.
    """
    if learner.pairs.stages is None and learner.pairs.prior[0] != EXCURSION:
        return stretch_bound(learner, challenger, incumbent)
    bound = stretch_bound if learner.pairs.stages is None else stages_bound
    apart = stretches(learner, challenger, incumbent)
    total = sum(bound(learner, challenger[x], incumbent[x]) for x in apart)
    return total if learner.pairs.stages is None else min(total, stages_bound(learner, challenger, incumbent))


def stretches(learner: Challenger, challenger: IntArray, incumbent: IntArray) -> list[slice]:
    """Return the stages of each excursion: from where the two part to where they meet again."""
    source, found, start = learner.mdp.source, [], -1
    for h, (q, p) in enumerate(zip(challenger, incumbent)):
        if start >= 0 and source[q] == source[p]:
            found.append(slice(start, h))
            start = -1
        if start < 0 and q != p:
            start = h
    return [*found, slice(start, len(incumbent))] if start >= 0 else found


def stretch_bound(learner: Challenger, challenger: IntArray, incumbent: IntArray) -> float:
    """Return the least bound on the difference of two paths, or of one excursion and the incumbent's arcs beside it."""
    work, pairs = learner._work, learner.pairs
    apart = challenger != incumbent
    arcs = np.concatenate([challenger[apart], incumbent[apart]])
    side = np.repeat([RIVAL, OWN], int(apart.sum()))
    difference = float((work.top[challenger] - work.low[incumbent])[apart].sum())
    if ((learner.visits[arcs] == 0) & ~pairs.is_known[arcs]).any():
        return float("inf")
    best, unit = float("inf"), float(work.unit[0])
    for j in range(len(pairs.cost)):
        noisy = work.a[side, j, arcs] > 0
        own, of = side[noisy], arcs[noisy]
        a, extra = work.a[own, j, of], work.extra[own, j, of]
        if not a.size:
            return difference
        fixed = pairs.cost[j] + prior_cost(learner, challenger, incumbent, j)
        slopes = _middle(learner, j, of, a, fixed + float(extra.sum())) * np.geomspace(1 / 8, 8, 97)
        total = slopes * fixed
        for arc, whose in zip(arcs.tolist(), side.tolist()):
            total = total + arc_widths(learner, whose, j, slopes, arc)
        best = min(best, difference + unit * float(total.min()))
    return best


def stages_bound(learner: Challenger, challenger: IntArray, incumbent: IntArray) -> float:
    """Return the least bound under any dependence: S0 summed over the stages, or S at the best kappa (`stages.py`)."""
    work, pairs, seen, source = learner._work, learner.pairs, learner._seen, learner.mdp.source
    stages = pairs.stages
    assert stages is not None
    scale = np.sqrt(work.variance / np.maximum(learner.visits, 1)).max()
    kappas = stages.delta * scale * np.geomspace(1e-5, 10.0 * len(incumbent), 121)
    plain_total, total = 0.0, kappas / stages.delta
    for x, y in zip(challenger.tolist(), incumbent.tolist()):
        if x == y:
            continue
        if any(learner.visits[e] == 0 and not pairs.is_known[e] for e in (x, y)):
            return float("inf")
        difference = float(work.top[x] - work.low[y])
        plain, by_kappa = difference, np.full_like(kappas, difference)
        if work.a[RIVAL, 0, x] > 0 or work.a[OWN, 0, y] > 0:
            share = stages.near[source[y]] if source[x] == source[y] else stages.far
            plain, by_kappa = float("inf"), np.full_like(kappas, np.inf)
            for j, cost in enumerate(pairs.cost):
                a, per = work.a[[RIVAL, OWN], j, [x, y]], cost + share + work.extra[[RIVAL, OWN], j, [x, y]].sum()
                k = np.sqrt(0.5 * (a**2).sum() / per) * np.geomspace(1 / 8, 32, 97)
                width = arc_widths(learner, RIVAL, j, k, x) + arc_widths(learner, OWN, j, k, y) + k * (cost + share)
                plain = min(plain, difference + float(width.min()))
                tail = k * (np.log(stages.delta * k) - 1 - np.log(kappas)[:, None])
                by_kappa = np.minimum(by_kappa, difference + (width + tail).min(axis=1))
            if seen.kept_of[x] == y:
                plain = min(plain, float(seen.kept[x]))
            plain = min(plain, float(stages.most[x] - stages.least[y]))
        plain_total += plain
        total = total + np.minimum(by_kappa, plain)
    return min(plain_total, float(total.min()))


def arc_widths(learner: Challenger, side: int, j: int, slopes: FloatArray, arc: int) -> FloatArray:
    """Compute w of one arc for entry j at each slope: what `bound.fill_widths` computes, in NumPy."""
    work, pairs, kind = learner._work, learner.pairs, int(learner.pairs.kind[j])
    a, extra = work.a[side, j, arc], work.extra[side, j, arc]
    if a == 0:
        return np.zeros_like(slopes)
    if pairs.learned is not None and work.learned_work is not None and kind >= BERNSTEIN and pairs.learned.learns[arc]:
        return learned_values(pairs.learned, work.learned_work, kind, side, j, slopes, arc)
    y = a / slopes
    if kind == SHIFTED:
        tail = learner.visits[arc] * y**2 / 2 + pairs.c[side, j, arc] * (pairs.tilt[j, arc] - y) ** 2 / 2
    else:
        tail = table_conjugate(y)
    return np.asarray(slopes * (tail + extra))


def _middle(learner: Challenger, j: int, arcs: IntArray, a: FloatArray, fixed: float) -> float:
    """Guess a slope near the one that makes the bound least."""
    pairs = learner.pairs
    if pairs.kind[j] != SHIFTED:
        return float(np.sqrt((a**2).sum() / (2 * fixed)))
    slope, steadiness = pairs.plan[j]
    return float(slope * pairs.c[RIVAL, j, arcs].sum() / (steadiness * learner.visits[arcs].sum()))


def prior_cost(learner: Challenger, challenger: IntArray, incumbent: IntArray, j: int) -> float:
    """Compute -log prior(incumbent | challenger) of entry j; for the excursion prior, of one stretch."""
    mdp, pairs = learner.mdp, learner.pairs
    kind, total = pairs.prior[j], float(pairs.toll[j])
    if kind not in (DETOUR, EXCURSION):
        return total
    assert pairs.walks is not None
    stay, leave_by = (-np.log1p(-pairs.walks.rho), pairs.walks.rho) if kind == DETOUR else (0.0, 1.0)
    for q, p in zip(challenger, incumbent):
        node = mdp.source[p]
        degree = int(mdp.first[node + 1] - mdp.first[node])
        if degree == 1:
            continue
        if q == p:
            total += stay
        elif mdp.source[q] == node:
            total += np.log((degree - 1) / leave_by)
        else:
            total += np.log(degree)
    return float(total)


# Explain --------------------------------------------------------------------------------------------------------------
# Why Challenger has not stopped yet, or why it may: the incumbent, its strongest challengers, what is ruled out.


@dataclass(frozen=True)
class Rival:
    """A challenger: `bound` is how much better than the incumbent it may still be."""

    path: list[int]
    plan: list[str]
    estimate: float  # its estimated return minus the incumbent's, in the user's direction; never better than 0
    bound: float
    separating: list[str]  # the arcs that tell the two apart, least visited first


@dataclass(frozen=True)
class Explanation:
    """What Challenger knows now; `str()` gives it in words.

    Attributes:
        remark: What else to know, in the words that were chosen when it was made.
    """

    episodes: int
    stopped: bool
    epsilon: float
    certified_gap: float
    incumbent: list[int]
    plan: list[str]
    rivals: list[Rival]
    ruled_out: int
    arcs: int
    remark: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            f"after {many(self.episodes, 'trial')}: " + " > ".join(self.plan),
            f"{_proven(self.certified_gap)} (wanted: {self.epsilon:g}); "
            f"{self.ruled_out:,} of {_arcs(self.arcs)} ruled out",
        ]
        for rival in self.rivals:
            lines.append(f"  may be better by up to {rounded_up(rival.bound, 4)}: " + " > ".join(rival.plan))
            lines.append("    separated by: " + ", ".join(rival.separating[:4]))
        if self.remark:
            lines.append(self.remark)
        return "\n".join(lines)


def _proven(gap: float) -> str:
    return f"proven to be within {rounded_up(gap, 4)} of the best" if np.isfinite(gap) else "nothing is proven yet"


def explain(learner: Challenger, count: int) -> Explanation:
    """Return the explanation of a learner's present state."""
    mdp = learner.mdp
    gap, proven = learner.certified_gap(), proven_gap(learner)
    incumbent = learner.recommend()
    rivals = [] if not np.isfinite(proven) else _rivals(learner, incumbent, whole("challengers", count, low=0), proven)
    return Explanation(
        episodes=learner.episodes,
        stopped=learner.stopped,
        epsilon=learner.epsilon,
        certified_gap=proven,
        incumbent=incumbent.tolist(),
        plan=[action for _, action in mdp.path_labels(incumbent)],
        rivals=rivals,
        ruled_out=int((~learner.active).sum()),
        arcs=mdp.n_arcs,
        remark="\n".join(_remarks(learner, gap)),
    )


def _rivals(learner: Challenger, incumbent: IntArray, count: int, gap: float) -> list[Rival]:
    """Find the strongest challengers: through each arc off the incumbent, the path of largest G.

    The certified gap bounds them all, and no less is proven of the strongest: it is the bound shown for it. The others
    show a bound of their own where that is smaller. A path that is proven worse than the incumbent is no challenger.
    """
    mdp, work, found = learner.mdp, learner._work, dict[bytes, IntArray]()
    planned, work.grid[:] = work.path.copy(), 0.0
    learner._act(CHECK)  # fills in the grid
    work.path[:] = planned
    work.on[work.incumbent] = False
    work.incumbent[:] = incumbent
    work.on[incumbent] = True
    _hardest_row(learner)
    through = _through(learner)
    for arc in np.argsort(-through)[: 8 * count]:
        if through[arc] == -np.inf:
            break
        path = best_path_through(mdp, work.weight, work.ahead, work.behind, int(arc))
        found.setdefault(path.tobytes(), path)
    learner._act(INCUMBENT)
    rivals = []
    for path in found.values():
        apart = np.flatnonzero(path != incumbent)
        arcs = np.concatenate([path[apart], incumbent[apart]])
        arcs = arcs[np.argsort(learner.visits[arcs], kind="stable")]
        rivals.append(
            Rival(
                path=path.tolist(),
                plan=[action for _, action in mdp.path_labels(path)],
                estimate=float(mdp.sign * (work.mean[path] - work.mean[incumbent]).sum()),
                bound=min(gap, pair_bound(learner, path, incumbent)),  # the gap may have been proven earlier
                separating=[_in_words(mdp, int(e)) for e in arcs if not mdp.is_known[e]],
            )
        )
    rivals.sort(key=lambda rival: -rival.bound)
    if rivals and gap > 0:
        rivals[0] = replace(rivals[0], bound=gap)
    return [rival for rival in rivals[:count] if rival.bound >= 0]


def _hardest_row(learner: Challenger) -> None:
    """Make the passes of the entry and slope where the largest G of a path is least: what hinders a smaller gap."""

    def make(row: int) -> float:
        return make_row(learner.graph, learner.pairs, learner._seen, learner._work, row, 0)

    rows = np.flatnonzero(learner._work.grid[:, 1] != 0).tolist()
    if learner.pairs.stages is not None:
        rows.append(KEPT)
    make(min(rows, key=lambda row: make(row) + float(_through(learner).max()), default=0))


def _through(learner: Challenger) -> FloatArray:
    """Return the largest weight of a path through each arc off the incumbent, by the passes last made."""
    mdp, work = learner.mdp, learner._work
    value = values_through(mdp, work.weight, work.ahead, work.behind)
    return np.where(learner._seen.alive & ~work.on, value, -np.inf)


def _in_words(mdp: MDP, arc: int) -> str:
    """Return an arc as people name it: action, stage, and the state in which it is chosen."""
    step, state = step_in_words(mdp, stage_of(mdp, arc)), mdp.state_label(int(mdp.source[arc]))
    return f"{mdp.action_label(arc)} at {step} (state {state})"


def _arcs(count: int) -> str:
    return many(count, "option")


def _remarks(learner: Challenger, gap: float) -> list[str]:
    """Return what people should know beside the path: what is untried, ties, failures, what was excluded."""
    mdp, remarks = learner.mdp, []
    if not np.isfinite(gap):
        missing = int(((learner.visits == 0) & ~mdp.is_known & learner.active).sum())
        remarks.append(
            f"{_arcs(missing)} {'has' if missing == 1 else 'have'} no score yet; nothing can be "
            f"proven before {'it has one or is' if missing == 1 else 'they have one or are'} excluded"
        )
    elif not learner.stopped and learner.epsilon == 0:
        remarks.append(
            "epsilon is 0: this stops only if the best plan is unique. If the first challenger ties "
            "with the current plan it never will; an epsilon above 0 lets it stop"
        )
    failing = np.flatnonzero((learner._failures.in_a_row >= PATIENCE) & learner.active)
    remarks += [
        f"{_in_words(mdp, int(arc))} failed {int(learner._failures.in_a_row[arc])} times in a row; "
        f"exclude it if it cannot be run"
        for arc in failing[:3]
    ]
    out = int(learner.excluded.sum())
    if out:
        remarks.append(
            f"{_arcs(out)} {'was' if out == 1 else 'were'} excluded as infeasible; "
            f"the proof is over the plans that are left"
        )
    said = headline(learner.findings())
    return remarks if said is None else [said, *remarks]
