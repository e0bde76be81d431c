"""`surepath demo`: the embedded support-ticket workflow solved step by step, and what it cost."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from math import isfinite, log
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from surepath._text import shown
from surepath.cli.main import AsJson, app, print_json, say, this_program

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

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
    made, gaps = new_study(instance, study), list[float]()
    with View(console, pause=not fast) as view:
        for learner in trials(made, instance, seed):
            gaps.append(learner.certified_gap())
            view.show(learner, gaps[-1])
    others = kept()
    cost = {**{name: figure["trials"] for name, figure in others.items()}, "challenger": len(gaps)}
    facts = {**_facts(made.learner, instance, cost, gaps, seed), "compared_with": others}
    facts["study"] = None if study is None else {"file": str(study), "name": made.name}
    if as_json:
        print_json(facts)
        return
    _closing(console, facts, cost)
    _what_next(console, study)


def trials(study: Study, instance: Instance, seed: int, pause: float = 0.0) -> Iterator[Challenger]:
    """Ask, draw scores and tell until the answer is proven; yield the learner after each trial."""
    import numpy as np

    rng = np.random.default_rng(seed)
    while not study.done:
        trial = study.ask(worker="demo")
        time.sleep(pause)
        study.tell(trial, drawn_scores(instance, trial.path, rng))
        yield study.learner


def drawn_scores(instance: Instance, path: Any, rng: Any) -> Any:
    """Draw the scores of one ticket: how hard it is goes into all of them."""
    ticket = DIFFICULTY**0.5 * rng.standard_normal()
    return instance.means[path] + instance.sigma[path] * (
        ticket + (1 - DIFFICULTY) ** 0.5 * rng.standard_normal(len(path))
    )


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
    from surepath.cli.problem import summary
    from surepath.model.files import Problem

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
        "with noise (sigma 0.1), half of whose variance is how hard the ticket is: its steps share that.\n"
        "Wanted: a plan within 0.3 of the best, wrong with probability at most 0.1.\n"
    )


def _closing(console: Console, facts: dict[str, Any], cost: dict[str, Any]) -> None:
    answer, alone, trials = facts["answer"], facts["step_by_step"], cost["challenger"]
    if not console.is_terminal:
        console.print("\nchosen: " + " > ".join(step["action"] for step in answer["plan"]), markup=False)
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
    console.print(
        "[bold]What this guarantee costs[/bold] (others simulated beforehand, with independent steps; log scale)"
    )
    console.print(cost_table(rows, float(trials)))


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


class View:
    """Shows a learner after each trial; a context manager."""

    def __init__(self, console: Console, *, pause: bool) -> None:
        self.console, self.pause = console, pause and console.is_terminal
        self.first = 0.0  # the first certified gap: the full length of the bar
        self.live: Live | None = None

    def __enter__(self) -> View:
        if self.console.is_terminal:
            from rich.live import Live

            self.live = Live(console=self.console, auto_refresh=False)
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()

    def show(self, learner: Challenger, gap: float) -> None:
        """Show the learner after a trial, with the certified gap of the current plan."""
        if isfinite(gap) and self.first == 0.0:
            self.first = gap
        if self.live is not None:
            self.live.update(self.picture(learner, gap), refresh=True)
            time.sleep(TERMINAL_PACE if self.pause else 0.0)
        elif learner.episodes % TRIALS_A_LINE == 0 or learner.stopped:
            self.console.print(f"trial {learner.episodes:>4}: {_so_far(learner, gap)}", markup=False)

    def picture(self, learner: Challenger, gap: float) -> Group:
        """Return the current plan step by step, and the bar."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        mdp = learner.mdp
        title = "the plan chosen" if learner.stopped else "the current plan"
        table = Table(title=f"{title} after {learner.episodes} trials", title_justify="left", box=None, pad_edge=False)
        table.add_column("step", style="dim", min_width=20)
        table.add_column("option", style="bold green" if learner.stopped else "bold", min_width=27)
        table.add_column("score", justify="right", min_width=6)
        table.add_column("times tried", justify="right")
        for step, arc in zip(mdp.step_labels or (), learner.recommend().tolist()):
            tried = int(learner.visits[arc])
            score = f"{learner.means[arc]:.2f}" if tried else "-"
            table.add_row(step, Text(mdp.action_label(arc)), score, str(tried))
        return Group(table, Text(), self.bar(learner, gap))

    def bar(self, learner: Challenger, gap: float) -> Text:
        """Return the certified gap, full length at the first one known, with a mark at epsilon."""
        from rich.text import Text

        if not isfinite(gap):
            return Text(_so_far(learner, gap), "dim")
        epsilon, done = learner.epsilon, gap <= learner.epsilon
        mark, length = (round(BAR * min(1.0, size / self.first)) for size in (epsilon, gap))
        text = Text("proven within  ")
        for i in range(BAR):
            if i == mark:
                text.append("│", "bold")
            full = i < max(1, length)
            text.append("█" if full else "·", ("green" if done else "yellow") if full else "dim")
        text.append(f"  {gap:.3f} of the best", "bold green" if done else "bold")
        return text.append(f" (wanted {epsilon:g})", "dim")


def _so_far(learner: Challenger, gap: float) -> str:
    if not isfinite(gap):
        untried = int((learner.visits == 0).sum())
        return f"{untried} of {learner.mdp.n_arcs} scores never seen, nothing proven yet"
    return f"the current plan is proven within {gap:.3f} of the best{'; that is enough' if learner.stopped else ''}"


def cost_table(rows: list[tuple[str, float, str]], ours: float) -> Table:
    """Return the trials by method, with a bar on a logarithmic scale and the ratio to ours."""
    from rich.table import Table
    from rich.text import Text

    table = Table("method", "trials", "", "", "", box=None, pad_edge=False)
    table.columns[1].justify = table.columns[2].justify = "right"
    top = max(trials for _, trials, _ in rows)
    for name, trials, remark in rows:
        style = "bold green" if trials == ours else ""
        bar = "█" * max(1, round(12 * log(max(2.0, trials)) / log(top)))
        ratio = f"{trials / ours:,.0f}x" if trials > ours else ""
        table.add_row(Text(name, style), Text(f"{trials:,.0f}", style), ratio, Text(bar, style or "dim"), remark)
    return table


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


def kept() -> dict[str, dict[str, Any]]:
    """Read each figure that is kept: its trials and the settings that made them."""
    found: dict[str, dict[str, Any]] = json.loads(COSTS_FILE.read_text("utf-8"))
    return found
