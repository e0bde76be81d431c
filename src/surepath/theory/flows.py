"""Minimum flows: the fewest episodes that visit every arc often enough, with the cut that proves it.

A flow is how often each arc is visited: as much enters a node as leaves it. `minimum_flow` finds one of least value
(flow out of the start) with flow >= demand on every arc; by the theorem of minimum flow and maximum cut (appendix
"Minimum Flows and Maximum Cuts" of the paper) its value is the largest demand, less the capacity against it, over a
cut of the graph. Every answer is checked before it is returned.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, log

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from surepath._checks import (
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    NotNumbersError,
    check_delta,
    check_epsilon,
    one_of,
    one_sigma,
    read_numbers,
)
from surepath.errors import InfeasibleError, ProblemError, SettingError, SurepathError
from surepath.kernels.flow import FLOW_GAP, STEPS_OF_FLOW, optimal_flow
from surepath.kernels.sweeps import graph_of
from surepath.model.mdp import MDP
from surepath.model.paths import every_path
from surepath.model.worlds import on_arcs
from surepath.theory.characteristic_time import Allocation, Question
from surepath.theory.gaps import Case

UNLIMITED = 2**61  # an unlimited capacity in whole numbers
TOLERANCE = 1e-9  # relative, of the checks


@dataclass(frozen=True, eq=False)
class Flow:
    """A minimum flow and the cut that proves it.

    Attributes:
        value: Flow out of the start; an int when the problem was solved in whole numbers.
        flow: Flow of each arc, [N]; int64 when solved in whole numbers.
        cut: Arcs that leave the maximum cut, int [K]; without capacities their demands sum to `value`.
        in_cut: Nodes of the maximum cut, bool [n_nodes]; the start is one of them.
    """

    value: float
    flow: AnyArray
    cut: IntArray
    in_cut: BoolArray


def minimum_flow(mdp: MDP, demand: ArrayLike, capacity: ArrayLike | None = None, integer: bool = False) -> Flow:
    """Return the flow of least value that meets every demand, and the cut that proves that none is smaller.

    Args:
        mdp: The layered graph.
        demand: Least flow of each arc, [N] or [H, S, A] or one number; finite, 0 or more.
        capacity: Largest flow of each arc; infinity, or None for all, is unlimited.
        integer: Solve in whole numbers; demands and capacities must be whole. Real demands are scaled by a power of
            two and solved in whole numbers too.

    Raises:
        InfeasibleError: The capacities leave no flow that meets the demands; `cut` holds the arcs that show why.

    Example:
        >>> mdp = MDP.from_arrays([[[0, 1], [0, 0]], [[0, 0], [0, 0]]])
        >>> minimum_flow(mdp, 1, integer=True).value
        4
    """
    from surepath.kernels.flow import bounded_flow
    from surepath.kernels.flow import minimum_flow as fewest
    from surepath.kernels.sweeps import graph_of

    need, most = _checked(mdp, demand, capacity, integer)
    # Real demands are rounded at 2**-60 of their sum, far below the precision of the floats they came in. Capacities
    # are widened by 1e-13 of the sum, so that rounding cannot make a tight problem infeasible.
    total = float(need.sum())
    scale = 1.0 if integer or total == 0 else 2.0 ** (60 - np.ceil(np.log2(total)))
    least = np.round(need * scale).astype(np.int64)
    flow, in_cut = np.empty(mdp.n_arcs, dtype=np.int64), np.empty(mdp.n_nodes, dtype=np.bool_)
    if most is None:
        fewest(graph_of(mdp), least, flow, in_cut)
        return _proved(
            mdp, least if integer else need, None, flow if integer else np.maximum(flow / scale, need), in_cut
        )
    room = most if integer else most + 1e-13 * total
    limit = np.maximum(np.minimum(room * scale, float(UNLIMITED)).astype(np.int64), least)
    value = bounded_flow(graph_of(mdp), least, limit, flow, in_cut)
    if value < 0:
        raise _infeasible(mdp, need, most, in_cut, "in" if value == -1 else "out")
    if integer:
        return _proved(mdp, least, limit, flow, in_cut)
    return _proved(mdp, need, most, np.minimum(np.maximum(flow / scale, need), most), in_cut)


def policy_cover(mdp: MDP, arcs: Iterable[int]) -> list[IntArray]:
    """Return the fewest paths that together go through all the given arcs (Algorithm 2 of the paper).

    Other arcs may be used too: leaving them out can only cost paths, and in the family `cover_gap(m)` it costs
    2 m instead of m + 1.

    Args:
        mdp: The layered graph.
        arcs: Arc numbers.

    Returns:
        Paths, each int [H]; as many as the value of the minimum flow with demand 1 on the arcs.

    Example:
        >>> len(policy_cover(MDP.from_arrays([[[0, 0]], [[0, 0]]]), [0, 1, 2]))
        2
    """
    from surepath.kernels.flow import extract_cover
    from surepath.kernels.sweeps import graph_of

    wanted = np.asarray(list(arcs) if not isinstance(arcs, np.ndarray) else arcs)
    if wanted.size == 0:
        return []
    if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
        raise SettingError(f"arcs must be arc numbers 0..{mdp.n_arcs - 1}; got {wanted.dtype} of shape {wanted.shape}")
    if wanted.min() < 0 or wanted.max() >= mdp.n_arcs:
        bad = wanted[(wanted < 0) | (wanted >= mdp.n_arcs)][0]
        raise SettingError(f"arcs must be arc numbers 0..{mdp.n_arcs - 1}; got {bad}")
    demand = np.zeros(mdp.n_arcs, dtype=np.int64)
    demand[wanted] = 1
    best = minimum_flow(mdp, demand, integer=True)
    paths = np.empty((int(best.value), mdp.horizon), dtype=np.int64)
    extract_cover(graph_of(mdp), np.array(best.flow, dtype=np.int64), paths)
    return list(paths)


def _checked(
    mdp: MDP, demand: ArrayLike, capacity: ArrayLike | None, integer: bool
) -> tuple[FloatArray, FloatArray | None]:
    """Return demands and capacities by arc, float [N]; no capacities: unlimited."""
    least = on_arcs("demand", demand, mdp)
    bad = np.flatnonzero(least < 0)
    if bad.size:
        raise SettingError(f"demand must be 0 or more; {mdp.describe_arc(int(bad[0]))} has {least[bad[0]]:g}")
    most = None if capacity is None else _capacity(mdp, capacity)
    if most is not None:
        bad = np.flatnonzero(least > most)
        if bad.size:
            arc = int(bad[0])
            raise InfeasibleError(
                f"{mdp.describe_arc(arc)} demands {least[arc]:g} but has capacity {most[arc]:g}; "
                f"raise the capacity or lower the demand",
                (arc,),
            )
    if not integer:
        return least, most
    for what, array in (("demand", least), ("capacity", most)):
        if array is not None:
            bad = np.flatnonzero(np.isfinite(array) & (array != np.round(array)))
            if bad.size:
                arc = int(bad[0])
                raise SettingError(
                    f"integer=True needs whole numbers; the {what} of {mdp.describe_arc(arc)} is {array[arc]:g}"
                )
    if least.sum() > 2**53:
        raise SettingError(f"whole demands must sum to at most 2**53; they sum to {least.sum():g}; use integer=False")
    return least, most


def _capacity(mdp: MDP, capacity: ArrayLike) -> FloatArray:
    try:
        values = read_numbers(capacity, booleans=True)
    except NotNumbersError as cause:
        raise ProblemError(f"capacity must be numbers, not {cause}") from None
    unlimited = on_arcs("capacity", np.where(np.isposinf(values), 1.0, 0.0), mdp) > 0
    return np.where(unlimited, np.inf, on_arcs("capacity", np.where(np.isposinf(values), 0.0, values), mdp))


def _infeasible(
    mdp: MDP, demand: FloatArray, capacity: FloatArray, inside: BoolArray, short_of: str
) -> InfeasibleError:
    """Return the error for a set of nodes through which the demands cannot pass; short_of is "in" or "out"."""
    member = np.append(inside, False)
    source, target = member[mdp.source], member[mdp.target]
    leaving, entering = source & ~target, ~source & target
    carry, demanding = (entering, leaving) if short_of == "in" else (leaving, entering)
    ways = ("enter", "leave") if short_of == "in" else ("leave", "enter")
    return InfeasibleError(
        f"no flow meets the demands: around a set of {int(inside.sum())} nodes the arcs that {ways[0]} can carry at "
        f"most {capacity[carry].sum():g} while the arcs that {ways[1]} demand {demand[demanding].sum():g}; "
        f"raise a capacity or lower a demand among the arcs of the cut",
        tuple(np.flatnonzero(leaving | entering).tolist()),
    )


def _proved(mdp: MDP, demand: AnyArray, capacity: AnyArray | None, flow: AnyArray, in_cut: BoolArray) -> Flow:
    """Return the answer, once conservation, demands, capacities and flow value = cut value have been checked."""
    whole = flow.dtype.kind == "i"
    member = np.append(in_cut, False)
    source, target = member[mdp.source], member[mdp.target]
    cut = np.flatnonzero(source & ~target)
    against = np.flatnonzero(~source & target)
    proof = demand[cut].sum()
    if against.size:
        proof = proof - (np.inf if capacity is None else capacity[against].sum())
    value = flow[: mdp.first[1]].sum()
    slack = 0 if whole else TOLERANCE * max(float(value), float(np.max(demand, initial=0.0)))
    net = np.zeros(mdp.n_nodes + 1, dtype=flow.dtype)
    np.add.at(net, mdp.target, flow)
    np.subtract.at(net, mdp.source, flow)
    faults = []
    if not in_cut[0]:
        faults.append("the cut does not hold the start")
    if (flow < demand - slack).any():
        faults.append("a demand is not met")
    if capacity is not None and (flow > capacity + slack).any():
        faults.append("a capacity is exceeded")
    if net[1:-1].size and np.abs(net[1:-1]).max() > slack:
        faults.append("flow is not conserved")
    if not abs(value - proof) <= slack:
        faults.append(f"flow value {value} differs from cut value {proof}")
    if faults:
        raise SurepathError("the minimum flow fails its check: " + "; ".join(faults))
    return Flow(int(value) if whole else float(value), flow, cut, in_cut)


# One score for a whole plan -------------------------------------------------------------------------------------------
# For plans drawn by a Markov chain of flow w, the variance of the difference of two plans is the sum of 1/w over arcs
# in exactly one of them, less that of 1/w over inner nodes in exactly one of them (docs, "End scores").

MOST_LISTED = 5_000  # plans of which all are looked at for a lower bound


def inner_nodes(mdp: MDP) -> BoolArray:
    """Mark the nodes between the first and the last stage, bool [n_nodes + 1]."""
    inside = np.zeros(mdp.n_nodes + 1, dtype=np.bool_)
    inside[mdp.stage_node[1] : mdp.n_nodes] = True
    return inside


@dataclass(frozen=True, eq=False)
class EndDesign:
    """The law of plans of least largest variance when each trial has one score, in units of the score's variance.

    Attributes:
        flow: Share of the trials that goes through each arc, float [N]; plans are drawn by its Markov chain.
        effects: Number of effects, the largest variance of a plan under this law.
        variance: Largest variance of the difference of two plans, at most 4 times as much.
        log_plans: Logarithm of the number of plans.
    """

    flow: FloatArray
    effects: int
    variance: float
    log_plans: float

    def trials(self, epsilon: float, delta: float, sigma: float = 1.0) -> int:
        """Count the trials after which one look proves epsilon, whatever the means."""
        if check_epsilon(epsilon) == 0:
            raise SettingError("a design needs an epsilon above 0: with epsilon 0 no fixed number of trials is enough")
        cost = self.log_plans - log(check_delta(delta))
        return ceil(2 * one_sigma(sigma) ** 2 * self.variance * cost / epsilon**2)


def design(mdp: MDP, *, scores: str = "end") -> EndDesign:
    """Find the optimal design for one score at the end: the flow with the largest sum log w(arc) - sum log w(node).

    No law of plans, Markov or not, has a smaller largest variance (Kiefer and Wolfowitz).

    Example:
        >>> free = design(MDP.from_arrays([[[0, 0]], [[0, 0]]]), scores="end")
        >>> free.effects, free.flow.round(3).tolist(), round(free.variance, 3)
        (3, [0.5, 0.5, 0.5, 0.5], 8.0)
    """
    one_of("scores", scores, ("end",))
    inside, everything = inner_nodes(mdp), np.ones(mdp.n_arcs, dtype=np.bool_)
    flow, node, _ = optimal_flow(graph_of(mdp), inside, everything, STEPS_OF_FLOW, FLOW_GAP)
    taken = np.where(inside, 1 / node, 0.0)
    value = np.zeros((mdp.n_nodes + 1, mdp.n_nodes + 1))  # largest variance from a pair of nodes on
    for h in range(mdp.horizon - 1, -1, -1):
        arcs = np.arange(mdp.stage_arc[h], mdp.stage_arc[h + 1])
        source, target = mdp.source[arcs], mdp.target[arcs]
        apart, split = ~np.eye(len(arcs), dtype=bool), source[:, None] != source[None, :]
        here = np.where(apart, 1 / flow[arcs] + 1 / flow[arcs][:, None], 0.0)
        here -= np.where(split, taken[source] + taken[source][:, None], 0.0)
        fresh = np.full_like(value, -np.inf)
        np.maximum.at(fresh, (source[:, None], source[None, :]), here + value[target[:, None], target[None, :]])
        value = fresh
    return EndDesign(flow, mdp.n_arcs - int(inside.sum()), float(value[0, 0]), mdp.log_paths)


class EndAllocation(Allocation):
    """The game of T* with one score at the end, over Markov laws of plans.

    f_q(w) = gap_q^2 / (2 v_q), v_q the variance of the difference from the best plan. Over all laws of plans f_q is
    concave, and its derivative by the share of a plan r is half gap_q^2 (u / v_q)^2 where u, what r says of the
    difference, is a sum over what it has in common with the two. Hence `above`: the largest over plans r of a mixture
    of these. The nearest rival alone has a variance of 4 at least, under any law.
    """

    def __init__(self, at: Case) -> None:
        super().__init__(at)
        if self.nothing_to_learn:
            return
        mdp = self.mdp
        self.variance = np.ones(mdp.n_arcs)
        self.items = np.concatenate([self.variance, -inner_nodes(mdp)[:-1].astype(np.float64)])
        self.above = 1 / 8
        self.signs: list[FloatArray] = []
        self.plans: FloatArray | None = None  # [P, N + n_nodes] what each plan goes through
        if mdp.n_paths <= MOST_LISTED:
            paths = every_path(mdp)
            self.plans = np.zeros((len(paths), len(self.items)))
            for arcs in (paths, mdp.n_arcs + mdp.source[paths]):
                np.put_along_axis(self.plans, arcs, 1.0, axis=1)

    def _noise(self, weight: FloatArray) -> FloatArray:
        """Return 1/w of arcs, and -1/w of inner nodes, float [N + n_nodes]."""
        node = np.bincount(self.mdp.source, weight, self.mdp.n_nodes)
        return np.asarray(self.items / np.maximum(np.concatenate([weight, node]), 1e-300))

    def _question(self, weight: FloatArray, grid: FloatArray) -> Question:
        noise, mdp = self._noise(weight), self.mdp
        own = noise[: mdp.n_arcs] + np.where(self.node_on[mdp.source], 0.0, noise[mdp.n_arcs + mdp.source])
        left = mdp.source[self.beside]
        beside = noise[self.beside] + np.where(self.node_on[mdp.source], 0.0, noise[mdp.n_arcs + left])
        return Question(self.node_on, self.leaves, self.cost, np.maximum(own + beside, 0.0), grid)

    def _keep(self, excursion: IntArray) -> None:
        arcs = excursion[excursion >= 0]
        if arcs.tobytes() in self._seen:
            return
        self._seen.add(arcs.tobytes())
        n, source = self.mdp.n_arcs, self.mdp.source
        theirs = np.concatenate([arcs, n + source[arcs[1:]]])
        ours = np.concatenate([self.beside[arcs], n + source[self.beside[arcs[1:]]]])
        self.rows.append(np.concatenate([ours, theirs]))
        self.signs.append(np.repeat([1.0, -1.0], len(arcs) * 2 - 1))
        self.gaps.append(float(self.cost[arcs].sum()))

    def _certify(self, weight: FloatArray) -> None:
        """Lower `above` by the best mixture of derivatives at the law of these weights, over all plans."""
        if self.plans is None:
            return
        noise, half = self._noise(weight), np.array(self.gaps) ** 2 / 2
        variance = np.maximum([noise[row].sum() for row in self.rows], 1e-300)
        close = np.flatnonzero(half / variance <= 1.25 * (half / variance).min())
        said = np.zeros((len(close), len(noise)))
        for at, q in enumerate(close):
            said[at, self.rows[q]] = self.signs[q] * noise[self.rows[q]]
        slopes = (self.plans @ said.T) ** 2 * (half / variance**2)[close]  # [P, close]
        if not np.isfinite(slopes).all():
            return
        scale = slopes.max()
        table = np.column_stack([slopes / scale, -np.ones(len(slopes))])
        cost, once = np.append(np.zeros(len(close)), 1.0), np.append(np.ones(len(close)), 0.0)
        answer = linprog(cost, table, np.zeros(len(slopes)), once[None, :], [1.0], method="highs")
        if answer.status == 0:
            mixture = np.maximum(answer.x[:-1], 0.0)
            self.above = min(self.above, float((slopes @ (mixture / mixture.sum())).max()))
