"""Rules written in Python: twenty lines, checked, and equal to the compiled ones when they say the same."""

from __future__ import annotations

import numpy as np
import pytest

from surepath import EPRL, Challenger, check_rule, families, simulate
from surepath.errors import SettingError
from surepath.learners.base import Learner
from surepath.learners.own_rules import EliminationRule, SamplingRule, StoppingRule, View
from surepath.learners.per_arc.state import copies

pytestmark = pytest.mark.pure


class Widest(SamplingRule):
    """Max-diameter, written by a user: infinite widths become a number that outweighs all others."""

    def choose(self, view: View) -> np.ndarray:
        return view.best_path(np.where(np.isinf(view.widths), 1e6, view.widths))


class Return(EliminationRule):
    """Line 7 of Algorithm 1, written by a user."""

    def eliminate(self, view: View) -> np.ndarray:
        upper = np.where(np.isinf(view.upper), 1e6, view.upper)
        floor = view.values(np.where(np.isinf(view.lower), -1e6, view.lower), only_active=False)[0]
        return view.active & (view.through(upper) < floor)


class Diameter(StoppingRule):
    """Line 9 of Algorithm 1, first half, written by a user."""

    def stop(self, view: View) -> bool:
        return bool(2 * view.values(np.where(np.isinf(view.widths), 1e6, view.widths))[0] <= view.epsilon)


@pytest.mark.parametrize("rule", [Widest(), Return(), Diameter()])
def test_good_rules_pass_the_check(rule: object) -> None:
    played = check_rule(rule, graphs=40)  # type: ignore[arg-type]
    assert played["graphs"] == 40
    assert played["episodes"] > 100


class OnlyTheBest(SamplingRule):
    """Plays what looks best and nothing else once all was visited: the others stay uncertain for ever."""

    def choose(self, view: View) -> np.ndarray:
        unvisited = (view.visits == 0) & ~view.known
        return view.best_path(np.where(unvisited, 1000.0, view.means))


class AlwaysTheSame(SamplingRule):
    """One path, whatever was seen."""

    def choose(self, view: View) -> np.ndarray:
        return view.best_path(np.zeros(view.mdp.n_arcs), only_active=False)


@pytest.mark.parametrize("rule", [OnlyTheBest(), AlwaysTheSame()])
def test_a_sampling_rule_that_never_ends_is_found(rule: SamplingRule) -> None:
    with pytest.raises(SettingError, match=r"the learner does not end with it; .*\(graph \d+\)"):
        check_rule(rule)


def test_a_class_in_place_of_an_object_is_named() -> None:
    with pytest.raises(SettingError, match=r"sampling must be an object of your rule, Widest\(\), not the class"):
        EPRL(families.paper_random().mdp, 0.1, 0.1, sampling=Widest)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=r"check_rule needs an object of your rule, Widest\(\)"):
        check_rule(Widest)  # type: ignore[arg-type]


def test_a_users_rules_decide_as_the_compiled_ones() -> None:
    instance = families.paper_random(seed=6)
    own = {"sampling": Widest(), "elimination": Return(), "stopping": Diameter()}
    for part in (["sampling"], ["elimination"], ["sampling", "elimination", "stopping"]):
        options = {"sampling": "max-diameter", **{name: own[name] for name in part}}
        compiled = EPRL(instance.mdp, 4.0, 0.1, 1.0, sampling="max-diameter")
        python = EPRL(instance.mdp, 4.0, 0.1, 1.0, **options)  # type: ignore[arg-type]
        assert not python.compiled
        rng = np.random.default_rng(1)
        while not compiled.stopped and compiled.episodes < 300:
            path = python.ask()
            assert path.tolist() == compiled.ask().tolist()
            rewards = instance.means[path] + rng.standard_normal(3)
            compiled.tell(path, rewards)
            python.tell(path, rewards)
            assert python.active.tolist() == compiled.active.tolist()
            assert python.stopped == compiled.stopped


def test_a_users_rule_can_be_simulated() -> None:
    instance = families.paper_random(seed=6)
    with pytest.warns(UserWarning, match="Widest is a rule written in Python: about a millisecond an episode"):
        python = simulate(EPRL(instance.mdp, 5.0, 0.1, 1.0, sampling=Widest()), instance, runs=2, seed=3)
    compiled = simulate(EPRL(instance.mdp, 5.0, 0.1, 1.0, sampling="max-diameter"), instance, runs=2, seed=3)
    assert python.to_dict() == compiled.to_dict()


class NotAPath(SamplingRule):
    def choose(self, view: View) -> np.ndarray:
        return np.zeros(view.mdp.horizon, dtype=int)


class Fickle(SamplingRule):
    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def choose(self, view: View) -> np.ndarray:
        return view.best_path(self.rng.random(view.mdp.n_arcs))


class Meddler(SamplingRule):
    def choose(self, view: View) -> np.ndarray:
        view.visits[0] = 7
        return view.best_path(view.means)


class Hasty(EliminationRule):
    def eliminate(self, view: View) -> np.ndarray:
        return view.active & (view.through(view.means) < view.values(view.means)[0])


class WrongShape(EliminationRule):
    def eliminate(self, view: View) -> np.ndarray:
        return np.zeros(1)


