"""Challenger: bounds the difference between two paths directly and plays what separates them.

The theorem and its proof are in the docs ("Challenger: the theorem"). In one sentence: with probability at least
1 - delta, at all times at once, V(best) - V(p) <= max over q of min over the grid of G(q | p) for every path p, so the
learner may stop whenever the check of its incumbent passes, whatever was played. Assumptions: episodes are independent
repeats, each reward is conditionally sigma-sub-Gaussian, and whether a reward is told never depends on itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import one_of, real, whole
from surepath._text import word
from surepath._types import BoolArray, FloatArray, IntArray
from surepath.errors import SettingError
from surepath.kernels.arrays import NO_REALITY, Reality
from surepath.learners import tasks
from surepath.learners.base import Learner, locked
from surepath.learners.cancellation import raise_if_cancelled
from surepath.learners.challenger import state as at
from surepath.learners.challenger.bound_numbers import DEPENDENCES, PRIORS, WIDTHS, checked_bound, default_bound
from surepath.learners.challenger.explain import Explanation, explain
from surepath.learners.challenger.noise.gaussian_size import HIDDEN
from surepath.learners.challenger.prior import pairs_of
from surepath.learners.challenger.run import DONE, PAUSED, act, least_gap
from surepath.learners.challenger.sampling import BY_GUARD, SAMPLING, prices_differ, share_out
from surepath.learners.challenger.state import Evidence, Scratch, arrays_of, new_evidence, new_scratch
from surepath.learners.own_rules import SamplingRule, checked_sampling, chosen_path, refuse_saving
from surepath.learners.range_noise.declared_noise import choose_noise
from surepath.learners.runs import BUDGET, CLEARED, STOP_REASONS, RunRecord
from surepath.learners.watch import Watch
from surepath.model.mdp import MDP
from surepath.model.paths import on_open_paths

_KEPT = 64  # paths whose proven gaps are remembered
_STRETCH = 200_000  # arcs times episodes between two checks whether a run was cancelled
_IDLE_RNG = np.random.default_rng(0)


class Challenger(Learner):
    """The learner to use: the fewest episodes for the guarantee.

    Args:
        mdp: The layered graph to search.
        epsilon: How far from the best the answer may be; 0 asks for the best itself, which must then be unique.
        delta: Allowed probability of a wrong answer.
        sigma: Sub-Gaussian factor of the rewards, one number or one per arc; by default what the MDP declares.
            "unknown": the noise is Gaussian with one standard deviation on all arcs, which the rewards bound. Only for
            Gaussian noise: other laws can hide their variance, and nothing is then proven.
        widths: "one-sided" (the default), "two-sided" (simpler, more episodes), or "per-arc" (a confidence interval
            for each arc and the difference of paths, as CLUCB stops; for comparison).
        prior: Over the wrong answers, given the right one: "excursion" (pays for single stretches in which two paths
            differ), "detour" (for all stages in which they differ), "uniform" (pays log of the number of paths), or
            "both" of these two at a cost of log 2. By default, "auto", excursion for epsilon 0 and detour above.
        sampling: "guarded" (the default: what separates paths; from half of the episodes planned for ties on, in
            every second episode what evens visits out), "thrifty" (the default where paths have different prices: the
            same, by what an episode tells per unit of its price), "separating" (without the guard), "max-diameter"
            (EPRL's), "coverage", or a `SamplingRule` of your own; any keeps the guarantee.
        repeat: In simulations, play a path again up to this share of its least visits before planning again.
        patience: Share by which the episodes may grow between two full checks. Above 0.1 the plays between them
            follow outdated choices, and on long horizons that can cost many times the episodes.
        bound: Every number that the bound is made of (see `bound_numbers.py`), as `settings()` gives it; by default
            chosen for the problem, epsilon and delta.
        noise: "sigma" takes sigma, or half of a declared range; "betting" and "bernstein" learn the noise of rewards in
            a declared range: betting takes the fewest episodes, Bernstein is the cheap form for large graphs and
            simulations. By default what suits the problem: betting where arcs declare a range and no sigma.
        seed: Of the stream that a sampling rule of your own draws from; a simulated run has its own.

    Example:
        >>> import numpy as np
        >>> from surepath import families
        >>> instance = families.chain(steps=3, options=2, seed=1, sigma=0.1)
        >>> learner = Challenger(instance.mdp, epsilon=0.2, delta=0.1, sigma=0.1)
        >>> rng = np.random.default_rng(0)
        >>> while not learner.stopped:
        ...     path = learner.ask()
        ...     learner.tell(path, instance.means[path] + 0.1 * rng.normal(size=3))
        >>> instance.regret_of(learner.recommend()) <= 0.2
        True
    """

    name = "Challenger"

    def __init__(
        self,
        mdp: MDP,
        epsilon: float,
        delta: float,
        sigma: ArrayLike | str | None = None,
        *,
        widths: str = "one-sided",
        prior: str = "auto",
        sampling: str | SamplingRule | None = None,
        repeat: float = 0.0,
        patience: float = 0.01,
        bound: Mapping[str, Any] | None = None,
        noise: str | None = None,
        dependence: str = "any",
        seed: int | None = None,
    ) -> None:
        self._unknown = isinstance(sigma, str) and one_of("sigma", sigma, ("unknown",)) == "unknown"
        super().__init__(mdp, epsilon, delta, 1.0 if self._unknown else sigma)
        if self._unknown:  # the watch has nothing to compare with
            self._watch = Watch(mdp, np.where(self.sigma > 0, HIDDEN, 0.0))
        self.dependence = one_of("dependence", dependence, DEPENDENCES)
        if self.dependence == "any":
            if self._unknown:
                raise SettingError('sigma="unknown" needs dependence="independent": ...')
            prior = "stages"
        self.widths = one_of("widths", widths, WIDTHS)
        self.prior = one_of("prior", prior, PRIORS)
        if sampling is None:
            sampling = "thrifty" if prices_differ(mdp) else "guarded"
        # A rule of the user's own is copied twice: one copy plays, the other stays as it came for learners like this.
        self.sampling, thrifty = checked_sampling(sampling, SAMPLING), sampling == "thrifty"
        self.sampling_rule = None if isinstance(self.sampling, str) else deepcopy(self.sampling)
        self.compiled = self.sampling_rule is None
        self.seed = None if seed is None else whole("seed", seed, low=0)
        self.rule_seed = self.seed or 0
        self.repeat = real("repeat", repeat)
        self.patience = real("patience", patience)
        for what, value in (("repeat", self.repeat), ("patience", self.patience)):
            if not 0 <= value <= 1:
                raise SettingError(f"{what} must lie between 0 and 1, not {value:g}")
        self.noise = self._chosen_noise(noise, sigma is not None)
        chosen = default_bound(
            mdp, self.sigma, self.epsilon, self.delta, self.widths, self.prior, self.noise, self._unknown
        )
        self.bound: dict[str, Any] = checked_bound(chosen if bound is None else bound, self.widths)
        for entry in self.bound["entries"]:
            if entry["kind"] in ("bernstein", "betting") and entry["kind"] != self.noise:
                raise SettingError(f'an entry of kind "{entry["kind"]}" does not belong to noise "{self.noise}"')
        self._is_default = self.bound == chosen
        by_name = isinstance(self.sampling, str) and not thrifty
        how = thrifty, SAMPLING.index(str(self.sampling)) if by_name else BY_GUARD, self.repeat, self.patience, self.dependence
        self.pairs = pairs_of(mdp, self.sigma, self.delta, self.bound, self.noise, self._unknown, *how)
        self._seen = self._new_evidence()
        self._work = self._new_scratch()
        self._connect()
        self._planned = False
        self._proven: dict[bytes, float] = {}  # the least gap proven for a path stays proven
        self._settle()
        self._note_stop()

    def _connect(self) -> None:
        self._visits, self._origin, self._sums = self._seen.visits, self._seen.origin, self._seen.sums

    def _chosen_noise(self, given: str | None, declared: bool) -> str:
        """Check the noise that is wanted, or find what suits the problem."""
        if self._unknown and given not in (None, "sigma"):
            raise SettingError(
                f'sigma="unknown" is about Gaussian noise, noise="{given}" about {word("rewards", "scores")} in a range'
            )
        if self.widths != "one-sided":
            if given is not None and given != "sigma":
                raise SettingError(f'noise="{given}" needs widths="one-sided", not "{self.widths}"')
            return "sigma"
        return choose_noise(self.mdp, given, declared)

    def _new_evidence(self) -> Evidence:
        learned = self.pairs.learned
        bets = 0 if learned is None else learned.which.shape[2]
        return new_evidence(self.mdp.n_arcs, bets, 0 if self.pairs.stages is None else self.mdp.n_arcs)

    def _new_scratch(self) -> Scratch:
        return new_scratch(self.pairs, self.known_gain, self.mdp.n_nodes, self.mdp.horizon)

    def _act(self, task: int, limit: int = 0) -> float:
        return act(
            self.graph, self.pairs, self._seen, self._work, NO_REALITY, _IDLE_RNG, task, limit, 0.0, self.epsilon
        )

    @locked
    def explain(self, challengers: int = 3) -> Explanation:
        """Describe the incumbent, its strongest challengers, their bounds, what separates them, what is ruled out."""
        self._settle()
        return explain(self, challengers)

    def sigma_setting(self) -> list[float] | str:  # type: ignore[override]
        """List sigma arc by arc, or say that it is unknown."""
        if self._unknown:
            return "unknown"
        return cast(list[float], self.sigma.tolist())

    def noise_now(self) -> FloatArray:
        """Compute sigma of each arc, or how far rewards scatter where noise is learned, float [N]; no bound."""
        if self._unknown:
            squares, count = self._seen.memo[at.RSS], self._seen.memo[at.N_SQUARES]
            return np.asarray(self.sigma * np.sqrt(squares / count if count > 0 else 1.0))
        if self.pairs.learned is None:
            return self.sigma
        seen = self.pairs.learned.learns & (self._visits > 0)
        return np.asarray(np.where(seen, np.sqrt(self._work.variance), self.sigma))

    def fresh(self, epsilon: float) -> Learner:
        """Return a learner like this one that has seen nothing, with another epsilon and what suits it by default.

        A bound that was given, and is not the default one, stays as it is: it holds for every epsilon.
        """
        settings = {**self.settings(), "epsilon": epsilon}
        if self._is_default and epsilon != self._first_epsilon:
            del settings["bound"]
        return type(self)(self.mdp, **{name: value for name, value in settings.items() if name != "name"})

    # Steps -----------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Check and plan, once per state of the evidence."""
        if self._planned or self.stopped:
            return
        if self._act(tasks.PLAN) == 1.0:
            checked = self._work.incumbent.copy()
            self.stopped = True
            self.stop_reason = STOP_REASONS[CLEARED]
            self._answer = _proven_answer(checked, self._recommend(), self.epsilon, self._gap())
            self._proven[self._answer[0].tobytes()] = self._answer[1]
            self._answered_at = self.episodes
        self._planned = True

    def _check_anew(self) -> None:
        """Make a full check now, whatever was planned."""
        self._seen.memo[at.NEXT_FULL] = self._seen.memo[at.READY] = 0.0
        self._planned = False
        self._settle()

    def _choose(self) -> IntArray:
        self._settle()
        if self.sampling_rule is not None and not self.stopped:
            return chosen_path(self.sampling_rule, self)
        return self._work.path

    def _choose_beside(self, index: int) -> IntArray:
        return self._choose()

    def _add_under_way(self, paths: IntArray) -> None:
        """Count these plays, and plan what goes beside them."""
        seen, work = self._seen, self._work
        covering = bool((work.mark[(seen.visits == 0) & ~self.pairs.is_known] > 0).any())
        if covering:
            np.add.at(seen.pending, paths, 1)
        else:
            share_out(self.pairs, seen, work, paths)
        self._act(tasks.PLAN if covering else tasks.AGAIN)

    def _remove_under_way(self, path: IntArray) -> None:
        self._seen.pending[path] -= 1

    def _hold(self) -> tuple[dict[str, Any], IntArray, FloatArray, bool]:
        self._settle()
        kept = {name: getattr(self._seen, name).copy() for name in ("alive", "pending", "recent", "memo")}
        return kept, self._work.path.copy(), self._work.mark.copy(), self._planned

    def _put_back(self, kept: tuple[dict[str, Any], IntArray, FloatArray, bool]) -> None:
        for name, array in kept[0].items():
            getattr(self._seen, name)[:] = array
        self._work.path[:], self._work.mark[:], self._planned = kept[1:]

    def _absorb(self, path: IntArray, gains: FloatArray) -> None:
        self._work.path[:] = path
        self._work.gain[: len(gains)] = gains
        self._act(tasks.TELL, len(gains))
        self.episodes += 1
        self._seen.memo[at.EPISODES] = self.episodes
        self._planned = False
        self._settle()

    def _active(self) -> BoolArray:
        return self._seen.alive.copy()

    def _recommend(self) -> IntArray:
        """Find the incumbent, the empirically best path over the arcs that are left, as the certificate does."""
        self._settle()
        self._act(tasks.INCUMBENT)
        return self._work.incumbent.copy()

    def _gap(self) -> float:
        """Return the least bound proven for the incumbent so far."""
        self._settle()
        planned = self._work.path.copy()
        gap = max(0.0, least_gap(self.graph, self.pairs, self._seen, self._work, NO_REALITY, _IDLE_RNG))
        self._work.path[:] = planned
        key = self._work.incumbent.tobytes()
        gap = min(gap, self._proven.pop(key, np.inf))
        self._proven[key] = gap
        if len(self._proven) > _KEPT:
            del self._proven[next(iter(self._proven))]
        return gap

    def _epsilon_changed(self) -> None:
        self._check_anew()

    def _excluded_changed(self) -> None:
        self._seen.alive[:] = self._seen.open[:] = on_open_paths(self.mdp, ~self._excluded)
        self._proven = {}  # proven against a best path that may be infeasible
        self._check_anew()

    def _evidence(self) -> dict[str, Any]:
        refuse_saving(self)
        paths = np.array([np.frombuffer(key, dtype=np.int64) for key in self._proven], dtype=np.int64)
        return {
            **{name: array.copy() for name, array in arrays_of(self._seen).items()},
            "planned": self._planned,
            "plan": self._work.path.copy(),
            "marks": self._work.mark.copy(),
            "proven_paths": paths.reshape(-1, self.mdp.horizon),
            "proven_gaps": np.array(list(self._proven.values()), dtype=np.float64),
        }

    def _load(self, evidence: Mapping[str, Any]) -> None:
        for name, array in arrays_of(self._seen).items():
            array[...] = np.asarray(evidence[name]).reshape(array.shape)  # lists of a JSON text lose empty axes
        self._work = self._new_scratch()
        self._act(tasks.REFRESH)
        self._planned = bool(evidence["planned"])
        self._work.path[:] = evidence["plan"]
        self._work.mark[:] = evidence["marks"]
        paths = np.array(evidence["proven_paths"], dtype=np.int64).reshape(-1, self.mdp.horizon)
        self._proven = {path.tobytes(): float(gap) for path, gap in zip(paths, evidence["proven_gaps"])}

    def _run(self, reality: Reality, rng: np.random.Generator, budget: int, epsilons: FloatArray) -> RunRecord:
        """Run every epsilon by itself, from the same seed: sampling depends on epsilon here."""
        size, horizon = len(epsilons), self.mdp.horizon
        record = RunRecord.empty(size, horizon)
        start = rng.bit_generator.state
        for i, epsilon in enumerate(epsilons.tolist()):
            rng.bit_generator.state = start
            own = self if epsilon == self._first_epsilon else self.fresh(epsilon)
            assert isinstance(own, Challenger)
            seen, work = own._new_evidence(), own._new_scratch()
            graph, pairs = self.graph, own.pairs
            answer = PAUSED
            while answer == PAUSED:
                raise_if_cancelled()
                pause = seen.memo[at.EPISODES] + 1 + _STRETCH // self.mdp.n_arcs
                answer = act(graph, pairs, seen, work, reality, rng, tasks.RUN, budget, pause, epsilon)
            done, checked = answer == DONE, work.incumbent.copy()
            eliminated = int((~seen.alive).sum())
            gap = max(0.0, least_gap(graph, pairs, seen, work, reality, rng))
            path = work.incumbent
            if done:
                path, gap = _proven_answer(checked, path, epsilon, gap)
            record.tau[i] = int(seen.memo[at.EPISODES])
            record.reason[i] = CLEARED if done else BUDGET
            record.path[i] = path
            record.eliminated[i] = eliminated
            record.gap[i] = gap
        return record


def _proven_answer(checked: IntArray, found: IntArray, epsilon: float, gap: float) -> tuple[IntArray, float]:
    """Return the answer at the stop and what is proven of it: the path that passed the check, or the incumbent `found`.

    What the check itself eliminates changes what means are counted from, and so their rounding: where two paths tie but
    for rounding the incumbent may then be the other one, and only its own `gap` is proven of it.
    """
    if np.array_equal(checked, found) or gap <= epsilon:
        return found.copy(), min(gap, epsilon)
    return checked, epsilon
