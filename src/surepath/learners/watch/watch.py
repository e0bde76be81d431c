"""Watch: counts the rewards of every episode as they come, and says what they contradict.

Work is O(H) an episode; memory is a few numbers for each arc, one cell for each (arc, context) seen, at most MOST_CELLS
of each kind, and one for each path, at most about MOST_PATHS: what is first met after that is left out, which costs
power, never validity. Judging happens when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from surepath._text import word
from surepath._types import AnyArray, FloatArray, IntArray
from surepath.errors import SettingError
from surepath.learners.watch.contexts import ANY, Cells, Contexts
from surepath.learners.watch.findings import FINDING_KINDS, REPORT_P, Finding, finding
from surepath.learners.watch.judge import Counts, Judged, Plans, differing, judge, unequal
from surepath.model.mdp import MDP
from surepath.model.plans import step_in_words

MOST_CELLS = 50_000
MOST_PATHS = 20_000
MOST_FINDINGS = 20
LEAST_SCALE = 1e-150  # a smaller sigma counts as this one, so that nothing overflows
FARTHEST = 1e100  # in units of sigma; a larger deviation counts as this one
ARC_COLUMNS = ("arc", "visits", "origin", "mean", "spread")
CELL_COLUMNS = ("key", "count", "total")
PLAN_COLUMNS = ("plan", "plan_told", "plan_count", "plan_mean", "plan_spread")
COUNTED = ("trials", "refused", "late")


class Watch:
    """Watch the rewards for what contradicts the declared noise, additivity, independence and steadiness.

    It never changes a decision. The probability that it ever says anything, over all episodes and however often it is
    asked, is at most 1e-3 while each reward is sigma-sub-Gaussian around its arc's mean given all that was told before.
    Rewards of known arcs are left out.

    Args:
        mdp: The problem.
        sigma: The declared sub-Gaussian factor of each arc, float [N]; 0 declares an exact reward, infinity Gaussian
            noise of one size that is unknown: then only exact rewards and equal noise are judged.

    Example:
        >>> mdp = MDP.from_arrays([[[0, 0]]])
        >>> watch, rng = Watch(mdp, np.array([0.1, 0.1])), np.random.default_rng(0)
        >>> for episode in range(60):
        ...     watch.observe(np.array([episode % 2]), 0.3 * rng.standard_normal(1))
        >>> print(watch.findings()[0].message.partition(":")[0])
        the noise looks larger than declared (0.27 against 0.1 over all stages, p < 1e-12)
    """

    def __init__(self, mdp: MDP, sigma: FloatArray) -> None:
        self.mdp = mdp
        self.sigma: FloatArray = np.asarray(sigma, dtype=np.float64)
        # NaN makes every number of a known arc NaN, and those are never read.
        self._unknown = bool(np.isinf(self.sigma).any())
        declared = (self.sigma > 0) & np.isfinite(self.sigma)
        self._scale = np.where(declared, np.maximum(self.sigma, LEAST_SCALE), 1.0)
        self._scale[mdp.is_known] = np.nan
        self._partly_known = bool(mdp.is_known.any())
        self._contexts = Contexts(mdp)
        self.trials = 0
        self._visits = np.zeros(mdp.n_arcs)
        self._origin = np.zeros(mdp.n_arcs)
        self._mean = np.zeros(mdp.n_arcs)  # of z = (reward - origin) / sigma
        self._spread = np.zeros(mdp.n_arcs)
        self._choices: dict[int, list[float]] = {}  # (context x N + arc) -> [rewards, sum of z]
        self._epochs: dict[int, list[float]] = {}
        self._noisy = declared & ~mdp.is_known
        # (path, how many of its rewards were told) -> [episodes, mean and spread of the sum of z over noisy arcs]
        self._plans: dict[tuple[bytes, int], list[float]] = {}
        self.refused = self.late = 0  # trials of a study, see `Finding`

    def __deepcopy__(self, memo: dict[int, Any]) -> Watch:
        """Copy what was seen; the cells are many and flat, which the general copy does not know."""
        copied = Watch.__new__(Watch)
        memo[id(self)] = copied
        for name, value in self.__dict__.items():
            flat = name in ("_choices", "_epochs", "_plans")
            copied.__dict__[name] = {key: cell.copy() for key, cell in value.items()} if flat else deepcopy(value, memo)
        return copied

    def observe(self, path: IntArray, gains: FloatArray) -> None:
        """Take in one episode: its path [H] and its rewards [k], fewer than H where the episode failed."""
        self.trials += 1
        arcs = path[: len(gains)]
        n = self._visits[arcs] + 1
        origin = np.where(n == 1, gains, self._origin[arcs])
        z = np.minimum(np.maximum((gains - origin) / self._scale[arcs], -FARTHEST), FARTHEST)
        mean = self._mean[arcs]
        off = z - mean
        mean += off / n
        self._visits[arcs], self._origin[arcs], self._mean[arcs] = n, origin, mean
        self._spread[arcs] += off * (z - mean)
        if self._unknown:
            return
        self._add_plan(path, z)
        contexts, stages = self._contexts.choices(arcs)
        self._add(self._choices, contexts * self.mdp.n_arcs + arcs[stages], z[stages])
        self._add(self._epochs, Contexts.epoch(self.trials) * self.mdp.n_arcs + arcs, z)

    def _add_plan(self, path: IntArray, z: FloatArray) -> None:
        """Add the sum of z over the noisy arcs; whether an episode counts is known before its first reward."""
        noisy, key = self._noisy[path], np.asarray(path, dtype=np.int64).tobytes()
        full = len(self._plans) >= MOST_PATHS and (key, len(path)) not in self._plans
        if full or not len(z) or noisy.sum() < 2:
            return
        total = float(z[noisy[: len(z)]].sum())
        cell = self._plans.setdefault((key, len(z)), [0.0, 0.0, 0.0])
        cell[0] += 1.0
        off = total - cell[1]
        cell[1] += off / cell[0]
        cell[2] += off * (total - cell[1])

    def _add(self, cells: dict[int, list[float]], keys: IntArray, values: FloatArray) -> None:
        if self._partly_known:
            known = np.isnan(values)
            keys, values = keys[~known], values[~known]
        for key, value in zip(keys.tolist(), values.tolist()):
            cell = cells.get(key)
            if cell is not None:
                cell[0] += 1.0
                cell[1] += value
            elif len(cells) < MOST_CELLS:
                cells[key] = [1.0, value]

    def findings(self) -> list[Finding]:
        """List what the rewards so far contradict, strongest first, MOST_FINDINGS at most; often nothing."""
        found = [
            (float(log_p), int(stage), int(arc), int(earlier), rows.kind, float(declared), float(seen))
            for rows in self._judged()
            for log_p, stage, arc, earlier, declared, seen in np.stack(rows[1:], axis=1)[rows.log_p < np.log(REPORT_P)]
        ]
        said = [(kind, n) for kind, n in (("refused", self.refused), ("late", self.late)) if n]
        first = [finding(kind, "", "", 0.0, float(n), 0.0) for kind, n in said]  # type: ignore[arg-type]
        return first + [self._finding(*row) for row in sorted(found)[: MOST_FINDINGS - len(first)]]

    def p_value(self) -> float:
        """Return the least p-value of all places and kinds, at most 1, with the union over them and time in it."""
        return float(np.exp(min(0.0, *(rows.log_p.min(initial=0.0) for rows in self._judged()))))

    def _judged(self) -> Iterator[Judged]:
        seen = self._seen()
        noisy = self.sigma[seen] > 0
        exact, noise = (
            Counts(arcs, self.sigma[arcs], self._visits[arcs], self._spread[arcs])
            for arcs in (seen[~noisy], seen[noisy])
        )
        yield differing(self._contexts, exact, self._origin[exact.arc])
        if self._unknown:
            yield from unequal(self._contexts, noise)
        else:
            cells = self._cells(self._choices), self._cells(self._epochs)
            yield from judge(self._contexts, noise, *cells, self._plans_tried())

    def _seen(self) -> IntArray:
        """Return the arcs played, without known ones."""
        return np.flatnonzero((self._visits > 0) & ~self.mdp.is_known)

    def _cells(self, table: dict[int, list[float]]) -> Cells:
        keys, values = np.array(list(table), dtype=np.int64), np.array(list(table.values())).reshape(-1, 2)
        context, arc = np.divmod(keys, self.mdp.n_arcs)
        noisy = self.sigma[arc] > 0
        return Cells(context[noisy], arc[noisy], values[noisy, 0], values[noisy, 1])

    def _plan_columns(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the paths [P, H], how many of their rewards were told [P], and the cells [P, 3]."""
        path = np.frombuffer(b"".join(key for key, _ in self._plans), dtype=np.int64).reshape(-1, self.mdp.horizon)
        told = np.array([told for _, told in self._plans], dtype=np.int64)
        return path.copy(), told, np.array(list(self._plans.values())).reshape(-1, 3)

    def _plans_tried(self) -> Plans:
        path, told, cells = self._plan_columns()
        path[(np.arange(self.mdp.horizon) >= told[:, None]) | ~self._noisy[path]] = ANY
        return Plans(path, *cells.T)

    def _finding(
        self, log_p: float, stage: int, arc: int, earlier: int, kind: int, declared: float, seen: float
    ) -> Finding:
        where = f"over all {word('stages', 'steps')}" if stage == ANY else f"at {step_in_words(self.mdp, stage)}"
        if arc != ANY:
            state = self.mdp.state_label(int(self.mdp.source[arc]))
            where = f"on {self.mdp.action_label(arc)!r} in state {state!r} at {step_in_words(self.mdp, stage)}"
        before = f"the {word('stage', 'step')} before it"
        if earlier != stage - 1:
            before = f"what was chosen at {step_in_words(self.mdp, earlier)}"
        p_value = 0.0 if log_p == -np.inf else max(float(np.exp(log_p)), 5e-324)
        return finding(FINDING_KINDS[kind], where, before, declared, seen, p_value)

    # Saved and loaded ------------------------------------------------------------------------------------------

    def evidence(self) -> dict[str, AnyArray]:
        """Return all that has been counted, as plain arrays; `load` on a new Watch continues bit for bit."""
        seen = self._seen()
        columns = (seen, *(array[seen] for array in (self._visits, self._origin, self._mean, self._spread)))
        counts = {name: np.array(getattr(self, name)) for name in COUNTED}
        saved: dict[str, AnyArray] = {**counts, **dict(zip(ARC_COLUMNS, columns))}
        for name, table in (("choice", self._choices), ("epoch", self._epochs)):
            values = np.array(list(table.values())).reshape(-1, 2)
            cells = (np.array(list(table), dtype=np.int64), values[:, 0].copy(), values[:, 1].copy())
            saved.update({f"{name}_{column}": array for column, array in zip(CELL_COLUMNS, cells)})
        path, told, plans = self._plan_columns()
        return {**saved, **dict(zip(PLAN_COLUMNS, (path, told, *plans.T.copy())))}

    def load(self, evidence: Mapping[str, AnyArray]) -> None:
        """Take over what another Watch over the same problem had counted."""
        arcs = np.asarray(evidence["arc"], dtype=np.int64)
        if len(arcs) and not 0 <= arcs.min() <= arcs.max() < self.mdp.n_arcs:
            raise SettingError(
                f"this evidence counts rewards of arc {int(arcs.max())}; arc numbers run from 0 to "
                f"{self.mdp.n_arcs - 1}. Load it into a watch over the problem it was saved from"
            )
        tables = (self._visits, self._origin, self._mean, self._spread)
        for column, array in zip(ARC_COLUMNS[1:], tables):
            array[:] = 0
            array[arcs] = evidence[column]
        self.trials, self.refused, self.late = (int(evidence[name]) for name in COUNTED)
        for name, table in (("choice", self._choices), ("epoch", self._epochs)):
            key, count, total = (evidence[f"{name}_{column}"].tolist() for column in CELL_COLUMNS)
            table.clear()
            table.update({k: [n, s] for k, n, s in zip(key, count, total)})
        path = np.asarray(evidence["plan"], dtype=np.int64).reshape(-1, self.mdp.horizon)
        told, *cells = (np.asarray(evidence[column]).tolist() for column in PLAN_COLUMNS[1:])
        keys = zip((one.tobytes() for one in path), told)
        self._plans = {key: list(cell) for key, cell in zip(keys, zip(*cells))}
