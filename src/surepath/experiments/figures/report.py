"""One self-contained HTML page: every figure with how to read it, and the paper's claims beside what was measured."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

from surepath._version import __version__
from surepath.experiments.figures.common import Claim
from surepath.experiments.page import image, page
from surepath.model.sources.textfile import write_bytes, write_text

_ABOUT = {
    "theory": "Algorithm 1 of the paper: Gaussian noise with sigma 1, widths that carry the guarantee",
    "text": "the experiments as the paper describes them: sigma 1, smaller widths without a guarantee",
    "experiment": "the authors' code's settings: sigma 0.5, smaller widths without a guarantee",
}


@dataclass(frozen=True)
class Section:
    """One figure of the report; its claims and settings are stored beside the picture for later reports."""

    name: str
    title: str
    reading: str
    png: bytes
    claims: list[Claim]
    settings: dict[str, Any]
    seconds: float
    preset: str
    version: str = __version__

    def save(self, folder: Path) -> None:
        """Write the picture, and its claims and settings as JSON."""
        stored = {key: value for key, value in asdict(self).items() if key != "png"}
        stored["claims"] = [claim._asdict() for claim in self.claims]
        write_bytes(folder / f"{self.name}.png", self.png)
        write_text(folder / f"{self.name}.json", json.dumps(stored, indent=1))

    @classmethod
    def load(cls, folder: Path, name: str) -> Section | None:
        """Read what `save` wrote; None where it is missing or damaged."""
        try:
            stored = json.loads((folder / f"{name}.json").read_text("utf-8"))
            claims = [Claim(**claim) for claim in stored.pop("claims")]
            return cls(**stored, claims=claims, png=(folder / f"{name}.png").read_bytes())
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None


def report(sections: list[Section]) -> str:
    """Render the page as text; it needs no other file and no network."""
    presets = [f"<b>{name}</b>: {about}" for name, about in _ABOUT.items() if any(s.preset == name for s in sections)]
    rows = [_row(section, claim) for section in sections for claim in section.claims]
    parts = [
        "<h1>The paper's experiments, played again</h1>",
        f"<p>surepath {escape(__version__)}. Preset {'; preset '.join(presets)}.</p>",
        "<h2>Claims</h2><table><thead><tr><th>figure</th><th>claim of the paper</th><th>what we measured</th>"
        "<th>holds?</th></tr></thead><tbody>",
        *rows,
        "</tbody></table>",
        *(_section(section) for section in sections),
    ]
    return page("surepath reproduce", parts)


def _row(section: Section, claim: Claim) -> str:
    word = {True: '<td class="yes">yes</td>', False: '<td class="no">no</td>', None: "<td>not settled</td>"}[
        claim.holds
    ]
    where = f'<a href="#{escape(section.name)}">{escape(section.title)}</a>'
    return f"<tr><td>{where}</td><td>{escape(claim.paper)}</td><td>{escape(claim.measured)}</td>{word}</tr>"


def _section(section: Section) -> str:
    settings = escape(json.dumps(section.settings, indent=1))
    return (
        f'<h2 id="{escape(section.name)}">{escape(section.title)}</h2>\n'
        f'<p class="how"><b>How to read this.</b> {escape(section.reading)}</p>\n'
        f"{image(section.png, section.title)}\n"
        f"<p>Preset {escape(section.preset)}, surepath {escape(section.version)}; made in {section.seconds:.1f} s, "
        "runs stored by earlier calls not counted.</p>\n"
        f"<details><summary>Settings that made it</summary><pre>{settings}</pre></details>"
    )
