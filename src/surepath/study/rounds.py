"""Studies in rounds: how the log feeds the learner Rounds, and what waits for the end of a round.

The plans of a round are fixed before its first score. A trial gives its score to the first open place of its plan, in
the order of the log. A lost or failed plan leaves its place open and is assigned again, until every place has its
score; a second score for a place, of a trial that was thought lost, counts for nothing. So nothing is proven or decided
but at the end of a round, and the state is a function of the log alone.
"""

from __future__ import annotations

import math
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surepath._checks import FloatArray, IntArray, check_delta, real
from surepath._text import many
from surepath.errors import SettingError, StudyError, WaitingError
from surepath.learners.base import build, read_rewards
from surepath.learners.rounds.learner import Rounds
from surepath.learners.watch import Finding, Kind, finding
from surepath.model.mdp import MDP
from surepath.model.paths import Plan
from surepath.verify.file import CONFIRM, CONFIRMED, confirmed_leads, confirmed_words

if TYPE_CHECKING:
    from surepath.study.study import Study


NAME = Rounds.name
MOST_FAILURES = 10  # of one plan in one round


def learner_of(settings: Mapping[str, Any], mdp: MDP) -> Any:
    """Build the learner of a study."""
    if settings["name"] != NAME:
        return build(settings, mdp)
    return StudyRounds(mdp, **{name: value for name, value in settings.items() if name != "name"})


class Rival(NamedTuple):
    """A plan beside the recommended one: how much better it looks, and can be."""

    path: IntArray
    estimate: float
    bound: float


class Explained(NamedTuple):
    """What is known, in words, and of the rivals in numbers."""

    incumbent: IntArray
    rivals: list[Rival]
    text: str

    def __str__(self) -> str:
        return self.text


