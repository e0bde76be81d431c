"""Many runs: one after the other, in threads, called off."""

from __future__ import annotations

import time
import warnings

import pytest

from surepath import MDP, Drawn, Gaussian, Instance, families, simulate
from surepath.errors import SettingError
from surepath.learners.runs import Cancelled, raise_if_cancelled
from surepath.simulation.simulate import play_all

# simulate: rows, seeds, workers and epsilons --------------------------------------------------------------------------

MAX_DIAMETER = {"name": "EPRL", "delta": 0.1, "sampling": "max-diameter", "elimination": "both"}
BPI = {"name": "BPIUCRL", "delta": 0.1}
LEARNERS = pytest.mark.parametrize(
    "spec", [MAX_DIAMETER, BPI, {"name": "Challenger", "delta": 0.1}], ids=["eprl", "bpi", "challenger"]
)


@LEARNERS
def test_the_number_of_workers_changes_nothing(spec: dict) -> None:
    instance = families.paper_random(seed=3)
    alone = simulate(spec, instance, runs=9, seed=4, epsilons=[1.0, 2.0], workers=1)
    many = simulate(spec, instance, runs=9, seed=4, epsilons=[1.0, 2.0], workers=3)
    few = simulate(spec, instance, runs=4, seed=4, epsilons=[1.0, 2.0], workers=2)
    assert alone.to_dict() == many.to_dict()
    assert few.tau.tolist() == alone.tau[:8].tolist()


@LEARNERS
def test_one_run_at_the_smallest_epsilon_gives_the_others(spec: dict) -> None:
    instance = families.paper_random(seed=5)
    grid = [0.7, 2.5, 1.3]
    together = simulate(spec, instance, runs=3, seed=1, epsilons=grid)
    for epsilon in grid:
        apart = simulate({**spec, "epsilon": epsilon}, instance, runs=3, seed=1)
        assert apart.tau.tolist() == together.tau[together.at(epsilon)].tolist()
        assert apart.path.tolist() == together.path[together.at(epsilon)].tolist()
        assert apart.gap.tolist() == together.gap[together.at(epsilon)].tolist()


def test_a_spent_budget_is_marked() -> None:
    result = simulate({**BPI, "epsilon": 0.0}, families.paper_random(), runs=2, seed=0, budget=50)
    assert result.censored.all()
    assert result.tau.tolist() == [50, 50]
    assert set(result.reason) == {"budget"}


def test_a_users_function_is_played_step_by_step_to_the_same_end() -> None:
    compiled = families.paper_random(seed=2)
    means = compiled.means
    drawn = Instance(compiled.mdp, Drawn(lambda arc, rng: means[arc] + rng.standard_normal(), means, 1.0))
    spec = {**MAX_DIAMETER, "sigma": 1.0}
    fast = simulate(spec, compiled, runs=2, seed=7, epsilons=[6.0, 4.0])
    slow = simulate(spec, drawn, runs=2, seed=7, epsilons=[6.0, 4.0])
    assert fast.to_dict() == slow.to_dict()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"name": "EPLR", "epsilon": 1, "delta": 0.1}, "learner 'EPLR' is not known (did you mean \"EPRL\"?)"),
        ({"name": "EPRL", "epsilon": 1, "delta": 0.1, "samplin": "x"}, '(did you mean "sampling"?)'),
        ({"name": "EPRL", "delta": 0.1}, "the spec of EPRL needs epsilon"),
        ({"epsilon": 1}, "a learner spec needs a name"),
        ("EPRL", "a learner is a Learner or a spec"),
    ],
)
def test_a_bad_spec_is_refused(spec: object, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        simulate(spec, families.paper_random(), runs=1, seed=0)  # type: ignore[arg-type]
    assert message in str(caught.value)


# Runs over threads: order, errors, Ctrl-C, progress -------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_records_come_in_order_whoever_played_them(workers: int) -> None:
    told: list[int] = []

    def some(first: int, count: int) -> list[int]:
        time.sleep(0.002 * (first % 3))
        return [10 * i for i in range(first, first + count)]

    records = play_all(some, 230, workers, told.append)
    assert [x for record in records for x in record] == [10 * i for i in range(230)]
    assert len(records) < 100  # short runs are played many at a time
    assert told == sorted(told)
    assert told[-1] == 230


def test_an_error_calls_off_the_other_runs() -> None:
    ended: list[str] = []
    begun = time.monotonic()

    def some(first: int, count: int) -> None:
        if first:
            raise ValueError("run 1")
        try:
            while True:
                time.sleep(0.001)
                raise_if_cancelled()
        except Cancelled:
            ended.append("halted")
            raise

    with pytest.raises(ValueError, match="run 1"):
        play_all(some, 1000, 2, lambda done: None)
    assert ended == ["halted"]
    assert time.monotonic() - begun < 30


ENDLESS_RUNS = {
    "EPRL": ({"name": "EPRL", "elimination": "none"}, families.paper_random()),
    "Challenger": ({"name": "Challenger"}, Instance(MDP.from_arrays([[[0, 0]]]), Gaussian([0.0, 0.0]))),  # a tie
}


@pytest.mark.parametrize("learner", ENDLESS_RUNS)
def test_an_error_in_the_users_progress_function_ends_the_runs(learner: str) -> None:
    begun: list[float] = []

    def stop(done: int, runs: int) -> None:
        begun.append(time.monotonic())
        raise RuntimeError("enough")

    spec, instance = ENDLESS_RUNS[learner]
    with pytest.raises(RuntimeError, match="enough"):
        simulate({**spec, "epsilon": 0.0, "delta": 0.1}, instance, 40, seed=0, workers=2, budget=10**12, progress=stop)
    assert time.monotonic() - begun[0] < 30


@pytest.mark.parametrize("name", ["Challenger", "EPRL", "BPIUCRL", "WholePlan", "Design"])
def test_runs_are_seen_along_the_way(name: str) -> None:
    instance = families.chain(3, 2, sigma=0.5)
    spec = {"name": name, "epsilon": 0.3, "delta": 0.1}
    found = simulate(spec, instance, 4, 7, budget=60, along=[10, 60])
    assert found.along[60] is found
    alone = simulate(spec, instance, 4, 7, budget=10)
    assert found.along[10].to_dict() == alone.to_dict()
    assert (found.along[10].tau <= 10).all()
    assert (found.gap <= found.along[10].gap).mean() >= 0.5


def test_a_budget_with_epsilon_zero_is_warned_of() -> None:
    instance = families.chain(3, 2, sigma=0.5)
    with pytest.warns(UserWarning, match="epsilon 0 asks for the best plan itself: of 20 trials, many go to plans"):
        simulate({"name": "Challenger", "epsilon": 0.0, "delta": 0.1}, instance, 2, 7, budget=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate({"name": "Challenger", "epsilon": 0.1, "delta": 0.1}, instance, 2, 7, budget=20)
