"""Every rule has a kernel in the dispatch, a twin and a line in the docs; every kernel has one signature."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from ast import literal_eval
from pathlib import Path

import numba
import pytest

from surepath import MDP, Bernoulli, Bounded, Challenger, Gaussian, Instance, families, simulate
from surepath.errors import SettingError
from surepath.kernels.sweeps import NO_REALITY, reality_of
from surepath.learners.base import LEARNERS, build, learner_class, learner_name, setting_names
from surepath.learners.per_arc import elimination
from surepath.learners.per_arc import rules as sampling
from surepath.learners.per_arc import rules as stopping
from surepath.learners.per_arc.elimination import ELIMINATION, SCHEDULES
from surepath.learners.per_arc.rules import RECOMMENDATION, SAMPLING_RULES
from surepath.learners.widths import ARC_WIDTHS, NOISES
from surepath.model.worlds import Shared
from tests.kernels.compiled import COMPILED
from tests.naive import learner as naive

DOCS = Path(__file__).parents[2] / "docs" / "learners.md"


@pytest.mark.parametrize("rule", SAMPLING_RULES)
def test_every_sampling_rule_is_whole(rule: str) -> None:
    name, source = rule.replace("-", "_"), inspect.getsource(sampling)
    assert f"rules.sampling == {name.upper()}" in source or rule == SAMPLING_RULES[-1]
    assert f"turn = {name}(rules, state.tally)" in source
    assert getattr(sampling, name).__doc__
    assert f"`{rule}`" in DOCS.read_text(encoding="utf-8")
    if rule != "uniform":  # it has no objective: its chances are tested by count
        assert f'"{rule}"' in inspect.getsource(naive)


@pytest.mark.parametrize("rule", RECOMMENDATION)
def test_every_recommendation_rule_is_whole(rule: str) -> None:
    assert f"\n# {rule} " in inspect.getsource(stopping)
    assert f"`{rule}`" in DOCS.read_text(encoding="utf-8")
    assert f"RECOMMEND_{rule.upper()}" in inspect.getsource(stopping)


@pytest.mark.parametrize("rule", ["diameter", "optimal-gap"])
def test_every_stopping_rule_is_whole(rule: str) -> None:
    name = rule.replace("-", "_")
    assert hasattr(stopping, name.upper())
    assert getattr(stopping, name).__doc__
    assert f"`{rule}`" in DOCS.read_text(encoding="utf-8")


def test_every_elimination_rule_schedule_and_width_is_in_the_docs() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for name in (*ELIMINATION, *SCHEDULES, *ARC_WIDTHS):
        assert f"`{name}`" in text, name
    for name in SCHEDULES[:-1]:
        assert name.upper().replace("-", "_") in inspect.getsource(elimination)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "Challenger"])
def test_every_learner_is_built_from_its_settings(name: str) -> None:
    mdp = families.paper_random().mdp
    learner = build({"name": name, "epsilon": 0.5, "delta": 0.1, "sigma": 1.0}, mdp)
    assert learner.name == name == learner_class(name).__name__
    assert set(learner.settings()) - {"name"} <= set(setting_names(name))
    assert build(learner.settings(), mdp).settings() == learner.settings()
    assert f"`{name}`" in DOCS.read_text(encoding="utf-8")


def test_a_learner_may_be_written_in_any_case() -> None:
    assert [learner_name(given) for given in ("eprl", "BPI-UCRL", "whole_plan")] == ["EPRL", "BPIUCRL", "WholePlan"]
    with pytest.raises(SettingError, match=r"learner 'eprll' is not known \(did you mean \"EPRL\"\?\)"):
        learner_name("eprll")
    with pytest.raises(SettingError, match=r"learner 'EPLR' is not known \(did you mean \"EPRL\"\?\)"):
        learner_name("EPLR")


def test_each_kernel_has_one_signature() -> None:
    """In a process of its own: many problems, learners and laws, and still one signature a kernel.

    Two have those that are told whether rules are lean (`per_arc.run.is_lean`).
    """
    program = """
