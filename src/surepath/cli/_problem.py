"""Problems named on the command line: a file, or the id of an instance; and what is asked of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from surepath.model.sources.files import Problem

Epsilon = Annotated[
    float | None, typer.Option(help="How far from the best the answer may be; by default what the file asks.")
]
Delta = Annotated[
    float | None, typer.Option(help="Allowed probability of a wrong answer; by default what the file asks.")
]
Sigma = Annotated[
    float | None,
    typer.Option(help="Noise of every option, in place of the file's; needed where it declares none."),
]
Direction = Annotated[str | None, typer.Option(help="For a CSV that does not say it: maximize or minimize.")]


def open_noisy(name: str, direction: str | None, sigma: float | None) -> Problem:
    """Open a problem as `open_problem` does, with its noise: declared by the problem, else by --sigma."""
    from surepath.errors import NoiseError

    try:
        found = open_problem(name, direction, sigma)
        missing = found.mdp.noise_missing(f"the problem file {Path(name).name}")
        if missing is not None and found.instance is None and sigma is None:
            raise NoiseError(missing)
    except NoiseError as error:
        raise typer.BadParameter(f"{error}. On the command line, give --sigma") from None
    return found


def open_problem(name: str, direction: str | None = None, sigma: float | None = None) -> Problem:
    """Read a problem file, or build the instance whose id this is ("chain-v1/n8k4/seed7")."""
    from surepath.errors import ProblemError
    from surepath.model.families import FAMILIES, from_id
    from surepath.model.sources.files import Problem, load_problem

    path = Path(name)
    if re.match(r"\w+-v\d+(/|$)", name) and not path.exists():
        instance = from_id(name)
        if direction not in (None, instance.mdp.direction):
            raise ProblemError(f'{name} says "{instance.mdp.direction}"; direction is for CSV tables')
        return Problem(instance.mdp, instance, name=name)
    family = FAMILIES.get(name.partition("/")[0])
    if family is not None and family.build is not None and not path.exists():
        raise ProblemError(f"there is no file {name}; ids of instances have a version, such as {family.build().id}")
    return load_problem(path, direction=direction, sigma=sigma)
