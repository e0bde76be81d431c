"""Forecasts: the shape of the answer, that nothing of the study changes, and that they mean something."""

from __future__ import annotations

import numpy as np
import pytest

from surepath import MDP, Study
from surepath.errors import SettingError
from surepath.study.forecast import draw_world, forecast
from tests.study.pipelines import new_study, pipeline, play
from tests.study.worlds import bounded


def test_a_forecast_leaves_the_study_as_it_was_and_is_the_same_again() -> None:
    study = new_study(epsilon=0.2, problem=pipeline(sigma=0.3))
    play(study, trials=15)
    study.sync()
    before = repr(study._fold.learner.snapshot())
    first = forecast(study, more=20, draws=4, seed=3, seconds=60.0)
    assert repr(study._fold.learner.snapshot()) == before
    assert forecast(study, more=20, draws=4, seed=3, seconds=60.0) == first
    assert forecast(study, more=20, draws=4, seed=4, seconds=60.0) != first
    assert not first.cut
    assert len(first.left) == len(first.gaps) == 4
    assert all(left >= 1 for left in first.left)
    assert first.trials_left(0.1) <= first.trials_left() <= first.trials_left(0.9) < np.inf
    assert first.certified_gap == study.certified_gap
    assert all(gap >= 0 for gap in first.gaps)
    assert "more trials until done (in 8 worlds of 10:" in str(first)
    assert "20 more trials would bring the proven gap" in str(first)
    assert first.to_dict()["trials_left"]["median"] == first.trials_left()


def test_options_without_a_range_stand_beside_those_with_one() -> None:
    """Ways of unequal length wait on options whose score is known, and these have no range; others have a sigma."""
    rows: list[dict[str, object]] = [
        {"state": "depot", "action": "ring road", "next_state": "hub", "low": 5, "high": 60},
        {"state": "depot", "action": "tunnel", "next_state": "shop", "low": 5, "high": 60},
        {"state": "depot", "action": "ferry", "next_state": "shop", "sigma": 4.0},
        {"state": "hub", "action": "van", "next_state": "shop", "low": 5, "high": 60},
    ]
    mdp = MDP.from_edges(rows, direction="minimize")
    study = Study.create(mdp, "memory", epsilon=1.0, delta=0.1)
    ferry = int(mdp.path({0: "ferry", 1: "(pass)"})[0])
    for trials in range(3):
        rng = np.random.default_rng(trials)
        law = draw_world(mdp, study.learner, rng).law
        play = law.a[ferry] * law.b[ferry] / (law.a[ferry] + law.b[ferry]) ** 2 / (law.a[ferry] + law.b[ferry] + 1.0)
        assert np.sqrt(play) * (law.high - law.low)[ferry] == pytest.approx(4.0), "the sigma that was declared"
        assert len(forecast(study, more=10, draws=2, seconds=60.0).left) == 2
        trial = study.ask()
        study.tell(trial, np.where(mdp.is_known[trial.path], 0.0, 20.0 + rng.standard_normal(mdp.horizon)))


def test_it_says_when_it_was_cut_short() -> None:
    study = new_study(epsilon=0.0001, problem=pipeline(sigma=50.0))
    play(study, trials=15)
    guess = forecast(study, draws=8, seconds=0.05)
    assert guess.cut
    assert "cut short for time" in str(guess)


def test_a_finished_study_needs_nothing_more() -> None:
    study = new_study()
    play(study)
    guess = study.forecast()
    assert guess.done
    assert "nothing more is needed" in str(guess)
    for wrong in ({"more": 0}, {"draws": 0}, {"more": 1.5}):
        with pytest.raises(SettingError):
            study.forecast(**wrong)  # type: ignore[arg-type]


def test_explain_names_the_plan_the_gap_and_what_was_left_out() -> None:
    study = new_study(epsilon=0.001)
    trial = study.ask()
    study.fail(trial)
    assert ": 1 trial settled\nafter 1 trial: " in study.explain()
    play(study, trials=25)
    text = study.explain()
    assert " > ".join(str(option) for option in study.best_plan.values()) in text
    assert "Of 26 trials, 1 failed: the proof assumes that this did not depend on their scores" in text
    assert "(wanted: " in text
    assert "options ruled out" in text
    assert "after 26 trials: " in text


def test_explain_does_not_call_left_out_what_counts_as_the_worst() -> None:
    study = Study.create(bounded(), "memory", epsilon=0.1, delta=0.1, on_failure="worst")
    for _ in range(2):
        study.fail(study.ask())
    study.fail(study.ask(), [0.5])
    study.cancel(study.ask())
    words = study.explain()
    assert "Of 4 trials, 2 failed, 1 partial: the step at which one failed counts as its worst score" in words
    assert "Of 4 trials, 1 cancelled: the proof assumes that this did not depend on their scores" in words


def test_explain_says_what_to_do_about_a_finding() -> None:
    study = new_study(problem=pipeline(sigma=0.001), epsilon=0.01)
    play(study, trials=400)
    assert "what to do: declare a larger sigma" in study.explain()


STEPS = {"a": [0, 1, 2], "b": [0, 1, 2], "c": [0, 1], "d": [0, 1, 2]}


@pytest.mark.rare
def test_eighty_percent_of_what_comes_lies_within_the_forecast() -> None:
    """Over 100 studies on random worlds, asked when a quarter and when half of the trials were made."""
    mdp, more, sigma = MDP.from_steps(STEPS, sigma=0.3), 50, 0.3
    inside: dict[tuple[float, str], list[bool]] = {}

    def begun(number: int, until: float) -> Study:
        study = Study.create(mdp, "memory", epsilon=0.3, delta=0.1)
        means, rng = np.random.default_rng([1, number]).random(mdp.n_arcs), np.random.default_rng([2, number])
        while not study.done and len(study) < until:
            trial = study.ask()
            study.tell(trial, means[trial.path] + sigma * rng.standard_normal(mdp.horizon))
        return study

    for number in range(100):
        total = len(begun(number, np.inf))
        for share in (0.25, 0.5):
            now = max(1, int(share * total))
            guess = forecast(begun(number, now), more=more, seed=number, seconds=600.0)  # no world is cut short
            left, gap = total - now, begun(number, now + more).certified_gap
            inside.setdefault((share, "trials"), []).append(guess.trials_left(0.1) <= left <= guess.trials_left(0.9))
            inside.setdefault((share, "gap"), []).append(guess.gap_after(0.1) <= gap <= guess.gap_after(0.9))
    rates = {key: float(np.mean(values)) for key, values in inside.items()}
    assert all(0.7 <= rate <= 0.9 for rate in rates.values()), rates
