"""Lines of the fields of a TOML text, for messages."""

from __future__ import annotations

import pytest

from surepath.errors import SettingError
from surepath.experiments.toml_lines import FieldLocations, read_toml

TEXT = """\
# a remark
runs = 3
deltas = [
  0.1,
  0.2,
]
[table]
inner = {deep = 1, list = [1, 2]}

[[learners]]
name = "EPRL"

[[learners]]
name = "BPIUCRL"
[learners.more]
x = 1
"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("runs",), "line 2: runs"),
        (("deltas", 1), "line 3: deltas[1]"),
        (("table",), "line 7: table"),
        (("table", "inner", "deep"), "line 8: table.inner.deep"),
        (("table", "inner", "list", 1), "line 8: table.inner.list[1]"),
        (("table", "missing"), "line 7: table.missing"),
        (("learners",), "line 10: learners"),
        (("learners", 0, "name"), "line 11: learners[0].name"),
        (("learners", 1), "line 13: learners[1]"),
        (("learners", 1, "name"), "line 14: learners[1].name"),
        (("learners", 1, "more", "x"), "line 16: learners[1].more.x"),
    ],
)
def test_a_field_has_its_line_or_that_of_the_table_around_it(path: tuple[str | int, ...], place: str) -> None:
    _, locate = read_toml(TEXT, "spec.toml")
    assert locate(*path) == f"spec.toml, {place}"


def test_a_field_nowhere_in_the_file_has_no_line() -> None:
    _, locate = read_toml(TEXT, "spec.toml")
    assert locate("nothing") == "spec.toml: nothing"
    assert locate() == "spec.toml"


def test_a_dict_has_fields_without_lines() -> None:
    assert FieldLocations()("learners", 1, "name") == "learners[1].name"
    assert FieldLocations()() == "the spec"


@pytest.mark.parametrize("text", ["x = " + "1" * 5000, "x = " + "[" * 5000])
def test_absurd_texts_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match=r"^spec\.toml (is not valid TOML|holds a number too long to read, or)"):
        read_toml(text, "spec.toml")
