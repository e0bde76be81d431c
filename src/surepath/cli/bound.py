"""`surepath bound`: every bound of the theory on a problem whose means are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from surepath._text import shown
from surepath.cli._output import AsJson, print_json
from surepath.cli._problem import Delta, Direction, Epsilon, Sigma, open_noisy
from surepath.cli.main import app

if TYPE_CHECKING:
    from surepath.theory.summary import Summary

COSTLIEST = 10  # arcs listed
MOST_ARCS_LISTED = 10_000  # arcs that --json lists one by one
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
    direction: Direction = None,
    time: Annotated[
        bool | None, typer.Option("--time/--no-time", help="Compute T*; by default up to 5,000 options.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print how many trials any learner needs, and how many EPRL may need, with the options that cost most."""
    from surepath.errors import ProblemError
    from surepath.theory.summary import summarize

    found = open_noisy(problem, direction, sigma)
    if found.instance is None:
        raise ProblemError(
            f"bounds need the true means, and {problem} gives none; "
            f'give every edge a "mean" (your best guess will do), or simulate one'
        )
    accuracy = asked("epsilon", epsilon, found.epsilon)
    risk = asked("delta", delta, found.delta)
    answer = summarize(found.instance, accuracy, risk, sigma=sigma, time=time)
    if as_json:
        print_json(as_data(answer, problem))
    else:
        print_text(answer, problem)


def asked(name: str, option: float | None, suggested: float | None) -> float:
    """Return what the option says, else what the problem says."""
    value = option if option is not None else suggested
    if value is None:
        raise typer.BadParameter(f"the problem does not say its {name}; give --{name}")
    return value


def costliest(answer: Summary, count: int) -> list[int]:
    """Return the arcs with the largest local bounds, largest first; none that demand nothing."""
    import numpy as np

    local = answer.lower.local
    order = np.argsort(-local, kind="stable")[:count]
    return [int(e) for e in order if local[e] > 0]


def arc_data(answer: Summary, arc: int) -> dict[str, Any]:
    """Return one arc with its gaps and its share of the bound."""
    at, mdp = answer.case, answer.case.mdp
    node, goal = int(mdp.source[arc]), int(mdp.target[arc])
    return {
        "arc": arc,
        "stage": int(mdp.stage_node.searchsorted(node, side="right")) - 1,
        "state": mdp.state_label(node),
        "action": mdp.action_label(arc),
        "next_state": None if goal == mdp.n_nodes else mdp.state_label(goal),
        "deterministic_return_gap": at.gaps.deterministic_return[arc],
        "value_gap": at.gaps.value[arc],
        "demand": answer.lower.local[arc],
        "flow": answer.lower.flow[arc],
        "in_cut": arc in set(answer.lower.cut.tolist()),
    }


def as_data(answer: Summary, problem: str) -> dict[str, Any]:
    """Return the whole answer as plain values; infinite bounds become null with "infinite": true."""
    at = answer.case
    time = answer.time
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
        "bounds": [
            {
                "name": row.name.strip(),
                "kind": row.kind,
                "applies": row.value is not None,
                "value": row.value,
                "infinite": row.value == float("inf"),
                "reading": row.reading,
            }
            for row in answer.rows
        ],
        "characteristic_time": None
        if time is None
        else {"value": time.value, "lower": time.lower, "upper": time.upper, "gap": time.gap, "unique": time.unique},
        "costliest_arcs": [arc_data(answer, arc) for arc in costliest(answer, COSTLIEST)],
        "demand": answer.lower.local if at.mdp.n_arcs <= MOST_ARCS_LISTED else None,
        "cut": answer.lower.cut if at.mdp.n_arcs <= MOST_ARCS_LISTED else None,
    }


def number(value: float | None) -> str:
    """Return a count of trials for people."""
    if value is None:
        return "-"
    if value == float("inf"):
        return "infinite"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def print_text(answer: Summary, problem: str) -> None:
    """Print tables for a terminal."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from surepath.cli._describe import SMALL_GRAPH

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
    for row in answer.rows:
        table.add_row(escape(row.name), row.kind, number(row.value), escape(row.reading))
    console.print(table)
    top = costliest(answer, COSTLIEST)
    if top:
        listing = Table("step", "state", "option", "gap", "trials needed", "in cut", title="options that cost most")
        listing.columns[1].overflow = listing.columns[2].overflow = "fold"
        listing.columns[3].justify = listing.columns[4].justify = "right"
        for arc in top:
            data = arc_data(answer, arc)
            listing.add_row(
                str(data["stage"]),
                escape(shown(data["state"])),
                escape(shown(data["action"])),
                f"{data['deterministic_return_gap']:.4g}",
                number(data["demand"]),
                "yes" if data["in_cut"] else "",
            )
        console.print(listing)
    if at.mdp.n_arcs <= SMALL_GRAPH:
        console.print("\n".join(drawing(answer)), markup=False, soft_wrap=True)
    if any(0 < x < 1 for x in answer.lower.local.tolist()):
        console.print(BELOW_ONE, markup=False)


def drawing(answer: Summary) -> list[str]:
    """Draw the graph in text with the trials each option needs; [ ] marks the best plan, | the cut of the bound."""
    from surepath.cli._describe import step_heading

    mdp, local = answer.case.mdp, answer.lower.local
    best, cut = set(answer.case.gaps.optimal_path.tolist()), set(answer.lower.cut.tolist())
    finite = [x for x in local.tolist() if x < float("inf")]
    largest = max(finite, default=0.0)
    out = ["trials that each option needs ([] best plan, | cut of the bound)"]
    names = [shown(mdp.action_label(arc)) for arc in range(mdp.n_arcs)]
    goals = ["end" if int(v) == mdp.n_nodes else shown(mdp.state_label(int(v))) for v in mdp.target]
    width, reach = 2 + max(map(len, names)), max(map(len, goals))
    for h in range(mdp.horizon):
        out.append(step_heading(mdp, h))
        for node in range(int(mdp.stage_node[h]), int(mdp.stage_node[h + 1])):
            out.append(f"  {shown(mdp.state_label(node))}")
            for arc in range(int(mdp.first[node]), int(mdp.first[node + 1])):
                name = f"[{names[arc]}]" if arc in best else f" {names[arc]} "
                share = 1.0 if local[arc] == float("inf") else local[arc] / largest if largest > 0 else 0.0
                bar = "#" * (round(20 * share) or int(share > 0))
                mark = "|" if arc in cut else " "
                out.append(f"   {mark}{name:<{width}} -> {goals[arc]:<{reach}} {number(float(local[arc])):>10}  {bar}")
    return out
