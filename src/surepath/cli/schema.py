"""`surepath schema`: the JSON schema of problem files."""

from __future__ import annotations

from surepath.cli._output import AsJson, print_json
from surepath.cli.main import app


@app.command()
def schema(as_json: AsJson = False) -> None:
    """Print the JSON schema of problem files (it is JSON with or without --json)."""
    from surepath.model.sources.problem_schema import problem_schema

    print_json(problem_schema())
