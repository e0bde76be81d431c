"""`surepath demo`: the embedded support-ticket workflow solved step by step, and what it cost."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from math import isfinite, log
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from surepath._text import many, shown
from surepath.cli.main import AsJson, app, print_json, say, this_program

if TYPE_CHECKING:
    from rich.console import Console, Group

    from surepath.learners.challenger.learner import Challenger
    from surepath.model.worlds import Instance
    from surepath.study.study import Study


@app.command()
def demo(
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulated scores.")] = 0,
    fast: Annotated[bool, typer.Option("--fast", help="No pauses between trials.")] = False,
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
    from surepath.model.families import support_tickets

    seed_number(seed)
    instance = support_tickets()
    if serve:
        _serve(instance, study or Path(DEMO_FILE), port, seed, 0.0 if fast else STUDY_PACE, as_json)
        return
    console = Console(highlight=False, quiet=as_json)
    console.print(_opening(instance))
    made = new_study(instance, study)
    gaps = watched(console, trials(made, instance, seed), pause=not fast)
    facts = _facts(made.learner, instance, gaps, seed)
    facts["study"] = None if study is None else {"file": str(study), "name": made.name}
    if as_json:
        print_json(facts)
        return
    _closing(console, facts)
    _what_next(console, study)


def trials(study: Study, instance: Instance, seed: int, pause: float = 0.0) -> Iterator[Challenger]:
    """Ask, draw scores and tell until the answer is proven; yield the learner after each trial."""
    import numpy as np

    rng = np.random.default_rng(seed)
    while not study.done:
        trial = study.ask(worker="demo")
        time.sleep(pause)
        ticket, own = rng.standard_normal(), rng.standard_normal(len(trial.path))
        noise = (
            DIFFICULTY**0.5 * ticket + (1 - DIFFICULTY) ** 0.5 * own
        )  # how hard a ticket is goes into all its scores
        study.tell(trial, instance.means[trial.path] + instance.sigma[trial.path] * noise)
        yield study.learner


def _facts(learner: Challenger, instance: Instance, gaps: list[float], seed: int) -> dict[str, Any]:
    import numpy as np

    from surepath._version import __version__
    from surepath.cli.problem import summary
    from surepath.model.files import Problem
    from surepath.model.paths import follow

    mdp, others = instance.mdp, kept()

    def judged(path: Any) -> dict[str, Any]:
        steps = [{"state": state, "action": action} for state, action in mdp.path_labels(path)]
        return {"plan": steps, "return": instance.value_of(path), "short_of_best": instance.regret_of(path)}

    answer = learner.recommend()
    return {
        **summary(Problem(mdp, instance, learner.epsilon, learner.delta, name="support tickets", about=(SIMULATED,))),
        "simulated": True,
        "seed": seed,
        "version": __version__,
        "learner": learner.settings(),
        "trials": {**{name: figure["trials"] for name, figure in others.items()}, "challenger": len(gaps)},
        "answer": {
            **judged(answer),
            "certified_gap": gaps[-1],
            "correct": instance.regret_of(answer) <= learner.epsilon + 1e-12,
        },
        "gap_after_each_trial": gaps,
        "step_by_step": judged(follow(mdp, instance.gains, np.zeros(mdp.n_nodes + 1))),  # the best of each in turn
        "compared_with": others,
    }


def _opening(instance: Instance) -> str:
    mdp = instance.mdp
    return (
        "[bold]An LLM workflow that answers support tickets[/bold]\n"
        f"[yellow]{SIMULATED}[/yellow]\n"
        f"{mdp.horizon} steps with 4 options each make {mdp.n_paths:,} plans. An option's score depends on the "
        f"option before it, so there are {mdp.n_arcs} scores to learn. A trial runs one plan and scores every step, "
        "with noise (sigma 0.1), half of whose variance is how hard the ticket is: its steps share that.\n"
        "Wanted: a plan within 0.3 of the best, wrong with probability at most 0.1.\n"
    )


def _closing(console: Console, facts: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    answer, alone, cost = facts["answer"], facts["step_by_step"], facts["trials"]
    if not console.is_terminal:
        console.print("\nchosen: " + " > ".join(step["action"] for step in answer["plan"]), markup=False)
    console.print(
        f"\n[bold]Certificate.[/bold] After {cost['challenger']} trials this plan is proven within "
        f"{answer['certified_gap']:.3f} of the best of all {facts['plans']:,}, "
        "with probability at least 0.9 whatever the true scores are."
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
        ("whole plans, one by one", "whole_plans", f"{each:.1f} trials a plan"),
        ("EPRL, the paper's", "eprl", "bounds each score alone"),
        ("Challenger, this run", "challenger", "bounds plan differences"),
        ("limit, the best itself", "limit_of_the_best", "any method, epsilon 0"),
        ("limit, within 0.3", "limit", "any method"),
    ]
    console.print(
        "[bold]What this guarantee costs[/bold] (others simulated beforehand, with independent steps; log scale)"
    )
    table = Table("method", "trials", "", "", "", box=None, pad_edge=False)
    table.columns[1].justify = table.columns[2].justify = "right"
    for name, method, remark in rows:
        trials, style = cost[method], "bold green" if method == "challenger" else ""
        bar = "█" * max(1, round(12 * log(max(2.0, trials)) / log(cost["whole_plans"])))
        ratio = f"{trials / cost['challenger']:,.0f}x" if trials > cost["challenger"] else ""
        table.add_row(Text(name, style), Text(f"{trials:,.0f}", style), ratio, Text(bar, style or "dim"), remark)
    console.print(table)


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


BAR = 28  # characters of the bar
TERMINAL_PACE = 0.035  # seconds a trial on a terminal: about four seconds in all
TRIALS_A_LINE = 10  # trials between two plain lines


def watched(console: Console, played: Iterator[Challenger], *, pause: bool) -> list[float]:
    """Show the learner after each trial; return the certified gaps."""
    from rich.live import Live

    gaps: list[float] = []
    with Live(console=console, auto_refresh=False) if console.is_terminal else contextlib.nullcontext() as live:
        for learner in played:
            gaps.append(learner.certified_gap())
            if live is not None:
                live.update(_picture(learner, gaps), refresh=True)
                time.sleep(TERMINAL_PACE if pause else 0.0)
            elif learner.episodes % TRIALS_A_LINE == 0 or learner.stopped:
                console.print(f"trial {learner.episodes:>4}: {_so_far(learner, gaps[-1])}", markup=False)
    return gaps


def _picture(learner: Challenger, gaps: list[float]) -> Group:
    """Return the current plan step by step, and the bar of the certified gap, full at the first one known."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    mdp, gap, epsilon = learner.mdp, gaps[-1], learner.epsilon
    title = "the plan chosen" if learner.stopped else "the current plan"
    table = Table(
        title=f"{title} after {many(learner.episodes, 'trial')}", title_justify="left", box=None, pad_edge=False
    )
    table.add_column("step", style="dim", min_width=20)
    table.add_column("option", style="bold green" if learner.stopped else "bold", min_width=27)
    table.add_column("score", justify="right", min_width=6)
    table.add_column("times tried", justify="right")
    for step, arc in zip(mdp.step_labels or (), learner.recommend().tolist()):
        tried = int(learner.visits[arc])
        table.add_row(step, Text(mdp.action_label(arc)), f"{learner.means[arc]:.2f}" if tried else "-", str(tried))
    if not isfinite(gap):
        return Group(table, Text(), Text(_so_far(learner, gap), "dim"))
    mark, length = (round(BAR * min(1.0, size / next(filter(isfinite, gaps)))) for size in (epsilon, gap))
    text = Text("proven within  ")
    for i in range(BAR):
        text.append("│" if i == mark else "", "bold")
        full = i < max(1, length)
        text.append("█" if full else "·", ("green" if gap <= epsilon else "yellow") if full else "dim")
    text.append(f"  {gap:.3f} of the best", "bold green" if gap <= epsilon else "bold")
    return Group(table, Text(), text.append(f" (wanted {epsilon:g})", "dim"))


