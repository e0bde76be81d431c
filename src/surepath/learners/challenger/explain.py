"""Why Challenger has not stopped yet, or why it may: the incumbent, its strongest challengers, what is ruled out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._checks import whole
from surepath._numbers import rounded_up
from surepath._text import many, word
from surepath._types import FloatArray, IntArray
from surepath.learners import tasks
from surepath.learners.challenger.bound import make_row
from surepath.learners.challenger.pair_bound import pair_bound
from surepath.learners.challenger.plays import PATIENCE
from surepath.learners.proven import proven_gap
from surepath.learners.watch import headline
from surepath.model.mdp import MDP
from surepath.model.paths import best_path_through, stage_of, values_through
from surepath.model.plans import step_in_words

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
            f"after {many(self.episodes, word('episode', 'trial'))}: " + " > ".join(self.plan),
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
    learner._act(tasks.CHECK)  # fills in the grid
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
    learner._act(tasks.INCUMBENT)
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
    work = learner._work
    best, least = work.grid[0].copy(), np.inf
    for row in work.grid[work.grid[:, 1] != 0]:
        work.grid[0] = row
        top = make_row(learner.graph, learner.pairs, learner._seen, work, 0) + float(_through(learner).max())
        if top < least:
            best, least = row, top
    work.grid[0] = best
    make_row(learner.graph, learner.pairs, learner._seen, work, 0)


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
    return many(count, word("arc", "option"))


def _remarks(learner: Challenger, gap: float) -> list[str]:
    """Return what people should know beside the path: what is untried, ties, failures, what was excluded."""
    mdp, remarks = learner.mdp, []
    if not np.isfinite(gap):
        missing = int(((learner.visits == 0) & ~mdp.is_known & learner.active).sum())
        remarks.append(
            f"{_arcs(missing)} {'has' if missing == 1 else 'have'} no {word('reward', 'score')} yet; nothing can be "
            f"proven before {'it has one or is' if missing == 1 else 'they have one or are'} excluded"
        )
    elif not learner.stopped and learner.epsilon == 0:
        remarks.append(
            f"epsilon is 0: this stops only if the best {word('path', 'plan')} is unique. If the first challenger ties "
            f"with the {word('incumbent', 'current plan')} it never will; an epsilon above 0 lets it stop"
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
            f"the proof is over the {word('paths', 'plans')} that are left"
        )
    said = headline(learner.findings())
    return remarks if said is None else [said, *remarks]
