"""The package as people get it without extras: built, installed beside its core dependencies only, and used.

The environment is kept under .venv and made again when the pins change; the package is built anew every time, so a
file missing from the wheel shows here.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.throwaway import ROOT, environment

PLACE = ROOT / ".venv" / "bare"
EXTRAS = ("matplotlib", "networkx", "gymnasium", "polars", "pyarrow", "ray", "fastapi", "uvicorn")

# (code, what it must print): imports, the embedded data, and a missing extra named in words.
CHECKS = [
    ("import surepath; print(surepath.__version__ != '')", "True"),
    ("import surepath; print(surepath.families.support_tickets().mdp.n_arcs)", "116"),
    ("from surepath import MDP; print(MDP.from_edges([('a', 'x', 'b')]).n_arcs)", "1"),
    (
        "from surepath import MDP, errors\n"
        "try:\n    MDP.from_networkx(None, 0, 1)\n"
        "except errors.MissingExtraError as error:\n    print(error)",
        "this needs networkx, which is not installed: pip install 'surepath[graph]', "
        "or '.[graph]' in a copy of the repository",
    ),
    (
        "from surepath import MDP, errors\n"
        "try:\n    MDP.from_gymnasium(None, 3)\n"
        "except errors.MissingExtraError as error:\n    print(error)",
        "this needs gymnasium, which is not installed: pip install 'surepath[gym]', "
        "or '.[gym]' in a copy of the repository",
    ),
]


def run(*arguments: str | Path, code: int = 0) -> str:
    """Run a command away from the source tree; its output, when it ends as it should."""
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [str(argument) for argument in arguments]
    answer = subprocess.run(command, env=clean, cwd=PLACE, capture_output=True, text=True, check=False)
    if answer.returncode != code:
        sys.exit(f"{' '.join(command)}\nended with {answer.returncode}, not {code}\n{answer.stdout}{answer.stderr}")
    return answer.stdout + answer.stderr


def core_pins() -> str:
    """The pins of the core dependencies: requirements/core.txt without what only pictures and the page need."""
    text = (ROOT / "requirements" / "core.txt").read_text(encoding="utf-8")
    return re.sub(r"^(?:matplotlib|fastapi|uvicorn)==.*\n(?:    --hash.*\n)*", "", text, flags=re.MULTILINE)


def main() -> None:
    python = environment(PLACE, core_pins())
    pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run(*pip, "--no-deps", "--no-build-isolation", "--force-reinstall", ROOT)
    for name in EXTRAS:
        run(python, "-c", f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is not None)")
    for code, expected in CHECKS:
        if (printed := run(python, "-c", code).strip()) != expected:
            sys.exit(f"{code}\nprinted {printed!r}, not {expected!r}")
    command = PLACE / "bin" / "surepath"
    run(command, "--version")
    run(command, "--help")
    run(command, "show", "chain-v1/n3k2/seed0")
    refused = run(command, "plot", "graph", "chain-v1/n3k2/seed0", code=4)
    if "this needs matplotlib, which is not installed: pip install 'surepath[plot]'" not in refused:
        sys.exit(f"a missing extra must be named; got {refused!r}")
    refused = run(command, "serve", "study.db", code=4)
    if "this needs fastapi, which is not installed: pip install 'surepath[web]'" not in refused:
        sys.exit(f"a missing extra must be named; got {refused!r}")
    print("installed without extras: imports, --version, --help and the messages of missing extras are right")


if __name__ == "__main__":
    main()
