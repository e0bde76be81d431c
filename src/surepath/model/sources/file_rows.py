"""Between an MDP and the rows of a file: what is written for each arc, and the law that a file's means follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from surepath._text import word
from surepath._types import FloatArray
from surepath.errors import NoiseError, ProblemError, SettingError
from surepath.model.instance import Instance
from surepath.model.mdp import MDP
from surepath.model.rewards import BERNOULLI, BETA, GAUSSIAN, KNOWN, UNIFORM, Bernoulli, Bounded, Gaussian, Law
from surepath.model.sources.edge_rows import (
    NUMBERS,
    CheckedEdges,
    Edge,
    check_numbers,
    check_size,
    check_together,
)
from surepath.model.sources.problem_schema import PROBLEM_FORMAT, PROBLEM_VERSION, EdgeModel, ProblemModel

CONCENTRATION = 4.0  # of the beta law of a file that does not say
_NAMES = {GAUSSIAN: "gaussian", BERNOULLI: "bernoulli", BETA: "beta", UNIFORM: "uniform"}


def checked_edges(models: Sequence[EdgeModel], default_range: tuple[float, float] | None) -> CheckedEdges:
    """Turn the edges of a JSON file into checked ones; the default range is for those to learn that have none.

    The schema has seen to names, types and finiteness; what is left is what it cannot say.
    """
    edges = []
    for i, model in enumerate(models):
        place = f"edges[{i}]"
        numbers = {what: value for what in NUMBERS if (value := getattr(model, what)) is not None}
        if default_range and not numbers.keys() & {"known", "low", "high"}:
            numbers["low"], numbers["high"] = default_range
        edge = Edge(
            place=place,
            stage=model.stage,
            state=str(model.state),
            action=str(model.action),
            next_state=None if model.next_state is None else str(model.next_state),
            **{what: check_size(what, numbers[what], place) for what in NUMBERS if what in numbers},
        )
        check_numbers(edge)
        edges.append(edge)
    return check_together(edges, [(model.state, model.next_state) for model in models])


def step_problem(model: ProblemModel, limits: tuple[float, float] | None, fallback: float | None, name: str) -> MDP:
    """Build the problem of a JSON file that lists steps and options."""
    from surepath.model.sources.steps import from_steps

    assert model.steps is not None
    sigma = model.sigma if model.sigma is not None or limits is not None else fallback
    try:
        return from_steps(
            model.steps,
            "previous" if model.depends is None else model.depends,
            direction=model.direction,
            reward_range=limits,
            sigma=sigma,
            scores="every" if model.scores is None else model.scores,
            costs=model.costs,
            cost_weight=model.cost_weight or 0.0,
        )
    except (ProblemError, SettingError) as error:
        raise ProblemError(f"{name}: {error}") from None


def problem_fields(mdp: MDP, instance: Instance | None) -> dict[str, Any]:
    """Return all fields of a JSON problem file but its edges; numbers that all arcs share are written here once."""
    fields: dict[str, Any] = {"format": PROBLEM_FORMAT, "version": PROBLEM_VERSION, "direction": mdp.direction}
    if instance is not None:
        fields |= _law_fields(instance)
    learned = ~mdp.is_known
    for what, values in _numbers(mdp, instance).items():
        own = values[learned]
        if own.size and np.isfinite(own).all() and (own == own[0]).all():
            fields[what] = float(own[0])
    if ("low" in fields) != ("high" in fields):
        fields.pop("low", None), fields.pop("high", None)
    if mdp.charge is not None:
        fields["cost_weight"] = mdp.cost_weight
    if mdp.state_labels is not None:
        fields["states"] = list(mdp.state_labels)
    if mdp.action_labels is not None:
        fields["actions"] = list(mdp.action_labels)
    if mdp.step_labels is not None:
        fields["step_names"] = list(mdp.step_labels)
    fields["source"] = _state(mdp, 0)
    return fields


def table_rows(mdp: MDP, instance: Instance | None, *, shared: Sequence[str]) -> list[dict[str, object]]:
    """Return one row per arc, in arc order, without the numbers at the top of the file.

    What is at the top is for arcs to learn only: an arc with a known reward has its own range or none.
    """
    learned = {what: values for what, values in _numbers(mdp, instance).items() if what not in shared}
    certain = {} if mdp.reward_range is None else dict(zip(("low", "high"), mdp.reward_range))
    stage = mdp.arcs.stage
    rows: list[dict[str, object]] = []
    for arc in range(mdp.n_arcs):
        row: dict[str, object] = {"stage": int(stage[arc]), "state": _state(mdp, int(mdp.source[arc]))}
        row["action"] = int(mdp.action[arc]) if mdp.action_labels is None else mdp.action_label(arc)
        if mdp.target[arc] < mdp.n_nodes:
            row["next_state"] = _state(mdp, int(mdp.target[arc]))
        known = bool(mdp.is_known[arc])
        if known and mdp.known is not None:
            row["known"] = float(mdp.known[arc])
        for what, values in (certain if known else learned).items():
            if np.isfinite(values[arc]):
                row[what] = float(values[arc])
        if mdp.cost is not None and mdp.cost[arc] > 0:
            row["cost"] = float(mdp.cost[arc])
        if instance is not None and not known:
            row["mean"] = float(instance.means[arc])
        rows.append(row)
    return rows


def _state(mdp: MDP, node: int) -> int | str:
    return int(mdp.node_state[node]) if mdp.state_labels is None else mdp.state_label(node)


def _numbers(mdp: MDP, instance: Instance | None) -> dict[str, FloatArray]:
    """Return sigma and range of each arc as a file states them; an instance declares its own."""
    numbers: dict[str, FloatArray] = {}
    kinds = set() if instance is None else set(np.unique(instance.law.kind[~mdp.is_known]).tolist())
    if instance is not None and kinds & {BETA, UNIFORM, BERNOULLI}:
        numbers["low"], numbers["high"] = instance.law.low, instance.law.high
        if mdp.sigma is not None and (mdp.sigma > instance.sigma).any():
            numbers["sigma"] = np.maximum(mdp.sigma, instance.sigma)
    elif instance is not None:
        numbers["sigma"] = instance.sigma
    else:
        if mdp.sigma is not None:
            numbers["sigma"] = mdp.sigma
        if mdp.reward_range is not None:
            numbers["low"], numbers["high"] = mdp.reward_range
    return numbers


def _law_fields(instance: Instance) -> dict[str, Any]:
    kinds = set(np.unique(instance.law.kind).tolist()) - {KNOWN}
    if not kinds:
        return {}
    kind = kinds.pop()
    if kinds or kind not in _NAMES:
        raise ProblemError(
            "a problem file holds one law for all edges: gaussian, bernoulli, beta or uniform; "
            "save the MDP without its instance, or build the law in Python"
        )
    fields: dict[str, Any] = {"law": _NAMES[kind]}
    if kind == BETA:
        learned = ~instance.mdp.is_known
        fields["concentration"] = float(np.max((instance.law.a + instance.law.b)[learned]))
    return fields


def check_csv_names(mdp: MDP) -> None:
    """Refuse the names of steps: a CSV has no place for them."""
    if mdp.step_labels is not None:
        raise ProblemError("an edge-table CSV has no place for the names of steps; save as .json instead")


def check_csv_law(instance: Instance) -> None:
    """Refuse a law that a reader of the CSV, which names none, would take for another."""
    learned = ~instance.mdp.is_known
    kinds = set(np.unique(instance.law.kind[learned]).tolist())
    if kinds <= {GAUSSIAN}:
        return
    if kinds == {BETA} and np.allclose((instance.law.a + instance.law.b)[learned], CONCENTRATION, 1e-12, 0):
        return
    raise ProblemError(
        f"an edge-table CSV cannot name the law of its {word('rewards', 'scores')}: it is read as Gaussian, or inside "
        f"ranges as beta with concentration {CONCENTRATION:g}; save it as .json instead"
    )


def declared_law(mdp: MDP, means: FloatArray, law: str | None, concentration: float | None, who: str) -> Law:
    """Return the reward law of a file that gives means: as it says, else beta inside ranges, else Gaussian.

    A Gaussian law needs a sigma; `who` names the file where there is none.
    """
    learned, scores = ~mdp.is_known, word("rewards", "scores")
    low, high = mdp.reward_range if mdp.reward_range is not None else (np.full(mdp.n_arcs, -np.inf),) * 2
    ranged = np.isfinite(low) & learned
    if law is None:
        law = "beta" if learned.any() and (ranged == learned).all() else "gaussian"
    if concentration is not None and law != "beta":
        raise ProblemError(f'concentration belongs to the law "beta"; this file\'s law is "{law}"')
    if law == "gaussian":
        if ranged.any():
            arc = int(np.flatnonzero(ranged)[0])
            raise ProblemError(
                f"Gaussian {scores} leave every range, but {mdp.describe_arc(arc)} declares one; "
                f"drop low and high, or give all edges a range and take the law beta"
            )
        missing = mdp.noise_missing(who)
        if missing is not None:
            raise NoiseError(missing)
        return Gaussian(means, mdp.declared_sigma)
    if not (ranged == learned).all():
        arc = int(np.flatnonzero(ranged != learned)[0])
        raise ProblemError(f'the law "{law}" needs low and high; {mdp.describe_arc(arc)} has none')
    if law == "bernoulli":
        bad = np.flatnonzero(ranged & ((low > 0) | (high < 1)))
        if bad.size:
            raise ProblemError(f"Bernoulli {scores} are 0 or 1; {mdp.describe_arc(int(bad[0]))} excludes one of them")
    half = np.where(ranged, (high - low) / 2, 0.0)
    if mdp.sigma is not None and (mdp.sigma[learned] < half[learned]).any():
        arc = int(np.flatnonzero(learned & (mdp.sigma < half))[0])
        raise ProblemError(
            f'{scores} drawn by the law "{law}" have a sub-Gaussian factor of up to {half[arc]:g} at '
            f"{mdp.describe_arc(arc)}, more than its sigma {mdp.sigma[arc]:g}; leave sigma out there"
        )
    if law == "bernoulli":
        return Bernoulli(np.where(learned, means, 0.0))
    inside = np.where(learned, means, 0.0)
    bounds = np.where(learned, low, 0.0), np.where(learned, high, 0.0)
    return Bounded(
        *bounds, inside, sampler=law, concentration=CONCENTRATION if concentration is None else concentration
    )
