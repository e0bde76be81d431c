"""Rules of one's own: compiled runs decide as single steps and as the built-in rules; named, refused, checked."""

from __future__ import annotations

import functools
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from surepath import EPRL, Challenger, check_rule, families, simulate
from surepath.cli.main import app
from surepath.errors import PathError, SettingError
from surepath.experiments.spec import Spec
from surepath.learners.base import build
from surepath.learners.own_rules import chance, view_of, with_rules
from surepath.learners.per_arc.bounds import copies
from surepath.simulation.simulate import _stream, drive
from tests.learners import functions

HERE = "tests.learners.functions"
OWN: dict[str, Any] = {
    "sampling": functions.widest,
    "elimination": functions.by_return,
    "stopping": functions.by_diameter,
}
PARTS = [["sampling"], ["elimination"], ["stopping"], ["sampling", "elimination", "stopping"]]


def same(found: Any, other: Any) -> bool:
    return bool(found.to_dict() == other.to_dict() and found.path.tolist() == other.path.tolist())


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_functions_decide_as_the_built_in_rules_of_the_same_work(part: list[str]) -> None:
    instance = families.paper_random(seed=6)
    options = {"sampling": "max-diameter", **{name: OWN[name] for name in part}}
    epsilons = [1.5, 4.0]
    built_in = simulate(EPRL(instance.mdp, 4.0, 0.1, 0.5, sampling="max-diameter"), instance, 3, 3, epsilons)
    own = simulate(EPRL(instance.mdp, 4.0, 0.1, 0.5, **options), instance, 3, 3, epsilons)
    if "stopping" not in part:
        assert same(own, built_in)
    else:  # line 9 has a second half, which the function leaves out
        by_gap = built_in.reason == "gap"
        assert by_gap.any()
        assert (own.tau[by_gap] == built_in.tau[by_gap]).all()


@pytest.mark.pure
@pytest.mark.parametrize("part", [*PARTS, ["random"]], ids=str)
@pytest.mark.parametrize("world", [families.paper_random(seed=6, sigma=0.5), families.chain(3, 3, sigma=0.5)])
def test_compiled_runs_are_the_single_steps(part: list[str], world: Any) -> None:
    own = {"sampling": functions.random_walk} if part == ["random"] else {name: OWN[name] for name in part}
    learner = EPRL(world.mdp, 1.0, 0.1, 0.5, **{"sampling": "coverage", **own})
    assert learner.compiled
    compiled = simulate(learner, world, 3, 5, [1.0, 3.0], budget=300, workers=1)
    for run in range(3):
        stepped = drive(learner, world, _stream(5, run), 300, np.array([1.0, 3.0]))
        for name in ("tau", "path", "eliminated", "gap"):
            column = getattr(compiled, name)[2 * run : 2 * run + 2]
            assert column.tolist() == getattr(stepped, name).tolist(), name


def test_a_function_is_kept_by_its_name_and_rebuilt() -> None:
    mdp = families.paper_random().mdp
    learner = EPRL(mdp, 0.1, 0.1, 1.0, **OWN)
    settings = json.loads(json.dumps(learner.settings()))
    assert (settings["sampling"], settings["stopping"]) == (f"{HERE}:widest", f"{HERE}:by_diameter")
    again = build(with_rules(settings), mdp)
    assert again.compiled
    assert again.ask().tolist() == learner.ask().tolist()
    for text, message in (
        ("no_such_module:f", "No module named 'no_such_module'; the module must be installed, on PYTHONPATH or"),
        (f"{HERE}:narrowest", f"the module {HERE} has no function 'narrowest'"),
    ):
        with pytest.raises(SettingError, match=re.escape(message)):
            simulate({**settings, "sampling": text}, families.paper_random(), 1, 0)


@pytest.mark.parametrize("kind", [EPRL, Challenger])
def test_only_specs_of_simulations_import_by_name(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, HERE)
    with pytest.raises(SettingError, match=r"sampling '.*' is not known"):
        kind(families.paper_random().mdp, 0.1, 0.1, 1.0, sampling=f"{HERE}:widest")
    assert HERE not in sys.modules


