"""Arrays spread over chips: cutting a global array into shards, and putting shards together."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from shardsim.errors import SimulationError
from shardsim.notation import sub_axis, whole_axis

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from shardsim.mesh import Mesh
    from shardsim.sharding import ShardedArray
    from shardsim.topology import Coordinate

__all__ = ["Shards", "assemble", "scatter"]

Shards = dict["Coordinate", "NDArray[Any]"]

SEED = 20_230_817


def scatter(array: NDArray[Any], sharded: ShardedArray) -> Shards:
    """Each chip's part of a global array.

    Where the array is unreduced, each chip of a group gets other numbers; together they sum to it.
    Chips that no axis of the array tells apart hold copies, of partial sums too.
    """
    chips = list(sharded.mesh.topology.coordinates())
    shards = {chip: array[sharded.block(chip)].copy() for chip in chips}
    if not sharded.array.unreduced:
        return shards
    for group in _groups(sharded):
        corner = [part.start for part in sharded.block(group[0])]
        noise = np.random.default_rng([SEED, *corner])
        for chip in group[1:]:
            part = noise.integers(-99, 100, size=shards[chip].shape).astype(array.dtype)
            shards[group[0]] = shards[group[0]] - part
            shards[chip] = part
    return shards


def assemble(shards: Mapping[Coordinate, NDArray[Any]], sharded: ShardedArray) -> NDArray[Any]:
    """The global array that the shards stand for; partial sums are added up.

    Raises:
        SimulationError: two chips that should hold the same block do not.
    """
    result = np.zeros(sharded.extents, dtype=next(iter(shards.values())).dtype)
    filled: dict[tuple[tuple[int, int], ...], Coordinate] = {}
    for group in _groups(sharded):
        first = group[0]
        total = np.sum([shards[chip] for chip in group], axis=0)
        block = sharded.block(first)
        key = tuple((part.start, part.stop) for part in block)
        if key not in filled:
            filled[key] = first
            result[block] = total
        elif not np.array_equal(result[block], total, equal_nan=result.dtype.kind == "f"):
            raise SimulationError(
                f"chips {filled[key]} and {first} disagree on their block of {sharded.array}"
            )
    return result


def _groups(sharded: ShardedArray) -> list[list[Coordinate]]:
    """Chips that differ only along the unreduced axes, or parts of axes, together; others apart."""
    mesh, sums = sharded.mesh, sharded.array.unreduced
    steps = [(whole_axis(name), name, _step(mesh, name)) for name in sums]
    groups: dict[tuple[int, ...], list[Coordinate]] = {}
    for chip in mesh.topology.coordinates():
        at = {name: mesh.position(chip, name) for name in mesh.sizes}
        for whole, name, step in steps:  # as if the chip were the first along it
            at[whole] -= mesh.position(chip, name) * step
        groups.setdefault(tuple(at.values()), []).append(chip)
    return list(groups.values())


def _step(mesh: Mesh, name: str) -> int:
    """How many places along its axis one step along a part of it is."""
    part = sub_axis(name)
    return 1 if part is None else mesh.axis(part.axis).size // part.after


def einsum_subscripts(operands: list[tuple[str, ...]], result: tuple[str, ...]) -> str:
    """The einsum subscripts of named dimensions.

    >>> einsum_subscripts([("I", "J"), ("J", "K")], ("I", "K"))
    'ab,bc->ac'
    """
    names = dict.fromkeys(itertools.chain(*operands))
    letters = dict(zip(names, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", strict=False))
    terms = ("".join(letters[name] for name in dims) for dims in operands)
    return f"{','.join(terms)}->{''.join(letters[name] for name in result)}"
