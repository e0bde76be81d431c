"""The list of all bounds: order, brackets, what does not apply."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surepath import MDP, Bernoulli, Gaussian, Instance, families, theory
from surepath.theory.summary import summarize


def by_name(instance: Instance, **options: Any) -> dict[str, Any]:
    return {row.name.strip(): row.value for row in summarize(instance, 0.2, 0.05, **options).rows}


def test_every_bound_is_that_of_its_own_function() -> None:
    instance = families.paper_random(states=2, actions=2, horizon=3, seed=1)
    found = by_name(instance)
    assert found["Theorem 1"] == theory.lower_bound(instance, 0.2, 0.05).value
    assert found["Theorem 1, sharper constants"] == theory.lower_bound(instance, 0.2, 0.05, sharp=True).value
    assert found["its busiest step alone"] <= found["Theorem 1"] <= found["its sum over all options"]
    assert found["T* kl(delta, 1 - delta)"] == pytest.approx(theory.characteristic_time(instance).bound(0.05), rel=0.01)
    assert found["worst case of this size"] == theory.worst_case_lower_bound(2, 2, 3, 0.2, 0.05)
    for rule in ("static-max-coverage", "max-coverage", "max-diameter"):
        assert found[f"EPRL {rule}"] == theory.upper_bound(instance, 0.2, 0.05, sampling=rule).value
    worst = theory.worst_case_upper_bound(2, 2, 3, 0.2, 0.05, sampling="max-diameter", arcs=instance.mdp.n_arcs)
    assert instance.mdp.n_arcs < 2 * 2 * 3
    divergence = theory.divergence_lower_bound(instance, 0.2, 0.05).value
    assert found["Theorem 1, by divergence"] == divergence >= found["Theorem 1, sharper constants"]
    flows = theory.compare_flows(instance, 0.2, 0.05)
    assert found["upper over lower flow"] == flows.upper / flows.lower
    assert found["EPRL max-diameter, worst case"] == worst
    assert found["tree theorem"] is None
    assert found["gap complexity, value gaps"] == pytest.approx(theory.gap_complexity(instance, 0.2).sum())


def test_a_tree_gets_the_tree_theorems() -> None:
    instance = families.tree(actions=2, horizon=3, seed=2)
    found = by_name(instance, sigma=0.5)
    assert found["tree theorem"] == theory.tree_lower_bound(instance, 0.2, 0.05, sigma=0.5)
    assert found["tree theorem, sharper constants"] == theory.tree_lower_bound(
        instance, 0.2, 0.05, sigma=0.5, sharp=True
    )
    assert found["tree theorem"] >= found["its busiest step alone"]


def test_what_does_not_apply_says_why() -> None:
    rows = {row.name: row for row in summarize(families.chain(3, 3, seed=0), 0.2, 0.05, time=False).rows}
    assert rows["worst case of this size"].value is None
    assert "3 is not a power of two" in rows["worst case of this size"].reading
    assert rows["T* kl(delta, 1 - delta)"].reading == "not computed above 5,000 options unless asked for"
    tied = Instance(MDP.from_arrays([[[0, 0]]]), Gaussian(np.ones(2)))
    rows = {row.name: row for row in summarize(tied, 0.0, 0.05).rows}
    assert rows["T* kl(delta, 1 - delta)"].value == np.inf
    assert "several plans are best" in rows["T* kl(delta, 1 - delta)"].reading
    assert rows["Theorem 1"].value == np.inf


def test_lower_bounds_are_claimed_for_gaussian_rewards_only() -> None:
    mdp = MDP.from_edges([(0, "s", "a", None), (0, "s", "b", None)])
    found = summarize(Instance(mdp, Gaussian([0.2, 0.8], 0.5)), 0.2, 0.05)
    assert found.gaussian
    assert not any("were Gaussian" in row.reading for row in found.rows)
    other = summarize(Instance(mdp, Bernoulli([0.2, 0.8])), 0.2, 0.05)
    assert not other.gaussian
    for row, same in zip(other.rows, found.rows, strict=True):
        if row.name == "Theorem 1, by divergence":
            assert row.value is not None
            assert same.value is not None
            assert row.value < same.value  # Pinsker
            assert "Gaussian with this sigma" not in row.reading
            continue
        assert row.value == same.value
        hedged = row.value is not None and (row.kind == "lower" or row.name.startswith("T*"))
        assert row.reading.startswith("if the noise were Gaussian with this sigma: ") == hedged
    known = MDP.from_edges([{"state": "s", "action": "a", "known": 1}, {"state": "s", "action": "b"}])
    assert summarize(Instance(known, Gaussian([0.0, 0.5])), 0.2, 0.05).gaussian