def _so_far(learner: Challenger, gap: float) -> str:
    if not isfinite(gap):
        untried = int((learner.visits == 0).sum())
        return f"{untried} of {learner.mdp.n_arcs} scores never seen, nothing proven yet"
    return f"the current plan is proven within {gap:.3f} of the best{'; that is enough' if learner.stopped else ''}"


DEMO_FILE = "surepath-demo.db"
DEMO_NAME = "support tickets"
STUDY_PACE = 0.4  # seconds a trial: about half a minute in all
POLL = 0.2  # seconds between two checks whether somebody watches


def new_study(instance: Instance, file: Path | None) -> Study:
    """Create the study in a file, under a name that is still free there; in memory where no file is wanted."""
    from surepath.study.storage import open_storage
    from surepath.study.study import Study

    place = open_storage("memory" if file is None else f"sqlite:///{file}")
    taken = place.names() if file is not None and file.exists() else []
    names = (DEMO_NAME if n == 1 else f"{DEMO_NAME} {n}" for n in range(1, len(taken) + 2))
    name = next(name for name in names if name not in taken)
    return Study.create(instance.mdp, place, name, epsilon=DEMO_EPSILON, delta=DEMO_DELTA)


def _serve(instance: Instance, file: Path, port: int, seed: int, pause: float, as_json: bool) -> None:
    """Serve the file's studies, and play a new one on the page as soon as somebody watches."""
    from surepath._optional import need
    from surepath.cli.study import page_links

    need("fastapi", "web")
    need("uvicorn", "web")
    from surepath.web.server import serve

    study = new_study(instance, file)

    def started(address: str, access: Any, app: Any) -> None:
        if as_json:
            tokens = {"read_token": access.read_token, "write_token": access.write_token}
            where = {"file": str(file), "name": study.name}
            print_json({"address": address, **tokens, "study": where, "simulated": True})
        else:
            say("An LLM workflow that answers support tickets; scores are simulated, no model was run.")
            say("Open the page: the first trial begins when it is open.\n")
            say("\n".join(page_links(address, access, f"&study={quote(study.name)}")))
            say(f"the study stays in {shown(file)}")

        def play() -> None:
            while not app.state.watchers.watched(study.name):
                time.sleep(POLL)
            for _ in trials(study, instance, seed, pause):
                pass

        threading.Thread(target=play, daemon=True).start()

    serve(f"sqlite:///{file}", port=port, started=started)


# What other ways of testing cost here; the figures depend on their own seeds alone, so they are computed once and
# shipped: `python -m benchmarks.demo_costs` writes the file anew, and a test recomputes it.
COSTS_FILE = Path(__file__).with_name("demo_costs.json")
DEMO_EPSILON, DEMO_DELTA = 0.3, 0.1
DIFFICULTY = 0.5  # the part of a score's variance that the ticket decides
SIMULATED = "Scores are simulated from a table in the package; no model was run."


def kept() -> dict[str, dict[str, Any]]:
    """Read each figure that is kept: its trials and the settings that made them."""
    found: dict[str, dict[str, Any]] = json.loads(COSTS_FILE.read_text("utf-8"))
    return found
