"""An experiment on a bad disk: files cut short, a manifest with holes, links in its place, full, no permission."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from surepath.errors import FileError, SettingError
from surepath.experiments.runner import Store, read, run, scan
from surepath.experiments.spec import Spec
from tests.experiments.specs import small

pytest.importorskip("polars")

SPEC = Spec.from_dict(small())


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """The folder of a finished experiment."""
    run(SPEC, tmp_path / "experiment", workers=1)
    return tmp_path / "experiment"


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("rows/*.parquet"))


def flipped(data: bytes) -> bytes:
    """One bit that flipped can give other rows that Parquet reads without a word."""
    changed = bytearray(data)
    changed[len(data) // 3 + 1] ^= 1
    return bytes(changed)


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:-5], flipped])
def test_a_damaged_file_is_named_and_played_again(finished: Path, damage: Callable[[bytes], bytes]) -> None:
    before, file = read(finished), files(finished)[3]
    file.write_bytes(damage(file.read_bytes()))
    message = f"{file} is damaged; play its runs again with surepath experiment run --resume"
    for use in (read, scan):
        with pytest.raises(SettingError, match=re.escape(message)):
            use(finished)
    with pytest.raises(SettingError, match="already holds 15 runs of this experiment; add --resume"):
        run(SPEC, finished, workers=1)
    assert run(Spec.from_dict(small(chunk=1)), finished, workers=1, resume=True).played == 5
    assert read(finished).equals(before)


def test_a_shorter_file_left_by_a_kill_counts_for_nothing(finished: Path) -> None:
    """The new file of a cell is written before the old one goes; a kill between the two leaves both."""
    before, longer = read(finished), files(finished)[0]
    run(Spec.from_dict(small(runs=2)), finished / "short", workers=1)
    key = longer.name.split("-")[-3]
    shorter = next(file for file in files(finished / "short") if key in file.name)
    shorter.rename(finished / "rows" / shorter.name)
    assert read(finished).equals(before)
    assert run(SPEC, finished, workers=1, resume=True).played == 0
    assert len(files(finished)) == 4


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    victim, out = tmp_path / "victim", tmp_path / "out"
    victim.write_text("precious")
    (out / "rows").mkdir(parents=True)
    names = ["experiment.json", "experiment.json.partial"]
    task = Store(out).missing(SPEC.cells(), SPEC.runs, SPEC.chunk)[0]
    slug = re.sub(r"[^A-Za-z0-9.]+", "_", task.cell.id).strip("_")[:80]
    names.append(f"rows/{slug}-{task.cell.key}-{5:09d}.parquet.partial")
    for name in names:
        (out / name).symlink_to(victim)
    run(SPEC, out, workers=1)
    assert victim.read_text() == "precious"
    assert read(out).height == 40


FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
import surepath.experiments.runner, surepath.learners.per_arc.eprl
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.argv = ["surepath", *sys.argv[2:]]
from surepath.cli.main import run
run()
"""

TOML = """
runs = 4
deltas = [0.1]
epsilons = [2.0]
instances = ["chain-v1/n3k2/seed7"]
learners = [{name = "BPIUCRL"}]
"""


@pytest.mark.parametrize(("size", "what"), [(100, "experiment.json"), (3000, ".parquet")])
def test_a_full_disk_ends_in_words_and_is_resumed(tmp_path: Path, size: int, what: str) -> None:
    spec, out = tmp_path / "spec.toml", tmp_path / "out"
    spec.write_text(TOML)
    words = ["experiment", "run", str(spec), "--out", str(out), "--workers", "1", "--quiet"]
    done = subprocess.run([sys.executable, "-c", FULL, str(size), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 5, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"error: cannot write {out}")
    assert last.endswith(f"{what}: File too large")
    assert "Traceback" not in done.stderr
    assert not [file for file in out.rglob("*") if file.name.endswith(".partial")]
    assert run(Spec.load(spec), out, workers=1, resume=True).played == 4


def forbidden(folder: Path) -> Path:
    """A folder in which we cannot write, whoever we are."""
    if os.geteuid() == 0:
        return Path("/proc/self")  # no mode holds root back, but this file system does
    folder.chmod(0o500)
    return folder


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "shut").mkdir()
    place = forbidden(tmp_path / "shut")
    with pytest.raises(FileError, match=re.escape(f"cannot make the folder {place / 'out'}: ")):
        run(SPEC, place / "out", workers=1)
    with pytest.raises(FileError, match=re.escape(f"cannot write {place / '.lock'}: ")):
        run(SPEC, place, workers=1)
