"""Shared by the figures: the learners of the comparison, the presets, and experiments played for a figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from surepath.experiments.figure_style import short_name as short_name
from surepath.experiments.results import scan
from surepath.experiments.runner import run
from surepath.experiments.spec import Spec
from surepath.learners.per_arc.presets import PRESETS as PRESETS

if TYPE_CHECKING:
    import polars

EPRL_COVERAGE, EPRL_DIAMETER, BPI, CHALLENGER = "max-coverage", "max-diameter", "BPI-UCRL", "Challenger"
OF_THE_PAPER = (EPRL_COVERAGE, EPRL_DIAMETER, BPI)
LABELS = (*OF_THE_PAPER, CHALLENGER)
DELTA = 0.1

# Sigma of the instances under each preset: theory, Algorithm 1 with its proven widths; text, the experiments as the
# paper describes them; experiment, what the authors' code ran. Only the first has a guarantee.
PRESET_SIGMA = {"theory": 1.0, "text": 1.0, "experiment": 0.5}

Frames = dict[str, "polars.DataFrame"]


class Claim(NamedTuple):
    """One line of the table "claim / measured / holds?"; `holds` is None where the runs do not settle it."""

    paper: str
    measured: str
    holds: bool | None


@dataclass(frozen=True)
class Found:
    """Outcome of a figure's experiments: the frames behind the picture, the claims, and the settings that made it."""

    frames: Frames
    claims: list[Claim]
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Options:
    """Options of a reproduction.

    Attributes:
        folder: Where the rows of its experiments are kept; a second call plays only the missing runs.
        preset: "theory", "text" or "experiment".
        runs: Runs per cell; None for the figure's own number.
        workers: Threads.
        seed: Main seed.
        progress: As in `runner.run`.
    """

    folder: Path
    preset: str = "experiment"
    runs: int | None = None
    workers: int | None = None
    seed: int = 2022
    progress: bool | Callable[[int, int], None] = False


def learners(preset: str) -> list[dict[str, Any]]:
    """List the paper's three learners and Challenger, which has one setting, with a proof, under every preset."""
    return [
        {"name": "EPRL", "label": EPRL_COVERAGE, "sampling": "max-coverage", "preset": preset},
        {"name": "EPRL", "label": EPRL_DIAMETER, "sampling": "max-diameter", "preset": preset},
        {"name": "BPIUCRL", "label": BPI, "preset": preset},
        {"name": "Challenger", "label": CHALLENGER},
    ]


def play(options: Options, name: str, values: dict[str, Any]) -> tuple[polars.DataFrame, Spec]:
    """Play the missing runs of an experiment; return what `summary` makes of all its rows, and the spec."""
    spec = Spec.from_dict({"name": name, "seed": options.seed, **values})
    run(spec, options.folder / name, workers=options.workers, resume=True, progress=options.progress)
    return summary(scan(options.folder / name)), spec


def summary(rows: polars.DataFrame | polars.LazyFrame) -> polars.DataFrame:
    """Aggregate stopping times and answers by (instance, learner, delta, epsilon), in memory independent of the runs.

    Its columns are mean, low and high of tau, runs, censored (share of runs cut), answers (runs that stopped) and wrong
    (answers more than epsilon from the best).
    """
    import polars as pl

    tau, stopped = pl.col("tau"), ~pl.col("censored")
    return (
        rows.lazy()
        .group_by("instance", "learner", "delta", "epsilon", "epsilon_per_gap")
        .agg(
            tau.mean().alias("mean"),
            tau.min().alias("low"),
            tau.max().alias("high"),
            pl.len().alias("runs"),
            pl.col("censored").mean().alias("censored"),
            stopped.sum().alias("answers"),
            (~pl.col("correct") & stopped).sum().alias("wrong"),
        )
        .sort("instance", "learner", "delta", "epsilon")
        .collect(engine="streaming")
    )


def ends(series: polars.Series) -> tuple[float, float]:
    """Return the smallest and the largest value."""
    values = series.to_numpy()
    return float(values.min()), float(values.max())


def labels_of(frame: polars.DataFrame) -> list[str]:
    """List the learners of a frame in the order in which all figures show them."""
    found = frame["learner"].unique(maintain_order=True).to_list()
    return sorted(found, key=lambda label: (LABELS.index(label) if label in LABELS else len(LABELS), label))
