"""A problem in words: its size, its settings, and a drawing in text when it is small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._checks import ways_to_declare
from surepath._text import columns, shown
from surepath.model.costs import in_words
from surepath.model.paths import best_path

if TYPE_CHECKING:
    from surepath.model.mdp import MDP
    from surepath.model.sources.files import Problem

SMALL_GRAPH = 60  # arcs that a terminal shows one by one
LONG = 20  # stages that a terminal shows one by one


def summary(problem: Problem, missing: str | None = None) -> dict[str, Any]:
    """Return the facts of a problem as plain values; `missing` says what its file does not declare of the noise."""
    from surepath.learners.declared_noise import choose_noise

    mdp, instance = problem.mdp, problem.instance
    learned = missing is None and mdp.noise_missing("") is None and choose_noise(mdp, None, False) != "sigma"
    noise = mdp.declared_sigma if instance is None or learned else instance.sigma
    own = noise[~mdp.is_known] if not mdp.is_known.all() else np.zeros(1)
    if instance is None:
        missing = mdp.noise_missing(problem.name or "this problem")
    facts: dict[str, Any] = {
        "name": problem.name,
        "about": list(problem.about),
        "direction": mdp.direction,
        "stages": mdp.horizon,
        "states": mdp.n_nodes,
        "arcs": mdp.n_arcs,
        "known_arcs": int(mdp.is_known.sum()),
        "plans": mdp.n_paths if mdp.log_paths < 60 else None,
        "log10_plans": mdp.log_paths / 2.302585092994046,
        "step_names": None if mdp.step_labels is None else list(mdp.step_labels),
        "sigma": None if missing is not None else [float(own.min()), float(own.max())],
        "noise_missing": missing,
        "noise_learned": learned,
        "epsilon": problem.epsilon,
        "delta": problem.delta,
        "per_stage": [
            {
                "stage": h,
                "states": int(mdp.stage_node[h + 1] - mdp.stage_node[h]),
                "arcs": int(mdp.stage_arc[h + 1] - mdp.stage_arc[h]),
            }
            for h in range(mdp.horizon)
        ],
        "best": None,
    }
    if mdp.cost is not None:
        facts["trial_cost"] = [mdp.price(best_path(mdp, sign * mdp.cost)) for sign in (-1, 1)]
        facts["worth"] = in_words(mdp) or None
    if instance is not None:
        best = instance.best_path()
        facts["best"] = {
            "return": instance.optimal_return,
            "plan": [{"state": state, "action": action} for state, action in mdp.path_labels(best.tolist())],
        }
    return facts


def plans_in_words(facts: dict[str, Any]) -> str:
    """Return a count of plans that a person can read."""
    if facts["plans"] is not None and facts["plans"] < 10**15:
        return f"{facts['plans']:,}"
    return f"about 10^{facts['log10_plans']:.1f}"


def options_in_words(actions: list[str]) -> str:
    """Return the actions of a plan on one line; the middle of a long plan is left out."""
    if len(actions) > LONG:
        actions = [*actions[: LONG // 2], "...", *actions[-LONG // 2 :]]
    return " > ".join(map(shown, actions))


def lines(problem: Problem, missing: str | None = None) -> list[str]:
    """Return the facts as lines of text; `missing` as in `summary`."""
    facts = summary(problem, missing)
    goal = "larger scores are better" if facts["direction"] == "maximize" else "smaller scores are better"
    out = [f"{shown(facts['name'] or 'problem')} ({facts['direction']}: {goal})", *map(shown, facts["about"])]
    known = f", {facts['known_arcs']:,} of them with a known score" if facts["known_arcs"] else ""
    out.append(f"steps {facts['stages']:,}, states {facts['states']:,}, options {facts['arcs']:,}{known}")
    out.append(f"plans  {plans_in_words(facts)}")
    if facts["sigma"] is not None:
        low, high = facts["sigma"]
        out.append(f"sigma  {high:g}" if low >= high else f"sigma  {low:g} to {high:g}")
        if facts["noise_learned"]:
            out[-1] += (
                " at most, half of the declared range; a study learns within it how much the scores really scatter"
            )
    else:
        out.append(f"sigma  not declared, and without it nothing can be proven. {ways_to_declare()}")
    if "trial_cost" in facts:
        cheap, dear = facts["trial_cost"]
        price = f"{cheap:g}" if cheap == dear else f"{cheap:g} to {dear:g}"
        out.append(f"cost   {price} a trial; {facts['worth'] or 'worth is the score alone'}")
    if problem.epsilon is not None or problem.delta is not None:
        parts = [f"{k} {v:g}" for k, v in (("epsilon", problem.epsilon), ("delta", problem.delta)) if v is not None]
        out.append("asks   " + ", ".join(parts))
    if facts["best"] is not None:
        out.append(f"best   {facts['best']['return']:.6g} by the means in the file, which a learner never sees:")
        out.append("       " + options_in_words([step["action"] for step in facts["best"]["plan"]]))
    return out


def step_heading(mdp: MDP, stage: int) -> str:
    """Return the heading of a step: its number, and its name where it has one."""
    return f"step {stage}" if mdp.step_labels is None else f"step {stage} ({shown(mdp.step_labels[stage])})"


def drawing(mdp: MDP) -> list[str]:
    """Return the graph in text: stage by stage, each state with its actions and where they lead."""
    out = []
    for h in range(mdp.horizon):
        out.append(step_heading(mdp, h))
        for node in range(int(mdp.stage_node[h]), int(mdp.stage_node[h + 1])):
            out.append(f"  {shown(mdp.state_label(node))}")
            arcs = range(int(mdp.first[node]), int(mdp.first[node + 1]))
            names = {arc: shown(mdp.action_label(arc)) for arc in arcs}
            width = max(map(columns, names.values()))
            for arc in arcs:
                goal = int(mdp.target[arc])
                ahead = "end" if goal == mdp.n_nodes else shown(mdp.state_label(goal))
                reward = f"   known score {mdp.known[arc]:g}" if mdp.known is not None and mdp.is_known[arc] else ""
                cost = f"   cost {mdp.cost[arc]:g}" if mdp.cost is not None and mdp.cost[arc] > 0 else ""
                padding = " " * (width - columns(names[arc]))
                out.append(f"    {names[arc]}{padding} -> {ahead}{reward}{cost}")
    return out


def overview(mdp: MDP, best: list[int] | None = None) -> list[str]:
    """Return the actions that each stage offers, those of a plan in brackets; nothing when that would not fit."""
    stages = [mdp.action[mdp.stage_arc[h] : mdp.stage_arc[h + 1]] for h in range(min(mdp.horizon, LONG + 1))]
    if mdp.horizon > LONG or any(len(np.unique(actions)) > 8 for actions in stages):
        return []
    chosen = set(best or ())
    out = []
    for h in range(mdp.horizon):
        marks: dict[str, bool] = {}
        for arc in range(int(mdp.stage_arc[h]), int(mdp.stage_arc[h + 1])):
            name = shown(mdp.action_label(arc))
            marks[name] = marks.get(name, False) or arc in chosen
        out.append(f"step {h:<2} " + "  ".join(f"[{name}]" if mark else f" {name} " for name, mark in marks.items()))
    return out
