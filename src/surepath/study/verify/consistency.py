"""What the parts of a certificate must say of each other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from surepath.model.mdp import MDP
from surepath.study.certificate.words import ADVICE, assumptions, statement
from surepath.study.plain_bound.evidence import Sums
from surepath.study.tally import LEFT_OUT, MARKED
from surepath.study.trial import SETTLED, SOURCES, WORST
from surepath.study.verify.facts import Facts, arcs_of, real, whole

SAME_RETURN, SAME_STEP = 1e-12, 2.0**-48  # relative: what rounding may set returns apart by, and for each step


def check_facts(content: Mapping[str, Any], facts: Facts, wrong: list[str]) -> None:
    """Compare what is said twice, and what follows from something else."""
    mdp, settings = facts.mdp, content["settings"]
    if mdp.content_hash != content["problem_hash"]:
        wrong.append("the problem is not the one that problem_hash names")
    if content["plan"] != {str(step): str(option) for step, option in mdp.plan(facts.path).items()}:
        wrong.append("plan and path are not the same plan")
    if facts.excluded[facts.path].any():
        wrong.append("the plan uses an option that was excluded")
    gap = content["certified_gap"]
    if gap is not None and not (isinstance(gap, float) and 0 <= gap < np.inf):
        wrong.append(f"certified_gap must be a number of at least 0, not {gap!r}")
    if content["delta"] != settings["delta"] or not 0 < content["delta"] < 1:
        wrong.append(f"delta is {content['delta']!r}, the settings have {settings['delta']!r}")
    tightened = [real(json.loads(a.content)) for a in facts.actions if a.kind == "tighten"]
    if content["epsilon"] != [real(settings["epsilon"]), *tightened][-1]:
        wrong.append(f"epsilon is {content['epsilon']!r}, which is not what the settings and tighten() left")
    if [a.number for a in facts.actions] != list(range(1, len(facts.actions) + 1)):
        wrong.append("the actions are not numbered 1, 2, ...")
    if whole(content["log"]["actions"]) > len(facts.actions):
        wrong.append("the log is said to have more actions than are listed")
    if any(a.kind not in ("exclude", "tighten") for a in facts.actions):
        wrong.append("there is an action that is neither exclude nor tighten")
    if any(a.kind == "exclude" for a in facts.actions[whole(content["log"]["actions"]) :]):
        wrong.append("an option was excluded after the moment of this proof")
    enough = content["epsilon"] if content["epsilon"] > 0 else _rounding(facts)
    if not isinstance(content["done"], bool) or (content["done"] and (gap is None or gap > enough)):
        wrong.append(f"the study is said to be done, but the gap {gap!r} is not at most epsilon {content['epsilon']!r}")
    _check_counts(content, facts, wrong)
    _check_sums(facts, settings["name"] == "Challenger", wrong)
    if facts.seen.scores is not None:
        if [len(some) for some in facts.seen.scores.gains] != np.where(mdp.is_known, 0, facts.seen.visits).tolist():
            wrong.append("there are not as many scores as visits")
        else:
            check_scores(mdp, facts.seen, wrong)
    if not wrong:
        if content["statement"] != statement(content):
            wrong.append("the statement is not what the numbers say")
        if content["assumptions"] != assumptions(content, mdp):
            wrong.append("the assumptions are not those of these settings and counts")
        if any(found["advice"] != ADVICE.get(found["kind"]) for found in content["warnings"]):
            wrong.append("the warnings are not in the words of this format")


def _rounding(facts: Facts) -> float:
    """Return what rounding may set returns apart by: with epsilon 0 exact scores are done when only that is left."""
    seen, mdp = facts.seen, facts.mdp
    mean = np.where(mdp.is_known, mdp.known_gain, seen.origin + seen.sums / np.maximum(seen.visits, 1))
    scale = np.maximum.reduceat(np.abs(mean), mdp.stage_arc[:-1]).sum()
    return float((SAME_RETURN + SAME_STEP * mdp.horizon) * scale)


def _check_counts(content: Mapping[str, Any], facts: Facts, wrong: list[str]) -> None:
    trials = content["trials"]
    states, sources = trials["states"], trials["sources"]
    if set(states) != SETTLED or set(sources) != set(SOURCES) or set(trials["by_arc"]) != {*LEFT_OUT, *MARKED}:
        wrong.append("the counts of trials do not have the states and sources that there are")
        return
    if ("spent" in trials) != (facts.mdp.cost is not None) or real(trials.get("spent", 0.0)) < 0:
        wrong.append("what was spent must be stated where options have a cost, and only there")
    total = whole(trials["number"])
    if sum(map(whole, states.values())) != total or sum(map(whole, sources.values())) != total or total != facts.prefix:
        wrong.append(f"trials by state and by source do not add up to {total}")
    for name, counts in trials["by_arc"].items():
        most = states[name] if name in LEFT_OUT else sources[name]
        plays = np.zeros(facts.mdp.n_arcs, dtype=np.int64)
        for arc, count in counts.items():
            plays[arcs_of([int(arc)], facts.mdp)] += whole(count)
        if any(int(plays[a:b].sum()) != most for a, b in zip(facts.mdp.stage_arc, facts.mdp.stage_arc[1:])):
            wrong.append(f"the {name} trials by option do not add up to {most} in every step")
    late, refused = sources["late"], whole(trials["refused"])
    reported = states["complete"] + states["partial"] - late + (states["failed"] if facts.on_failure == WORST else 0)
    if refused and not any(found["kind"] == "refused" for found in content["warnings"]):
        wrong.append(f"{refused} trials could not be counted, and no warning says so")
    visits = facts.seen.visits
    firsts = int(visits[: facts.mdp.stage_arc[1]].sum())
    if not reported - refused <= firsts <= reported:
        wrong.append(f"the first step was scored {firsts} times, in {reported} trials")
    lasts = int(visits[facts.mdp.stage_arc[-2] :].sum())
    if lasts < states["complete"] - refused - late or (facts.on_failure != WORST and lasts > states["complete"]):
        wrong.append(f"the last step was scored {lasts} times, in {states['complete']} complete trials")


def _check_sums(facts: Facts, exact: bool, wrong: list[str]) -> None:
    mdp, seen = facts.mdp, facts.seen
    arriving, leaving = np.zeros(mdp.n_nodes + 1, dtype=np.int64), np.zeros(mdp.n_nodes + 1, dtype=np.int64)
    np.add.at(arriving, mdp.target, seen.visits)
    np.add.at(leaving, mdp.source, seen.visits)
    if (leaving[1:-1] > arriving[1:-1]).any():
        wrong.append("some state was left more often than it was reached")
    idle = (seen.visits == 0) | mdp.is_known
    if (seen.sums[idle] != 0).any() or (seen.origin[idle & (seen.visits == 0)] != 0).any():
        wrong.append("there are sums for options that have no score")
    if exact and (seen.sums[seen.visits == 1] != 0).any():
        wrong.append("the sum of an option with one score must count from that score")
    if mdp.reward_range is not None:
        low, high = (bound[~idle] for bound in mdp.reward_range)
        n = seen.visits[~idle]
        blur = 1e-9 * (1 + np.abs(low) + np.abs(high))
        charge = 0.0 if mdp.charge is None else mdp.charge[~idle]
        blur = blur + 1e-9 * charge
        means = seen.origin[~idle] + seen.sums[~idle] / n
        origin = seen.origin[~idle]
        firsts = origin if exact else np.where(origin == 0.0, means, origin)  # some count from 0, which is no score
        for gain in (firsts, means):
            value = mdp.sign * (gain + charge)
            if ((value < low - blur) | (value > high + blur)).any():
                wrong.append("a mean lies outside the declared range of its scores")
                return


def check_scores(mdp: MDP, seen: Sums, wrong: list[str]) -> None:
    """Compare the sums of a moment with its scores, and these with their declared ranges."""
    assert seen.scores is not None
    for arc in np.flatnonzero((seen.visits > 0) & ~mdp.is_known).tolist():
        gains = seen.scores.first(arc, int(seen.visits[arc]))
        off = float(seen.origin[arc] + seen.sums[arc] / seen.visits[arc] - gains.mean())
        if seen.origin[arc] not in (0.0, gains[0]) or not abs(off) <= 1e-12 * float(np.abs(gains).max()):
            wrong.append(f"the scores of {mdp.describe_arc(arc)} do not add up to its sum")
        if mdp.gain_range is not None:
            low, high = (float(end[arc]) for end in mdp.gain_range)
            if not ((gains >= low) & (gains <= high)).all():
                wrong.append(f"a score of {mdp.describe_arc(arc)} lies outside its declared range")
