"""`surepath study renew`: keep trials that take longer."""

from __future__ import annotations

import typer

from surepath.cli._output import AsJson, print_json
from surepath.cli.study import study
from surepath.cli.study._open import DEFAULT_STORAGE, Name, Numbers, Storage, load, trial_row


@study.command("renew")
def renew(numbers: Numbers, storage: Storage = DEFAULT_STORAGE, name: Name = None, as_json: AsJson = False) -> None:
    """Extend the leases of running trials from now."""
    from surepath.study.lease import in_words
    from surepath.study.telling import refuse_settled

    found = load(storage, name)
    for number in numbers:
        refuse_settled(trial_row(found, number))  # all are checked before anything changes
    until = {number: found.renew(number) for number in numbers}
    if as_json:
        print_json({"lease_until": until})
        return
    for number in until:
        typer.echo(f"trial {number}: {in_words(found.options.lease)} from now")
