"""`surepath demo`: the embedded support-ticket workflow solved step by step, and what it cost."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surepath._text import shown
from surepath.cli._output import AsJson, print_json, this_program
from surepath.cli.main import app

if TYPE_CHECKING:
    from rich.console import Console

    from surepath.learners.challenger import Challenger
    from surepath.model.instance import Instance
    from surepath.study.study import Study


@app.command()
def demo(
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulated scores.")] = 0,
    fast: Annotated[bool, typer.Option("--fast", help="No pauses between trials.")] = False,
    draw: Annotated[
        Path | None, typer.Option("--draw", help="Write a picture of the graph: .png, .svg or .pdf.")
    ] = None,
    study: Annotated[
        Path | None, typer.Option("--study", help="Leave the study behind in this file; --serve leaves one anyway.")
    ] = None,
    serve: Annotated[bool, typer.Option("--serve", help="Play it slowly on the live page, in the browser.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0 takes a free one.")] = 8700,
    as_json: AsJson = False,
) -> None:
    """Solve the embedded example, an LLM workflow that answers support tickets, and show what it cost."""
    from rich.console import Console

    from surepath._checks import seed_number
    from surepath.cli._demo_costs import DEMO_DELTA, DEMO_EPSILON, kept
    from surepath.cli._demo_study import DEMO_FILE, STUDY_PACE, new_study, serve_demo
    from surepath.model.families import support_tickets

    seed_number(seed)
    instance = support_tickets()
    if serve:
        file = study or Path(DEMO_FILE)
        settings = (DEMO_EPSILON, DEMO_DELTA)
        pause = 0.0 if fast else STUDY_PACE
        serve_demo(instance, file, port, seed, pause, settings, partial(_served, instance, file, as_json))
        return
    if draw is not None:
        from surepath.plots import draw_graph, save

        save(draw_graph(instance.mdp, instance.best_path()), draw)
    console = Console(highlight=False, quiet=as_json)
    console.print(_opening(instance))
    kept_in = new_study(instance, study, DEMO_EPSILON, DEMO_DELTA)
    gaps = _solve(kept_in, instance, seed, console, pause=not fast)
    learner = kept_in.learner
    others = kept()
    cost = {**{name: figure["trials"] for name, figure in others.items()}, "challenger": learner.episodes}
    facts = {**_facts(learner, instance, cost, gaps, seed), "compared_with": others}
    facts["study"] = None if study is None else {"file": str(study), "name": kept_in.name}
    if as_json:
        print_json(facts)
        return
    _closing(console, facts, cost)
    _what_next(console, study)
    if draw is not None:
        console.print(f"drawn in {shown(draw)}", markup=False)


def _solve(study: Study, instance: Instance, seed: int, console: Console, *, pause: bool) -> list[float]:
    """Ask, draw scores, tell, until the answer is proven; returns the certified gap after each trial."""
    import numpy as np

    from surepath.cli._demo_view import View

    rng, gaps = np.random.default_rng(seed), []
    with View(console, study.learner, pause=pause) as view:
        while not view.learner.stopped:
            trial = study.ask(worker="demo")
            plan = trial.path
            study.tell(trial, instance.means[plan] + instance.sigma[plan] * rng.standard_normal(len(plan)))
            view.learner = study.learner
            gaps.append(view.learner.certified_gap())
            view.show(gaps[-1])
    return gaps


def _step_by_step(instance: Instance) -> list[int]:
    """Return the plan of somebody who takes the best option of each step in turn."""
    import numpy as np

    mdp, node, path = instance.mdp, 0, []
    for _ in range(mdp.horizon):
        arcs = np.arange(mdp.first[node], mdp.first[node + 1])
        path.append(int(arcs[np.argmax(instance.gains[arcs])]))
        node = int(mdp.target[path[-1]])
    return path


def _facts(
    learner: Challenger, instance: Instance, cost: dict[str, Any], gaps: list[float], seed: int
) -> dict[str, Any]:
    from surepath._version import __version__
    from surepath.cli._describe import summary
    from surepath.model.sources.files import Problem

    about = ("Scores are simulated from a table in the package; no model was run.",)
    problem = Problem(instance.mdp, instance, learner.epsilon, learner.delta, name="support tickets", about=about)

    def judged(path: Any) -> dict[str, Any]:
        steps = [{"state": state, "action": action} for state, action in instance.mdp.path_labels(path)]
        return {"plan": steps, "return": instance.value_of(path), "short_of_best": instance.regret_of(path)}

    answer = learner.recommend()
    regret = instance.regret_of(answer)
    return {
        **summary(problem),
        "simulated": True,
        "seed": seed,
        "version": __version__,
        "learner": learner.settings(),
        "trials": cost,
        "answer": {**judged(answer), "certified_gap": gaps[-1], "correct": regret <= learner.epsilon + 1e-12},
        "gap_after_each_trial": gaps,
        "step_by_step": judged(_step_by_step(instance)),
    }


def _opening(instance: Instance) -> str:
    mdp = instance.mdp
    return (
        "[bold]An LLM workflow that answers support tickets[/bold]\n"
        "[yellow]Scores are simulated from a table in the package; no model was run.[/yellow]\n"
        f"{mdp.horizon} steps with 4 options each make {mdp.n_paths:,} plans. An option's score depends on the "
        f"option before it, so there are {mdp.n_arcs} scores to learn. A trial runs one plan and scores every step, "
        "with noise (sigma 0.1).\n"
        "Wanted: a plan within 0.3 of the best, wrong with probability at most 0.1.\n"
    )


def _closing(console: Console, facts: dict[str, Any], cost: dict[str, Any]) -> None:
    from surepath.cli._demo_view import cost_table

    answer, alone, trials = facts["answer"], facts["step_by_step"], cost["challenger"]
    if not console.is_terminal:
        console.print(
            "\nchosen: " + " > ".join(step["action"] for step in answer["plan"]), soft_wrap=True, markup=False
        )
    console.print(
        f"\n[bold]Certificate.[/bold] After {trials} trials this plan is proven within {answer['certified_gap']:.3f} "
        f"of the best of all {facts['plans']:,}, with probability at least 0.9 whatever the true scores are."
    )
    verdict = "[green]right[/green]" if answer["correct"] else "[red]wrong, as 1 run in 10 may be[/red]"
    short = "the best there is" if answer["short_of_best"] < 1e-9 else f"{answer['short_of_best']:.3f} below the best"
    console.print(
        f"[bold]Check.[/bold] By the table, which the learner never saw, that is {verdict}: the plan's true score is "
        f"{answer['return']:.3f}, {short}. Taking the best option of each step in turn would end "
        f"{alone['short_of_best']:.3f} below it.\n"
    )
    each = cost["whole_plans"] / facts["plans"]
    rows = [
        ("whole plans, one by one", cost["whole_plans"], f"{each:.1f} trials a plan"),
        ("EPRL, the paper's", cost["eprl"], "bounds each score alone"),
        ("Challenger, this run", float(trials), "bounds plan differences"),
        ("limit, the best itself", cost["limit_of_the_best"], "any method, epsilon 0"),
        ("limit, within 0.3", cost["limit"], "any method"),
    ]
    console.print("[bold]What this guarantee costs[/bold] (others simulated beforehand; bars on a logarithmic scale)")
    console.print(cost_table(rows, float(trials)))


def _served(instance: Instance, file: Path, as_json: bool, address: str, access: Any, name: str) -> None:
    """Print where the page is."""
    from urllib.parse import quote

    from surepath.cli.serve import lines

    if as_json:
        tokens = {"read_token": access.read_token, "write_token": access.write_token}
        print_json({"address": address, **tokens, "study": {"file": str(file), "name": name}, "simulated": True})
        return
    typer.echo("An LLM workflow that answers support tickets; scores are simulated, no model was run.")
    typer.echo("Open the page: the first trial begins when it is open.\n")
    typer.echo("\n".join(lines(address, access, f"&study={quote(name)}")))
    typer.echo(f"the study stays in {shown(file)}")


def _what_next(console: Console, study: Path | None) -> None:
    """Print the commands to try next."""
    program = shown(this_program())
    live = [("demo --serve", "plays this, slowly, on the live page")]
    if study is not None:
        live.append((f"serve {shown(study)}", "shows the study that this run left behind"))
    own = [
        ("new problem.json", "writes a file to fill in"),
        ("estimate problem.json", "says how many trials to expect"),
    ]
    for title, rows in (("Watch it live, in the browser:", live), ("Your own problem:", own)):
        console.print(f"\n[bold]{title}[/bold]")
        for command, what in rows:
            line = f"{program} {command}"
            console.print(f"  {line:<30}  {what}", markup=False, soft_wrap=True)
