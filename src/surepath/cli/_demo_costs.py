"""What other ways of testing would cost on the embedded example, simulated beside the demo.

The demo starts both simulations as processes of their own, so that their kernels compile on other cores while a person
watches the trials come in. Each prints one JSON object.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from surepath.errors import SurepathError

EPSILON, DELTA = 0.3, 0.1
EPRL_RUNS = 4

# -P keeps the working directory off the list of places where modules are looked for. This package comes last on it, for
# the case that it was found there.
_HOME = str(Path(__file__).resolve().parents[2])
_PROGRAM = "import sys; sys.path.append(sys.argv[1]); from surepath.cli._demo_costs import answer; answer()"


def rivals(seed: int) -> dict[str, Any]:
    """Trials of whole-plan testing and of EPRL until each has the same guarantee, by simulation."""
    from surepath.model.families import support_tickets
    from surepath.simulation.simulate import simulate

    instance = support_tickets()
    eprl = {"name": "EPRL", "delta": DELTA, "sampling": "max-diameter", "elimination": "both"}
    whole = {"name": "WholePlan", "delta": DELTA}
    return {
        "eprl": simulate(eprl, instance, EPRL_RUNS, seed, [EPSILON], workers=1).mean_tau(),
        "whole_plans": simulate(whole, instance, 1, seed, [EPSILON], workers=1).mean_tau(),
    }


def limit(seed: int) -> dict[str, Any]:
    """Trials that nobody can do without, on average, whatever the method.

    For the best plan itself: T* kl(delta, 1 - delta). For a plan within epsilon: an arc that was not tried may be as
    good or as bad as one likes, so each is left untried with probability at most 2 delta, and a trial tries one arc
    of a stage. (Theorem 1 of the paper asks for less than one trial here.)
    """
    from surepath.model.families import support_tickets
    from surepath.theory import characteristic_time

    instance = support_tickets()
    widest = max(high - low for low, high in zip(instance.mdp.stage_arc[:-1], instance.mdp.stage_arc[1:]))
    return {"limit": (1 - 2 * DELTA) * int(widest), "limit_of_the_best": characteristic_time(instance).bound(DELTA)}


class Costs:
    """Both simulations, started at once and read when they are needed."""

    def __init__(self, seed: int) -> None:
        self.running = [
            subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, _HOME, task, str(seed)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for task in ("rivals", "limit")
        ]

    def __enter__(self) -> Costs:
        return self

    def read(self) -> dict[str, Any]:
        """Wait for both and give what they found."""
        found: dict[str, Any] = {}
        for process in self.running:
            answer, trouble = process.communicate()
            if process.returncode:
                last = trouble.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
                raise SurepathError(f"the comparison could not be simulated: {last[0]}")
            found |= json.loads(answer)
        return found

    def __exit__(self, *_: object) -> None:
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.communicate()


def answer() -> None:
    """What each of the processes does."""
    task, seed = sys.argv[2:]
    print(json.dumps({"rivals": rivals, "limit": limit}[task](int(seed))))
