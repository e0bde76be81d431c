"""Commands on a problem, given as a file or as the id of an instance: new, show, bound, estimate."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surepath._text import shown
from surepath.cli.main import AsJson, app, print_json, refuse_existing, say

if TYPE_CHECKING:
    from surepath.model.files import Problem
    from surepath.model.mdp import MDP
    from surepath.simulation.estimate import Estimate
    from surepath.theory.bounds import Summary

Epsilon = Annotated[
    float | None, typer.Option(help="How far from the best the answer may be; by default what the file asks.")
]
Delta = Annotated[
    float | None, typer.Option(help="Allowed probability of a wrong answer; by default what the file asks.")
]
Sigma = Annotated[
    float | None, typer.Option(help="Noise of every option, in place of the file's; needed where it declares none.")
]
Dependence = Annotated[
    str | None,
    typer.Option(help="any: the scores of one trial may depend on each other; or independent. By default any."),
]


def open_noisy(name: str, sigma: float | None) -> Problem:
    """Open a problem as `open_problem` does, with its noise: declared by the problem, else by --sigma."""
    from surepath.errors import NoiseError

    try:
        found = open_problem(name, sigma)
        missing = found.mdp.noise_missing(f"the problem file {Path(name).name}")
        if missing is not None and found.instance is None and sigma is None:
            raise NoiseError(missing)
    except NoiseError as error:
        raise typer.BadParameter(f"{error}. On the command line, give --sigma") from None
    return found


def open_problem(name: str, sigma: float | None = None) -> Problem:
    """Read a problem file, or build the instance whose id this is ("chain-v1/n8k4/seed7")."""
    from surepath.errors import ProblemError
    from surepath.model.families import FAMILIES, from_id
    from surepath.model.files import Problem, load_problem

    path = Path(name)
    if re.match(r"\w+-v\d+(/|$)", name) and not path.exists():
        instance = from_id(name)
        return Problem(instance.mdp, instance, name=name)
    family = FAMILIES.get(name.partition("/")[0])
    if family is not None and not path.exists():
        raise ProblemError(f"there is no file {name}; ids of instances have a version, such as {family.build().id}")
    return load_problem(path, sigma=sigma)


def learner_settings(pairs: list[str]) -> dict[str, Any]:
    """Read --set name=value; values are JSON, or text. What has an option of its own is refused."""
    from surepath.errors import SettingError

    settings: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign:
            raise SettingError(f"--set takes name=value, such as sampling=max-diameter, not {pair!r}")
        try:
            settings[key] = json.loads(value)
        except json.JSONDecodeError:
            settings[key] = value
        except (ValueError, RecursionError):  # thousands of digits or brackets
            raise SettingError(f"--set {key}=... is too long to be a value: {len(value):,} characters") from None
        own = "learner" if key == "name" else key
        if own in ("learner", "epsilon", "delta") or (own == "sigma" and settings[key] != "unknown"):
            raise SettingError(f"--set {key}=... would count for nothing beside --{own}: say --{own} {shown(value)}")
    return settings


class Kind(StrEnum):
    """The starter problems that can be written."""

    steps = "steps"
    routes = "routes"
    lab = "lab"


@app.command()
def new(
    path: Annotated[Path, typer.Argument(help="The file to write: .json, or a sheet (.csv, .xlsx).")] = Path(
        "problem.json"
    ),
    kind: Annotated[
        Kind,
        typer.Option(
            help="steps: a workflow scored step by step; routes: times to minimise; lab: a protocol by its steps."
        ),
    ] = Kind.steps,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a commented starter problem."""
    from importlib import resources

    from surepath._text import write_table
    from surepath.errors import ProblemError

    refuse_existing(path, force)
    ending = path.suffix.lower()
    if ending not in (".json", ".csv", ".xlsx"):
        raise ProblemError(f"a problem file ends in .json, .csv or .xlsx, not {path.suffix or 'nothing'!r}: {path}")
    which = kind.value if ending == ".json" or kind is Kind.routes else Kind.steps.value  # a sheet is a sheet of steps
    starter = resources.files("surepath.model").joinpath(f"examples/starter_{which}{ending.replace('xlsx', 'csv')}")
    write_table(path, starter.read_text("utf-8"))
    follow = f"surepath show {path}"
    if as_json:
        print_json({"written": str(path), "kind": kind.value, "next": follow})
        return
    say(f"wrote {shown(path)}; change it to your own steps, then check it with\n  {shown(follow)}")