def spec_of(**rule: Any) -> dict[str, Any]:
    return {
        "runs": 2, "deltas": [0.1], "epsilons": [3.0], "instances": ["chain-v1/n3k2/seed7"],
        "learners": [{"name": "EPRL", **rule}],
    }  # fmt: skip


@pytest.mark.parametrize("rule", [functions.widest, f"{HERE}:widest"])
def test_a_spec_names_a_function(rule: Any) -> None:
    spec = Spec.from_dict(spec_of(sampling=rule))
    assert spec.learners[0].label == "EPRL sampling=widest"
    assert spec.to_dict()["learners"][0]["sampling"] == f"{HERE}:widest"
    assert Spec.from_dict(spec.to_dict()) == spec


def test_what_no_worker_can_rebuild_is_refused_in_words() -> None:
    def local(view: Any, path: Any) -> None:
        functions.widest(view, path)

    words = "learners[0].sampling: sampling local cannot be rebuilt in a worker; put the rule into a module as a"
    with pytest.raises(SettingError, match=re.escape(words)):
        Spec.from_dict(spec_of(sampling=local))
    instance = families.paper_random(seed=6)  # here it runs all the same
    assert simulate(EPRL(instance.mdp, 4.0, 0.1, 0.5, sampling=local), instance, 2, 3).correct.all()


def test_the_command_line_takes_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lambdas = "\nshort = lambda view, path: widest(view, path)\n"
    (tmp_path / "rules_beside_me.py").write_text(Path(functions.__file__).read_text() + lambdas)
    (tmp_path / "numba.py").write_text("raise RuntimeError('planted')")
    monkeypatch.chdir(tmp_path)
    words = ["simulate", "chain-v1/n3k2/seed7", "--learner", "EPRL", "--epsilon", "3", "--runs", "2", "--json", "--set"]
    for named in ("rules_beside_me:widest", "rules_beside_me:short", f"{HERE}:widest"):
        shown = CliRunner().invoke(app, [*words, f"sampling={named}"]).stdout
        assert json.loads(shown)["settings"]["learner"]["sampling"] == named


@pytest.mark.parametrize("rule", [functions.not_compiled, functions.imports])
def test_what_numba_cannot_compile_runs_in_python_with_a_warning(rule: Any) -> None:
    instance = families.chain(3, 2, sigma=0.1)
    with pytest.warns(UserWarning, match=f"{rule.__name__} runs in Python, about a thousand times slower") as told:
        learner = EPRL(instance.mdp, 1.0, 0.1, 0.1, sampling=rule)
    assert told[0].filename == __file__
    assert not learner.compiled
    assert simulate(learner, instance, 2, 3).correct.all()


def test_a_function_that_gives_no_path_is_refused() -> None:
    instance = families.chain(3, 2, sigma=0.1)
    with pytest.raises(PathError):
        simulate(EPRL(instance.mdp, 0.1, 0.1, 0.1, sampling=functions.no_path), instance, 2, 3, workers=1)


def test_functions_are_checked() -> None:
    for role, rule in OWN.items():
        played = check_rule(rule, role, graphs=12)
        assert played["graphs"] == 12
        assert played["episodes"] > 20
        assert played["compiled"]
    with pytest.raises(SettingError, match="role 'choosing' is not known"):
        check_rule(functions.widest, "choosing")
    for given in (type(None), functools.partial(functions.widest)):
        with pytest.raises(SettingError, match=r"sampling must be a name or a function \(view, ...\), not"):
            EPRL(families.paper_random().mdp, 0.1, 0.1, 1.0, sampling=given)
    with pytest.raises(SettingError, match=r"check_rule needs a function \(view, ...\), not str"):
        check_rule("widest")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=r"at_once: a sampling rule must take \(view, path\), not \(view"):
        check_rule(functions.at_once)