class AtOnce(StoppingRule):
    def stop(self, view: View) -> bool:
        return True


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (NotAPath(), "NotAPath: not a path: option"),
        (Fickle(), "Fickle: asked twice without news it gave two paths"),
        (Meddler(), "Meddler: ValueError: assignment destination is read-only"),
        (Hasty(), "of a best path while all intervals held"),
        (WrongShape(), "WrongShape must return bool"),
        (AtOnce(), "AtOnce: it stopped on a path"),
    ],
)
def test_bad_rules_are_found_out(rule: object, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        check_rule(rule)  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert "(graph " in str(caught.value)


class Fails(Return, StoppingRule):
    """Works as an elimination rule, and raises in either role once it is told to."""

    broken = False

    def eliminate(self, view: View) -> np.ndarray:
        if self.broken:
            raise ZeroDivisionError("a user's slip")
        return super().eliminate(view)

    def stop(self, view: View) -> bool:
        if self.broken:
            raise ZeroDivisionError("a user's slip")
        return False


@pytest.mark.parametrize("role", ["elimination", "stopping"])
def test_a_rule_that_raises_leaves_the_learner_as_it_was(role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = families.paper_random(seed=6)
    options = {"sampling": "max-diameter", role: Fails()}
    hurt, spared = (EPRL(instance.mdp, 0.01, 0.1, 0.1, **options) for _ in range(2))  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    for t in range(300):
        if spared.stopped:
            break
        path = spared.ask()
        rewards = instance.means[path] + 0.1 * rng.standard_normal(len(path))
        if t % 7 == 3:
            before = copies(hurt._state)
            monkeypatch.setattr(Fails, "broken", True)
            with pytest.raises(ZeroDivisionError, match="slip"):
                hurt.tell(path, rewards)
            monkeypatch.undo()
            assert hurt.episodes == spared.episodes
            assert all(np.array_equal(old, new) for old, new in zip(before[:-1], hurt._state[:-1], strict=True))
        np.testing.assert_array_equal(hurt.ask(), path)
        for learner in (hurt, spared):
            learner.tell(path, rewards)
        np.testing.assert_array_equal(hurt.visits, spared.visits)
        np.testing.assert_array_equal(hurt.active, spared.active)
        assert hurt.certified_gap() == spared.certified_gap()
    assert hurt.stopped == spared.stopped
    assert not hurt.active.all()


class Thompson(SamplingRule):
    """Top-two Thompson sampling: the best path of a world drawn from what was seen, or of another such world."""

    def choose(self, view: View) -> np.ndarray:
        unvisited = (view.visits == 0) & ~view.known
        if unvisited.any():
            return view.best_path(unvisited.astype(float))
        spread = view.sigma / np.sqrt(np.maximum(view.visits, 1))
        paths = [view.best_path(view.means + spread * view.rng.standard_normal(len(spread))) for _ in range(8)]
        others = [path for path in paths if path.tolist() != paths[0].tolist()]
        if view.rng.random() < 0.5:
            return paths[0]
        return others[0] if others else view.best_path(spread)


@pytest.mark.parametrize("kind", [EPRL, Challenger])
def test_a_rule_that_draws_takes_its_chances_from_the_learners_seed(kind: type[Learner]) -> None:
    instance = families.chain(steps=3, options=3, seed=1, sigma=0.1)

    def plays(seed: int | None) -> list[list[int]]:
        learner = kind(instance.mdp, 0.3, 0.1, 1.0, sampling=Thompson(), seed=seed)  # type: ignore[call-arg]
        rng, paths = np.random.default_rng(0), []
        for _ in range(12):
            path = learner.ask()
            assert learner.ask().tolist() == path.tolist()
            paths.append(path.tolist())
            learner.tell(path, instance.means[path] + 0.1 * rng.standard_normal(3))
        return paths

    assert plays(5) == plays(5)
    assert plays(None) == plays(0)
    assert len({str(plays(seed)) for seed in range(5)}) > 1


def test_challenger_takes_a_rule_of_ones_own() -> None:
    instance = families.chain(steps=3, options=3, seed=1, sigma=0.1)
    learner = Challenger(instance.mdp, 0.2, 0.1, 0.1, sampling=Thompson())
    result = simulate(learner, instance, runs=6, seed=3)
    assert result.correct.all()
    assert len(set(result.tau.tolist())) > 1  # every run draws for itself
    again = simulate(learner, instance, runs=6, seed=3)
    assert again.tau.tolist() == result.tau.tolist()
    wide = Challenger(instance.mdp, 0.2, 0.1, 1.0, sampling=Thompson())
    for _ in range(15):
        path = wide.ask()
        wide.tell(path, instance.means[path])
    assert len({str(path) for path in wide.ask(6).tolist()}) > 1  # workers spread
    with pytest.raises(SettingError, match="Challenger with a rule written in Python cannot be saved as numbers"):
        learner.snapshot()
    with pytest.raises(SettingError, match=r"sampling must be an object of your rule, Thompson\(\), not the class"):
        Challenger(instance.mdp, 0.2, 0.1, 0.1, sampling=Thompson)  # type: ignore[arg-type]
