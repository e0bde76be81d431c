"""Files are written whole, through no link, over no device, and what the system refuses is said in words."""

from __future__ import annotations

import csv
import io
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepath._text import csv_line, make_folder, plain_cell, read_text, safe_cell, write_bytes, write_text
from surepath.errors import FileError, ProblemError


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "p.json"
    victim.write_text("precious")
    link.symlink_to(victim)
    write_text(link, "new")
    assert victim.read_text() == "precious"
    assert not link.is_symlink()
    assert link.read_text() == "new"


def test_the_mode_is_kept_and_nothing_is_left_over(tmp_path: Path) -> None:
    file = tmp_path / ("x" * 250)  # as long as a name may be
    write_bytes(file, b"one")
    file.chmod(0o640)
    write_bytes(file, b"two")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == [file.name]


def test_devices_and_folders_are_left_alone(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(FileError, match=re.escape(f"cannot write {pipe}: it is not a plain file")):
        write_bytes(pipe, b"x")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(FileError, match="it is not a plain file"):
        write_bytes(tmp_path, b"x")
    with pytest.raises(FileError, match=r"cannot make the folder .*pipe/in: Not a directory"):
        make_folder(pipe / "in")


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("old")
    program = f"""
import resource, signal
from pathlib import Path
from surepath.errors import FileError
from surepath._text import write_bytes
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_bytes(Path({str(file)!r}), bytes(5000))
except FileError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"cannot write {file}: File too large"
    assert file.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]


def test_names_that_no_file_can_have() -> None:
    with pytest.raises(ProblemError, match=r"cannot read 'a\\x00b'"):
        read_text(Path("a\0b"))


TEXTS = st.text(
    st.sampled_from("'=+-@\t\r\n;\\\\x1b\x1b\x9b07ae.,\uff1d \"z") | st.characters(codec="utf-8"), max_size=9
)


@given(TEXTS)
def test_every_text_comes_back_from_its_cell(text: str) -> None:
    cell = safe_cell(text)
    assert plain_cell(cell) == text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", cell)
    for part in re.split("[;\n]", cell):
        assert part[:1] not in tuple("=+-@\uff1d\uff0b\uff0d\uff20") or float(cell) is not None


@given(st.lists(TEXTS | st.floats(allow_nan=False) | st.integers(), min_size=2))
def test_a_line_is_read_back_and_numbers_stay_numbers(cells: list[str | float]) -> None:
    (read,) = csv.reader(io.StringIO(csv_line(cells), newline=""))
    assert [plain_cell(cell) for cell in read] == [str(cell) for cell in cells]
    for cell, value in zip(read, cells):
        assert isinstance(value, str) or type(value)(cell) == value
