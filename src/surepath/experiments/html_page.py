"""Pages of HTML with one style sheet and their pictures inside: they need no other file and no network."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from html import escape

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
img { max-width: 100%; } table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { border-bottom: 1px solid #ccc; padding: .4rem .6rem; text-align: left; vertical-align: top; }
.yes { color: #00603f; font-weight: bold; } .no { color: #a30000; font-weight: bold; }
.how { background: #f3f3f3; padding: .6rem 1rem; } summary { cursor: pointer; }
pre { overflow-x: auto; font-size: 13px; }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """Put the parts of a page, which are HTML, into a document with this title, which is text."""
    head = f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
    style = f"<style>{STYLE}</style></head><body>"
    return "\n".join(["<!doctype html>", head, style, *parts, "</body></html>"]) + "\n"


def image(png: bytes, words: str) -> str:
    """Return a picture as an element of a page, with words for those who cannot see it."""
    return f'<img alt="{escape(words)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'


def table(head: list[str], body: list[list[str]]) -> str:
    """Return a table of texts, which are escaped."""
    heads = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    rows = ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body]
    return "\n".join([f"<table><thead><tr>{heads}</tr></thead><tbody>", *rows, "</tbody></table>"]) + "\n"
