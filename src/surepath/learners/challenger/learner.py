"""Challenger, the learner to use: its settings, its single steps and its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import AnyArray, BoolArray, FloatArray, IntArray, check_epsilon, one_of, real, whole
from surepath.errors import SettingError
from surepath.kernels.sweeps import Reality
from surepath.learners import runs as tasks
from surepath.learners.base import MOST_ASKED, Learner, Rewards, check_decidable, less_baseline, locked
from surepath.learners.challenger import state as at
from surepath.learners.challenger.explain import Explanation, explain
from surepath.learners.challenger.noise import choose_noise
from surepath.learners.challenger.run import DONE, PAUSED, act, least_gap, play, share_out
from surepath.learners.challenger.state import Evidence, Scratch
from surepath.learners.own_rules import own_rule
from surepath.learners.runs import BUDGET, CLEARED, STOP_REASONS, RunRecord, raise_if_cancelled
from surepath.learners.watch import Finding, Watch
from surepath.model.mdp import MDP
from surepath.model.paths import best_path, on_open_paths, option_arcs

# The theorem and its proof are in the docs ("Challenger: the theorem").

Snapshot = dict[str, Any]

SNAPSHOT_FORMAT = 2
_KEPT = 64  # paths whose proven gaps are remembered
_STRETCH = 200_000  # arcs times episodes between two checks whether a run was cancelled

# After `PATIENCE` failures in a row an arc rests: paths around it are played where there are any. Each further failure
# makes the rest longer, one success ends it. Nothing is proven while an arc was never seen.

PATIENCE = 3  # failures in a row before an arc rests
GROWTH = 1.3  # ratio of a rest to the one before: an arc that fails now and then must not starve
MOST_IN_A_ROW = 30  # failures in a row beyond which rests grow no more


class Failures:
    """Failures in a row of each arc, and until which episode it rests.

    Attributes:
        in_a_row: int [N].
        until: Number of told episodes at which an arc is tried again, int [N].
        total: Failures of each arc so far, int [N].
    """

    def __init__(self, n_arcs: int) -> None:
        self.in_a_row: IntArray = np.zeros(n_arcs, dtype=np.int64)
        self.until: IntArray = np.zeros(n_arcs, dtype=np.int64)
        self.total: IntArray = np.zeros(n_arcs, dtype=np.int64)

    def note(self, path: IntArray, played: int, told: int) -> None:
        """Take in an episode of which `played` rewards were seen; `told` counts the episodes told so far."""
        self.in_a_row[path[:played]] = 0
        self.until[path[:played]] = 0
        if played < len(path):
            self.blame(int(path[played]), told)

    def blame(self, arc: int, told: int) -> None:
        """Count a failure of one arc; `told` counts the episodes told so far."""
        self.total[arc] += 1
        self.in_a_row[arc] += 1
        if self.in_a_row[arc] >= PATIENCE:
            self.until[arc] = told + ceil(2 * GROWTH ** min(int(self.in_a_row[arc]), MOST_IN_A_ROW))


class Challenger(Learner):
    """The learner to use: the fewest episodes for the guarantee.

    Args:
        mdp: The layered graph to search.
        epsilon: How far from the best the answer may be; 0 asks for the best itself, which must then be unique.
        delta: Allowed probability of a wrong answer.
        sigma: Sub-Gaussian factor of the rewards, one number or one per arc; by default what the MDP declares.
            "unknown": the noise is Gaussian (for other laws nothing is proven) with one standard deviation on all arcs
            but those that declare sigma 0.
        sampling: "guarded" (the default), "thrifty" (the default where paths have different prices), "separating",
            "max-diameter" (see `run.py`), or a function of your own (`surepath.learners.own_rules`); any keeps the
            guarantee.
        bound: The entries of the bound (see `state.py`), as `settings()` gives them; by default chosen for the
            problem, epsilon and delta.
        noise: "sigma" takes sigma, or half of a declared range; "betting" and "bernstein" learn the noise of rewards in
            a declared range: betting takes the fewest episodes, Bernstein is the cheap form for large graphs and
            simulations. By default what suits the problem: betting where arcs declare a range and no sigma.
        dependence: "any" (the default): the rewards of one episode may share their luck (a case, a sample, a machine);
            an episode may break off only as `missing` says. "independent": each reward keeps its mean and noise given
            the earlier ones of its episode; about half the episodes, and no guarantee where that fails. A spec that
            `simulate` gets is "independent" where the world draws so.
        missing: What broken-off episodes have to do with their rewards, under "any". "related" (the default): anything,
            where every arc declares a range (and noise is not "bernstein"): a missing reward counts as its worse end;
            without ranges such an episode is left out whole, and nothing is proven unless whether one breaks off is
            the same for all paths. "unrelated": nothing, so what was seen counts.
        total_sigma: Sub-Gaussian factor of the sum of an episode's rewards, under "any", where paths share no arc:
            totals of whole episodes count as well, and far fewer do where few paths are long and share little luck.
        seed: Of the stream that a sampling rule of your own draws from; a simulated run has its own.

    Attributes:
        exclusions: What was excluded, when: [{"arcs": [...], "episodes": ...}, ...].

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
        sampling: str | Callable[..., Any] | None = None,
        bound: Sequence[Mapping[str, Any]] | None = None,
        noise: str | None = None,
        dependence: str = "any",
        missing: str = "related",
        total_sigma: float | None = None,
        seed: int | None = None,
    ) -> None:
        self.unknown = isinstance(sigma, str) and one_of("sigma", sigma, ("unknown",)) == "unknown"
        super().__init__(mdp, epsilon, delta, _one_sigma(mdp) if self.unknown else sigma)
        self.exclusions: list[dict[str, Any]] = []
        self._excluded: BoolArray = np.zeros(mdp.n_arcs, dtype=np.bool_)
        self._under_way: list[bytes] = []  # paths given to workers and not told yet
        self._failures = Failures(mdp.n_arcs)
        self.dependence = one_of("dependence", dependence, at.DEPENDENCES)
        self.missing = one_of("missing", missing, at.MISSING)
        # Where sigma is unknown the watch has nothing to compare with.
        declared = np.where(self.sigma > 0, np.inf, 0.0) if self.unknown else self.sigma
        self._watch = Watch(mdp, declared, self.dependence == "independent")
        if self.dependence == "any" and self.unknown:
            raise SettingError(
                'sigma="unknown" needs dependence="independent", which assumes that the steps of a trial do not share '
                "their luck; say so, or declare a sigma or a range"
            )
        if sampling is None:
            sampling = "thrifty" if at.prices_differ(mdp) else "guarded"
        self.sampling_rule = None if isinstance(sampling, str) else own_rule("sampling", sampling)
        self.sampling = self.sampling_rule or one_of("sampling", sampling, at.SAMPLING)
        self.compiled = self.sampling_rule is None
        self.seed = None if seed is None else whole("seed", seed, low=0)
        self.rule_seed = self.seed or 0
        if self.unknown and noise not in (None, "sigma"):
            raise SettingError(f'sigma="unknown" is about Gaussian noise, noise="{noise}" about scores in a range')
        self.noise = choose_noise(mdp, noise, sigma is not None)
        self.total_sigma = None if total_sigma is None else self._checked_total(total_sigma)
        chosen = at.default_entries(self)
        self.bound: list[dict[str, Any]] = at.checked_entries(chosen if bound is None else bound, self)
        self._is_default = self.bound == chosen
        self.pairs = at.pairs_of(self)
        self._seen = self._new_evidence()
        self._work = self._new_scratch()
        self._connect()
        self._planned = False
        self._proven: dict[bytes, float] = {}  # the least gap proven for a path stays proven
        self._settle()
        self._note_stop()

    def _checked_total(self, value: Any) -> float:
        """Check sigma of totals, and that plans share no step."""
        mdp, number = self.mdp, real("total_sigma", value)
        if not number > 0:
            raise SettingError(f"total_sigma must be above 0, not {number:g}")
        if self.dependence != "any":
            raise SettingError(
                'total_sigma is a setting of dependence="any"; under "independent" it follows from sigma'
            )
        if mdp.n_arcs != mdp.horizon * mdp.first[1] or mdp.n_nodes != 1 + (mdp.horizon - 1) * mdp.first[1]:
            raise SettingError("total_sigma is for problems whose plans share no step; here some do")
        if self.missing == "unrelated":
            raise SettingError(
                'total_sigma is about whole trials; leave out missing="unrelated": what a trial lacks then counts as '
                "the end of its range, or the trial is left out"
            )
        return number

    def _connect(self) -> None:
        self._visits, self._origin, self._sums = self._seen.visits, self._seen.origin, self._seen.sums

    def _new_evidence(self) -> Evidence:
        learned = self.pairs.learned
        bets = 0 if learned is None else learned.which.shape[2]
        return at.new_evidence(self.mdp.n_arcs, bets, 0 if self.pairs.stages is None else self.mdp.n_arcs)

    def _new_scratch(self) -> Scratch:
        return at.new_scratch(self.pairs, self.known_gain, self.mdp.n_nodes, self.mdp.horizon)

    def _act(self, task: int, told: int = 0) -> float:
        return act(self.graph, self.pairs, self._seen, self._work, task, told, self.epsilon)

    @locked
    def explain(self, challengers: int = 3) -> Explanation:
        """Describe the incumbent, its strongest challengers, their bounds, what separates them, what is ruled out."""
        self._settle()
        return explain(self, challengers)

    def sigma_setting(self) -> list[float] | str:  # type: ignore[override]
        """List sigma arc by arc, or say that it is unknown."""
        if self.unknown:
            return "unknown"
        return cast(list[float], self.sigma.tolist())

    def noise_now(self) -> FloatArray:
        """Compute sigma of each arc, or how far rewards scatter where noise is learned, float [N]; no bound."""
        if self.unknown:
            squares, count = self._seen.memo[at.RSS], self._seen.memo[at.N_SQUARES]
            return np.asarray(self.sigma * np.sqrt(squares / count if count > 0 else 1.0))
        if self.pairs.learned is None:
            return self.sigma
        seen = self.pairs.learned.learns & (self._visits > 0)
        return np.asarray(np.where(seen, np.sqrt(self._work.variance), self.sigma))

    @property
    @locked
    def excluded(self) -> BoolArray:
        """Return which arcs were excluded as infeasible, bool [N]."""
        return self._excluded.copy()

    @property
    @locked
    def failures(self) -> IntArray:
        """Return how many episodes broke off at each arc, int [N]."""
        return self._failures.total.copy()

    @locked
    def failing(self) -> list[tuple[int, int]]:
        """List the arcs that failed several times in a row and are not ruled out, and how often."""
        in_a_row = self._failures.in_a_row
        arcs = np.flatnonzero((in_a_row >= PATIENCE) & self._active())
        return list(zip(arcs.tolist(), in_a_row[arcs].tolist()))

    @locked
    def findings(self) -> list[Finding]:
        """Return what the rewards say against what was declared: larger noise, dependence on earlier choices, drift.

        A finding never changes the stop; it says that the certificate may not hold (docs, "noise watch").
        """
        return self._watch.findings()

    # Ask and tell ----------------------------------------------------------------------------------------------

    @locked
    def ask(self, n: int | None = None) -> IntArray:
        """Return the path to play next, int [H] of arcs; with n, that many paths for parallel workers, int [n, H].

        Asking again before telling gives the same path. Paths given with n count as under way until they are told or
        cancelled, so that workers spread. An arc that failed several times in a row is left alone for a while.
        """
        count = None if n is None else whole("n", n, low=1, high=MOST_ASKED)
        self._refuse_after_stop()
        if count is None:
            return self._around_failures(self._choose()).copy()
        paths = np.zeros((count, self.mdp.horizon), dtype=np.int64)
        for i in range(count):
            paths[i] = self._around_failures(self._choose())
            self._under_way.append(paths[i].tobytes())
            self._add_under_way(paths[i : i + 1])
        return paths

    @locked
    def ask_beside(self, plays: ArrayLike, n: int = 1) -> IntArray:
        """Choose n paths, int [n, H], beside plays that are under way elsewhere; nothing in this learner changes.

        The answer depends on what was told and on the plays alone, so whoever was told the same and knows of the same
        plays gets the same paths.

        Args:
            plays: Paths under way elsewhere, not told here yet, int [m, H]; paths given by ask(n) do not count.
            n: How many paths to choose.
        """
        paths = np.asarray(plays, dtype=np.int64).reshape(-1, self.mdp.horizon)
        self._settle()
        kept = {name: getattr(self._seen, name).copy() for name in ("alive", "pending", "recent", "memo")}
        chosen = self._work.path.copy(), self._work.mark.copy(), self._planned
        mine, self._under_way = self._under_way, [path.tobytes() for path in paths]
        try:
            if len(paths):
                self._add_under_way(paths)
            return self.ask(n)
        finally:
            self._under_way = mine
            for name, array in kept.items():
                getattr(self._seen, name)[:] = array
            self._work.path[:], self._work.mark[:], self._planned = chosen

    @locked
    def cancel(self, path: Rewards) -> None:
        """Cancel a path from ask(n) that will never be told: it no longer counts as under way."""
        self._end_play(self._arcs_of(path))

    @locked
    def tell(self, path: Rewards, rewards: Rewards, *, failed_at: int | None = None, baseline: Any = None) -> None:
        """Take in one episode; nothing changes when the input is refused. Also after the stop.

        Args:
            path: The H arcs that were played, or the same path by names, as `MDP.plan` gives it.
            rewards: The H rewards seen, in the user's direction; fewer when the episode failed after that many stages;
                or a mapping from the names or numbers of stages. Values at known arcs are ignored.
            failed_at: The stage at which the episode failed, where a reward is given in place of that of the stage.
            baseline: One number, or one per reward, that the rewards count less; in every episode or in none. Its mean
                must not depend on the path; sigma and ranges are those of the differences.
        """
        arcs = self._arcs_of(path)
        if baseline is not None:
            rewards = less_baseline(self.mdp, arcs, rewards, baseline)[0]
        gains = self._gains_of(arcs, rewards)
        played = len(gains) if failed_at is None else failed_at
        stages, rest = self.pairs.stages, arcs[len(gains) :]
        broken = stages is not None and self.missing == "related" and bool((self.sigma[rest] > 0).any())
        self._absorb(arcs, gains[:0] if stages is not None and broken and not stages.fills else gains)
        self._failures.note(arcs, played, self.episodes)
        if not (broken or self._seen.missing.any()):  # what is seen beside trials that bad scores ended is biased
            self._watch.observe(arcs, gains)
        self._note_size(gains)
        self._end_play(arcs)
        self._note_stop()

    @locked
    def fail(self, path: Rewards) -> None:
        """Take in an episode of which nothing was seen, not even where it failed.

        It counts as a failure of the arc of the path that has been seen least, since an arc that never works has no
        visits; among equals, of the one that was blamed least.
        An episode that failed after some stages is told with `tell` and the rewards before the failure.
        """
        arcs = self._arcs_of(path)
        suspect = int(arcs[np.lexsort((self._failures.total[arcs], self._visits[arcs]))[0]])
        self._absorb(arcs, np.zeros(0))
        self._failures.blame(suspect, self.episodes)
        self._end_play(arcs)
        self._note_stop()

    @locked
    def tighten(self, epsilon: float) -> None:
        """Continue to a smaller epsilon with all data kept.

        The guarantee is that of one event for all times and all epsilons, so asking for more later costs nothing: what
        the bound is made of was fixed when the learner was built and stays as it was.
        """
        wanted = check_epsilon(epsilon)
        if wanted >= self._epsilon:
            raise SettingError(f"tighten needs an epsilon below {self._epsilon:g}, not {wanted:g}")
        check_decidable(self.mdp, self._largest, wanted, SettingError)
        if self.stopped:
            self._renew_answer()
        before = (self._answer, self.stop_reason)
        self._epsilon = wanted
        self._go_on()
        self._check_anew()
        if before[0] is not None and before[0][1] <= wanted:  # proven already: no later result can unprove it
            self.stopped, (self._answer, self.stop_reason) = True, before
        self._note_stop()

    @locked
    def exclude(self, option: int | Mapping[Any, Any] | ArrayLike) -> None:
        """Mark arcs as infeasible: they leave the graph, and the guarantee is over the paths that are left.

        Which arcs are infeasible must be a fact of the world, not a verdict on their rewards.

        Args:
            option: An arc, several arcs, or a mapping from stages to actions, by name or number: the arcs of each of
                these actions, in every state of its stage.
        """
        arcs = option_arcs(self.mdp, option)
        excluded = self._excluded.copy()
        excluded[arcs] = True
        if not on_open_paths(self.mdp, ~excluded).any():
            what = option if isinstance(option, Mapping) else self.mdp.describe_arc(int(arcs[0]))
            raise SettingError(f"excluding {what} would leave no plan at all")
        if np.array_equal(excluded, self._excluded):
            return
        self._excluded[:] = excluded
        self.exclusions.append({"arcs": arcs.tolist(), "episodes": self.episodes})
        # What was proven was proven against a best path that may be infeasible: judge anew.
        self._go_on()
        self._seen.alive[:] = self._seen.open[:] = on_open_paths(self.mdp, ~self._excluded)
        self._proven = {}
        self._check_anew()
        self._note_stop()

    def _go_on(self) -> None:
        """Clear the stop, its reason and its answer."""
        self.stopped, self.stop_reason, self._answer = False, None, None

    def _around_failures(self, path: IntArray) -> IntArray:
        """Return the path, or one around the arcs that rest after failures: through what has been seen least."""
        rests = self._failures.until > self.episodes
        if not rests[path].any():
            return path
        need = np.where(self._active() & ~self.mdp.is_known, self.sigma / (1.0 + self._visits), 0.0)
        scale = float(need.max()) or 1.0
        weight = np.where(rests | self._excluded, -np.inf, need / scale)
        other = best_path(self.mdp, weight)
        return path if np.isneginf(weight[other]).any() else other

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
            return self.sampling_rule.path(self)
        return self._work.path

    def _add_under_way(self, paths: IntArray) -> None:
        """Count these plays, and plan what goes beside them."""
        seen, work = self._seen, self._work
        covering = bool((work.mark[(seen.visits == 0) & ~self.pairs.is_known] > 0).any())
        if covering:
            np.add.at(seen.pending, paths, 1)
        else:
            share_out(self.pairs, seen, work, paths)
        self._act(tasks.PLAN if covering else tasks.AGAIN)

    def _end_play(self, path: IntArray) -> None:
        """Count a play of this path as under way no longer, if one is."""
        if path.tobytes() in self._under_way:
            self._under_way.remove(path.tobytes())
            self._seen.pending[path] -= 1

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
        gap = max(0.0, least_gap(self.graph, self.pairs, self._seen, self._work))
        self._work.path[:] = planned
        key = self._work.incumbent.tobytes()
        gap = min(gap, self._proven.pop(key, np.inf))
        self._proven[key] = gap
        if len(self._proven) > _KEPT:
            del self._proven[next(iter(self._proven))]
        return gap

    # Saving ----------------------------------------------------------------------------------------------------

    @locked
    def snapshot(self) -> Snapshot:
        """Save everything that decides as plain arrays and numbers; `restore` continues from it bit for bit."""
        answer, gap = self._answer if self._answer is not None else (np.zeros(0, dtype=np.int64), np.inf)
        return {
            "format": SNAPSHOT_FORMAT,
            "settings": self.settings(),
            "problem": self.mdp.content_hash,
            "epsilon": self.epsilon,
            "episodes": self.episodes,
            "largest": self._largest,
            "stopped": self.stopped,
            "stop_reason": self.stop_reason,
            "answer": answer.copy(),
            "answer_gap": float(gap),
            "answered_at": self._answered_at,
            "exclusions": [dict(one) for one in self.exclusions],
            "under_way": np.frombuffer(b"".join(self._under_way), dtype=np.int64).reshape(-1, self.mdp.horizon).copy(),
            **{name: array.copy() for name, array in self._arrays().items()},
            "watch": self._watch.evidence(),
            "evidence": self._evidence(),
        }

    def _arrays(self) -> dict[str, AnyArray]:
        failures = {f"failures_{name}": array for name, array in vars(self._failures).items()}
        return {"excluded": self._excluded, **failures}

    @locked
    def restore(self, snapshot: Snapshot) -> Challenger:
        """Take over the state of a snapshot from a learner with the same settings on the same problem."""
        check_snapshot(snapshot, self.mdp)
        mine, theirs = self.settings(), snapshot["settings"]
        for key in sorted(mine | theirs, key="bound".__eq__):  # the longest comes last
            if mine.get(key) != theirs.get(key):
                raise SettingError(
                    f"the snapshot was taken with {key} {theirs.get(key)!r}, this learner has {mine.get(key)!r}; "
                    f"Challenger.from_snapshot(mdp, snapshot) builds the right one"
                )
        self._epsilon = float(snapshot["epsilon"])
        self.episodes, self._largest = int(snapshot["episodes"]), float(snapshot["largest"])
        self.stopped, self.stop_reason = bool(snapshot["stopped"]), snapshot["stop_reason"]
        answer = np.array(snapshot["answer"], dtype=np.int64)
        self._answer = (answer, float(snapshot["answer_gap"])) if answer.size else None
        self._answered_at = int(snapshot["answered_at"])
        for name, array in self._arrays().items():
            array[:] = snapshot[name]
        self.exclusions = [dict(one) for one in snapshot["exclusions"]]
        plays = np.array(snapshot["under_way"], dtype=np.int64).reshape(-1, self.mdp.horizon)
        self._under_way = [path.tobytes() for path in plays]
        self._watch.load({name: np.asarray(array) for name, array in snapshot["watch"].items()})
        self._load(snapshot["evidence"])
        return self

    @classmethod
    def from_snapshot(cls, mdp: MDP, snapshot: Snapshot) -> Challenger:
        """Build the learner that a snapshot was taken of."""
        check_snapshot(snapshot, mdp)
        settings = {name: value for name, value in snapshot["settings"].items() if name != "name"}
        return cls(mdp, **settings).restore(snapshot)

    def _evidence(self) -> dict[str, Any]:
        if not self.compiled:
            raise SettingError(
                f"{self.name} with a rule of your own cannot be saved as numbers; pickle the learner instead"
            )
        paths = np.array([np.frombuffer(key, dtype=np.int64) for key in self._proven], dtype=np.int64)
        return {
            **{name: array.copy() for name, array in self._seen._asdict().items()},
            "planned": self._planned,
            "plan": self._work.path.copy(),
            "marks": self._work.mark.copy(),
            "proven_paths": paths.reshape(-1, self.mdp.horizon),
            "proven_gaps": np.array(list(self._proven.values()), dtype=np.float64),
        }

    def _load(self, evidence: Mapping[str, Any]) -> None:
        for name, array in self._seen._asdict().items():
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
                answer = play(graph, pairs, seen, work, reality, rng, budget, pause, epsilon)
            done, checked = answer == DONE, work.incumbent.copy()
            eliminated = int((~seen.alive).sum())
            gap = max(0.0, least_gap(graph, pairs, seen, work))
            path = work.incumbent
            if done:
                path, gap = _proven_answer(checked, path, epsilon, gap)
            record.tau[i], record.reason[i] = seen.memo[at.EPISODES], CLEARED if done else BUDGET
            record.path[i], record.eliminated[i], record.gap[i] = path, eliminated, gap
        return record


