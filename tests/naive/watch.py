"""The watch from the full list of trials: one matrix row for each reward, the least value over the unknown means.

What was declared is weighed against rewards that vary more. For rewards r about their true means, all of sigma 1, and
any covariance V >= 1, |V|^(-1/2) exp((r'r - r'V^-1 r) / 2) is what an observer who expects V wins; the unknown means
are those that make it least.
"""

from __future__ import annotations

from math import exp, inf, log

import numpy as np
from scipy.optimize import minimize_scalar

from surepath.model.mdp import MDP

TILTS = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95]
SHIFTS = [1 / 16, 1.0, 16.0]
MARGINS = [1 / 4, 1.0]
LUCK = [1 / 16, 1 / 4, 1.0]
CALM = [0.05, 0.2, 0.8, 3.0]

Reward = tuple[int, int, int, int, float]  # trial, stage, arc, context, z
Place = tuple[str, int, int, int]  # kind, stage, arc, earlier stage; -1 for none in particular


def least(z: np.ndarray, arcs: list[int], cov: np.ndarray, variance: float) -> float:
    """Log of the winnings at the means, one for each arc, that make them least."""
    of_arc = np.array([[float(a == b) for b in sorted(set(arcs))] for a in arcs])
    gain = np.eye(len(z)) - np.linalg.inv(cov)
    mu = np.linalg.lstsq(of_arc.T @ gain @ of_arc, of_arc.T @ gain @ z, rcond=None)[0]
    r = z - of_arc @ mu
    return float(r @ gain @ r / 2 / variance - np.linalg.slogdet(cov)[1] / 2)


def log_mean(logs: list[float]) -> float:
    """Log of the mean of exp."""
    top = max(logs)
    return top + log(sum(exp(x - top) for x in logs) / len(logs))


def same(labels: list[int]) -> np.ndarray:
    """1 where two rewards have the same label."""
    return np.array([[float(a == b) for b in labels] for a in labels])


def squares(z: list[float]) -> float:
    """Sum of squares about the mean."""
    return sum((x - sum(z) / len(z)) ** 2 for x in z)


def log_p_values(mdp: MDP, sigma: np.ndarray, trials: list[tuple[list[int], list[float]]]) -> dict[Place, float]:
    """Log of every p-value, the union within, for rewards without exact or known ones."""
    stage_of = [h for h in range(mdp.horizon) for _ in range(int(mdp.stage_arc[h]), int(mdp.stage_arc[h + 1]))]
    first: dict[int, float] = {}
    by_arc: dict[int, list[float]] = {}
    choices: dict[tuple[int, int], list[Reward]] = {}
    epochs: dict[tuple[int, int], list[Reward]] = {}
    everything: list[Reward] = []
    for number, (path, gains) in enumerate(trials, start=1):
        for stage, (arc, gain) in enumerate(zip(path, gains)):
            z = (gain - first.setdefault(arc, gain)) / float(sigma[arc])
            by_arc.setdefault(arc, []).append(z)
            everything.append((number, stage, arc, 0, z))
            for back in range(stage):
                if back == 0 or back >= stage - 4:
                    context = path[back] if back == stage - 1 else int(mdp.action[path[back]])
                    choices.setdefault((stage, back), []).append((number, stage, arc, context, z))
            stretch = next(k for k in range(64) if number < 2**k)
            epochs.setdefault((stage, -1), []).append((number, stage, arc, stretch, z))
    found: dict[Place, float] = {}
    explained = dict.fromkeys(by_arc, 0.0)
    looked = [(h, back) for h in range(mdp.horizon) for back in range(h) if back == 0 or back >= h - 4]
    for kind, table, places in (
        ("dependence", choices, looked),
        ("drift", epochs, [(h, -1) for h in range(mdp.horizon)]),
    ):
        union = sum(stage_of.count(h) for h, _ in places)
        for (stage, back), rewards in table.items():
            shared = shared_shift(rewards, by_arc)
            found[kind, stage, -1, back] = log(8 * len(places)) - shared
            for arc in {reward[2] for reward in rewards}:
                own = [reward for reward in rewards if reward[2] == arc]
                found[kind, stage, arc, back] = log(8 * union) - own_shift(own)
                if min(found[kind, stage, -1, back], found[kind, stage, arc, back]) < log(1e-3):
                    explained[arc] = max(explained[arc], between(own))
    if mdp.horizon > 1 and everything and not any(explained.values()):
        found["luck", -1, -1, -1] = log(4) - luck(everything, by_arc)
    for members, place, union in [
        (list(by_arc), ("noise", -1, -1, -1), 12),
        *(
            ([e for e in by_arc if stage_of[e] == h], ("noise", h, -1, -1), 12 * mdp.horizon)
            for h in range(mdp.horizon)
            if any(stage_of[e] == h for e in by_arc)
        ),
        *(([e], ("noise", stage_of[e], e, -1), 12 * mdp.n_arcs) for e in by_arc),
    ]:
        n = sum(len(by_arc[e]) for e in members)
        spread = sum(squares(by_arc[e]) - explained[e] for e in members)
        found[place] = log(union) - log_mean([n / 2 * log(1 - t) + t * spread / 2 for t in TILTS])
    return found


