"""Any order of calls by people, workers and accidents, against a plain model of the log; two studies on one storage."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import surepath.study.fold
from surepath import MDP
from surepath.errors import ConflictError, SettingError, StoppedError, StudyError
from surepath.study import Study
from surepath.study.storage import Storage
from tests.study.conftest import Clock
from tests.study.workers import STEPS, forget_snapshots

LEASE = 10.0
OPTIONS = [(step, option) for step, options in STEPS.items() for option in options]
PLANS = [dict(zip(STEPS, options)) for options in itertools.product(*STEPS.values())]
REWARD = st.sampled_from([-0.25, 0.0, 0.125, 0.5, 0.75, 1.0, 1 / 3])
SETTLED = ("complete", "partial", "failed", "expired", "cancelled")


class Machine(RuleBasedStateMachine):
    """Every call is made on one of two studies; the model keeps what the log must be."""

    on_disk: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.folder = tempfile.TemporaryDirectory()
        self.url = f"sqlite:///{Path(self.folder.name) / 'study.db'}"
        self.storage: Any = Storage(self.url, self.clock) if self.on_disk else Storage("memory", self.clock)
        self.mdp = MDP.from_steps(STEPS)
        given: dict[str, Any] = {"epsilon": 1.2, "delta": 0.3, "sigma": 0.3, "lease": LEASE, "missing": "unrelated"}
        self.studies = [Study.create(self.mdp, self.storage, "work", **given), self.open()]
        self.rows: list[dict[str, Any]] = []
        self.queue: list[tuple[tuple[int, ...], str, int | None]] = []
        self.excluded: set[tuple[str, str]] = set()
        self.epsilon = 1.2

    def open(self) -> Study:
        return Study.load(Storage(self.url, self.clock) if self.on_disk else self.storage, "work")

    def teardown(self) -> None:
        for study in self.studies:
            study.close()
        self.folder.cleanup()

    # The model ---------------------------------------------------------------------------------------------------

    def expire(self) -> None:
        late = [row for row in self.rows if row["state"] == "running" and row["lease"] < self.clock.time]
        for row in late:
            row["state"] = "expired"
            row["lease"] += 0 if row["attended"] else 9 * LEASE
        again = [(row["path"], "retried", row["number"]) for row in late if self.retries(row) < 2]
        self.queue = again + self.queue

    def retries(self, row: dict[str, Any]) -> int:
        return 0 if row["source"] != "retried" else 1 + self.retries(self.rows[row["of"] - 1])

    def add(
        self, path: Any, source: str, of: int | None, state: str, rewards: Any = (), attended: bool = False
    ) -> None:
        lease = self.clock.time + LEASE
        row = {"number": len(self.rows) + 1, "path": tuple(path), "source": source, "of": of, "state": state}
        self.rows.append({**row, "rewards": tuple(rewards), "lease": lease, "attended": attended})

    def is_open(self, row: dict[str, Any]) -> bool:
        return row["state"] == "running" or (row["state"] == "expired" and row["lease"] >= self.clock.time)

    def counted_already(self, row: dict[str, Any]) -> bool:
        return not any(map(self.is_open, self.rows[: row["number"]]))

    def is_excluded(self, path: tuple[int, ...]) -> bool:
        return any((str(step), str(option)) in self.excluded for step, option in self.mdp.plan(np.array(path)).items())

    # Calls -------------------------------------------------------------------------------------------------------

    @rule(who=st.integers(0, 1), n=st.integers(1, 3), attended=st.booleans())
    def ask(self, who: int, n: int, attended: bool) -> None:
        study, other = self.studies[who], self.studies[1 - who]
        if other.done:
            with pytest.raises(StoppedError):
                study.ask(n)
            return
        taken: list[Any] = []
        while self.queue and len(taken) < n:
            plan = self.queue.pop(0)
            if not self.is_excluded(plan[0]):
                taken.append(plan)
        if len(taken) < n:
            chosen = other._fold.choose(n - len(taken), [plan[0] for plan in taken]).tolist()
            taken += [(tuple(path), "asked", None) for path in chosen]
        trials = study.ask(n, attended=attended)
        for trial, (path, source, of) in zip(trials, taken, strict=True):
            self.add(path, source, of, "running", attended=attended)
            assert (trial.number, tuple(trial.path.tolist()), trial.source) == (len(self.rows), path, source)
            assert not self.is_excluded(path)

    @precondition(lambda self: self.rows)
    @rule(who=st.integers(0, 1), pick=st.integers(0, 10**6), rewards=st.lists(REWARD, max_size=3), failed=st.booleans())
    def report(self, who: int, pick: int, rewards: list[float], failed: bool) -> None:
        """Tell a result of any length, or a failure: in time, late, twice, or another one than before."""
        study, row = self.studies[who], self.rows[pick % len(self.rows)]
        state = "complete" if len(rewards) == 3 else "partial" if rewards else "failed"

        def call() -> str:
            return study.fail(row["number"], rewards) if failed else study.tell(row["number"], rewards)

        if (state == "complete") == failed and state != "partial":  # a failure with all rewards, a result with none
            with pytest.raises(StudyError):
                call()
            return
        late = [one for one in self.rows if one["source"] == "late" and one["of"] == row["number"]]
        judged = late[0] if late else row
        lost = row["state"] in ("expired", "cancelled")
        if self.is_open(row) or (lost and not late and not self.counted_already(row)):
            assert call() == "told"
            row.update(state=state, rewards=tuple(rewards))
        elif row["state"] in ("expired", "cancelled") and not late:
            assert call() == ("repeated" if state == "failed" else "late")
            if state != "failed":
                self.add(row["path"], "late", row["number"], state, rewards, row["attended"])
        elif (judged["state"], judged["rewards"]) == (state, tuple(rewards)):
            assert call() == "repeated"
        else:
            with pytest.raises(ConflictError):
                call()

    @precondition(lambda self: any(row["state"] == "running" for row in self.rows))
    @rule(who=st.integers(0, 1), pick=st.integers(0, 10**6), rewards=st.tuples(REWARD, REWARD, REWARD))
    def finish(self, who: int, pick: int, rewards: tuple[float, ...]) -> None:
        running = [row for row in self.rows if row["state"] == "running"]
        row = running[pick % len(running)]
        assert self.studies[who].tell(row["number"], rewards) == "told"
        row.update(state="complete", rewards=rewards)

    @precondition(lambda self: self.rows)
    @rule(who=st.integers(0, 1), pick=st.integers(0, 10**6))
    def cancel(self, who: int, pick: int) -> None:
        row = self.rows[pick % len(self.rows)]
        self.studies[who].cancel(row["number"])
        if self.is_open(row):
            row["state"] = "cancelled"

    @precondition(lambda self: self.rows)
    @rule(who=st.integers(0, 1), pick=st.integers(0, 10**6))
    def renew(self, who: int, pick: int) -> None:
        row = self.rows[pick % len(self.rows)]
        if row["state"] == "running":
            row["lease"] = self.studies[who].renew(row["number"])
            assert row["lease"] == self.clock.time + LEASE
        else:
            with pytest.raises(StudyError, match="only a running trial"):
                self.studies[who].renew(row["number"])

    @rule(who=st.integers(0, 1), plan=st.sampled_from(PLANS))
    def enqueue(self, who: int, plan: dict[str, str]) -> None:
        self.studies[who].enqueue(plan)
        self.queue.append((tuple(self.mdp.path(plan).tolist()), "queued", None))

    @rule(who=st.integers(0, 1), plan=st.sampled_from(PLANS), rewards=st.lists(REWARD, min_size=1, max_size=3))
    def import_past(self, who: int, plan: dict[str, str], rewards: list[float]) -> None:
        assert self.studies[who].import_trials([(plan, rewards)], again=True) == 1
        self.add(
            self.mdp.path(plan).tolist(), "imported", None, "complete" if len(rewards) == 3 else "partial", rewards
        )

    @rule(who=st.integers(0, 1), option=st.sampled_from(OPTIONS))
    def exclude(self, who: int, option: tuple[str, str]) -> None:
        would = self.excluded | {option}
        if any(all((step, one) in would for one in options) for step, options in STEPS.items()):
            with pytest.raises(SettingError, match="no plan at all"):
                self.studies[who].exclude(dict([option]))
        else:
            self.studies[who].exclude(dict([option]))
            self.excluded = would

    @rule(who=st.integers(0, 1), share=st.sampled_from([0.5, 0.9, 1.0]))
    def tighten(self, who: int, share: float) -> None:
        if share == 1.0:
            with pytest.raises(SettingError):
                self.studies[who].tighten(self.epsilon)
        elif self.epsilon > 0.05:
            self.epsilon *= share
            self.studies[who].tighten(self.epsilon)

    # Accidents ---------------------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([1.0, LEASE / 2, LEASE + 1, 10 * LEASE + 1]))
    def wait(self, seconds: float) -> None:
        self.clock.time += seconds
        self.expire()

    @rule(who=st.integers(0, 1))
    def crash(self, who: int) -> None:
        self.studies[who] = self.open()

    @rule(who=st.integers(0, 1))
    def interrupt(self, who: int) -> None:
        self.studies[who]._fold._torn = True  # as Ctrl-C amid a step leaves it

    @rule()
    def lose_snapshots(self) -> None:
        forget_snapshots(self.url if self.on_disk else self.storage)

    @rule(who=st.integers(0, 1))
    def read(self, who: int) -> None:
        study = self.studies[who]
        assert study.certified_gap >= 0
        study.learner.tell(study.best_path, [1.0, 1.0, 1.0])  # what is read from is a copy
        study._fold._view = None

    # What must hold ----------------------------------------------------------------------------------------------

    @invariant()
    def the_log_is_as_the_model_says(self) -> None:
        self.studies[0].sync()
        with self.storage.reading("work") as log:
            rows, queue = log.trials(1, 10**6), log.queue(10**6)
        assert len(self.studies[0]) == len(self.rows)
        for row, mine in zip(rows, self.rows, strict=True):
            assert {name: getattr(row, name) for name in mine if name != "lease"} == {
                name: value for name, value in mine.items() if name != "lease"
            }
        assert [(row.path, row.source, row.of) for row in queue] == self.queue

    @invariant()
    def the_sums_are_those_of_the_settled_prefix(self) -> None:
        visits, sums, prefix = [0] * self.mdp.n_arcs, [0.0] * self.mdp.n_arcs, 0
        for row in self.rows:
            if self.is_open(row):
                break
            prefix = row["number"]
            for arc, reward in zip(row["path"], row["rewards"]) if row["source"] != "late" else ():
                visits[arc] += 1
                sums[arc] += reward
        for study in self.studies:
            learner = study.learner
            assert study._fold.prefix == prefix
            assert learner.visits.tolist() == visits
            np.testing.assert_allclose(learner.sums, sums, atol=1e-12)
            assert study.epsilon == self.epsilon
            assert study._fold.tally.states == {
                state: sum(row["state"] == state for row in self.rows[:prefix]) for state in sorted(SETTLED)
            }

    @invariant()
    def both_studies_agree(self) -> None:
        one, two = self.studies
        assert one.done == two.done
        assert one._fold.digest == two._fold.digest
        assert one.learner.active.tolist() == two.learner.active.tolist()
        assert one.best_plan == two.best_plan
        assert one.certified_gap == two.certified_gap
        if not one.done:
            assert one._fold.choose(2).tolist() == two._fold.choose(2).tolist()
        else:
            proofs = [study._fold.proof for study in self.studies]
            assert proofs[0] is not None
            assert proofs[1] is not None
            for part in ("prefix", "digest", "gap"):
                assert proofs[0][part] == proofs[1][part]


class OnDisk(Machine):
    on_disk = True


@pytest.fixture(autouse=True)
def _many_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surepath.study.fold, "SAVE_EVERY", 2)


class TestInMemory(Machine.TestCase):  # type: ignore
    settings = settings(max_examples=15, stateful_step_count=30)


class TestOnDisk(OnDisk.TestCase):  # type: ignore
    settings = settings(max_examples=3, stateful_step_count=20)