def check_snapshot(snapshot: Any, mdp: MDP) -> None:
    """Refuse what is no snapshot, or one of another problem."""
    if not isinstance(snapshot, dict) or "format" not in snapshot:
        raise SettingError("a snapshot is a dict made by learner.snapshot()")
    if snapshot["format"] != SNAPSHOT_FORMAT:
        raise SettingError(f"snapshots have format {SNAPSHOT_FORMAT} here, not {snapshot['format']!r}")
    missing = sorted({"settings", "problem", "evidence", "watch", "excluded", "answer"} - snapshot.keys())
    if missing:
        raise SettingError(f"the snapshot lacks {', '.join(missing)}; it is not as learner.snapshot() made it")
    if snapshot["problem"] != mdp.content_hash:
        raise SettingError("the snapshot was taken on another problem: the graphs differ")


def _one_sigma(mdp: Any) -> Any:
    """Return the noise of each arc in units of the one sigma that is unknown: 0 where that is declared, else 1."""
    if not isinstance(mdp, MDP):
        return 1.0  # refused in words by every learner
    noisy = mdp.declared_sigma != 0
    sizes = np.unique(mdp.sigma[noisy & (mdp.sigma > 0)]) if mdp.sigma is not None else np.zeros(0)
    if len(sizes) > 1:
        raise SettingError(
            f'sigma="unknown" is one noise for all options, but the problem declares noise from '
            f"{sizes[0]:g} to {sizes[-1]:g}; leave sigma out to use what is declared, or declare none"
        )
    return noisy.astype(np.float64)


def _proven_answer(checked: IntArray, found: IntArray, epsilon: float, gap: float) -> tuple[IntArray, float]:
    """Return the answer at the stop and what is proven of it: the path that passed the check, or the incumbent `found`.

    What the check itself eliminates changes what means are counted from, and so their rounding: where two paths tie but
    for rounding the incumbent may then be the other one, and only its own `gap` is proven of it.
    """
    if np.array_equal(checked, found) or gap <= epsilon:
        return found.copy(), min(gap, epsilon)
    return checked, epsilon


def play_on(own: Challenger, reality: Reality, rng: np.random.Generator, until: int) -> tuple[int, bool]:
    """Go on with a copy in a simulated world until there are so many episodes or the check passes.

    Only its evidence and scratch arrays change, so the copy is of no other use afterwards. Returns how many episodes
    there are, and whether the check passed.
    """
    answer = play(own.graph, own.pairs, own._seen, own._work, reality, rng, until, float(until), own.epsilon)
    return int(own._seen.memo[at.EPISODES]), answer == DONE


def gap_now(own: Challenger) -> float:
    """Compute the least gap that the evidence of the copy proves for its incumbent."""
    return float(least_gap(own.graph, own.pairs, own._seen, own._work))
