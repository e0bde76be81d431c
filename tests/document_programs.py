"""Programs that the command lines of documents call: surepath of this checkout, and a pip that only checks.

Run as a file, so it imports nothing of the tests. `host SOCKET` imports surepath and loads its kernels once; `surepath`
has it fork a process for each command, since starting one from nothing takes seconds.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

HOST = "SUREPATH_TEST_HOST"  # the socket of the host, where one runs


def pip(arguments: list[str]) -> None:
    """Check a pip install without a network: it installs this project, with extras that exist."""
    import re
    import tomllib

    verb, what = arguments
    found = re.fullmatch(r"(?:surepath|\.)(?:\[([\w,]+)\])?", what)
    if verb != "install" or found is None:
        sys.exit(f"pip {arguments} installs something else than this project")
    root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    with open(os.path.join(root, "pyproject.toml"), "rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    if missing := {*(found[1] or "all").split(",")} - {*extras}:
        sys.exit(f"pip {arguments}: no extra {missing}")


def surepath(arguments: list[str]) -> None:
    """Run the command; one that serves is interrupted once it has said where."""
    command = [sys.executable, "-m", "surepath", *arguments]
    if {"serve", "--serve"} & {*arguments}:
        serve([*command, "--port", "0"])
    if HOST not in os.environ:
        os.execv(sys.executable, command)
    with socket.socket(socket.AF_UNIX) as place:
        place.connect(os.environ[HOST])
        wanted = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}
        socket.send_fds(place, [json.dumps(wanted).encode()], [0, 1, 2])
        place.shutdown(socket.SHUT_WR)
        answer = place.recv(16)
    sys.exit(int(answer or 1))


def serve(command: list[str]) -> None:
    """Run a command that serves until it has said where."""
    import subprocess

    serving = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert serving.stdout is not None
    if not any("http://127.0.0.1:" in line for line in serving.stdout):
        sys.exit(serving.wait() or 1)
    serving.send_signal(signal.SIGINT)
    sys.exit(serving.wait(timeout=60) not in (0, 130))


def host(arguments: list[str]) -> None:
    """Import surepath, load the kernels of studies, and fork a process for each command that comes."""
    from typer.testing import CliRunner

    from surepath.cli.main import app

    CliRunner().invoke(app, ["demo", "--fast", "--json"], catch_exceptions=False)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as place:
        place.bind(arguments[0])
        place.listen()
        while True:
            taken, _ = place.accept()
            with taken:
                if os.fork() == 0:
                    place.close()
                    obey(taken)


def obey(taken: socket.socket) -> None:
    """Run one command in this process, with the files, the folder and the environment of whoever called."""
    from surepath.cli.main import run

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    text, files, _, _ = socket.recv_fds(taken, 100_000, 3)
    while part := taken.recv(100_000):
        text += part
    wanted = json.loads(text)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    sys.argv = ["surepath", *wanted["arguments"]]
    code: object = 1
    try:
        run()
    except SystemExit as end:
        code = end.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        taken.sendall(str(code or 0).encode())
        os._exit(0)


if __name__ == "__main__":
    {"pip": pip, "surepath": surepath, "host": host}[sys.argv[1]](sys.argv[2:])
