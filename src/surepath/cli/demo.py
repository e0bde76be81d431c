"""`surepath demo`: the embedded support-ticket workflow, its picture and its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from surepath.cli._output import AsJson, print_json
from surepath.cli.main import app


@app.command()
def demo(
    draw: Annotated[
        Path | None, typer.Option("--draw", help="Write a picture of the graph: .png, .svg or .pdf.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the embedded example: an LLM workflow that answers support tickets."""
    import numpy as np

    from surepath.cli._describe import lines, overview, plan_in_words, summary
    from surepath.model.families import support_tickets
    from surepath.model.files import Problem

    instance = support_tickets()
    mdp, node, greedy = instance.mdp, 0, []
    for _ in range(mdp.horizon):
        arcs = np.arange(mdp.first[node], mdp.first[node + 1])
        greedy.append(int(arcs[np.argmax(instance.gains[arcs])]))
        node = int(mdp.target[greedy[-1]])
    about = ("Scores are simulated from a table in the package; no model was run.",)
    problem = Problem(mdp, instance, epsilon=0.3, delta=0.1, name="support tickets", about=about)
    if draw is not None:
        from surepath.plots.graph import draw_graph

        draw_graph(mdp, draw, best=instance.best_path())
    alone: dict[str, Any] = {
        "plan": [{"state": state, "action": action} for state, action in mdp.path_labels(greedy)],
        "return": instance.value_of(greedy),
        "short_of_best": instance.regret_of(greedy),
    }
    if as_json:
        print_json({**summary(problem), "step_by_step": alone, "simulated": True})
        return
    text = [*lines(problem), "", *overview(mdp, instance.best_path().tolist()), ""]
    text.append(f"choosing the best option of each step in turn ends {alone['short_of_best']:.3f} below the best plan:")
    text.append("       " + plan_in_words([step["action"] for step in alone["plan"]]))
    if draw is not None:
        text.append(f"drawn in {draw}")
    typer.echo("\n".join(text))