class StudyRounds(Rounds):
    """Rounds behind the calls by which a study folds its log."""

    @wraps(Rounds.__init__)  # type: ignore[misc]  # its parameters are the settings
    def __init__(self, *args: Any, **settings: Any) -> None:
        self._watch = SimpleNamespace(refused=0, late=0)
        self._lost: Counter[bytes] = Counter()
        super().__init__(*args, **settings)
        self._seen, self._first = np.zeros(self.mdp.n_arcs, dtype=np.int64), np.zeros(self.mdp.n_arcs)
        self._total = np.zeros(self.mdp.n_arcs)
        self.excluded = np.zeros(self.mdp.n_arcs, dtype=bool)  # none is, and none is known to make a plan fail:
        self.failures = np.zeros(self.mdp.n_arcs, dtype=np.int64)

    @property
    def planned(self) -> FloatArray | None:
        """Return the part of the trials that each arc has under the optimal design, float [N]; None for ranges."""
        if self.noise == "range":
            return None
        square = (self._blocks.unit**2)[self._blocks.of][self.mdp.arcs.stage]
        return np.asarray(square / self._scale.arc)

    def left(self, pending: Iterable[tuple[int, ...]]) -> IntArray:
        """Return the plans of the round without a score and not pending, in the order asked, int [n, H]."""
        taken = Counter(pending)
        places = []
        for place in np.flatnonzero(~self._told).tolist():
            path = tuple(self._plans[place].tolist())
            if taken[path]:
                taken[path] -= 1
            else:
                places.append(place)
        return self._plans[places]

    def ask_beside(self, pending: IntArray, n: int) -> IntArray:
        """Return up to n plans of the round that are not pending; refuse where none is left."""
        left = self.left(map(tuple, pending.tolist()))
        found = [path for path in left if self._lost[path.tobytes()] < MOST_FAILURES]
        if len(left) and not found:
            raise StudyError(
                f"{self.mdp.plan(left[0])} failed {MOST_FAILURES} times, and a round needs a score of each of its "
                f"plans: repair what fails, or create a study without that option, or one in which a failure counts as "
                f'the worst score (on_failure="worst")'
            )
        if not found:
            told, size = self.progress
            raise WaitingError(
                f"every plan of round {self.round} is assigned: {told} of {size} have their score, and the next round "
                f"begins when all have; report the trials that run, or that they failed: then their plans are assigned "
                f"again"
            )
        return np.array(found[:n])

    def tell(self, path: Any, rewards: Any, *, failed_at: int | None = None) -> None:  # type: ignore[override]
        """Take in the rewards of a trial, H or fewer; what has no open place in the round counts for nothing."""
        gains = self.mdp.gains_of(path[: len(rewards)], np.array(rewards, dtype=np.float64))
        for arc, gain in zip(path.tolist(), gains.tolist()):
            self._seen[arc] += 1
            if self._seen[arc] == 1:
                self._first[arc] = gain
            self._total[arc] += gain - self._first[arc]
        if len(rewards) == self.mdp.horizon and not self.stopped and self._is_open(path).any():
            super().tell(path, [rewards[stage] for stage in self.mdp.score_stages])

    def fail(self, path: Any) -> None:
        """Leave the plan's place open: it is assigned again, so many times."""
        self._lost[path.tobytes()] += 1

    def _end_round(self) -> None:
        self._lost.clear()
        super()._end_round()

    def _evidence(self) -> dict[str, Any]:
        return {
            "visits": self._seen.copy(),
            "missing": np.zeros_like(self._seen),
            "origin": self._first.copy(),
            "sums": self._total.copy(),
            "active": self.active,
        }

    def closest(self, count: int) -> list[Rival]:
        """List plans that differ from the recommended one in one excursion, those that may be the best first."""
        known = self._verdict
        if known is None:
            return []
        strongest = sorted({int(t) for t in known.strongest if t >= 0}, key=lambda t: -float(known.bound[t]))
        return [Rival(known.path[t], float(known.lead[t]), float(known.bound[t])) for t in strongest[:count]]

    def total_sigma(self) -> float:
        """Return the sub-Gaussian factor of a whole plan's score: what was declared, or half of the range."""
        own = [] if self._size is None else [float(self._size.sum())]
        own += [] if self._limits is None else [float((self._limits[1] - self._limits[0]).sum()) / 2]
        if not own:
            raise SettingError("confirm() needs a declared sigma or range: without one nothing holds by itself")
        return min(own)

    def rounds(self) -> list[dict[str, Any]]:
        """Return the finished rounds as evidence: plans in the order asked, and their scores as they were told."""
        return [
            {"plans": done.paths.tolist(), "scores": (self.mdp.sign * gains + 0.0).tolist()}
            for done, gains in zip(self._history, self.kept)
        ]

    def findings(self) -> list[Finding]:
        """List what contradicts what was declared."""
        kinds: tuple[Kind, ...] = ("refused", "late")
        counts = [(kind, float(getattr(self._watch, kind))) for kind in kinds]
        return super().findings() + [finding(kind, "", "", 0.0, count, 0.0) for kind, count in counts if count]

    def explain(self, count: int = 3) -> Explained:
        """Describe the round, the plan and what is proven."""
        gap = self.certified_gap()
        where = " in its state" if self.mdp.n_nodes > self.mdp.horizon else ""
        lines = [
            f"assumed: a score is the sum of an effect of each option{where}",
            round_in_words(round_facts(self) or {}),
            f"options that may still be in the best plan: {int(self.active.sum())} of {self.mdp.n_arcs}",
            f"proven gap: {gap:.4g} (wanted: {self.epsilon:g})" if np.isfinite(gap) else "nothing is proven yet",
        ]
        rivals, best = self.closest(count), self.recommend()
        for rival in rivals:
            own, plan = self.mdp.plan(best), self.mdp.plan(rival.path)
            words = ", ".join(f"{step} = {option}" for step, option in plan.items() if own[step] != option)
            lines.append(f"{words} would change the plan by {rival.estimate:.3g}, at most {rival.bound:.3g}")
        return Explained(best, rivals, "\n".join(lines))

    def snapshot(self) -> dict[str, Any]:
        """Save everything that decides, and the evidence."""
        lost = np.array([np.frombuffer(path, dtype=np.int64) for path in self._lost.elements()], dtype=np.int64)
        own = {"watch": dict(self._watch.__dict__), "lost": lost.reshape(-1, self.mdp.horizon)}
        return {**super().snapshot(), **own, "evidence": self._evidence()}

    def restore(self, snapshot: dict[str, Any]) -> StudyRounds:
        """Take over the state of a snapshot."""
        super().restore(snapshot)
        self._watch = SimpleNamespace(**snapshot["watch"])
        self._lost = Counter(path.tobytes() for path in snapshot["lost"])
        seen = snapshot["evidence"]
        self._seen, self._first, self._total = (seen[name].copy() for name in ("visits", "origin", "sums"))
        return self


