"""The API reference is complete, and every public function shows its real signature."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import surepath

PAGES = sorted((Path(__file__).resolve().parent.parent / "docs" / "api").glob("*.md"))
LOOSE = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


def public(module: ModuleType, imported: bool) -> list[str]:
    """Public functions and classes of a module, as autodoc lists them."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(value) or inspect.isclass(value))
        and (value.__module__ == module.__name__ or (imported and value.__module__.startswith("surepath")))
    ]


def listed() -> list[str]:
    """Names that the pages hand to autodoc, members of modules included."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found += re.findall(r"^\.\. auto(?:class|function):: ([\w.]+)$", text, re.MULTILINE)
        for module, options in re.findall(r"^\.\. automodule:: ([\w.]+)\n((?:   :.*\n)*)", text, re.MULTILINE):
            wanted, left_out = re.search(r":members: (.+)", options), re.search(r":exclude-members: (.+)", options)
            imported = ":imported-members:" in options
            names = wanted[1].split(", ") if wanted else public(importlib.import_module(module), imported)
            found += [f"{module}.{name}" for name in names if not (left_out and name in left_out[1].split(", "))]
    return found


def thing(name: str) -> Any:
    """Return the object of a dotted name."""
    module, _, rest = name.rpartition(".")
    return getattr(importlib.import_module(module), rest)


def callables(name: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """A function; or a class and its public methods."""
    value = thing(name)
    if inspect.isfunction(value):
        yield name, value
    if inspect.isclass(value) and value.__module__.startswith("surepath") and not issubclass(value, Exception):
        if not getattr(value, "_is_protocol", False):  # nobody makes one
            yield name, value
        for attribute, member in inspect.getmembers(value, inspect.isroutine):
            inherited = not getattr(member, "__module__", None) or not member.__module__.startswith("surepath")
            if not attribute.startswith("_") and not inherited and callable(member):
                yield f"{name}.{attribute}", member


def test_every_public_name_is_on_a_page() -> None:
    on_pages = set(listed())
    modules = {"families": "surepath.model.families", "theory": "surepath.theory"}
    for name in set(surepath.__all__) - {"__version__"} - set(modules):
        assert f"surepath.{name}" in on_pages, name
    for module in modules.values():
        assert any(entry.startswith(f"{module}.") for entry in on_pages), module


@pytest.mark.parametrize("name", listed())
def test_signatures_hide_nothing(name: str) -> None:
    for title, function in callables(name):
        parameters = inspect.signature(function).parameters.values()
        assert not [str(p) for p in parameters if p.kind in LOOSE], f"{title} takes whatever one gives it"
        for p in parameters:
            assert p.name == "self" or p.annotation is not p.empty, f"{title}: {p.name} has no type"
        assert inspect.getdoc(function), f"{title} says nothing"