@app.command()
def show(
    problem: Annotated[str, typer.Argument(help="A problem file (.json, .csv) or the id of an instance.")],
    as_json: AsJson = False,
) -> None:
    """Print the number of steps, states, options and plans, and a small graph as text."""
    from surepath.errors import NoiseError

    missing = None
    try:
        found = open_problem(problem)
    except NoiseError as error:  # means without noise make no world to simulate; to show them needs none
        missing, found = str(error), open_problem(problem, 1.0)
    if as_json:
        print_json(summary(found, missing))
        return
    text = lines(found, missing)
    if found.mdp.n_arcs <= SMALL_GRAPH:
        text += ["", *drawing(found.mdp)]
    else:
        text.append(f"more than {SMALL_GRAPH} options: surepath plot graph {shown(problem)} draws them")
    say("\n".join(text))


SMALL_GRAPH = 60  # arcs that a terminal shows one by one
LONG = 20  # stages that a terminal shows one by one


def summary(problem: Problem, missing: str | None = None) -> dict[str, Any]:
    """Return the facts of a problem as plain values; `missing` says what its file does not declare of the noise."""
    import numpy as np

    from surepath.learners.challenger.noise import choose_noise
    from surepath.model.paths import best_path, in_words

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
        "dependence": problem.dependence,
        "missing": problem.missing,
        "best": None,
    }
    if mdp.scored is not None:
        facts["rounds"] = _round_facts(problem, None if missing is not None else float(own.max()))
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


def _round_facts(problem: Problem, sigma: float | None) -> dict[str, Any]:
    """Return what scores that cover several steps cost: effects to learn, trials of the first round and of one look.

    The optimal design proves epsilon in one look at 2 sigma^2 z log(plans / delta) / epsilon^2 trials, z the largest
    variance of the difference of two plans: at most four times the number of effects, twice the options of all steps
    where no step depends on another.
    """
    mdp, epsilon, delta, look = problem.mdp, problem.epsilon, problem.delta, None
    if sigma is not None and epsilon and delta is not None:
        free = mdp.n_nodes == mdp.horizon and len(mdp.score_stages) == 1
        variance = 2 * mdp.n_arcs if free else 4 * mdp.n_effects
        look = math.ceil(2 * sigma**2 * variance * (mdp.log_paths - math.log(delta)) / epsilon**2)
    names = mdp.step_labels or range(mdp.horizon)
    scored = [str(names[stage]) for stage in mdp.score_stages]
    return {"scores": scored, "effects": mdp.n_effects, "first": 3 * mdp.n_effects + 1, "one_look": look}


