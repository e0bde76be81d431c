"""Versioned ids: "chain-v1/n8k4/seed7" names an instance and rebuilds it exactly.

An id is the family and its version, its shape as letters and whole numbers, any other parameter that differs from
its default, and the seed. Whoever changes what a builder draws must raise the version of its family.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from surepath._checks import in_words, seed_number, suggest, whole
from surepath._text import word
from surepath.errors import ProblemError
from surepath.model.instance import Instance

Builder = TypeVar("Builder", bound=Callable[..., Instance])


@dataclass
class Family:
    """How the instances of one builder are named.

    Attributes:
        name: Name of the family and of its builder.
        shape: The letter of each parameter that makes up the size, in the order of the id.
        version: Raised whenever the same parameters would build something else.
        build: The builder; set by `register`.
    """

    name: str
    shape: Mapping[str, str] = field(default_factory=dict)
    version: int = 1
    build: Callable[..., Instance] | None = None

    def id(self, **parameters: Any) -> str:
        """Write the id of the instance with these parameters; every parameter of the builder must be given."""
        parts = [f"{self.name}-v{self.version}"]
        if self.shape:
            parts.append("".join(f"{letter}{parameters[key]}" for key, letter in self.shape.items()))
        for key, default in self.defaults().items():
            if key not in self.shape and key != "seed" and parameters[key] != default:
                parts.append(f"{key}{type(default)(parameters[key])!r}")  # a plain number, as `parse` reads it
        if "seed" in parameters:
            parts.append(f"seed{parameters['seed']}")
        return "/".join(parts)

    def defaults(self) -> dict[str, Any]:
        """Return the parameters of the builder with their defaults."""
        if self.build is None:
            raise ProblemError(f"the family {self.name!r} has no builder")
        return {key: parameter.default for key, parameter in inspect.signature(self.build).parameters.items()}

    def parse(self, rest: str, id: str) -> dict[str, Any]:
        """Parse the parameters from the part of an id after the version."""
        parts = rest.split("/") if rest else []
        found: dict[str, Any] = {}
        if self.shape:
            pattern = "".join(f"{letter}(\\d{{1,9}})" for letter in self.shape.values())
            match = re.fullmatch(pattern, parts[0], re.ASCII) if parts else None
            if match is None:
                example = "".join(f"{letter}{self.defaults()[key]}" for key, letter in self.shape.items())
                raise ProblemError(f'id {id!r}: after "{self.name}-v{self.version}/" comes a shape such as "{example}"')
            found = {key: int(text) for key, text in zip(self.shape, match.groups())}
            parts = parts[1:]
        others = {key: default for key, default in self.defaults().items() if key not in self.shape}
        for part in parts:
            key = next((key for key in others if part.startswith(key)), None)
            if key is None:
                name = re.match("[a-z_]*", part)
                raise ProblemError(f"id {id!r}: {part!r} names no parameter{suggest(name[0] if name else '', others)}")
            try:
                found[key] = type(others[key])(part[len(key) :])
            except ValueError:
                raise ProblemError(f"id {id!r}: {part!r} does not hold a number") from None
        return found


FAMILIES: dict[str, Family] = {}


def register(family: Family) -> Callable[[Builder], Builder]:
    """Register a builder under its family's name."""

    def enter(build: Builder) -> Builder:
        family.build = build
        FAMILIES[family.name] = family
        return build

    return enter


def from_id(id: str) -> Instance:
    """Rebuild an instance from its id, exactly.

    Example:
        >>> from_id("chain-v1/n3k2/seed7").mdp.n_arcs
        10
    """
    if not isinstance(id, str):
        raise ProblemError(f"an id is text such as 'chain-v1/n8k4/seed7', not {id!r}")
    if len(id) > MAX_LETTERS:
        raise ProblemError(f"an id has at most {MAX_LETTERS} letters; the one that begins {id[:40]!r} has {len(id):,}")
    head, _, rest = id.partition("/")
    name, _, version = head.rpartition("-v")
    if not name:
        name = head
    family = FAMILIES.get(name)
    if family is None or family.build is None:
        raise ProblemError(f"no family of instances is called {name!r}{suggest(name, FAMILIES)}")
    if version != str(family.version):
        raise ProblemError(f'id {id!r}: this surepath builds "{name}-v{family.version}" and no other version of it')
    instance = family.build(**family.parse(rest, id))
    if instance.id != id:
        raise ProblemError(f"id {id!r} is not how this instance is written; its id is {instance.id!r}")
    return instance


def names() -> list[str]:
    """List the names of all families."""
    return sorted(FAMILIES)


def counts(**values: Any) -> None:
    """Refuse values that are not whole numbers from 1; each is named in its message."""
    for what, value in values.items():
        whole(what, value, low=1, error=ProblemError)


MAX_ARCS = 100_000_000
MAX_LETTERS = 300


def check_size(arcs: int) -> None:
    """Refuse an instance whose tables would not fit into memory, before they are made."""
    if arcs > MAX_ARCS:
        raise ProblemError(
            f"this instance would have {in_words(arcs)} {word('arcs', 'options')}; at most {MAX_ARCS:,} are built"
        )


def check_seed(seed: Any) -> int:
    """Return a seed, a whole number from 0, or raise an error."""
    return seed_number(seed, error=ProblemError)
