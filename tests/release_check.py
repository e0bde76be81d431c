"""`make release-check`: what would be released, built and used as strangers get it, away from the repository.

The sdist and the wheel are built, each is installed in an empty environment that holds the pins of
requirements/dev.txt, and there the demo, the examples, the code of the documents and the examples in docstrings run.
The source tree is out of reach: the tests are copied, and a package that is not the installed one is refused.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

from tests.throwaway import ROOT, environment

PINS = "requirements/dev.txt"
# What is copied beside the tests: everything but the package's sources and what is made by working here.
NOT_COPIED = ("src", ".*", "__pycache__", "_build", "_generated", "results", "reproduced", "dist", "*.db*")
CHECKED = ("tests/test_examples.py", "tests/test_documents.py", "tests/test_api_reference.py")
NEEDED = ("surepath/py.typed", "surepath/web/static/index.html")
LEFT_OUT = {".venv", ".git", "__pycache__", "results", "_build"}


def build(folder: Path) -> list[Path]:
    """Build the sdist and the wheel into a folder."""
    for kind in ("sdist", "wheel"):
        call([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)], ROOT)
    return sorted(folder.glob("surepath-*.tar.gz")) + sorted(folder.glob("surepath-*.whl"))


def names_in(artefact: Path) -> list[str]:
    """List the files in an sdist or a wheel."""
    if artefact.suffix == ".whl":
        return zipfile.ZipFile(artefact).namelist()
    with tarfile.open(artefact) as archive:
        return archive.getnames()


def faults(names: list[str]) -> list[str]:
    """Say what an artefact lacks, and what it holds that nobody wants."""
    found = [f"lacks {needed}" for needed in NEEDED if not any(name.endswith(needed) for name in names)]
    strange = [name for name in names if LEFT_OUT & set(Path(name).parts)]
    strange += [name for name in names if name.endswith(".db") and "/tests/data/" not in name]
    return found + [f"holds {name}" for name in strange[:5]]


def call(command: list[str], folder: Path) -> str:
    """Run a command in a folder and show what it says only where it fails."""
    names = ("PYTHONPATH", "VIRTUAL_ENV")
    clean = {key: value for key, value in os.environ.items() if key not in names and not key.startswith("MAKE")}
    answer = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False)
    if answer.returncode:
        sys.exit(f"{' '.join(command)}\nended with {answer.returncode}\n{answer.stdout[-8000:]}{answer.stderr[-8000:]}")
    return answer.stdout


def check(artefact: Path, place: Path) -> None:
    """Install one artefact in an environment of its own and use it."""
    begun = time.monotonic()

    def say(text: str) -> None:
        print(f"   {time.monotonic() - begun:4.0f} s  {text}", flush=True)

    print(f"== {artefact.name}, {artefact.stat().st_size / 1000:,.0f} kB", flush=True)
    if wrong := faults(names_in(artefact)):
        sys.exit(f"{artefact.name} {'; '.join(wrong)}")
    python = environment(place / "environment", (ROOT / PINS).read_text(encoding="utf-8"))
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    call([*pip, "--no-deps", "--no-build-isolation", str(artefact)], place)
    home = call([str(python), "-c", "import surepath; print(surepath.__file__)"], place).strip()
    if not Path(home).is_relative_to(place):
        sys.exit(f"the package in use is {home}, not the one installed from {artefact.name}")
    say("installed")
    work = place / "work"
    shutil.copytree(ROOT, work, ignore=shutil.ignore_patterns(*NOT_COPIED))
    shutil.copytree(ROOT / "tests" / "data", work / "tests" / "data", dirs_exist_ok=True)
    command = str(python.parent / "surepath")
    call([command, "--version"], work)
    call([command, "demo", "--study", "demo.db"], work)
    say("the demo ran")
    pytest = [str(python), "-m", "pytest", "-p", "no:cacheprovider"]
    call([*pytest, *CHECKED], work)
    say("the examples and the documents' code ran")
    printed = call([*pytest, "--doctest-modules", "--pyargs", "surepath"], work)
    say(f"the examples in docstrings ran: {printed.strip().splitlines()[-1]}")


def main() -> None:
    os.environ.setdefault("PIP_NO_COMPILE", "1")  # most of what is installed is never imported
    with tempfile.TemporaryDirectory(prefix="surepath-release-") as folder:
        base = Path(folder).resolve()
        if base.is_relative_to(ROOT):
            sys.exit("the temporary folder lies in the repository; set TMPDIR to another place")
        artefacts = build(base / "built")
        if [artefact.suffix for artefact in artefacts] != [".gz", ".whl"]:
            sys.exit(
                f"built {', '.join(artefact.name for artefact in artefacts) or 'nothing'}, not an sdist and a wheel"
            )
        for artefact in artefacts:
            place = base / artefact.suffix[1:]
            place.mkdir()
            check(artefact, place)
            shutil.rmtree(place)
        print("both are ready to be released")


if __name__ == "__main__":
    main()
