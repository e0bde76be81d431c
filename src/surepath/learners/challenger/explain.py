"""Explain why Challenger has not stopped yet, or why it may: its incumbent, its challengers, what is ruled out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._checks import FloatArray, IntArray, rounded_up, whole
from surepath._text import many
from surepath.learners.base import proven_gap
from surepath.learners.challenger.check import make_row
from surepath.learners.challenger.state import KEPT, TOTAL
from surepath.learners.runs import CHECK, INCUMBENT
from surepath.model.mdp import MDP
from surepath.model.paths import best_path_through, stage_of, step_in_words, values_through

if TYPE_CHECKING:
    from surepath.learners.challenger.learner import Challenger


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
    """State of a Challenger run; `str()` gives it in words.

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
            f"{self.ruled_out:,} of {many(self.arcs, 'option')} ruled out",
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

    The paths are those of the row (entry and slope, or kappa) where the largest G is least: what hinders a smaller gap.
    The bound of each is its least G over the rows. The certified gap bounds them all, and no less is proven of the
    strongest: it is the bound shown for it. A path that is proven worse than the incumbent is no challenger.
    """
    mdp, work, seen = learner.mdp, learner._work, learner._seen
    planned, work.grid[:] = work.path.copy(), 0.0
    learner._act(CHECK)  # fills in the grid
    work.path[:] = planned
    work.on[work.incumbent] = False
    work.incumbent[:] = incumbent
    work.on[incumbent] = True
    rows = np.flatnonzero(work.grid[:, 1] != 0).tolist()
    if learner.pairs.stages is not None:
        rows += [KEPT, TOTAL] if learner.pairs.stages.total is not None else [KEPT]
    largest = []
    for row in rows:
        constant = make_row(learner.graph, learner.pairs, seen, work, row, 0)
        largest.append(constant + float(_through(learner).max()))
    make_row(learner.graph, learner.pairs, seen, work, rows[int(np.argmin(largest))] if rows else 0, 0)
    through, found = _through(learner), dict[bytes, IntArray]()
    for arc in np.argsort(-through)[: 8 * count]:
        if through[arc] == -np.inf:
            break
        path = best_path_through(mdp, work.weight, work.ahead, work.behind, int(arc))
        found.setdefault(path.tobytes(), path)
    bound = np.full(len(found), gap)  # it may have been proven earlier
    for row in rows:
        constant = make_row(learner.graph, learner.pairs, seen, work, row, 0)
        total = [constant + float(work.weight[path].sum()) for path in found.values()]
        bound = np.minimum(bound, total)
    learner._act(INCUMBENT)
    rivals = []
    for path, least in zip(found.values(), bound.tolist()):
        apart = np.flatnonzero(path != incumbent)
        arcs = np.concatenate([path[apart], incumbent[apart]])
        arcs = arcs[np.argsort(learner.visits[arcs], kind="stable")]
        rivals.append(
            Rival(
                path=path.tolist(),
                plan=[action for _, action in mdp.path_labels(path)],
                estimate=float(mdp.sign * (work.mean[path] - work.mean[incumbent]).sum()),
                bound=least,
                separating=[_in_words(mdp, int(e)) for e in arcs if not mdp.is_known[e]],
            )
        )
    rivals.sort(key=lambda rival: -rival.bound)
    if rivals and gap > 0:
        rivals[0] = replace(rivals[0], bound=gap)
    return [rival for rival in rivals[:count] if rival.bound >= 0]


def _through(learner: Challenger) -> FloatArray:
    """Return the largest weight of a path through each arc off the incumbent, by the passes last made."""
    mdp, work = learner.mdp, learner._work
    value = values_through(mdp, work.weight, work.ahead, work.behind)
    return np.where(learner._seen.alive & ~work.on, value, -np.inf)


def _in_words(mdp: MDP, arc: int) -> str:
    """Return an arc as people name it: action, stage, and the state in which it is chosen."""
    step, state = step_in_words(mdp, stage_of(mdp, arc)), mdp.state_label(int(mdp.source[arc]))
    return f"{mdp.action_label(arc)} at {step} (state {state})"


def _remarks(learner: Challenger, gap: float) -> list[str]:
    """Return what people should know beside the path: what is untried, ties, failures."""
    mdp, remarks = learner.mdp, []
    if not np.isfinite(gap):
        missing = int(((learner.visits == 0) & ~mdp.is_known & learner.active).sum())
        remarks.append(
            f"{many(missing, 'option')} {'has' if missing == 1 else 'have'} no score yet; nothing can be "
            f"proven before {'it has one or is' if missing == 1 else 'they have one or are'} excluded"
        )
    elif not learner.stopped and learner.epsilon == 0:
        remarks.append(
            "epsilon is 0: this stops only if the best plan is unique. If the first challenger ties "
            "with the current plan it never will; an epsilon above 0 lets it stop"
        )
    remarks += [
        f"{_in_words(mdp, arc)} failed {count} times in a row; exclude it if it cannot be run"
        for arc, count in learner.failing()[:3]
    ]
    return [*(found.message for found in learner.findings()[:1]), *remarks]
