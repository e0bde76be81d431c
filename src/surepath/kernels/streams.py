"""Random streams of many runs in one compiled call: one generator, set to the stream of each run in turn.

Run i draws from PCG64(SeedSequence(seed, spawn_key=(i,))), as NumPy makes it. Making these objects and passing each to
a kernel takes 50 microseconds, as long as a short run. So the states of many streams are computed at once here, by
the published algorithms of SeedSequence and PCG64, and the kernel writes them into the memory of a single generator,
which NumPy gives the address of. Both are compared with what NumPy says before use; where they differ, `states_of` and
`open_source` return None and runs are played one by one.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

from surepath._types import Uint32Array, Uint64Array

Wide = tuple[Uint64Array, Uint64Array]  # numbers of 128 bits: their upper and lower halves

_POOL = 4
_WORD = (1 << 32) - 1
_MASK = (1 << 64) - 1
_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645  # of PCG64's step


class Source(NamedTuple):
    """Hold what the rewards of simulated runs are drawn from."""

    rng: np.random.Generator
    words: Uint64Array  # [4] the state of rng in memory, or [0] where it is not to be written
    states: Uint64Array  # [runs, 4] the state for each run of the call; no rows: rng draws for a single run, as it is


class Children(NamedTuple):
    """Name the streams of runs first .. first + number - 1 of a seed."""

    seed: int
    first: int
    number: int

    def generator(self, index: int) -> np.random.Generator:
        """Make the generator of run first + index."""
        sequence = np.random.SeedSequence(entropy=self.seed, spawn_key=(self.first + index,))
        return np.random.Generator(np.random.PCG64(sequence))


def single_source(rng: np.random.Generator) -> Source:
    """Draw for one run from this generator."""
    return Source(rng, np.zeros(0, dtype=np.uint64), np.zeros((0, 4), dtype=np.uint64))


def open_source(children: Children) -> Source | None:
    """Make a generator whose state a kernel can set to each of these streams; None where that is not possible."""
    rng = children.generator(0)
    states = states_of(children, rng)
    if states is None:
        return None
    address = ctypes.c_void_p.from_address(rng.bit_generator.ctypes.state_address).value
    if address is None:
        return None
    words: Uint64Array = np.ctypeslib.as_array((ctypes.c_uint64 * 4).from_address(address))
    return Source(rng, words, states) if np.array_equal(words, states[0]) else None


def states_of(children: Children, first_one: np.random.Generator) -> Uint64Array | None:
    """Compute the states (low, high, increment low, increment high) of PCG64, uint64 [number, 4].

    Args:
        children: The streams.
        first_one: The generator of the first of them as NumPy makes it; None is returned where it differs.
    """
    seed, first, count = children
    if first + count > 1 << 32:
        return None
    entropy = [seed & _WORD]
    while seed := seed >> 32:
        entropy.append(seed & _WORD)
    entropy += [0] * (_POOL - len(entropy))
    pool = _pool(entropy, np.arange(first, first + count, dtype=np.uint32))
    # generate_state: eight words of 32 bits, in pairs.
    halves = _folded((pool[[0, 1, 2, 3] * 2] ^ _OUT[:-1]) * _OUT[1:]).astype(np.uint64)
    a, b, c, d = halves[::2] | (halves[1::2] << np.uint64(32))
    # Of PCG64: increment = 2 (c, d) + 1 and state = ((a, b) + increment) * multiplier + increment, modulo 2^128.
    increment = c << np.uint64(1) | d >> np.uint64(63), d << np.uint64(1) | np.uint64(1)
    state = _sum(_product(_sum((a, b), increment), _MULTIPLIER), increment)
    states = np.stack((state[1], state[0], increment[1], increment[0]), axis=1)
    said = first_one.bit_generator.state["state"]
    mine = [int(word) for word in states[0]]
    same = said["state"] == mine[0] | mine[1] << 64 and said["inc"] == mine[2] | mine[3] << 64
    return states if same else None


def _sum(x: Wide, y: Wide) -> Wide:
    """Add numbers of 128 bits."""
    low = x[1] + y[1]
    return x[0] + y[0] + (low < x[1]), low


def _product(x: Wide, factor: int) -> Wide:
    """Multiply numbers of 128 bits by one; the lower halves by parts of 32 bits, as a product must not exceed 64."""
    half, part = np.uint64(32), np.uint64(0xFFFFFFFF)
    top, bottom = np.uint64(factor >> 64), np.uint64(factor & _MASK)
    u, v, y, z = x[1] >> half, x[1] & part, bottom >> half, bottom & part
    middle = u * z + (v * z >> half)
    cross = v * y + (middle & part)
    high = u * y + (middle >> half) + (cross >> half)
    return high + x[0] * bottom + x[1] * top, x[1] * bottom


def _folded(value: Any) -> Any:
    """Mix the upper half of each word of 32 bits into its lower half."""
    return value ^ value >> 16


def _powers(constant: int, factor: int, number: int) -> Uint32Array:
    """List a constant times 1, factor, factor^2, ... modulo 2^32, in a column."""
    powers = [constant * pow(factor, i, 1 << 32) & _WORD for i in range(number)]
    return np.array(powers, dtype=np.uint32)[:, None]


_OUT = _powers(0x8B51F9DD, 0x58F38DED, 9)  # what generate_state multiplies its words by, one after the other


def _pool(entropy: list[int], key: Uint32Array) -> Uint32Array:
    """Mix the entropy and the key of each stream into a pool of four words, as SeedSequence does, uint32 [4, number].

    The key comes last, so all before it is mixed once, as plain numbers.
    """
    constant = 0x43B0D7E5

    def hashed(value: Any) -> Any:
        nonlocal constant
        value = value ^ constant
        constant = constant * 0x931E8875 & _WORD
        return _folded(value * constant & _WORD)

    def mixed(x: int, y: Any) -> Any:
        return _folded((x * 0xCA01F9DD & _WORD) - (y * 0x4973F715 & _WORD) & _WORD)

    pool = [hashed(word) for word in entropy[:_POOL]]
    for source in range(_POOL):
        for target in range(_POOL):
            if source != target:
                pool[target] = mixed(pool[target], hashed(pool[source]))
    for word in (*entropy[_POOL:], key):
        for target in range(_POOL):
            pool[target] = mixed(pool[target], hashed(word))
    return np.stack(pool)