def luck(rewards: list[Reward], by_arc: dict[int, list[float]]) -> float:
    """Rewards of one trial that share an effect."""
    z, arcs, trial = (np.array([reward[i] for reward in rewards]) for i in (4, 2, 0))
    spread = sum(squares(own) for own in by_arc.values())
    variance = max(1.0, spread / max(1, sum(len(own) - 1 for own in by_arc.values())))
    together = same(trial.tolist())
    return log_mean([least(z, arcs.tolist(), np.eye(len(z)) + s * together, variance) for s in LUCK])


def unequal_log_p(mdp: MDP, trials: list[tuple[list[int], list[float]]]) -> dict[tuple[int, int, bool], float]:
    """Log of the p-values of (stage, arc or -1, whether it varies more), one sigma unknown, reward by reward."""
    stage_of = [h for h in range(mdp.horizon) for _ in range(int(mdp.stage_arc[h]), int(mdp.stage_arc[h + 1]))]
    by_arc: dict[int, list[float]] = {}
    for path, gains in trials:
        for arc, gain in zip(path, gains):
            by_arc.setdefault(arc, []).append(gain)
    places = [((h, -1), {e for e in by_arc if stage_of[e] == h}, 4 * mdp.horizon) for h in range(mdp.horizon)]
    places += [((stage_of[e], e), {e}, 4 * mdp.n_arcs) for e in by_arc]
    return {
        (*place, more): log(union) - unequal(by_arc, own if more else set(by_arc) - own)
        for place, own, union in places
        if own
        for more in (True, False)
    }


def unequal(by_arc: dict[int, list[float]], wild: set[int]) -> float:
    """Log of the winnings of who expects these arcs to vary more than the rest, at the sigma that makes them least."""
    lines = []
    for tilt in TILTS:
        for t in CALM:
            height = rise = 0.0
            for arc, gains in by_arc.items():
                for k, x in enumerate(gains, start=1):
                    if arc in wild:
                        height += log(1 - tilt) / 2
                        rise += tilt * (x - sum(gains) / len(gains)) ** 2 / 2
                    elif k > 1:
                        height += log(1 + 2 * t * (k - 1) / k) / 2
                        rise -= t * (k - 1) / k * (x - sum(gains[: k - 1]) / (k - 1)) ** 2
            lines.append((height, rise))
    if max(rise for _, rise in lines) <= 0:
        return -inf
    at = minimize_scalar(
        lambda v: log_mean([height + rise * exp(v) for height, rise in lines]), bounds=(-30, 12), method="bounded"
    )
    return float(min(at.fun, log_mean([height for height, _ in lines])))


def own_shift(rewards: list[Reward]) -> float:
    """One arc whose contexts have means of their own."""
    z = [reward[4] for reward in rewards]
    variance = max(1.0, squares(z) / max(1, len(z) - 1))
    contexts = same([reward[3] for reward in rewards])
    return log_mean([least(np.array(z), [0] * len(z), np.eye(len(z)) + shift * contexts, variance) for shift in SHIFTS])


def shared_shift(rewards: list[Reward], by_arc: dict[int, list[float]]) -> float:
    """Contexts that shift every arc of a stage alike."""
    z, arcs = np.array([reward[4] for reward in rewards]), [reward[2] for reward in rewards]
    if len({reward[3] for reward in rewards}) < 2:
        return -inf
    spread = sum(squares(by_arc[e]) for e in set(arcs))
    variance = max(1.0, spread / max(1, sum(len(by_arc[e]) - 1 for e in set(arcs))))
    contexts = same([reward[3] for reward in rewards])
    logs = []
    for margin in MARGINS:
        for shift in SHIFTS:
            cov = np.eye(len(z)) + margin * same(arcs) + shift * contexts
            logs.append(least(z, arcs, cov, variance))
    return log_mean(logs)


def between(rewards: list[Reward]) -> float:
    """Sum of squares that the contexts of one arc account for."""
    by_context: dict[int, list[float]] = {}
    for reward in rewards:
        by_context.setdefault(reward[3], []).append(reward[4])
    return squares([reward[4] for reward in rewards]) - sum(squares(z) for z in by_context.values())
