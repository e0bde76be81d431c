"""The report needs no other file, and a section is read back as it was written."""

from __future__ import annotations

import re
from pathlib import Path

from surepath.experiments.figures import Claim
from surepath.experiments.figures.reproduce import Section, report


def test_the_report_needs_no_other_file_and_escapes() -> None:
    claims = [Claim("a < b", "1 & 2", True), Claim("c", "d", False), Claim("e", "f", None)]
    section = Section("figure-x", "Title", "Compare the bars.", b"\x89PNG", claims, {"runs": 3}, 1.5, "theory")
    page = report([section])
    assert "How to read this.</b> Compare the bars." in page
    assert '<td>a &lt; b</td><td>1 &amp; 2</td><td class="yes">yes</td>' in page
    assert '<td class="no">no</td>' in page
    assert "<td>not settled</td>" in page
    assert "Preset <b>theory</b>: Algorithm 1 of the paper" in page
    assert "experiment</b>" not in page
    assert not re.search(r"(src|href)=\"(?!data:|#figure-x)", page)
    assert "http" not in page


def test_a_section_is_kept_beside_its_picture(tmp_path: Path) -> None:
    section = Section("figure-x", "T", "R", b"\x89PNG", [Claim("a", "b", None)], {"runs": 3}, 1.5, "theory")
    section.save(tmp_path)
    assert Section.load(tmp_path, "figure-x") == section
    assert Section.load(tmp_path, "figure-y") is None
    (tmp_path / "figure-x.json").write_text("{")
    assert Section.load(tmp_path, "figure-x") is None
