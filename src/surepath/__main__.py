"""`python -m surepath` is the `surepath` command."""

from surepath.cli.main import run

run()
