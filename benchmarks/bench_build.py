"""Building an MDP from arrays: time, time per arc, and bytes per arc at the peak, for N = 10^4 .. 10^7.

Each size runs in a process of its own, so that the peak of its memory is its own. The table of next states that the
caller holds (int32 here) is counted apart: it was there before.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.record import record

# N, roughly -> (states, stages, actions)
SIZES = {10_000: (55, 50, 4), 100_000: (270, 100, 4), 1_000_000: (2_750, 100, 4), 10_000_000: (27_700, 100, 4)}


def peak_bytes() -> int:
    """Return the largest memory this process has held; getrusage would count what its parent held before it."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("this benchmark reads the peak of its memory from Linux' /proc/self/status")


def measure(n: int) -> dict[str, float]:
    """Build once for the peak, and again for the best of three times."""
    from surepath import MDP

    states, horizon, actions = SIZES[n]
    table = np.random.default_rng(0).integers(states, size=(horizon, states, actions), dtype=np.int32)
    MDP.from_arrays(table[:2, :2, :] % 2)  # imports done, nothing big yet
    before = peak_bytes()
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        mdp = MDP.from_arrays(table)
        times.append(time.perf_counter() - begun)
        if len(times) == 1:
            after = peak_bytes()
        arcs = mdp.n_arcs
        del mdp
    return {"arcs": arcs, "seconds": min(times), "bytes": after - before, "process": after}


def main() -> None:
    """Print the table of sizes."""
    print(f"{'arcs':>12} {'seconds':>9} {'ns an arc':>10} {'bytes an arc':>13} {'process MiB':>12} {'of 1 GiB':>9}")
    for n in SIZES:
        command = [sys.executable, "-c", f"from benchmarks.bench_build import *; print(json.dumps(measure({n})))"]
        row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        arcs, seconds = int(row["arcs"]), row["seconds"]
        print(
            f"{arcs:>12,} {seconds:>9.4f} {1e9 * seconds / arcs:>10.1f} {row['bytes'] / arcs:>13.1f} "
            f"{row['process'] / 2**20:>12.0f} {row['process'] / 2**30:>9.2f}"
        )
        record(f"time to build {arcs:,} arcs", seconds, "s")
        record(f"memory of {arcs:,} arcs at the peak", row["bytes"] / arcs, "bytes an arc")


if __name__ == "__main__":
    main()
