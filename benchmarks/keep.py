"""Keep the newest figures of every benchmark in kept.json and write docs/benchmarks.md from them.

The page begins with the figures of the README, each with what was measured, the command and the date; a test compares
both, so that neither changes alone.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.record import Part

ROOT = Path(__file__).parent.parent
KEPT = Path(__file__).parent / "kept.json"
DOCUMENT = ROOT / "docs" / "benchmarks.md"


@dataclass(frozen=True)
class Claim:
    """A number of the README: the words around it, the benchmark and the figure behind it.

    Args:
        words: A piece of the README that holds the number.
        number: The number as it is written there.
        part: Name of the benchmark.
        figure: Name of its figure.
        slack: How far the README may be off, as a part of the value; 0 where only rounding is allowed.
        scale: The README's unit over the figure's.
    """

    words: str
    number: str
    part: str
    figure: str
    slack: float = 0.0
    scale: float = 1.0

    def agrees(self, value: float) -> bool:
        """Return whether the README says what was measured."""
        digits = self.number.replace(",", "")
        written, decimals = float(digits), len(digits.partition(".")[2])
        return abs(written - value * self.scale) <= max(self.slack * abs(written), 0.5 * 10.0**-decimals + 1e-9)


def _row(head: str, family: str, trials: str, eprl: str, bpi: str) -> list[Claim]:
    words = f"{head} | {trials} | {eprl}x | {bpi}x |"
    return [
        Claim(words, trials, "trials", f"trials of Challenger, {family}"),
        Claim(words, eprl, "trials", f"trials of EPRL over Challenger's, {family}"),
        Claim(words, bpi, "trials", f"trials of BPIUCRL over Challenger's, {family}"),
    ]


def load() -> dict[str, dict[str, Any]]:
    """Read the kept parts by name."""
    return dict(json.loads(KEPT.read_text(encoding="utf-8")))


def update(parts: list[Part]) -> None:
    """Put what was measured in the place of what was kept, write the page, and name claims that do not hold."""
    kept = load()
    kept.update({part.name: asdict(part) for part in parts})
    KEPT.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n", encoding="utf-8")
    DOCUMENT.write_text(render(kept), encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for claim in CLAIMS:
        value = value_of(kept, claim)["value"]
        if claim.words not in readme or not claim.agrees(value):
            print(f"the README does not say {claim.words!r} as measured: {claim.figure} {value:.4g}")


def value_of(kept: dict[str, dict[str, Any]], claim: Claim) -> dict[str, Any]:
    """Return the figure behind a claim."""
    for figure in kept[claim.part]["figures"]:
        if figure["name"] == claim.figure:
            return dict(figure)
    raise KeyError(f"no figure {claim.figure!r} in benchmark {claim.part!r}")


def render(kept: dict[str, dict[str, Any]]) -> str:
    """Render the page of the documentation."""
    lines = [
        "# Benchmarks",
        "",
        "The figures of the README. `python -m benchmarks NAME` prints one in full; `--keep` writes its figures",
        "to `benchmarks/kept.json`, with their targets, and to this page. Ratios (x) are taken within one run.",
        "",
        *(f"Machine: {machine}." for machine in sorted({part["machine"] for part in kept.values()})),
        "",
        "| README | measured | figure | benchmark | date |",
        "|---|---|---|---|---|",
    ]
    for claim in CLAIMS:
        figure = value_of(kept, claim)
        begun = kept[claim.part]["begun"][:10]
        lines.append(f"| {claim.number} | {_value(figure)} | {_cell(figure['name'])} | `{claim.part}` | {begun} |")
    return "\n".join(lines) + "\n"


def _value(figure: dict[str, Any]) -> str:
    """Write a figure with three digits or more: 12.3x, 4,560 us."""
    value, unit = figure["value"], figure["unit"]
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{text}x" if unit == "x" else f"{text} {unit}".rstrip()


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


COSTS = "Challenger needs 3.9, 2.2 and 1.5 times that"
WRONG = "over 18,500 runs made to be hard at each delta, is 1.1 % at"
SPEED = "takes 23 nanoseconds on three steps, 0.98 of what C++ -O3 takes for the same work"
LARGE = "an episode of max-diameter on 97,810 arcs"
CLAIMS: list[Claim] = [
    *_row("1 | 1.5 Delta_min", "S=A=2 H=3, sigma 1", "426", "68", "89"),
    *_row("0.1 | 0.3", "chain 8x4, sigma 0.1", "85", "52", "20"),
    *_row("1 | 1", "S=4 A=3 H=10, sigma 1", "1,512", "93", "23"),
    *_row("0.5 | 1", "S=5 A=4 H=20, sigma 0.5", "1,736", "133", "21"),
    Claim(COSTS, "3.9", "trials", "Challenger over the limit, delta 0.1"),
    Claim(COSTS, "2.2", "trials", "Challenger over the limit, delta 0.01"),
    Claim(COSTS, "1.5", "trials", "Challenger over the limit, delta 1e-06"),
    Claim(WRONG, "1.1", "guarantee", "wrong of 18,500 runs at delta 0.1"),
    Claim("delta 0.1 and 6.1 % at delta 0.5", "6.1", "guarantee", "wrong of 18,500 runs at delta 0.5"),
    Claim(SPEED, "23", "episode", "an episode, max-diameter seed 1", slack=0.2),
    Claim(SPEED, "0.98", "episode", "an episode over that of C++, max-diameter seed 1", slack=0.1),
    Claim(
        "0.12 milliseconds on 98,000 options", "0.12", "episode", "an episode of max-diameter on 97,810 arcs", 0.2, 1e-3
    ),
    Claim("two workers give 1.92x", "1.92", "episode", "two workers over one", slack=0.1),
    Claim("about 24 seconds on two cores", "24", "experiments", "figure-2, 10 runs, 2 cores, in seconds", 0.25),
    Claim("opens in 0.14 seconds", "0.14", "study", "opening a study of 1,000,000 trials", slack=0.2),
    Claim("takes about 1 millisecond", "1", "study", "ask after 1,000,000 trials", slack=0.3),
]