def refuse_in_rounds(learner: Any, what: str) -> None:
    """Refuse plans, results and decisions that are not those of the round."""
    if isinstance(learner, StudyRounds):
        raise StudyError(
            f"{what} cannot be part of a study in rounds: the plans of a round are fixed before its first score, and "
            f"only their scores count"
        )


def round_facts(learner: Any) -> dict[str, Any] | None:
    """Return how far the round of a study is; None where it has none."""
    if not isinstance(learner, StudyRounds):
        return None
    told, size = learner.progress
    return {"number": learner.round, "told": told, "size": size, "effects": learner.d}


def round_in_words(now: Mapping[str, Any]) -> str:
    """Say how far a round is."""
    if not now["size"]:
        return f"{many(now['number'], 'round')} done"
    return (
        f"round {now['number']}: {now['told']:,} of {now['size']:,} plans have their score; "
        f"{many(now['effects'], 'effect')} to tell apart; what is proven changes at the end of a round"
    )


# Confirming the answer ------------------------------------------------------------------------------------------------

CLOSEST = 3  # rivals where none are named
MOST_PLAYS = 100_000


@dataclass(frozen=True)
class Confirmation:
    """What fresh plays say of the answer, whatever the model."""

    plan: Plan  #: The answer of the study.
    rivals: tuple[Plan, ...]  #: The plans it was played against.
    plays: int  #: Fresh plays of each.
    at_least: tuple[float, ...]  #: How much better than each rival it is at least; negative: how much worse it may be.
    delta: float  #: Probability that one of these is wrong, at most.
    statement: str  #: All of it in one sentence.

    def __str__(self) -> str:
        return self.statement


def confirm(
    study: Study, function: Callable[[Any], Any], rivals: Iterable[Any] | None, margin: float, delta: float | None
) -> Confirmation:
    """Play the answer against rivals; see `Study.confirm`."""
    learner, mdp = study.learner, study.mdp
    if not isinstance(learner, StudyRounds):
        raise StudyError("confirm() is for studies in rounds: the certificate of this one assumes no sum of effects")
    if not learner.stopped:
        raise StudyError("confirm() plays the proven plan against rivals, and the study is not done")
    best = learner.recommend()
    given = [one.path for one in learner.closest(CLOSEST)] if rivals is None else map(learner._arcs_of, rivals)
    others = [path for path in given if not np.array_equal(path, best)]
    wanted, risk = real("margin", margin), check_delta(learner.delta if delta is None else delta)
    if not others or wanted <= 0:
        raise SettingError("confirm() needs rivals other than the answer, and a margin above 0")
    sigma = learner.total_sigma()
    plays = math.ceil(4 * sigma**2 * math.log(len(others) / risk) / wanted**2)
    if plays > MOST_PLAYS:
        raise SettingError(
            f"a margin of {wanted:g} takes {plays:,} plays of each plan at sigma {sigma:g}; at most {MOST_PLAYS:,} are "
            f"made. Ask for a larger margin"
        )

    def note(kind: str, content: Any) -> int:
        return study._decide(kind, content, lambda copy: None, uuid.uuid4().hex)

    design = {"paths": [path.tolist() for path in (best, *others)], "plays": plays, "sigma": sigma, "delta": risk}
    number = note(CONFIRM, design)  # fixed before the first play
    scores: list[list[float]] = [[] for _ in design["paths"]]
    order = np.random.default_rng([learner.seed, number]).permutation(np.repeat(np.arange(len(scores)), plays))
    for at in order.tolist():
        path = (best, *others)[at]
        scores[at].append(float(read_rewards(mdp, path, function(mdp.plan(path))).sum()))
        if not math.isfinite(scores[at][-1]):
            raise SettingError("a play of a confirmation needs its whole score")
    note(CONFIRMED, {"of": number, "scores": scores})
    leads = confirmed_leads(mdp, design, scores)
    plans = tuple(mdp.plan(path) for path in others)
    words = confirmed_words(mdp, design, scores)
    return Confirmation(mdp.plan(best), plans, plays, tuple(leads), risk, words)
