"""The cache of compiled kernels: nobody else's code is run, no stale kernel, no damaged file is fatal."""

from __future__ import annotations

import ast
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import surepath
from surepath.kernels.jit import WITHOUT_KERNELS, cache_folder, source_key
from tests.kernels.compiled import compiled_only

posix_only = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes")
HOME = Path(surepath.__file__).parent

FILL = """
import numpy as np
from surepath.learners.widths import fill_table
table = np.zeros(4)
fill_table(0, 1.0, 0.1, 0, table)
print(table.tolist())
print(fill_table._cache.cache_path)
"""

Tell = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def tell(tmp_path: Path) -> Tell:
    """A fresh Python with a home of its own."""

    def run(program: str, **more: str | None) -> subprocess.CompletedProcess[str]:
        usual = ("NUMBA_CACHE_DIR", "SUREPATH_CACHE_DIR", "XDG_CACHE_HOME")
        environment = {key: value for key, value in os.environ.items() if key not in usual}
        environment |= {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "temporary")}
        environment |= {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(HOME.parent)])}
        environment |= {key: value for key, value in more.items() if value is not None}
        return subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment
        )

    for name in ("home", "temporary"):
        (tmp_path / name).mkdir(mode=0o700)
    return run


def answer_of(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[0]


def test_the_usual_place_is_private(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "SUREPATH_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = cache_folder("key")
    assert folder == cache_folder("key") == tmp_path / ".cache" / "surepath" / "numba" / "key"
    for path in (folder, folder.parent, folder.parent.parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "theirs"))
    assert cache_folder("key") == tmp_path / "theirs" / "surepath" / "numba" / "key"
    monkeypatch.setenv("SUREPATH_CACHE_DIR", str(tmp_path / "ours"))
    assert cache_folder("key") == tmp_path / "ours" / "numba" / "key"


@posix_only
@pytest.mark.parametrize("open_at", ["", "numba", "numba/key"])
def test_a_folder_open_to_others_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, open_at: str) -> None:
    monkeypatch.setenv("SUREPATH_CACHE_DIR", str(tmp_path / "kept"))
    loose = cache_folder("key").parent.parent / open_at
    loose.chmod(0o770)
    with pytest.raises(OSError, match=f"others can write to {loose}$"):
        cache_folder("key")


@compiled_only
@posix_only
def test_without_a_private_folder_kernels_are_compiled_and_that_is_said_once(tell: Tell, tmp_path: Path) -> None:
    (tmp_path / "wide").mkdir()
    (tmp_path / "wide").chmod(0o777)
    done = tell(FILL.replace("fill_table._cache.cache_path", "'kept'"), SUREPATH_CACHE_DIR=str(tmp_path / "wide"))
    assert answer_of(done).startswith("[")
    assert done.stderr.count("compiling kernels; this takes a few seconds in every process") == 1
    assert f"others can write to {tmp_path / 'wide'}" in done.stderr
    assert "SUREPATH_CACHE_DIR" in done.stderr
    assert not list((tmp_path / "wide").rglob("*.nb?"))


def imported(file: Path) -> set[str]:
    """Modules of this package that a file imports, at the top or inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "surepath":
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "surepath"}
    return found


def test_all_that_kernels_import_is_in_the_key() -> None:
    todo = [file for file in HOME.rglob("*.py") if "surepath.kernels.jit" in imported(file)]
    assert len(todo) > 8
    seen: set[Path] = set()
    while todo:
        file = todo.pop()
        if file in seen:
            continue
        seen.add(file)
        if file.relative_to(HOME).parts[0] == "model":
            continue  # its own lazy imports, of adapters and learners, make no constants
        for name in imported(file):
            path = HOME.joinpath(*name.split(".")[1:])
            todo += [place for place in (path.with_suffix(".py"), path / "__init__.py") if place.is_file()]
    for file in seen:
        assert file.relative_to(HOME).parts[0] not in WITHOUT_KERNELS, file


def test_a_constant_of_the_model_is_in_the_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """BERNOULLI and UNIFORM are frozen into the kernel that draws."""
    package = tmp_path / "surepath"
    shutil.copytree(HOME, package, ignore=shutil.ignore_patterns("__pycache__", "static"))
    monkeypatch.setattr("surepath.kernels.jit.PACKAGE", package)
    before = source_key()
    for name, counts in (("model/worlds.py", True), ("learners/rounds/design.py", True), ("study/fold.py", False)):
        with (package / name).open("a") as file:
            file.write("\nX = 1\n")
        assert (source_key() != before) == counts, name
        before = source_key()


@compiled_only
@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
def test_a_damaged_file_is_replaced(tell: Tell, tmp_path: Path, ending: str) -> None:
    first = answer_of(tell(FILL))
    files = list((tmp_path / "home").rglob(f"widths.fill_table*{ending}"))
    assert files
    for file in files:
        data = file.read_bytes()
        file.write_bytes(data[: len(data) // 2])
    again = tell(FILL)
    assert answer_of(again) == first
    assert "compiling kernels, once" in again.stderr
    assert "Traceback" not in again.stderr
    third = tell(FILL)
    assert answer_of(third) == first
    assert third.stderr == ""  # it was replaced


@compiled_only
@posix_only
def test_a_full_disk_is_said_and_not_fatal(tell: Tell) -> None:
    program = "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    program += "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n" + FILL
    done = tell(program)
    assert answer_of(done).startswith("[")
    assert done.stderr.count("compiled kernels cannot be kept in") == 1
