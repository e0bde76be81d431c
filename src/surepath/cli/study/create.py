"""`surepath study create`: freeze a problem and what is asked of it, and make an empty log."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from surepath._text import many, shown
from surepath.cli._output import AsJson, print_json
from surepath.cli._problem import Delta, Direction, Epsilon, Sigma, open_noisy, open_problem
from surepath.cli.study import study
from surepath.cli.study._open import DEFAULT_STORAGE, Storage, again


@study.command("create")
def create(
    problem: Annotated[str, typer.Argument(help="A problem file (.json, .csv) or the id of an instance.")],
    storage: Storage = DEFAULT_STORAGE,
    name: Annotated[str | None, typer.Option(help="Unique in its storage; by default the problem's name.")] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    sigma: Sigma = None,
    direction: Direction = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Setting of the learner, such as sampling=max-diameter; sigma=unknown for Gaussian noise of one size.",
        ),
    ] = None,
    lease: Annotated[
        str, typer.Option(help="How long a trial may stay unreported before its plan is assigned again: 10min, 7d.")
    ] = "10min",
    on_failure: Annotated[
        str, typer.Option(help="leave-out: a failed trial is no evidence; worst: the failed step has its worst score.")
    ] = "leave-out",
    exist_ok: Annotated[
        bool, typer.Option("--exist-ok", help="Accept a study of this name that is the same in all of this.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Create a study; problem, noise, epsilon, delta and learner are frozen from here on."""
    from surepath.cli.simulate import _settings
    from surepath.study.study import Study

    spec: dict[str, Any] = {"name": "challenger", **_settings(setting or [])}
    if sigma is not None and "sigma" in spec:
        raise typer.BadParameter("--sigma declares the noise, --set sigma=unknown says that it is learned: give one")
    made = Study.create(
        open_problem(problem, direction) if "sigma" in spec else open_noisy(problem, direction, sigma),
        storage=storage,
        name=name,
        learner=spec,
        epsilon=epsilon,
        delta=delta,
        sigma=sigma,
        lease=lease,
        on_failure=on_failure,
        exist_ok=exist_ok,
    )
    facts = {"name": made.name, "storage": made.status().storage, "epsilon": made.epsilon, "delta": made.delta}
    if as_json:
        print_json({**facts, "problem_hash": made.record.problem_hash})
        return
    options = again(made, storage)
    typer.echo(
        f"created {shown(made.name)} in {shown(facts['storage'])}: {many(made.mdp.horizon, 'step')}, "
        f"{many(made.mdp.n_arcs, 'option')}; the answer may be {made.epsilon:g} from the best, "
        f"wrong with probability {made.delta:g} at most\n"
        f"run trials with surepath study run{options} --command ..., "
        f"or take them one by one with surepath study ask{options}"
    )
