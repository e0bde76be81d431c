"""The words of the source: docstrings of functions begin with a verb; metaphors are left out, of names too."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "surepath"
# Folders of the package whose words are checked; "." is the modules at its top.
PACKAGES = (
    ".",
    "cli",
    "experiments",
    "kernels",
    "learners",
    "model",
    "plots",
    "simulation",
    "study",
    "theory",
    "web",
)

# What a function does, in the imperative. A new verb is welcome here; a noun is not.
VERB_LIST = """
Accept Account Add Adjust Aggregate Allocate Allow Announce Append Apply Ask Assign Average Begin Bound Bring Build
Call Cancel Change Check Choose Clear Clip Close Collect Compare Compile Compute Connect Continue Convert Copy Count
Create Cut Decide Delete Derive Describe Discard Discover Divide Do Draw Drop Eliminate Encode End Enter Estimate
Exclude Execute Extend Extract Feed Fetch Fill Find Fold Follow Forget Format Gather Give Guess Handle Hash Import
Improve Insert Join Judge Keep Label Lay Lead Leave Let List Load Lock Lower Make Map Mark Measure Minimise Mix Move
Multiply Name Narrow Note Open Parse Pass Perform Plan Play Point Poll Prepare Print Propose Prove Put Queue Raise Read
Rebuild Recompute Record Refuse Register Reject Release Remove Render Renew Replace Replay Report Reset Resolve Return
Rewrite Round Run Save Say Select Send Serve Set Settle Shorten Show Simulate Skip Solve Sort Split Start Stop Store
Stream Take Tell Test Try Turn Undo Update Use Verify Wait Warn Wrap Write Yield
"""
VERBS = frozenset(VERB_LIST.split())
NOUN = {"of", "on", "is", "are"}  # after a word that is a verb and a noun: "Bound on ...", "Name of ..."
TOLD = {"whether", "which", "whose"}  # `tell` is a method of learners

# The trade's words are: capacity, memory or space; entry point or source; remedy; is, is in, means; not run; resumed;
# read, search or check; assign; current; eliminated or lost; is kept in; contradicts, is evidence against.
METAPHORS = re.compile(
    r"\b(rooms?|ways? (?:in|into|out)(?! which)|stands|stood|asleep|woken|look(?:s|ed|ing)?|gone|lives|in hand|"
    r"hand(?:s|ed|ing)? out|speaks?|spoke|your eyes)\b",
    re.IGNORECASE,
)
PUBLIC = {
    "learners/watch/findings.py": {"looks"},  # sentences of certificates, which old ones are checked against
    "learners/watch/watch.py": {"looks"},
    "study/certificate/words.py": {"looking"},
}


# In names of functions, classes and fields these too: `tell` and `told` are what learners and studies do with results,
# and a function or a class is named after what it does or holds.
NAME_METAPHORS = re.compile(
    rf"{METAPHORS.pattern}|\b(told|stands?|ways? (?:in|into|out)|by and by|take stock|last (?:words|acts?)|attends?)\b",
    re.IGNORECASE,
)
PUBLIC_NAMES = {"study/storage/records.py": {"told"}}  # a column of the database


def modules() -> list[str]:
    files = (file.relative_to(PACKAGE) for file in PACKAGE.rglob("*.py"))
    return sorted(file.as_posix() for file in files if (file.parts[0] if len(file.parts) > 1 else ".") in PACKAGES)


def faults(source: str) -> Iterator[str]:
    """Yield what is wrong with the docstrings of functions in a source text."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        words = (ast.get_docstring(node) or "").split(maxsplit=2)
        if not words:
            continue
        verb, second = words[0].rstrip(",:;"), words[1] if len(words) > 1 else ""
        where = f"line {node.lineno}, {node.name}"
        if verb not in VERBS:
            yield f'{where} begins with "{verb}", which is no verb of the list'
        elif second in NOUN:
            yield f'{where} begins with "{verb} {second}": a noun'
        elif verb == "Tell" and second in TOLD:
            yield f'{where} begins with "Tell {second}": learners are told, functions return'
        elif verb == "Return" and isinstance(node.returns, ast.Constant) and node.returns.value is None:
            yield f'{where} begins with "Return" and returns nothing'


def metaphors(source: str) -> list[str]:
    return [found.lower() for found in METAPHORS.findall(" ".join(source.split()))]


def defined_names(source: str) -> Iterator[str]:
    """Yield the names of functions, classes and their annotated fields."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        if isinstance(node, ast.ClassDef):
            fields = (part.target for part in node.body if isinstance(part, ast.AnnAssign))
            yield from (field.id for field in fields if isinstance(field, ast.Name))


def name_metaphors(source: str) -> list[str]:
    """Return the names that have a metaphor among their words."""
    words = {name: re.sub("([a-z0-9])([A-Z])", r"\1 \2", name).replace("_", " ") for name in defined_names(source)}
    return [name for name, spaced in words.items() if NAME_METAPHORS.search(spaced)]


@pytest.mark.parametrize("folder", PACKAGES)
def test_the_folder_has_modules(folder: str) -> None:
    assert any((module.rpartition("/")[0].partition("/")[0] or ".") == folder for module in modules())


def test_docstrings_of_functions_begin_with_a_verb() -> None:
    found = [f"{module}, {fault}" for module in modules() for fault in faults((PACKAGE / module).read_text("utf-8"))]
    assert found == []


def test_metaphors_are_left_out() -> None:
    found = {
        module: set(metaphors((PACKAGE / module).read_text("utf-8"))) - PUBLIC.get(module, set())
        for module in modules()
    }
    assert {module: words for module, words in found.items() if words} == {}


def test_metaphors_are_left_out_of_names() -> None:
    found = {
        module: set(name_metaphors((PACKAGE / module).read_text("utf-8"))) - PUBLIC_NAMES.get(module, set())
        for module in modules()
    }
    assert {module: names for module, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('def size() -> int:\n    """Size in bytes."""', 'begins with "Size", which is no verb'),
        ('class A:\n    @property\n    def name(self) -> str:\n        """Name of it."""', '"Name of": a noun'),
        ('async def f() -> None:\n    """Return to the start."""', 'begins with "Return" and returns nothing'),
        ('def f() -> bool:\n    """Tell whether it is so."""', '"Tell whether": learners are told'),
        ('def f() -> None:\n    """Tell every score to a learner."""', None),
        ('def f() -> int:\n    """Return, or count, what is there."""', None),
        ('class Size:\n    """Size in bytes."""\n    def f(self) -> None: ...', None),
    ],
)
def test_the_test_sees_a_noun(text: str, fault: str | None) -> None:
    found = list(faults(text))
    assert len(found) == (fault is not None)
    assert fault is None or fault in found[0]


def test_the_test_sees_a_metaphor() -> None:
    assert metaphors('"""Make Room for it: two ways\n    into a file, a way in which none stands."""') == [
        "room",
        "ways into",
        "stands",
    ]
    assert metaphors("It speaks,\nspoke before\n    your eyes") == ["speaks", "spoke", "your eyes"]
    assert metaphors("speak_up, spoken, always in order, bedroom, a way in which it withstands") == []


def test_the_test_sees_a_metaphor_in_a_name() -> None:
    source = """
class Told: ...
class WayIn:
    visits_in_hand: int
    room: float
    def _look(self): ...
async def last_words(look): ...
def by_and_by(): ...
"""
    assert name_metaphors(source) == ["Told", "WayIn", "visits_in_hand", "room", "last_words", "by_and_by", "_look"]
    assert name_metaphors("class Standard:\n    bedroom: int\ndef tell(room): ...\ndef always_in(): ...") == []
