"""Minimum flows: the fewest episodes that visit every arc often enough, with the cut that proves it.

A flow is how often each arc is visited: as much enters a node as leaves it. `minimum_flow` finds one of least value
(flow out of the start) with flow >= demand on every arc; by the theorem of minimum flow and maximum cut (appendix
"Minimum Flows and Maximum Cuts" of the paper) its value is the largest demand, less the capacity against it, over a
cut of the graph. Every answer is checked before it is returned.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import AnyArray, BoolArray, FloatArray, IntArray, NotNumbersError, read_numbers
from surepath.errors import InfeasibleError, ProblemError, SettingError, SurepathError
from surepath.model.mdp import MDP
from surepath.model.worlds import on_arcs

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
