"""What is known of a study on a server: the half of the client that reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np

from surepath._types import IntArray
from surepath.model.mdp import MDP
from surepath.model.plans import Plan
from surepath.study.creation import Options
from surepath.study.lease import this_worker
from surepath.study.storage import QueueRow, StudyRecord, TrialRow
from surepath.web.picture import KNOWN_ARC, OPEN_ARC
from surepath.web.transport import SERVER_PATIENCE, Transport

if TYPE_CHECKING:
    from surepath.study.certificate import Certificate
    from surepath.study.forecast import Forecast
    from surepath.study.status import Status

T = TypeVar("T")


class RemoteView:
    """The properties of a study on a server, and what can be made of its log."""

    def __init__(self, url: str, token: str, study: str | None = None, *, patience: float = SERVER_PATIENCE) -> None:
        self._server = Transport(url, token, patience)
        self.url = self._server.url
        self._study = study
        self.name = self.record.name
        self._study = self.name

    def _call(self, verb: str, body: dict[str, Any] | None = None, **query: Any) -> Any:
        return self._server.call(verb, {"study": self._study, **query}, body)

    def _read(self, do: Callable[[Any], T]) -> T:
        """Read the log as it is at one moment; what makes frames of a study's storage makes them of this."""
        return do(ExportedLog(self._server.download("export", {"study": self._study})[0]))

    def sync(self) -> None:
        """Do nothing: every property asks the server, which is up to date."""

    @property
    def worker(self) -> str:
        """Return who works here: host and process."""
        return this_worker()

    @cached_property
    def record(self) -> StudyRecord:
        """Return what was frozen when the study was created."""
        return StudyRecord(**self._call("problem"))

    @cached_property
    def mdp(self) -> MDP:
        """Return the problem's graph."""
        from surepath.model.sources.files import parse_json_problem

        return parse_json_problem(self.record.problem).mdp

    @cached_property
    def options(self) -> Options:
        """Return the options of the study that are not its learner's."""
        return Options(**json.loads(self.record.options))

    def overview(self) -> dict[str, Any]:
        """Return what is proven now and who works on it, as the page shows it."""
        return dict(self._call("status"))

    def status(self) -> Status:
        """Return the status of the study; see Study.status."""
        from surepath.study.status import Status
        from surepath.study.status.progress import rough_trials_left
        from surepath.study.status.status import RunningTrial

        found = self.overview()
        gap = _gap(found)
        same = ("trials", "states", "settled", "epsilon", "delta", "done", "now", "ahead")
        return Status(
            name=self.name,
            storage=self.url,
            best_plan=self.mdp.plan(found["best_path"]),
            certified_gap=gap,
            rough_trials_left=0 if found["done"] else rough_trials_left(found["evidence"], gap, found["epsilon"]),
            running=tuple(
                RunningTrial(one["number"], one["worker"], self.mdp.plan(one["path"]), one["asked"], one["lease"])
                for one in found["running"]
            ),
            workers=tuple(one["worker"] for one in found["workers"]),
            findings=tuple(found["findings"]),
            last_failure=found["last_failure"],
            spent=found.get("spent"),
            worth=found.get("worth", ""),
            enough=found.get("enough", False),  # a server of an earlier version does not say
            **{name: found[name] for name in same},
        )

    def forecast(self, more: int = 50, draws: int = 32, seed: int = 0) -> Forecast:
        """Guess by simulation how many trials are left; see Study.forecast. The server simulates."""
        from surepath.study.forecast import Forecast

        found = self._call("forecast/worlds", more=more, draws=draws, seed=seed)
        lists = {name: tuple(_numbers(found[name])) for name in ("left", "gaps")}
        return Forecast(**{**found, **lists, "certified_gap": _gap(found), "played": tuple(found["played"])})

    def explain(self) -> str:
        """Describe in words what is known; see Study.explain."""
        return str(self._call("explain")["words"])

    def certificate(self) -> Certificate:
        """Fetch what is proven by now, with all that is needed to check it; see Study.certificate."""
        from surepath.study.certificate import Certificate

        return Certificate(self._call("certificate"))

    @property
    def trials(self) -> Any:
        """Return every trial as one row of a frame; see Study.trials."""
        from surepath.study.sheets.frames import trials_frame

        return trials_frame(cast(Any, self))

    def export(self, path: str | Path) -> int:
        """Write the whole log to a file here; see Study.export."""
        from surepath.model.sources.textfile import write_bytes
        from surepath.study.sheets.export import ending

        place = Path(path)
        wanted = "csv" if ending(place) == "csv" else "jsonl"
        text, headers = self._server.download("export", {"study": self._study, "format": wanted})
        write_bytes(place, text)
        return int(headers["Surepath-Trials"])

    def _repr_html_(self) -> str:
        from surepath.study.status.display import html_page

        found = self._call("graph")
        whole = len(found["arcs"]["arc"]) == self.mdp.n_arcs  # of a large graph only a part comes, and none is drawn
        visits = np.array(found["arcs"]["visits"]) if whole else None
        active = np.isin(found["arcs"]["state"], (OPEN_ARC, KNOWN_ARC)) if whole else None
        path = np.array(found["best_path"], dtype=np.int64)
        seen = SimpleNamespace(mdp=self.mdp, recommend=lambda: path, visits=visits, active=active)
        return html_page(self.status(), seen)

    def watch(self, every: float = 1.0) -> None:
        """Show the status of the study, renewed in place until it is done; an interrupt ends only the watch."""
        from surepath.study.status.display import watch

        watch(cast(Any, self), every)

    @property
    def digest(self) -> str:
        """Return the hash over what is frozen and the settled prefix of the log, in order; see Study.digest."""
        return str(self.overview()["digest"])

    @property
    def done(self) -> bool:
        """Return whether the answer is proven."""
        return bool(self.overview()["done"])

    @property
    def best_path(self) -> IntArray:
        """Return the current plan, as arcs."""
        return np.array(self.overview()["best_path"], dtype=np.int64)

    @property
    def best_plan(self) -> Plan:
        """Return the current plan, {step: option}."""
        return self.mdp.plan(self.best_path)

    @property
    def certified_gap(self) -> float:
        """Return a proven bound on how far best_plan is from the best; infinite while nothing is proven."""
        return _gap(self.overview())

    @property
    def epsilon(self) -> float:
        """Return how far from the best the answer may be."""
        return float(self.overview()["epsilon"])

    @property
    def delta(self) -> float:
        """Return the allowed probability of a wrong answer."""
        return float(self.overview()["delta"])

    @property
    def evidence_trials(self) -> int:
        """Return the number of trials whose rewards are part of the proof."""
        return int(self.overview()["evidence"])

    @property
    def spent(self) -> float | None:
        """Return what the trials have cost so far; None where no option has a cost."""
        return self.overview().get("spent")

    def __len__(self) -> int:
        """Count the trials assigned, imported or reported late."""
        return int(self.overview()["trials"])

    def __bool__(self) -> bool:
        """Return True: a study is something, also before its first trial."""
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.url!r})"

    def close(self) -> None:
        """Close the connections to the server; whatever is asked later opens one again."""
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _gap(overview: Mapping[str, Any]) -> float:
    gap = overview["certified_gap"]
    return float("inf") if gap is None else float(gap)


def _numbers(values: list[float | None]) -> list[float]:
    return [float("inf") if value is None else float(value) for value in values]


class ExportedLog:
    """The log of a study on a server, read as a storage's log is read: the trials and waiting plans of its export."""

    def __init__(self, text: bytes) -> None:
        self._trials: list[TrialRow] = []
        self._queue: list[QueueRow] = []
        for line in text.splitlines()[1:]:  # the first is the study itself
            entry: dict[str, Any] = json.loads(line)
            kind = entry.pop("entry")
            if kind == "trial":
                entry |= {"path": tuple(entry["path"]), "rewards": tuple(entry["rewards"])}
                self._trials.append(TrialRow(**entry))
            elif kind == "waiting":
                self._queue.append(QueueRow(len(self._queue), **{**entry, "path": tuple(entry["path"])}))

    def last_number(self) -> int:
        """Return the number of the last trial, 0 when there is none."""
        return len(self._trials)

    def trials(self, first: int, limit: int) -> list[TrialRow]:
        """Return up to `limit` trials from a number on."""
        return self._trials[first - 1 : first - 1 + limit]

    def queue(self, limit: int) -> list[QueueRow]:
        """Return up to `limit` waiting plans, the next one first."""
        return self._queue[:limit]
