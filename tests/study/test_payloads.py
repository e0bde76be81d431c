"""Payloads that are no results: refused in words of ours, and nothing is written."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from surepath._checks import LARGEST
from surepath.errors import RewardError, SurepathError
from surepath.study import Study
from surepath.study.storage import Storage
from tests.study.workers import STEPS, new_study

WRONG: list[Any] = [
    [float("nan"), 0.1, 0.2],
    [0.1, 0.2, 1e300],
    [0.1, 0.2, 0.3, 0.4],
    b"0.1",
    [None, 0.1, 0.2],
    {"first": 0.1, "nowhere": 0.2},
    {"second": 0.1},
    None,
    object(),
    [Decimal("NaN"), 0.1, 0.2],
    np.ma.masked_array([0.1, 0.2, 0.3], mask=[True, False, False]),
    [0.1, [0.2, 0.3]],
    {0.1, 0.2, 0.3},
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text() | st.integers() | st.none(), inner, max_size=4)
    ),
    max_leaves=10,
)


def everything(place: Storage) -> Any:
    with place.reading("work") as log:
        return log.trials(1, 999), log.queue(99), log.actions_after(0), log.last_change


@pytest.mark.parametrize("rewards", WRONG, ids=lambda value: type(value).__name__)
def test_what_is_no_result_is_refused(rewards: Any) -> None:
    place = Storage("memory")
    study = new_study(place)
    trial = study.ask()
    before = everything(place)
    for call in (study.tell, study.fail):
        with pytest.raises(RewardError):
            call(trial, rewards)
    with pytest.raises(RewardError):
        study.import_trials([(dict(trial.plan), [0.1, 0.2, 0.3]), (dict(trial.plan), rewards)])
    assert everything(place) == before
    assert study.tell(trial, [0.1, 0.2, 0.3]) == "told"


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(rewards=JSON)
def test_any_payload_is_taken_or_refused_in_words(rewards: Any) -> None:
    place, study = _shared()
    trial = study.ask()
    before = everything(place)
    try:
        study.tell(trial, rewards)
    except SurepathError:
        assert everything(place) == before
        study.cancel(trial)
    else:
        told = everything(place)[0][-1]
        assert told.state in ("complete", "partial")
        assert all(isinstance(x, float) and abs(x) <= LARGEST for x in told.rewards)
    study.sync()


_place: list[Any] = []


def _shared() -> tuple[Storage, Study]:
    if not _place or _place[1].done:  # absurd scores may prove anything
        storage = Storage("memory")
        _place[:] = [storage, new_study(storage, STEPS, epsilon=1e-6)]
    return _place[0], _place[1]


@pytest.mark.parametrize("text", ["\0", "a\0b", "\ud800", "x" * 5000, "\U0001f600\n\t'\"%s{}", ""])
def test_any_remark_is_kept_and_names_are_checked(opening: Any, text: str) -> None:
    study = new_study(opening())
    trial = study.ask()
    assert study.fail(trial, note=text) == "told"
    kept = everything(study.storage)[0][0].note
    assert len(kept) <= 2000
    assert "\0" not in kept
    if text.isprintable() and 0 < len(text) <= 500:
        return
    before = everything(study.storage)
    with pytest.raises(SurepathError, match="printable text"):
        study.ask(worker=text)
    with pytest.raises(SurepathError, match="printable text"):
        study.ask(request=text)
    assert everything(study.storage) == before
