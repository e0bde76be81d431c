"""Named, versioned, seeded instances. Each has an `id`, such as "paper_random-v1/s2a2h3/seed7", that `from_id`
turns back into exactly the same instance.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from importlib import resources
from typing import Any, TypeVar, cast

import numpy as np

from surepath._checks import FloatArray, IntArray, one_sigma, readable, real, seed_number, suggest, whole
from surepath.errors import ProblemError
from surepath.model.mdp import MDP
from surepath.model.worlds import Gaussian, Instance

# Ids ------------------------------------------------------------------------------------------------------------------
# Versioned ids: "chain-v1/n8k4/seed7" names an instance and rebuilds it exactly.
#
# An id is the family and its version, its shape as letters and whole numbers, any other parameter that differs from
# its default, and the seed. Whoever changes what a builder draws must raise the version of its family.

Builder = TypeVar("Builder", bound=Callable[..., Instance])


@dataclass(frozen=True)
class Family:
    """Names of the instances of one builder.

    Attributes:
        build: The builder, whose name is that of the family.
        shape: The letter of each parameter that makes up the size, in the order of the id.
        version: Raised whenever the same parameters would build something else.
    """

    build: Callable[..., Instance]
    shape: Mapping[str, str]
    version: int = 1

    @property
    def head(self) -> str:
        """Return what an id begins with."""
        return f"{self.build.__name__}-v{self.version}"

    @property
    def defaults(self) -> dict[str, Any]:
        """Return the parameters of the builder with their defaults."""
        return {key: parameter.default for key, parameter in inspect.signature(self.build).parameters.items()}

    def id(self, **parameters: Any) -> str:
        """Write the id of the instance with these parameters; every parameter of the builder must be given."""
        parts = [self.head]
        if self.shape:
            parts.append("".join(f"{letter}{parameters[key]}" for key, letter in self.shape.items()))
        for key, default in self.defaults.items():
            if key not in self.shape and key != "seed" and parameters[key] != default:
                parts.append(f"{key}{type(default)(parameters[key])!r}")  # a plain number, as `parse` reads it
        if "seed" in parameters:
            parts.append(f"seed{parameters['seed']}")
        return "/".join(parts)

    def parse(self, rest: str, id: str) -> dict[str, Any]:
        """Parse the parameters from the part of an id after the version."""
        parts = rest.split("/") if rest else []
        found: dict[str, Any] = {}
        if self.shape:
            pattern = "".join(f"{letter}(\\d{{1,9}})" for letter in self.shape.values())
            match = re.fullmatch(pattern, parts.pop(0), re.ASCII) if parts else None
            if match is None:
                example = "".join(f"{letter}{self.defaults[key]}" for key, letter in self.shape.items())
                raise ProblemError(f'id {id!r}: after "{self.head}/" comes a shape such as "{example}"')
            found = {key: int(text) for key, text in zip(self.shape, match.groups())}
        others = {key: default for key, default in self.defaults.items() if key not in self.shape}
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


def register(**shape: str) -> Callable[[Builder], Builder]:
    """Register a builder as a family; its arguments are checked, and what it builds gets its id."""

    def enter(build: Builder) -> Builder:
        signature = inspect.signature(build)

        @wraps(build)
        def checked(*args: Any, **options: Any) -> Instance:
            given = signature.bind(*args, **options)
            given.apply_defaults()
            values = given.arguments
            for what, value in values.items():
                if what == "sigma":
                    values[what] = one_sigma(value, ProblemError)
                elif what == "seed":
                    seed_number(value, error=ProblemError)
                elif isinstance(signature.parameters[what].default, float):
                    values[what] = real(what, value, error=ProblemError)
                else:
                    whole(what, value, low=1, error=ProblemError)
            instance = build(**values)
            instance.id = family.id(**values)
            return instance

        family = FAMILIES[build.__name__] = Family(checked, shape)
        return cast(Builder, checked)

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
    if family is None:
        raise ProblemError(f"no family of instances is called {name!r}{suggest(name, FAMILIES)}")
    if version != str(family.version):
        raise ProblemError(f'id {id!r}: this surepath builds "{family.head}" and no other version of it')
    instance = family.build(**family.parse(rest, id))
    if instance.id != id:
        raise ProblemError(f"id {id!r} is not how this instance is written; its id is {instance.id!r}")
    return instance


MAX_ARCS = 100_000_000
MAX_LETTERS = 300
MOST_TRIES = 10_000  # draws of a random instance until its least gap is large enough


def check_size(arcs: int) -> None:
    """Refuse an instance whose tables would not fit into memory, before they are made."""
    if arcs > MAX_ARCS:
        raise ProblemError(f"this instance would have {readable(arcs)} options; at most {MAX_ARCS:,} are built")


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence([seed]))


@register(steps="n", options="k")
def chain(steps: int = 8, options: int = 4, seed: int = 0, sigma: float = 0.1) -> Instance:
    """Build a pipeline of `steps` with `options` each; the state is the option before; means uniform on [0, 1].

    Example:
        >>> chain(8, 4).mdp.n_arcs, chain(8, 4).mdp.n_paths
        (116, 65536)
    """
    check_size(steps * options * options)
    rng = _rng(seed)
    next_state = np.broadcast_to(np.arange(options), (steps, options, options)).copy()
    means = rng.random((steps, options, options))
    return Instance(MDP.from_arrays(next_state), Gaussian(means, sigma))


@register()
def support_tickets() -> Instance:
    """Build the embedded example: an LLM workflow that answers support tickets, 8 steps with 4 options each.

    Scores are simulated from a table in the package (sigma 0.1); no model was run. Choosing the best option of each
    step in turn ends 0.375 below the best plan.

    Example:
        >>> support_tickets().mdp.n_arcs
        116
    """
    from surepath.model.files import parse_json_problem

    text = resources.files("surepath.model").joinpath("examples/support_tickets.json").read_text("utf-8")
    problem = parse_json_problem(text, "support_tickets.json")
    if problem.instance is None:
        raise ProblemError("the embedded example has lost its means")
    return problem.instance


@register(bad="b", options="k")
def decoys(bad: int = 3, options: int = 3, gap: float = 0.5, tiny: float = 0.01, sigma: float = 1.0) -> Instance:
    """Build one good state and `bad` bad ones, whose options differ by `tiny` only.

    The first step into the good state earns `gap`, into a bad one nothing. Then option 0 earns 1 everywhere, and each
    further option `gap` less in the good state, `tiny` less in a bad one. Every arc off the best path has a return gap
    of `gap` or more, while the value gaps of bad states are `tiny`: to learn what is best there is of no use.

    Example:
        >>> decoys(2, 2).mdp.n_paths
        6
    """
    check_size((bad + 1) * (options + 1))
    if not 0 < tiny <= gap:
        raise ProblemError(f"decoys needs 0 < tiny <= gap, not tiny {tiny:g} and gap {gap:g}")
    names = ["good", *(f"bad {i + 1}" for i in range(bad))]
    rows = [(0, "start", f"to {name}", name) for name in names]
    rows += [(1, name, f"option {j}", "end") for name in names for j in range(options)]
    means = [gap, *[0.0] * bad, *(1.0 - gap * j for j in range(options))]
    means += [1.0 - tiny * j for _ in range(bad) for j in range(options)]
    return Instance(MDP.from_edges(rows), Gaussian(means, sigma))


@register(states="s", actions="a", horizon="h")
def paper_random(
    states: int = 2, actions: int = 2, horizon: int = 3, min_gap: float = 0.1, seed: int = 0, sigma: float = 1.0
) -> Instance:
    """Build the paper's random instances: uniform next states, means uniform on [0, 1], Gaussian noise.

    Drawn again until the least positive value gap over ALL states and stages, unreachable ones included, exceeds
    `min_gap`, at most 10,000 times.

    Example:
        >>> paper_random(2, 2, 3, seed=7).id
        'paper_random-v1/s2a2h3/seed7'
    """
    check_size(states * actions * horizon)
    next_state, means, _ = _tables(states, actions, horizon, min_gap, seed)
    return Instance(MDP.from_arrays(next_state), Gaussian(means, sigma))


def paper_min_gap(id: str) -> float:
    """Compute Delta_min of a `paper_random` instance as its authors did: over ALL states, unreachable ones included.

    Example:
        >>> round(paper_min_gap("paper_random-v1/s2a2h3/seed7"), 3) > 0.1
        True
    """
    head, _, rest = id.partition("/")
    family = FAMILIES["paper_random"]
    if head != family.head:
        raise ProblemError(f"only instances of {family.head} have a paper_min_gap, not {id!r}")
    found = family.defaults | family.parse(rest, id)
    del found["sigma"]
    return _tables(**found)[2]


def _tables(states: int, actions: int, horizon: int, min_gap: float, seed: int) -> tuple[IntArray, FloatArray, float]:
    """Draw next states and means, both [H, S, A]; return them and the least positive value gap."""
    rng = _rng(seed)
    for _ in range(MOST_TRIES):
        next_state = rng.integers(states, size=(horizon, states, actions))
        means = rng.random((horizon, states, actions))
        value = np.zeros(states)
        least = np.inf
        for h in range(horizon - 1, -1, -1):
            q = means[h] + (value[next_state[h]] if h < horizon - 1 else 0.0)
            value = q.max(axis=1)
            gaps = value[:, None] - q
            least = min(least, gaps[gaps > 0].min(initial=np.inf))
        if least > min_gap:
            return next_state, means, float(least)
    raise ProblemError(
        f"no instance with a minimum value gap above {min_gap:g} in {MOST_TRIES:,} tries; "
        f"lower min_gap or take fewer states, actions or stages"
    )


@register(arms="k")
def bandit(arms: int = 10, seed: int = 0, sigma: float = 1.0) -> Instance:
    """Build one stage, one state: a multi-armed bandit with means uniform on [0, 1].

    Example:
        >>> bandit(5).mdp.horizon
        1
    """
    check_size(arms)
    rng = _rng(seed)
    mdp = MDP.from_arrays(np.zeros((1, 1, arms), dtype=np.int64))
    return Instance(mdp, Gaussian(rng.random(arms), sigma))


@register(actions="a", horizon="h")
def tree(actions: int = 2, horizon: int = 3, seed: int = 0, sigma: float = 1.0) -> Instance:
    """Build a full tree: every state has one arc into it, so no two plans meet again; means uniform on [0, 1].

    Example:
        >>> tree(2, 3).mdp.n_paths
        8
    """
    check_size(horizon if actions == 1 else sum(actions**h for h in range(1, min(horizon, 64) + 1)))
    rng = _rng(seed)
    widths = np.array([actions**h for h in range(horizon)], dtype=np.int64)
    n_nodes = int(widths.sum())
    stage_node = np.concatenate([[0], np.cumsum(widths)])
    # Node i of the tree in level order has the children 1 + i * actions + 0, 1, ...; the last level leads to the sink.
    target = np.minimum(1 + np.arange(n_nodes * actions), n_nodes)
    mdp = MDP(
        first=np.arange(n_nodes + 1) * actions,
        target=target,
        stage_node=stage_node,
        node_state=np.arange(n_nodes) - np.repeat(np.cumsum(widths) - widths, widths),
        action=np.tile(np.arange(actions, dtype=np.int32), n_nodes),
    )
    return Instance(mdp, Gaussian(rng.random(mdp.n_arcs), sigma))


@register(rows="r", columns="c")
def grid(rows: int = 4, columns: int = 4, seed: int = 0, sigma: float = 0.1) -> Instance:
    """Build a grid of streets: go right (0) or down (1), from the top left corner to the bottom right, in least time.

    The state is the row; mean times are uniform on [0, 1], and their sum is minimised.

    Example:
        >>> grid(3, 3).mdp.n_paths, grid(3, 3).mdp.direction
        (6, 'minimize')
    """
    if rows + columns < 3:
        raise ProblemError("a grid needs at least two crossings; give it more rows or columns")
    horizon = rows + columns - 2
    check_size(2 * horizon * rows)  # the table that it is built from
    rng = _rng(seed)
    stage, row = np.arange(horizon)[:, None], np.arange(rows)[None, :]
    column = stage - row
    inside = (column >= 0) & (column < columns)
    next_state = np.stack([np.broadcast_to(row, (horizon, rows)), np.broadcast_to(row + 1, (horizon, rows))], axis=-1)
    available = np.stack([inside & (column < columns - 1), inside & (row < rows - 1)], axis=-1)
    mdp = MDP.from_arrays(next_state, available=available, direction="minimize")
    return Instance(mdp, Gaussian(rng.random(mdp.n_arcs), sigma))


@register(states="s", actions="a", horizon="h")
def layered(states: int = 100, actions: int = 4, horizon: int = 50, seed: int = 0, sigma: float = 1.0) -> Instance:
    """Build a large random graph for scale: next states and means uniform, nothing rejected.

    Example:
        >>> layered(10, 2, 5).mdp.horizon
        5
    """
    check_size(states * actions * horizon)
    rng = _rng(seed)
    mdp = MDP.from_arrays(rng.integers(states, size=(horizon, states, actions), dtype=np.int32))
    return Instance(mdp, Gaussian(rng.random(mdp.n_arcs), sigma))


def _binary_tree(family: str, states: int, actions: int, horizon: int, least: int, last_entry: int) -> MDP:
    """Build a start and a full binary tree, entered until stage `last_entry`, counted from 1; all leaves stay.

    State 0 is the start: action 0 enters the root, action 1 waits. States 1 .. S - 1 are the tree, level by level: 0
    goes left, 1 right. `least` times log2 S is the least horizon.
    """
    check_size(states * actions * horizon)
    depth = int(states).bit_length() - 1
    if states < 2 or states != 2**depth:
        raise ProblemError(f"{family} needs 2, 4, 8, ... states (a start and a full binary tree), not {states}")
    if actions < 2:
        raise ProblemError(f"{family} needs at least 2 actions, not {actions}")
    if horizon < max(least * depth, depth + (least == 1)):
        law = "above log2(states)" if least == 1 else f"of at least {least} log2(states)"
        raise ProblemError(f"{family} needs a horizon {law} = {least * depth} for {states} states, not {horizon}")
    first_leaf, node = states // 2, np.arange(states)
    next_state = np.repeat(node[:, None], actions, axis=1)
    next_state[1:first_leaf, :2] = np.stack([2 * node[1:first_leaf], 2 * node[1:first_leaf] + 1], axis=1)
    next_state[0, 0] = 1
    available = np.ones((horizon, states, actions), dtype=bool)
    available[:, :first_leaf, 2:] = False
    available[last_entry - 1 :, 0, 1] = False
    return MDP.from_arrays(np.broadcast_to(next_state, (horizon, states, actions)), available=available)


@register(states="s", actions="a", horizon="h")
def minimax_hard(states: int = 4, actions: int = 2, horizon: int = 6, sigma: float = 1.0) -> Instance:
    """Build the appendix's worst case: wait in the start, enter a binary tree, stay in a leaf; all means are zero.

    State 0 is the start: action 0 enters the root, action 1 waits, until stage floor(H / 3) - 1 counted from 1.
    States 1 .. S - 1, S = 2^d, are the tree, level by level: 0 goes left, 1 right. In a leaf all A >= 2 actions stay.
    H is at least 3 log2 S.

    Example:
        >>> minimax_hard(states=8, actions=3, horizon=9).mdp.n_paths
        4212
    """
    mdp = _binary_tree("minimax_hard", states, actions, horizon, least=3, last_entry=horizon // 3)
    return Instance(mdp, Gaussian(0.0, sigma))


@register(states="s", actions="a", horizon="h")
def minimax_tree(states: int = 4, actions: int = 2, horizon: int = 6, sigma: float = 1.0) -> Instance:
    """Build the worst case whose proof holds: enter a binary tree at stage 1, stay in a leaf; all means are zero.

    State 0 is the start, with one action into the root; states 1 .. S - 1, S = 2^d, are the tree, level by level: 0
    goes left, 1 right. In a leaf, reached after log2 S < H stages, all A >= 2 actions stay. See
    `theory.worst_case_lower_bound`.

    Example:
        >>> minimax_tree(states=4, actions=3, horizon=4).mdp.n_paths
        18
    """
    mdp = _binary_tree("minimax_tree", states, actions, horizon, least=1, last_entry=1)
    return Instance(mdp, Gaussian(0.0, sigma))


@register(m="m")
def cover_gap(m: int = 3, sigma: float = 1.0) -> Instance:
    """Build the appendix's example against dropping arcs: covering all arcs but one shortcut.

    The start has m arcs to a first hub and one to a side road that ends in a second hub with m exits. The first
    hub has one exit of its own, and the shortcut to the second hub. With the shortcut m + 1 paths cover all other
    arcs (m - 1 of those in the first hub cross over); without it both hubs need m paths of their own, 2m in all.
    All means are zero. The shortcut is `mdp.arc(1, "first hub", "shortcut")`.

    Example:
        >>> cover_gap(3).mdp.n_arcs
        11
    """
    check_size(50 * (2 * m + 5))  # built from rows, which take some fifty times the memory of arcs
    rows = [(0, "start", f"way {i + 1}", "first hub") for i in range(m)]
    rows += [(0, "start", "side road", "side road"), (1, "side road", "on", "second hub")]
    rows += [(1, "first hub", "own exit", "exit"), (1, "first hub", "shortcut", "second hub"), (2, "exit", "on", "end")]
    rows += [(2, "second hub", f"exit {i + 1}", "end") for i in range(m)]
    return Instance(MDP.from_edges(rows), Gaussian(0.0, sigma))
