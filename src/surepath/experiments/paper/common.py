"""What the figures share: the learners of the comparison, the two presets, and how a study is played for a figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from surepath.experiments.results import read
from surepath.experiments.runner import run
from surepath.experiments.spec import Spec

if TYPE_CHECKING:
    import polars

COVERAGE, DIAMETER, BPI, CHALLENGER = "max-coverage", "max-diameter", "BPI-UCRL", "Challenger"
OF_THE_PAPER = (COVERAGE, DIAMETER, BPI)
LABELS = (*OF_THE_PAPER, CHALLENGER)
DELTA = 0.1

# theory: the paper's text, with its guarantee. experiment: what the authors' code ran, which has none.
PRESETS = ("theory", "experiment")
NOISE = {"theory": 1.0, "experiment": 0.5}


class Claim(NamedTuple):
    """One line of the table "claim / measured / holds?"; `holds` is None where the runs do not settle it."""

    paper: str
    measured: str
    holds: bool | None


@dataclass(frozen=True)
class Found:
    """What a figure found: the frames behind the picture, the claims, and the settings that made it."""

    frames: dict[str, polars.DataFrame]
    claims: list[Claim]
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Options:
    """How to make a figure.

    Attributes:
        folder: Where the rows of its studies are kept; a second call plays only what is missing.
        preset: "theory" or "experiment".
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
    """The paper's three and ours. Challenger has one setting, with a proof, under both presets."""
    return [
        {"name": "EPRL", "label": COVERAGE, "sampling": "max-coverage", "preset": preset},
        {"name": "EPRL", "label": DIAMETER, "sampling": "max-diameter", "preset": preset},
        {"name": "BPIUCRL", "label": BPI, "preset": preset},
        {"name": "Challenger", "label": CHALLENGER},
    ]


def play(options: Options, name: str, values: dict[str, Any]) -> tuple[polars.DataFrame, Spec]:
    """Play a study for a figure, or what is missing of it, and read its rows."""
    spec = Spec.from_dict({"name": name, "seed": options.seed, **values})
    folder = options.folder / name
    run(spec, folder, workers=options.workers, resume=True, progress=options.progress)
    return read(folder), spec


def mean_episodes(frame: polars.DataFrame) -> polars.DataFrame:
    """Mean stopping time by (instance, learner, delta, epsilon), with the spread and the share of cut runs."""
    import polars as pl

    tau = pl.col("tau")
    return (
        frame.group_by("instance", "learner", "delta", "epsilon", "epsilon_per_gap", maintain_order=True)
        .agg(
            tau.mean().alias("mean"),
            tau.min().alias("low"),
            tau.max().alias("high"),
            pl.len().alias("runs"),
            pl.col("censored").mean().alias("censored"),
            (~pl.col("correct") & ~pl.col("censored")).mean().alias("wrong"),
        )
        .sort("instance", "learner", "delta", "epsilon")
    )


def ends(series: polars.Series) -> tuple[float, float]:
    """Smallest and largest value."""
    values = series.to_numpy()
    return float(values.min()), float(values.max())


def error_claims(frame: polars.DataFrame, preset: str) -> list[Claim]:
    """The guarantee: a wrong answer with probability at most delta, for the paper's learners and for ours."""
    words = "EPRL and BPI-UCRL are (epsilon, delta)-PAC with the widths of the text"
    if preset == "experiment":
        words = "the smaller widths of the experiments are 'still empirically correct'"
    paper = frame["learner"].is_in(OF_THE_PAPER)
    parts = [(words, frame.filter(paper)), ("(ours) Challenger is (epsilon, delta)-PAC", frame.filter(~paper))]
    found = []
    for claim, part in parts:
        wrong = int((~part["correct"] & ~part["censored"]).sum())
        share = wrong / part.height
        told = f"{wrong} wrong answers in {part.height:,} rows ({share:.2%})"
        found.append(Claim(claim, told, share <= ends(part["delta"])[1]))
    return found
