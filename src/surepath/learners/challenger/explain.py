"""Why Challenger has not stopped yet, or why it may: the incumbent, its strongest challengers, what is ruled out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._checks import FloatArray, IntArray, whole
from surepath.learners.challenger.pair_bound import pair_bound
from surepath.learners.challenger.state import RIVAL

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
    """What Challenger knows now; `str()` gives it in words."""

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
        """Plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            f"after {self.episodes} episodes: " + " > ".join(self.plan),
            f"proven to be within {self.certified_gap:.4g} of the best (wanted: {self.epsilon:g}); "
            f"{self.ruled_out} of {self.arcs} arcs ruled out",
        ]
        for rival in self.rivals:
            lines.append(f"  may be better by up to {rival.bound:.4g}: " + " > ".join(rival.plan))
            lines.append("    told apart by: " + ", ".join(rival.separating[:4]))
        if self.remark:
            lines.append(self.remark)
        return "\n".join(lines)


def explain(learner: Challenger, count: int) -> Explanation:
    """The explanation of a learner's present state."""
    mdp = learner.mdp
    gap = learner.certified_gap()
    incumbent = learner.recommend()
    rivals = [] if not np.isfinite(gap) else _rivals(learner, incumbent, whole("challengers", count, low=0), gap)
    remark = ""
    if not np.isfinite(gap):
        missing = int(((learner.visits == 0) & ~mdp.is_known & learner.active).sum())
        remark = f"{missing} arcs have never been tried; nothing can be proven before they are"
    elif not learner.stopped and learner.epsilon == 0:
        remark = (
            "epsilon is 0: this stops only if the best plan is unique. If the first challenger ties with the incumbent "
            "it never will; an epsilon above 0 lets it stop"
        )
    return Explanation(
        episodes=learner.episodes,
        stopped=learner.stopped,
        epsilon=learner.epsilon,
        certified_gap=gap,
        incumbent=incumbent.tolist(),
        plan=[action for _, action in mdp.path_labels(incumbent)],
        rivals=rivals,
        ruled_out=int((~learner.active).sum()),
        arcs=mdp.n_arcs,
        remark=remark,
    )


def _rivals(learner: Challenger, incumbent: IntArray, count: int, gap: float) -> list[Rival]:
    """Strongest challengers: through each arc off the incumbent, the path of largest optimistic value; the best few.

    Which paths are looked at is a heuristic; the bound shown for each is exact for the grid.
    """
    mdp, seen, pairs = learner.mdp, learner._seen, learner.pairs
    a, extra = seen.a[RIVAL, 0], seen.extra[RIVAL, 0]
    noisy = a > 0
    k = float(np.median(a[noisy])) / np.sqrt(pairs.cost[0]) if noisy.any() else 1.0
    margin = np.where(noisy, 0.5 * a**2 / k + k * extra, 0.0)
    weight = np.where(seen.alive, seen.mean + margin, -np.inf)
    weight[incumbent] = seen.mean[incumbent] - margin[incumbent]
    ahead, behind = _passes(learner, weight)
    on = np.zeros(mdp.n_arcs, dtype=bool)
    on[incumbent] = True
    through = behind[mdp.source] + weight + ahead[mdp.target]
    through[on | ~seen.alive] = -np.inf
    found: dict[bytes, IntArray] = {}
    for arc in np.argsort(-through)[: 8 * count]:
        if through[arc] == -np.inf:
            break
        path = _trace(learner, weight, ahead, behind, int(arc))
        found.setdefault(path.tobytes(), path)
    rivals = []
    for path in found.values():
        apart = np.flatnonzero(path != incumbent)
        arcs = np.concatenate([path[apart], incumbent[apart]])
        arcs = arcs[np.argsort(learner.visits[arcs], kind="stable")]
        rivals.append(
            Rival(
                path=path.tolist(),
                plan=[action for _, action in mdp.path_labels(path)],
                estimate=float(mdp.sign * (seen.mean[path].sum() - seen.mean[incumbent].sum())),
                bound=min(gap, pair_bound(learner, path, incumbent)),  # the gap may have been proven earlier
                separating=[
                    f"{mdp.action_label(int(e))} at stage {_stage(learner, int(e))}"
                    for e in arcs
                    if not mdp.is_known[e]
                ],
            )
        )
    return sorted(rivals, key=lambda rival: -rival.bound)[:count]


def _stage(learner: Challenger, arc: int) -> int:
    return int(np.searchsorted(learner.mdp.stage_arc, arc, side="right")) - 1


def _passes(learner: Challenger, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    mdp = learner.mdp
    ahead, behind = np.zeros(mdp.n_nodes + 1), np.full(mdp.n_nodes + 1, -np.inf)
    behind[0] = 0.0
    for h in range(mdp.horizon - 1, -1, -1):
        low, high = mdp.stage_node[h], mdp.stage_node[h + 1]
        arcs = slice(mdp.first[low], mdp.first[high])
        ahead[low:high] = np.maximum.reduceat(weight[arcs] + ahead[mdp.target[arcs]], mdp.first[low:high] - arcs.start)
    for h in range(mdp.horizon):
        arcs = slice(mdp.stage_arc[h], mdp.stage_arc[h + 1])
        np.maximum.at(behind, mdp.target[arcs], behind[mdp.source[arcs]] + weight[arcs])
    return ahead, behind


def _trace(learner: Challenger, weight: FloatArray, ahead: FloatArray, behind: FloatArray, arc: int) -> IntArray:
    mdp = learner.mdp
    stage = _stage(learner, arc)
    path = np.zeros(mdp.horizon, dtype=np.int64)
    path[stage] = arc
    node = int(mdp.target[arc])
    for h in range(stage + 1, mdp.horizon):
        arcs = np.arange(mdp.first[node], mdp.first[node + 1])
        path[h] = arcs[np.argmax(weight[arcs] + ahead[mdp.target[arcs]])]
        node = int(mdp.target[path[h]])
    node = int(mdp.source[arc])
    for h in range(stage - 1, -1, -1):
        arcs = np.arange(mdp.stage_arc[h], mdp.stage_arc[h + 1])
        arcs = arcs[mdp.target[arcs] == node]
        path[h] = arcs[np.argmax(behind[mdp.source[arcs]] + weight[arcs])]
        node = int(mdp.source[path[h]])
    return path