@pytest.mark.parametrize(
    ("rule", "role", "message"),
    [
        (functions.no_path, "sampling", "no_path: not a path: option"),
        (functions.out_of_range, "sampling", "out_of_range: IndexError: index"),
        (functions.fickle, "sampling", "fickle: asked twice without news it gave two paths"),
        (functions.only_the_best, "sampling", "only_the_best: the learner does not end with it"),
        (functions.hasty, "elimination", "of a best path while all intervals held"),
        (functions.at_once, "stopping", "at_once: it stopped on a path"),
    ],
)
def test_bad_rules_are_found_out(rule: Any, role: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        check_rule(rule, role)
    assert message in str(caught.value)
    assert "(graph " in str(caught.value)


@pytest.mark.filterwarnings("ignore:.* runs in Python")
@pytest.mark.parametrize("role", ["elimination", "stopping"])
def test_a_rule_that_raises_leaves_the_learner_as_it_was(role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = families.paper_random(seed=6)
    rule = functions.fails_to_drop if role == "elimination" else functions.fails_to_stop
    options: dict[str, Any] = {"sampling": "max-diameter", role: rule}
    hurt, spared = (EPRL(instance.mdp, 0.01, 0.1, 0.1, **options) for _ in range(2))
    assert not hurt.compiled
    rng = np.random.default_rng(0)
    for t in range(100):
        if spared.stopped:
            break
        path = spared.ask()
        rewards = instance.means[path] + 0.1 * rng.standard_normal(len(path))
        if t % 7 == 3:
            before = copies(hurt._state)
            monkeypatch.setattr(functions.SWITCH, "broken", True)
            with pytest.raises(ZeroDivisionError, match="slip"):
                hurt.tell(path, rewards)
            monkeypatch.undo()
            assert hurt.episodes == spared.episodes
            assert all(np.array_equal(old, new) for old, new in zip(before[:-1], hurt._state[:-1], strict=True))
        for learner in (hurt, spared):
            learner.tell(path, rewards)
        np.testing.assert_array_equal(hurt.active, spared.active)
        assert hurt.certified_gap() == spared.certified_gap()
    assert not hurt.active.all()


def test_challenger_takes_a_rule_of_ones_own() -> None:
    instance = families.chain(steps=3, options=3, seed=1, sigma=0.1)
    learner = Challenger(instance.mdp, 0.2, 0.1, 0.1, sampling=functions.random_walk)
    result = simulate(learner, instance, runs=6, seed=3)
    assert result.correct.all()
    assert len(set(result.tau.tolist())) > 1  # every run draws for itself
    assert simulate(learner, instance, runs=6, seed=3).tau.tolist() == result.tau.tolist()
    wide = Challenger(instance.mdp, 0.2, 0.1, 1.0, sampling=functions.random_walk)
    for _ in range(15):
        wide.tell(wide.ask(), [0.0, 0.0, 0.0])
    assert len({str(path) for path in wide.ask(6).tolist()}) > 1  # workers spread
    with pytest.raises(SettingError, match="Challenger with a rule of your own cannot be saved as numbers"):
        learner.snapshot()
    stubborn = Challenger(instance.mdp, 0.2, 0.1, 1.0, sampling=functions.first_path)
    stubborn.exclude(0)
    with pytest.raises(SettingError, match=r"first_path returned .*, which was excluded; best_path leaves it out"):
        stubborn.ask()


@pytest.mark.parametrize("kind", [EPRL, Challenger])
def test_chances_are_those_of_the_seed_and_even(kind: Any) -> None:
    instance = families.chain(steps=3, options=3, seed=1, sigma=0.1)
    learner = kind(instance.mdp, 0.3, 0.1, 0.1, sampling=functions.random_walk)
    view = view_of(learner)
    drawn = np.array([chance(view, number) for number in range(4000)])
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert np.abs(np.histogram(drawn, 8, (0, 1))[0] - 500).max() < 100
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.06
    assert learner.ask().tolist() == learner.ask().tolist()
    assert simulate(learner, instance, 4, 3).correct.all()
