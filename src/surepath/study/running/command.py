"""Trials that are run by a command: the plan goes in by its words and its environment, the scores come out as text.

No shell is involved: the command is split into words first and the plan's options are put in afterwards, so nothing
in an option is executed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from typing import IO, Any, cast

from surepath._checks import suggest
from surepath._text import shown
from surepath.errors import SettingError, StudyError
from surepath.model.mdp import MDP
from surepath.study.running.performed import Performed
from surepath.study.running.printed import LONGEST_LINE, NotScoresError, read_scores
from surepath.study.sheets.rows import plan_steps
from surepath.study.trial import Trial

TAIL = 2**16  # bytes of output that are read
KILLED_AFTER = 2.0  # seconds between asking a process to end and ending it
TRIAL = "trial"
FAIL = "where a trial fails, end with an exit code other than 0"

_NAME = r"\w[\w .-]*"  # what is taken for a step's name; the names of the problem may have any other character too


class Command:
    """Perform trials by running a command in a process group of its own; see `study run`."""

    def __init__(self, mdp: MDP, command: str, study: str = "") -> None:
        self._mdp, self._study = mdp, study
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise SettingError(f"the command {command!r} cannot be split into words: {error}") from None
        if not self._words:
            raise SettingError("the command is empty; write for example --command './trial.sh {model}'")
        names = [*plan_steps(mdp), TRIAL]
        # "{{" and "}}" are braces, {name} is a step; what cannot be a name, such as {print $1}, is left alone.
        self._place = re.compile(r"\{\{|\}\}|\{(" + "|".join([*map(re.escape, names), _NAME]) + r")\}")
        self._check_places(command, names)
        if not self._place.search(self._words[0]) and shutil.which(self._words[0]) is None:
            raise SettingError(f"the command {self._words[0]!r} is not a program that can be run")
        self._lock, self._children, self._ended = threading.Lock(), set[subprocess.Popen[bytes]](), False

    def _check_places(self, command: str, names: list[str]) -> None:
        """Refuse steps that do not exist, and those that the split into words has torn apart."""
        asked = [name for name in self._place.findall(command) if name]
        kept = [name for word in self._words for name in self._place.findall(word) if name]
        for name in [*asked, *kept]:
            if name not in names:
                raise SettingError(
                    f"the command has {{{name}}}, but no step is called so{suggest(name, names)}; "
                    f"write {{{{ and }}}} for braces"
                )
            if kept.count(name) < asked.count(name):
                raise SettingError(
                    f'the command has {{{name}}} without quotes, so it falls apart into words; write "{{{name}}}"'
                )

    def words(self, trial: Trial) -> list[str]:
        """Return the words of the command with the options of a plan inserted."""
        values = {TRIAL: str(trial.number), **{str(step): str(option) for step, option in trial.plan.items()}}
        braces = {"{{": "{", "}}": "}"}
        return [self._place.sub(lambda m: braces.get(m.group()) or values[m.group(1)], word) for word in self._words]

    def environment(self, trial: Trial) -> dict[str, str]:
        """Describe a trial: its number, the plan as JSON, and each option under the name of its step."""
        own = {
            "SUREPATH_STUDY": self._study,
            "SUREPATH_TRIAL": str(trial.number),
            "SUREPATH_PLAN": json.dumps({str(step): option for step, option in trial.plan.items()}),
        }
        for step, option in trial.plan.items():
            own.setdefault("SUREPATH_STEP_" + re.sub(r"\W", "_", str(step), flags=re.ASCII).upper(), str(option))
        return {**os.environ, **own}

    def __call__(self, trial: Trial) -> Performed:
        """Run the command for a trial and read its scores."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code = self._run(trial, out, err)
            printed, said = _tail(out), _tail(err)
        wrong, rewards = "", cast(Any, ())
        try:
            rewards = read_scores(self._mdp, printed)
        except NotScoresError as error:
            wrong = f"the command came to its end, but {error}"
        if code == 0:
            return Performed(
                rewards, wrong=wrong, ended=f"the command came to its end and printed {_last(printed)!r}; {FAIL}"
            )
        last = _last(said)
        why = f"exit code {code}" if code > 0 else f"killed by {_signal(-code)}"
        return Performed(rewards, f"{why}: {last}" if last else why)

    def _run(self, trial: Trial, out: IO[bytes], err: IO[bytes]) -> int:
        with self._lock:
            if self._ended:
                return 0
            try:
                child = subprocess.Popen(
                    self.words(trial),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    env=self.environment(trial),
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                raise StudyError(f"the command cannot be run: {shown(error)}") from error
            self._children.add(child)
        try:
            return child.wait()
        except BaseException:
            self.end()
            raise
        finally:
            with self._lock:
                self._children.discard(child)

    def end(self) -> None:
        """End all children with whatever they have started, first by SIGTERM, then by SIGKILL."""
        with self._lock:
            self._ended, children = True, list(self._children)
        for child in children:
            _signal_group(child, signal.SIGTERM)
        end = time.monotonic() + KILLED_AFTER
        while any(child.poll() is None for child in children) and time.monotonic() < end:
            time.sleep(0.02)
        for child in children:  # also what a child that has ended left running
            _signal_group(child, signal.SIGKILL)

    def kill(self) -> None:
        """End all children by force and at once, from any thread."""
        self._ended = True
        for child in list(self._children):
            _signal_group(child, signal.SIGKILL)


def _last(text: str) -> str:
    """Return the last line that is not empty."""
    return next((shown(line.strip()[:LONGEST_LINE]) for line in reversed(text.splitlines()) if line.strip()), "")


def _signal_group(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - TAIL, 0))
    return file.read().decode("utf-8", "replace")
