"""Make: system packages are installed by `make system` alone, which is called, in words, when something is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.rare


def program(folder: Path, name: str, text: str) -> Path:
    """Write a program that comes before the machine's own on the path."""
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def make_venv(folder: Path, user: int) -> subprocess.CompletedProcess[str]:
    """Make a virtual environment with a Python that lacks its venv module, as this user."""
    lacking = f'case "$*" in *ensurepip*) exit 1;; "-m venv"*) exit 0;; esac\nexec {sys.executable} "$@"'
    python = program(folder, "python-without-venv", lacking)
    program(folder, "id", f"echo {user}")
    program(folder, "apt-get", f'echo "$@" >> {folder}/installed')
    place = folder / "venv"
    command = ["make", f"VENV={place}", f"PYTHON={python}", f"{place}/bin/python"]
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    environment = {name: value for name, value in environment.items() if not name.startswith("MAKE")}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_what_is_missing_is_installed_by_make_system_and_said(tmp_path: Path) -> None:
    answer = make_venv(tmp_path, user=0)
    assert answer.returncode == 0, answer.stderr
    assert "python3 lacks its venv module, a system package: calling make system" in answer.stdout
    assert "installing system packages: python3-venv" in answer.stdout
    assert "install -y python3-venv" in (tmp_path / "installed").read_text()


def test_who_may_not_install_gets_a_list_of_what_to_install(tmp_path: Path) -> None:
    answer = make_venv(tmp_path, user=1000)
    assert answer.returncode != 0
    assert "system packages need root and apt-get; install these yourself: python3-venv" in answer.stdout
    assert not (tmp_path / "installed").exists()


def test_a_missing_server_is_installed_by_make_system_and_said(tmp_path: Path) -> None:
    program(tmp_path, "id", "echo 0")
    program(tmp_path, "apt-get", f'echo "$@" >> {tmp_path}/installed')
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    environment["PATH"] = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    command = ["make", f"POSTGRES={tmp_path}/none", "INITDB=none", "postgres"]
    answer = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert "PostgreSQL is missing, a system package: calling make system" in answer.stdout
    assert "install -y postgresql" in (tmp_path / "installed").read_text()
