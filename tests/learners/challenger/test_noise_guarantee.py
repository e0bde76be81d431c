"""The guarantee where noise is learned, on the laws that are hardest for it; builds that leave a part out break it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import surepath
from surepath import MDP, Bernoulli, Bounded, Challenger, Gaussian, Instance, simulate

pytestmark = pytest.mark.guarantee
QUICK = {"repeat": 0.1, "patience": 0.3}


def options(stages: int, actions: int, ranged: bool = True) -> MDP:
    """One state, several actions at each stage."""
    shape = np.zeros((stages, 1, actions), dtype=int)
    return MDP.from_arrays(shape, reward_range=(0, 1) if ranged else None)


def tables(*rows: list[float]) -> Instance:
    return Instance(options(1, len(rows)), Bounded(0, 1, sampler="table", tables=rows))


# Every wrong path lies just outside epsilon: (instance, epsilon).
COINS = (Instance(options(1, 2), Bernoulli([0.5, 0.61])), 0.1)
CALM = (Instance(options(1, 2), Bounded(0, 1, [0.5, 0.55], concentration=24.0)), 0.04)
RARE_GAINS = (tables([0.1], [0.0] * 17 + [1.0] * 3), 0.04)
RARE_LOSSES = (tables([0.8], [1.0] * 17 + [0.0] * 3), 0.04)
SKEWED = (tables([0.3, 0.3, 0.3, 0.3, 0.8], [0.1, 0.35, 0.4, 0.5, 0.95]), 0.05)
STAGES = (Instance(options(3, 2), Bernoulli([0.9, 0.5, 0.2, 0.6, 0.5, 0.9])), 0.35)
CASES = {
    "coins": COINS,
    "calm": CALM,
    "rare gains": RARE_GAINS,
    "rare losses": RARE_LOSSES,
    "skewed": SKEWED,
    "stages": STAGES,
}


def wrong(instance: Instance, epsilon: float, delta: float, runs: int, **settings: Any) -> int:
    learner = Challenger(instance.mdp, epsilon, delta, **{**QUICK, **settings})
    result = simulate(learner, instance, runs, seed=5, budget=100_000, workers=1)
    assert not result.censored.any()
    return int((~result.correct).sum())


def is_above(failed: int, runs: int, delta: float) -> bool:
    """Whether an exact binomial test shows a failure rate above delta."""
    return bool(binomtest(failed, runs, delta, alternative="greater").pvalue < 1e-3)


@pytest.mark.parametrize("delta", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(("noise", "runs"), [("bernstein", 300), ("betting", 120)])
def test_the_failure_rate_stays_below_delta(noise: str, runs: int, delta: float) -> None:
    failed = 0
    for name, (instance, epsilon) in CASES.items():
        own = wrong(instance, epsilon, delta, runs, noise=noise)
        assert not is_above(own, runs, delta), name
        failed += own
    assert binomtest(failed, runs * len(CASES), delta, alternative="less").pvalue < 1e-6


@pytest.mark.parametrize("delta", [0.1, 0.5, 0.9])
def test_it_stays_below_delta_with_a_sigma_that_is_unknown(delta: float) -> None:
    failed, runs = 0, 250
    for means, sigma, epsilon in (([0.0, 0.51], 1.0, 0.5), ([0.0, 0.3], 0.2, 0.0), ([0.0, 2.2, 2.2, 0.0], 3.0, 2.1)):
        instance = Instance(options(len(means) // 2, 2, ranged=False), Gaussian(means, sigma))
        own = wrong(instance, epsilon, delta, runs, sigma="unknown")
        assert not is_above(own, runs, delta), means
        failed += own
    assert binomtest(failed, 3 * runs, delta, alternative="less").pvalue < 1e-3


BROKEN = {
    "learned.py": ("squares[e] += (x - guess) * (x - guess)", "squares[e] += 0.0"),
    "betting.py": ("    base = np.stack([", "    tilt = 40.0 * tilt\n    base = np.stack(["),
}


def test_builds_without_v_or_with_tilts_beyond_their_limit_fail(tmp_path: Path) -> None:
    delta, runs = 0.1, 200
    assert not is_above(wrong(*COINS, delta, runs, noise="bernstein"), runs, delta)
    assert not is_above(wrong(*RARE_GAINS, delta, runs, noise="betting"), runs, delta)
    home = Path(surepath.__file__).parent
    shutil.copytree(home, tmp_path / "surepath", ignore=shutil.ignore_patterns("__pycache__"))
    for name, (term, instead) in BROKEN.items():
        file = tmp_path / "surepath" / "learners" / "processes" / name
        text = file.read_text(encoding="utf-8")
        assert text.count(term) == 1
        file.write_text(text.replace(term, instead), encoding="utf-8")
    program = (
        "from tests.learners.challenger.test_noise_guarantee import *\n"
        f"assert str(Path(surepath.__file__)).startswith({str(tmp_path)!r})\n"
        f"print(wrong(*COINS, {delta}, {runs}, noise='bernstein'))\n"
        f"print(wrong(*RARE_GAINS, {delta}, {runs}, noise='betting'))\n"
    )
    root = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}", "SUREPATH_CACHE_DIR": str(tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    without_v, beyond = (int(count) for count in done.stdout.split())
    assert is_above(without_v, runs, delta)
    assert is_above(beyond, runs, delta)
