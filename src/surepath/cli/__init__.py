"""The command line: importing a chapter registers its commands, in the order of the help page."""

import importlib

for _chapter in ("main", "demo", "problem", "lab", "study", "trials"):
    importlib.import_module(f"surepath.cli.{_chapter}")