import sys
import numpy as np
from surepath import Bernoulli, Gaussian, Instance, families, simulate
from surepath.learners.base import build
instances = [families.paper_random(seed=s) for s in (0, 1)]
instances.append(Instance(instances[0].mdp, Bernoulli(instances[0].means)))
for instance in instances:
    for spec in ({"name": "EPRL"}, {"name": "EPRL", "sampling": "static-max-coverage"}, {"name": "BPIUCRL"},
                 {"name": "Uniform"}, {"name": "WholePlan"}, {"name": "EPRL", "preset": "experiment"}):
        spec = {"epsilon": 3.0, "delta": 0.1, "sigma": 1.0, **spec}
        simulate(spec, instance, runs=2, seed=0, epsilons=[3.0, 4.0])
        learner = build({**spec, "sigma": 1.0}, instance.mdp)
        path = learner.ask()
        learner.tell(path, np.ones(3, dtype=np.float32))
        learner.recommend(), learner.certified_gap()
many = []
for module in list(sys.modules.values()):
    if module.__name__.startswith(("surepath.learners", "surepath.learners.widths", "surepath.kernels.draw")):
        for name, value in vars(module).items():
            signatures = getattr(value, "nopython_signatures", None)
            if signatures is not None and len(signatures) > 1:
                many.append((name, len(signatures)))
print(sorted(set(many)))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert set(literal_eval(result.stdout)) <= {("play", 2)}
    assert (("play", 2) in literal_eval(result.stdout)) == COMPILED


def test_compiling_is_announced_once_and_only_when_it_happens(tmp_path: Path) -> None:
    program = """
import numpy as np
from surepath.learners.widths import fill_table
fill_table(0, 1.0, 0.1, 1.0, 0, np.zeros(4))
"""
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    environment["SUREPATH_CACHE_DIR"] = str(tmp_path)
    said = []
    for _ in range(2):
        result = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
        )
        said.append(result.stderr.count("compiling kernels, once"))
    assert said == [1, 0]


def test_uniform_plays_every_action_alike() -> None:
    instance = Instance(families.paper_random(seed=1).mdp, Gaussian(0.0, 1.0))
    learner = build({"name": "Uniform", "epsilon": 0.0, "delta": 0.1, "sigma": 1.0, "seed": 5}, instance.mdp)
    for _ in range(600):
        path = learner.ask()
        assert path.tolist() == learner.ask().tolist()
        learner.tell(path, [0.0, 0.0, 0.0])
    first = learner.visits[: instance.mdp.first[1]]
    assert first.sum() == 600
    assert abs(first[0] - 300) < 5 * (600 * 0.25) ** 0.5


def test_uniform_runs_differ() -> None:
    instance = families.paper_random(seed=1)
    result = simulate({"name": "Uniform", "epsilon": 2.0, "delta": 0.1}, instance, runs=8, seed=0)
    assert len(set(result.tau.tolist())) > 1
    assert result.correct.all()


@pytest.mark.skipif(not COMPILED, reason="plain Python has no signatures")
def test_challenger_is_compiled_in_four_forms() -> None:
    """Dependence by noise, declared or learned; prices, an unknown sigma, laws and shared luck are data, not types."""
    plain = MDP.from_steps({"a": [0, 1], "b": [0, 1]}, sigma=0.5)
    priced = MDP.from_steps({"a": ["x", "y"]}, sigma=0.5, costs={"a": {"x": 1.0, "y": 3.0}})
    ranged = MDP.from_steps({"a": [0, 1], "b": [0, 1]}, reward_range=(0, 1))
    laws = (Gaussian(0.5, 0.1), Bernoulli(0.5), Bounded(0.0, 1.0, 0.5), Shared(Gaussian(0.5, 0.1)))
    realities = [reality_of(Instance(plain, law)) for law in laws] + [NO_REALITY]
    assert len({str(numba.typeof(reality)) for reality in realities}) == 1
    forms = set()
    for dependence in ("independent", "any"):
        learners = [Challenger(plain, 0.1, 0.1, dependence=dependence)]
        learners += [Challenger(plain, epsilon, 0.1, 0.5, dependence=dependence) for epsilon in (0.0, 0.3)]
        learners += [Challenger(priced, 0.1, 0.1, 0.5, sampling="thrifty", dependence=dependence)]
        learners += [Challenger(ranged, 0.1, 0.1, noise=noise, dependence=dependence) for noise in NOISES]
        if dependence == "independent":
            learners.append(Challenger(MDP.from_arrays([[[0, 0]]]), 0.1, 0.1, "unknown"))
        forms |= {str([numba.typeof(part) for part in (one.pairs, one._seen, one._work)]) for one in learners}
    assert len(forms) == 4