def lines(problem: Problem, missing: str | None = None) -> list[str]:
    """Return the facts as lines of text; `missing` as in `summary`."""
    facts = summary(problem, missing)
    goal = "larger scores are better" if facts["direction"] == "maximize" else "smaller scores are better"
    out = [f"{shown(facts['name'] or 'problem')} ({facts['direction']}: {goal})", *map(shown, facts["about"])]
    known = f", {facts['known_arcs']:,} of them with a known score" if facts["known_arcs"] else ""
    out.append(f"steps {facts['stages']:,}, states {facts['states']:,}, options {facts['arcs']:,}{known}")
    many = facts["plans"] is None or facts["plans"] >= 10**15
    out.append(f"plans  about 10^{facts['log10_plans']:.1f}" if many else f"plans  {facts['plans']:,}")
    if "rounds" in facts:
        own, rounds = facts["rounds"]["scores"], facts["rounds"]
        scored = "one score for the whole plan" if len(own) == 1 else f"scores at {', '.join(map(shown, own))}"
        out.append(f"scores {scored}, the sum of what its options add: {rounds['effects']:,} effects to learn")
        out.append(f"rounds the first has {rounds['first']:,} trials")
        if rounds["one_look"] is not None:
            out[-1] += f"; a design with one look at its end would need {rounds['one_look']:,} in all"
    elif problem.mdp.plans is not None:
        out[-1] += '; each is tried by itself. If the effects of options add up, structure "additive" needs far fewer'
    if facts["sigma"] is not None:
        low, high = facts["sigma"]
        out.append(f"sigma  {high:g}" if low >= high else f"sigma  {low:g} to {high:g}")
        if facts["noise_learned"]:
            out[-1] += (
                " at most, half of the declared range; a study learns within it how much the scores really scatter"
            )
    else:
        from surepath._checks import ways_to_declare

        out.append(f"sigma  not declared, and without it nothing can be proven. {ways_to_declare()}")
    if "trial_cost" in facts:
        cheap, dear = facts["trial_cost"]
        price = f"{cheap:g}" if cheap == dear else f"{cheap:g} to {dear:g}"
        out.append(f"cost   {price} a trial; {facts['worth'] or 'worth is the score alone'}")
    if any(value is not None for value in (problem.epsilon, problem.delta, problem.dependence)):
        parts = [f"{k} {v:g}" for k, v in (("epsilon", problem.epsilon), ("delta", problem.delta)) if v is not None]
        parts += [f"dependence {problem.dependence}"] if problem.dependence is not None else []
        out.append("asks   " + ", ".join(parts))
    if facts["best"] is not None:
        out.append(f"best   {facts['best']['return']:.6g} by the means in the file, which a learner never sees:")
        plan = [shown(step["action"]) for step in facts["best"]["plan"]]
        if len(plan) > LONG:  # the middle of a long plan is left out
            plan = [*plan[: LONG // 2], "...", *plan[-LONG // 2 :]]
        out.append("       " + " > ".join(plan))
    return out


def drawing(mdp: MDP) -> list[str]:
    """Return the graph in text: stage by stage, each state with its actions and where they lead."""
    from rich.cells import cell_len

    out = []
    for h in range(mdp.horizon):
        name = "" if mdp.step_labels is None else f" ({shown(mdp.step_labels[h])})"
        out.append(f"step {h + 1}{name}")
        for node in range(int(mdp.stage_node[h]), int(mdp.stage_node[h + 1])):
            out.append(f"  {shown(mdp.state_label(node))}")
            arcs = range(int(mdp.first[node]), int(mdp.first[node + 1]))
            names = {arc: shown(mdp.action_label(arc)) for arc in arcs}
            width = max(map(cell_len, names.values()))
            for arc in arcs:
                goal = int(mdp.target[arc])
                ahead = "end" if goal == mdp.n_nodes else shown(mdp.state_label(goal))
                reward = f"   known score {mdp.known[arc]:g}" if mdp.known is not None and mdp.is_known[arc] else ""
                cost = f"   cost {mdp.cost[arc]:g}" if mdp.cost is not None and mdp.cost[arc] > 0 else ""
                padding = " " * (width - cell_len(names[arc]))
                out.append(f"    {names[arc]}{padding} -> {ahead}{reward}{cost}")
    return out


COSTLIEST = 10  # options listed
BELOW_ONE = (
    "A number below 1 is a bound on an average that says nothing: one trial of the option is more than it asks. It "
    "appears where the gap or epsilon is large beside sigma, or delta is large."
)


@app.command()
def bound(
    problem: Annotated[str, typer.Argument(help="A problem file with means (.json, .csv) or the id of an instance.")],
    epsilon: Epsilon = None,
    delta: Delta = None,
    sigma: Sigma = None,
    time: Annotated[
        bool | None, typer.Option("--time/--no-time", help="Compute T*; by default up to 5,000 options.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print how many trials any learner needs, and how many EPRL may need, with the options that cost most."""
    from surepath.errors import ProblemError
    from surepath.theory.bounds import summarize

    found = open_noisy(problem, sigma)
    if found.instance is None:
        raise ProblemError(
            f"bounds need the true means, and {problem} gives none; "
            f'give every edge a "mean" (your best guess will do), or simulate one'
        )
    accuracy = asked("epsilon", epsilon, found.epsilon)
    risk = asked("delta", delta, found.delta)
    answer = summarize(found.instance, accuracy, risk, sigma=sigma, time=time)
    if as_json:
        print_json(bound_data(answer, problem))
    else:
        print_bound(answer, problem)


def asked(name: str, option: float | None, suggested: float | None) -> float:
    """Return what the option says, else what the problem says."""
    value = option if option is not None else suggested
    if value is None:
        raise typer.BadParameter(f"the problem does not say its {name}; give --{name}")
    return value


def costliest(answer: Summary) -> list[dict[str, Any]]:
    """Return the options with the largest local bounds, largest first; none that demand nothing."""
    import numpy as np

    from surepath.model.paths import stage_of

    lower, at, mdp, cut = answer.lower, answer.case.gaps, answer.case.mdp, set(answer.lower.cut.tolist())
    return [
        {
            "stage": stage_of(mdp, arc),
            "state": mdp.state_label(int(mdp.source[arc])),
            "action": mdp.action_label(arc),
            "deterministic_return_gap": at.deterministic_return[arc],
            "demand": lower.local[arc],
            "in_cut": arc in cut,
        }
        for arc in np.argsort(-lower.local, kind="stable")[:COSTLIEST].tolist()
        if lower.local[arc] > 0
    ]


def bound_data(answer: Summary, problem: str) -> dict[str, Any]:
    """Return the whole answer as plain values; infinite bounds become null with "infinite": true."""
    at, time = answer.case, answer.time
    return {
        "problem": problem,
        "epsilon": at.epsilon,
        "delta": at.delta,
        "sigma": [at.sigma.min(), at.sigma.max()],
        "gaussian": answer.gaussian,
        "arcs": at.mdp.n_arcs,
        "optimal_return": at.gaps.optimal_return,
        "unique_optimum": at.gaps.unique,
        "least_gap": at.gaps.minimum,
        "bounds": [{**vars(row), "name": row.name.strip(), "infinite": row.value == math.inf} for row in answer.rows],
        "characteristic_time": time
        and {"value": time.value, "lower": time.lower, "upper": time.upper, "gap": time.gap, "unique": time.unique},
        "costliest_arcs": costliest(answer),
        "demand": answer.lower.local,
        "cut": answer.lower.cut,
    }


def trials_in_words(value: float | None) -> str:
    """Return a count of trials for people."""
    if value is None or value == math.inf:
        return "-" if value is None else "infinite"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def print_bound(answer: Summary, problem: str) -> None:
    """Print tables for a terminal."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    at = answer.case
    noise = f"{at.sigma.max():g}" if at.sigma.min() == at.sigma.max() else f"{at.sigma.min():g} to {at.sigma.max():g}"
    console = Console(highlight=False, soft_wrap=False)
    console.print(f"{shown(problem)}: epsilon {at.epsilon:g}, delta {at.delta:g}, sigma {noise}", markup=False)
    several = "" if at.gaps.unique else "; several plans are best"
    console.print(
        f"best plan's score {at.gaps.optimal_return:.6g}, least gap {at.gaps.minimum:.6g}{several}", markup=False
    )
    table = Table("bound", "kind", "trials", "how to read it", title=None, expand=False)
    table.columns[0].no_wrap = table.columns[1].no_wrap = table.columns[2].no_wrap = True
    table.columns[2].justify = "right"
    for bound in answer.rows:
        table.add_row(escape(bound.name), bound.kind, trials_in_words(bound.value), escape(bound.reading))
    console.print(table)
    if top := costliest(answer):
        listing = Table("step", "state", "option", "gap", "trials needed", "in cut", title="options that cost most")
        listing.columns[1].overflow = listing.columns[2].overflow = "fold"
        listing.columns[3].justify = listing.columns[4].justify = "right"
        for row in top:
            names = escape(shown(row["state"])), escape(shown(row["action"]))
            numbers = f"{row['deterministic_return_gap']:.4g}", trials_in_words(row["demand"])
            listing.add_row(str(row["stage"] + 1), *names, *numbers, "yes" if row["in_cut"] else "")
        console.print(listing)
    if any(0 < x < 1 for x in answer.lower.local.tolist()):
        console.print(BELOW_ONE, markup=False)


@app.command()
def estimate(
    problem: Annotated[str, typer.Argument(help="A problem file (.json, .csv) or the id of an instance.")],
    epsilon: Epsilon = None,
    delta: Delta = None,
    sigma: Sigma = None,
    spread: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Least and largest mean of a step; by default the range in the file, else 0 1."),
    ] = None,
    ties: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the options of a state that are as good as its best one.")
    ] = 0.0,
    dependence: Dependence = None,
    scatter: Annotated[
        float | None,
        typer.Option(help="Standard deviation to expect of scores in a declared range; by default a fifth of it."),
    ] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Also say which epsilon so many trials buy.")] = None,
    worlds: Annotated[int, typer.Option(min=1, help="How many worlds are drawn.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the worlds.")] = 0,
    budget: Annotated[int, typer.Option(min=1, help="Trials after which a run is cut.")] = 2_000_000,
    seconds: Annotated[
        float, typer.Option(min=0, help="Seconds after which the answer is given from what was played; 0 for no limit.")
    ] = 20.0,
    as_json: AsJson = False,
) -> None:
    """Guess how many trials a problem will need, from simulated worlds on its graph."""
    from surepath.simulation.estimate import estimate as guess

    found = open_noisy(problem, sigma)
    with _bar(as_json, worlds) as report:
        answer = guess(
            found.mdp,
            asked("epsilon", epsilon, found.epsilon),
            asked("delta", delta, found.delta),
            sigma,
            spread=spread,
            ties=ties,
            scatter=scatter,
            dependence=dependence or found.dependence or "any",
            instance=found.instance,
            worlds=worlds,
            seed=seed,
            budget=budget,
            seconds=seconds or None,
            progress=report,
        )
    if as_json:
        print_json({"problem": problem, "simulated": True, **estimate_data(answer, trials)})
    else:
        print_estimate(answer, problem, trials)


@contextlib.contextmanager
def _bar(quiet: bool, worlds: int) -> Iterator[Callable[[int, int], None]]:
    """Show the worlds done and the elapsed time, on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, quiet=quiet)
    if not console.is_terminal:
        yield lambda done, total: None
        return
    columns = (TextColumn("worlds"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        line = bar.add_task("worlds", total=worlds)
        yield lambda done, total: bar.update(line, completed=done)


def estimate_data(answer: Estimate, trials: int | None = None) -> dict[str, Any]:
    """Return the estimate as plain values; null where most runs were cut."""
    return {
        **answer.settings,
        "means": answer.worlds.in_words(),
        "means_drawn_from": [float(answer.worlds.low.min()), float(answer.worlds.high.max())],
        "curve": [dict(zip(("epsilon", "median", "low", "high"), point)) for point in answer.curve],
        **({} if trials is None else {"trials": trials, "epsilon_for_trials": answer.epsilon_for(trials)}),
        "estimates": {
            name: {
                "median": answer.quantile(name, 0.5),
                "low": answer.quantile(name, 0.1),
                "high": answer.quantile(name, 0.9),
                "worlds": len(answer.trials[name]),
                "cut": int(answer.censored[name].sum()),
                "trials": answer.trials[name],
            }
            for name in answer.trials
        },
    }


def print_estimate(answer: Estimate, problem: str, budget: int | None = None) -> None:
    """Print a short table, and how to read it."""
    from rich.console import Console
    from rich.table import Table

    about = answer.settings

    def trials(name: str, share: float) -> str:
        value = answer.quantile(name, share)
        return f"{value:,.0f}" if value < float("inf") else f"over {answer.at_least(name, share):,}"

    console = Console(highlight=False)
    low, high = about["sigma"]
    noise = f"{high:g}" if low >= high else f"{low:g} to {high:g}"
    said = "noise to be learned within the declared range" if about["learned"] else f"sigma {noise}"
    asks = f"epsilon {about['epsilon']:g}, delta {about['delta']:g}, {said}"
    console.print(f"{shown(problem)}: {asks}", markup=False)
    table = Table("trials to expect", "median", "10 %", "90 %", "worlds", box=None, pad_edge=False)
    for name in answer.trials:
        cells = [trials(name, share) for share in (0.5, 0.1, 0.9)]
        table.add_row(name, *cells, str(len(answer.trials[name])), style="bold" if name == "Challenger" else None)
    for column in table.columns[1:]:
        column.justify = "right"
    console.print(table)
    played = max(len(found) for found in answer.trials.values())
    if about["out_of_time"]:
        console.print(
            f"In {about['seconds']:g} seconds {played} of {about['worlds']} worlds were played, the last in part; "
            "give more time with --seconds."
        )
    _print_curve(console, answer)
    if budget is not None:
        bought = answer.epsilon_for(budget)
        words = "less than the largest epsilon above" if bought is None else f"an epsilon of about {bought:.3g}"
        console.print(f"{budget:,} trials buy {words}, in half of the worlds.")
    console.print(
        f"A guess from {played} simulated runs on this graph, with {answer.worlds.in_words()} and "
        f"{_simulated_noise(about)}. If your true means lie closer together or further apart, say so with --spread; "
        "if many options are about as good as each other, with --ties. In 10 % and 90 % of the runs it took no more "
        "than shown; the certificate you will get does not depend on this guess."
    )


def _simulated_noise(about: dict[str, Any]) -> str:
    """Describe the noise that was simulated."""
    worst = "; the worst noise is the most that the range allows, half of it" if about["learned"] else ""
    if about["own_law"]:
        return f"scores drawn by its law{worst}"
    if about["scatter"] is None:
        return "Gaussian noise"
    low, high = about["scatter"]
    size = f"{high:.3g}" if low >= high else f"{low:.3g} to {high:.3g}"
    whose = "as you expect" if about["scatter_given"] else "a fifth of the range; say what you expect with --scatter"
    return f"scores that scatter by {size} within their range ({whose}){worst}"


def _print_curve(console: Any, answer: Estimate) -> None:
    """Show what each epsilon costs, with bars on a logarithmic scale."""
    from math import isfinite, log

    from rich.table import Table

    known = [median for _, median, _, _ in answer.curve if isfinite(median)]
    if not known:
        return
    table = Table("epsilon", "trials", "10 %", "90 %", "", box=None, pad_edge=False, title=None)
    for column in table.columns[:4]:
        column.justify = "right"
    most, least = log(max(known) + 1), log(min(known) + 1)
    for epsilon, *costs in answer.curve:
        cells = [f"{cost:,.0f}" if isfinite(cost) else "cut" for cost in costs]
        share = (log(costs[0] + 1) - least) / (most - least or 1.0) if isfinite(costs[0]) else 1.0
        asked = abs(epsilon - answer.settings["epsilon"]) < 1e-12
        table.add_row(f"{epsilon:.3g}", *cells, "▇" * (1 + round(29 * share)), style="bold" if asked else None)
    console.print(f"\nWhat {next(iter(answer.trials))} needs for each epsilon, each played alone in the same worlds:")
    console.print(table)
