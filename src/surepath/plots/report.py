"""One self-contained HTML page: every figure with how to read it, and the paper's claims against what was measured."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from html import escape
from typing import Any

from surepath._version import __version__
from surepath.experiments.paper.common import Claim

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
img { max-width: 100%; } table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { border-bottom: 1px solid #ccc; padding: .4rem .6rem; text-align: left; vertical-align: top; }
.yes { color: #00603f; font-weight: bold; } .no { color: #a30000; font-weight: bold; }
.how { background: #f3f3f3; padding: .6rem 1rem; } summary { cursor: pointer; }
pre { overflow-x: auto; font-size: 13px; }
"""


@dataclass(frozen=True)
class Section:
    """One figure of the report."""

    name: str
    title: str
    reading: str
    png: bytes
    claims: list[Claim]
    settings: dict[str, Any]
    seconds: float


def report(sections: list[Section], preset: str) -> str:
    """The page as text; it needs no other file and no network."""
    about = {
        "theory": "the text's settings: Gaussian noise with sigma 1, the text's widths, which carry the guarantee",
        "experiment": "the authors' code's settings: sigma 0.5, smaller widths without a guarantee",
    }[preset]
    rows = [_row(section.title, claim) for section in sections for claim in section.claims]
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><title>surepath reproduce</title>',
        f"<style>{_STYLE}</style></head><body>",
        "<h1>The paper's experiments, played again</h1>",
        f"<p>surepath {escape(__version__)}, preset <b>{escape(preset)}</b>: {escape(about)}.</p>",
        "<h2>Claims</h2><table><thead><tr><th>figure</th><th>claim of the paper</th><th>what we measured</th>"
        "<th>holds?</th></tr></thead><tbody>",
        *rows,
        "</tbody></table>",
        *(_section(section) for section in sections),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _row(title: str, claim: Claim) -> str:
    word = {True: '<td class="yes">yes</td>', False: '<td class="no">no</td>', None: "<td>not settled</td>"}[
        claim.holds
    ]
    return f"<tr><td>{escape(title)}</td><td>{escape(claim.paper)}</td><td>{escape(claim.measured)}</td>{word}</tr>"


def _section(section: Section) -> str:
    picture = base64.b64encode(section.png).decode()
    settings = escape(json.dumps(section.settings, indent=1))
    return (
        f'<h2 id="{escape(section.name)}">{escape(section.title)}</h2>\n'
        f'<p class="how"><b>How to read this.</b> {escape(section.reading)}</p>\n'
        f'<img alt="{escape(section.title)}" src="data:image/png;base64,{picture}">\n'
        f"<p>Made in {section.seconds:.1f} s.</p>\n"
        f"<details><summary>Settings that made it</summary><pre>{settings}</pre></details>"
    )
