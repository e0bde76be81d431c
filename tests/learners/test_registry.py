"""Every rule has a kernel in the dispatch, a twin and a line in the docs; every kernel has one signature."""

from __future__ import annotations

import subprocess
import sys
from ast import literal_eval
from pathlib import Path

import numba
import pytest

from surepath import MDP, Bernoulli, Bounded, Challenger, Gaussian, Instance, families
from surepath.errors import SettingError
from surepath.kernels.sweeps import reality_of
from surepath.learners.base import LEARNERS, build, learner_class, learner_name, setting_names
from surepath.learners.challenger.noise import NOISES
from surepath.model.worlds import Shared
from tests.kernels.compiled import COMPILED

DOCS = Path(__file__).parents[2] / "docs" / "learners.md"


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
    """In a process of its own: many problems, learners and laws, and still one signature a kernel."""
    program = """
import sys
import numpy as np
from surepath import Bernoulli, Gaussian, Instance, families, simulate
from surepath.learners.base import build
instances = [families.paper_random(seed=s) for s in (0, 1)]
instances.append(Instance(instances[0].mdp, Bernoulli(instances[0].means)))
for instance in instances:
    for spec in ({"name": "EPRL"}, {"name": "EPRL", "sampling": "static-max-coverage"}, {"name": "BPIUCRL"},
                 {"name": "WholePlan"}, {"name": "EPRL", "preset": "experiment"}):
        spec = {"epsilon": 3.0, "delta": 0.1, "sigma": 1.0, **spec}
        simulate(spec, instance, runs=2, seed=0, epsilons=[3.0, 4.0])
        learner = build({**spec, "sigma": 1.0}, instance.mdp)
        path = learner.ask()
        learner.tell(path, np.ones(3, dtype=np.float32))
        learner.recommend(), learner.certified_gap()
many = []
for module in list(sys.modules.values()):
    if module.__name__.startswith(("surepath.learners", "surepath.learners.widths", "surepath.kernels.sweeps")):
        for name, value in vars(module).items():
            signatures = getattr(value, "nopython_signatures", None)
            if signatures is not None and len(signatures) > 1:
                many.append((name, len(signatures)))
print(sorted(set(many)))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert literal_eval(result.stdout) == []


@pytest.mark.skipif(not COMPILED, reason="plain Python has no signatures")
def test_challenger_is_compiled_in_four_forms() -> None:
    """Dependence by noise, declared or learned; prices, an unknown sigma, laws and shared luck are data, not types."""
    plain = MDP.from_steps({"a": [0, 1], "b": [0, 1]}, sigma=0.5)
    priced = MDP.from_steps({"a": ["x", "y"]}, sigma=0.5, costs={"a": {"x": 1.0, "y": 3.0}})
    ranged = MDP.from_steps({"a": [0, 1], "b": [0, 1]}, reward_range=(0, 1))
    laws = (Gaussian(0.5, 0.1), Bernoulli(0.5), Bounded(0.0, 1.0, 0.5), Shared(Gaussian(0.5, 0.1)))
    realities = [reality_of(Instance(plain, law)) for law in laws]
    assert len({str(numba.typeof(reality)) for reality in realities}) == 1
    forms = set()
    for dependence in ("independent", "any"):
        learners = [Challenger(plain, 0.1, 0.1, dependence=dependence)]
        learners += [Challenger(plain, epsilon, 0.1, 0.5, dependence=dependence) for epsilon in (0.0, 0.3)]
        learners += [Challenger(priced, 0.1, 0.1, 0.5, sampling="thrifty", dependence=dependence)]
        learners += [Challenger(ranged, 0.1, 0.1, noise=noise, dependence=dependence) for noise in NOISES]
        if dependence == "independent":
            learners.append(Challenger(MDP.from_arrays([[[0, 0]]]), 0.1, 0.1, "unknown", dependence=dependence))
        forms |= {str([numba.typeof(part) for part in (one.pairs, one._seen, one._work)]) for one in learners}
    assert len(forms) == 4
