"""Sources of the instances of an experiment: an id, a family with seeds, or a problem file.

A source is plain data from which any worker rebuilds the same instance: {"id": ...}, or {"name": ..., "text": ...}
with the content of a problem file. Nothing is pickled and no path is needed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from surepath._checks import suggest
from surepath.errors import ProblemError, SettingError, SurepathError
from surepath.experiments.toml_lines import FieldLocations
from surepath.model import families
from surepath.model.instance import Instance
from surepath.model.sources.files import parse_problem_text
from surepath.model.sources.textfile import MAX_BYTES, read_text

Source = dict[str, str]


def read_sources(entry: Any, index: int, locate: FieldLocations, folder: Path | None) -> list[Source]:
    """Read and check one entry of `instances`; it may list several sources."""
    if isinstance(entry, str):
        entry = {"id": entry}
    at = locate("instances", index)
    if not isinstance(entry, Mapping):
        raise SettingError(f'{at} must be an id, or a table with "id", "family" or "file", not {entry!r}')
    kinds = [kind for kind in ("id", "family", "file", "text") if kind in entry]
    if len(kinds) != 1:
        given = " and ".join(f'"{kind}"' for kind in kinds) or "none of them"
        raise SettingError(f'{at} must have one of "id", "family" and "file"; it has {given}')
    kind = kinds[0]
    valid = {"id": ("id",), "file": ("file", "direction"), "text": ("text", "name", "direction")}
    if kind != "family":
        for key in entry:
            if key not in valid[kind]:
                raise SettingError(
                    f"{locate('instances', index, key)} is not a field here{suggest(str(key), valid[kind])}"
                )
    if kind == "text" and not entry.get("name"):
        raise SettingError(f'{at} must have a "name" for its "text", such as "problem.json"')
    try:
        if kind == "family":
            return _from_family(entry, index, locate)
        if kind == "file":
            return [_from_file(entry, folder)]
        source = {key: str(value) for key, value in entry.items()}
        instance_of(source)
    except ProblemError as error:
        raise SettingError(f"{locate('instances', index, kind)}: {error}") from None
    return [source]


def instance_of(source: Mapping[str, str]) -> Instance:
    """Build the instance of a source; the last few are cached."""
    return _build(tuple(sorted(source.items())))


def name_of(source: Mapping[str, str]) -> str:
    """Return the name of an instance in rows and seeds: its id, or the file's name and a hash of its content."""
    if "id" in source:
        return source["id"]
    digest = hashlib.sha256((source["text"] + source.get("direction", "")).encode()).hexdigest()
    return f"file:{source['name']}#{digest[:12]}"


def min_gap_of(source: Mapping[str, str]) -> float:
    """Compute Delta_min, the least positive value gap.

    Of the paper's random instances it is taken over ALL states, as its authors count it; of every other instance over
    the reachable ones.
    """
    from surepath import theory

    if source.get("id", "").startswith("paper_random-"):
        return families.paper_min_gap(source["id"])
    value = theory.gaps(instance_of(source)).value
    if not (value > 0).any():
        raise ProblemError(f"{name_of(source)} has no positive value gap, so nothing can be a multiple of it")
    return float(value[value > 0].min())


@lru_cache(maxsize=32)
def _build(items: tuple[tuple[str, str], ...]) -> Instance:
    source = dict(items)
    if "id" in source:
        return families.from_id(source["id"])
    problem = parse_problem_text(source["text"], source["name"], direction=source.get("direction"))
    if problem.instance is None:
        raise ProblemError(f"{source['name']} gives no means, so there is nothing to simulate; add a mean to each edge")
    problem.instance.id = name_of(source)
    return problem.instance


def _from_family(entry: Mapping[str, Any], index: int, locate: FieldLocations) -> list[Source]:
    name = entry["family"]
    if not isinstance(name, str) or name not in families.FAMILIES:
        at = locate("instances", index, "family")
        raise SettingError(f"{at}: no family is called {name!r}{suggest(str(name), families.names())}")
    family = families.FAMILIES[name]
    defaults = family.defaults()
    settings = {key: value for key, value in entry.items() if key not in ("family", "seeds")}
    valid = [*defaults, *(["seeds"] if "seed" in defaults else [])]
    for key in (*settings, *(["seeds"] if "seeds" in entry else [])):
        if key not in valid:
            at = locate("instances", index, key)
            raise SettingError(f"{at} is not a parameter of {name}{suggest(str(key), valid)}")
    if "seeds" in entry and "seed" in entry:
        raise SettingError(f'{locate("instances", index, "seed")}: give "seed" or "seeds", not both')
    variants = [settings]
    if "seeds" in entry:
        variants = [{**settings, "seed": seed} for seed in _seeds(entry["seeds"], locate("instances", index, "seeds"))]
    found = []
    for variant in variants:
        try:
            assert family.build is not None
            instance = family.build(**variant)
        except SurepathError as error:
            first = str(error).split(" ", 1)[0]
            field = (first,) if first in variant else ()
            raise SettingError(f"{locate('instances', index, *field)}: {error}") from None
        found.append({"id": str(instance.id)})
    return found


def _seeds(value: Any, at: str) -> list[int]:
    if isinstance(value, str):
        match = re.fullmatch(r"(\d{1,9})\.\.(\d{1,9})", value)
        if match and int(match[1]) <= int(match[2]):
            return list(range(int(match[1]), int(match[2]) + 1))
    elif isinstance(value, list) and value and all(type(seed) is int and seed >= 0 for seed in value):
        return value
    raise SettingError(f'{at} must be a list of whole numbers from 0, or a range such as "0..9", not {value!r}')


def _from_file(entry: Mapping[str, Any], folder: Path | None) -> Source:
    path = Path(str(entry["file"]))
    if folder is not None and not path.is_absolute():
        path = folder / path
    source = {"name": path.name, "text": read_text(path, MAX_BYTES)}
    if "direction" in entry:
        source["direction"] = str(entry["direction"])
    instance_of(source)
    return source
