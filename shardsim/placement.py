"""Which block of an array each chip holds, from the sizes of the mesh axes alone.

A chip is its coordinates by axis, `{"X": 3, "Y": 0}`. Where a dimension is sharded over `X:(1)2`,
the chips of the same major half of X hold the same block.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from shardsim.errors import ShardingError, Source
from shardsim.notation import Array, SubAxis, sub_axis, whole_axis
from shardsim.notation.rules import place_of
from shardsim.notation.tokens import cut

__all__ = [
    "block_of",
    "check_axes",
    "chips_of",
    "coordinate",
    "grid",
    "local_shape",
    "merged",
    "replication",
    "ways",
]

Sizes = Mapping[str, int]


def check_axes(array: Array, sizes: Sizes, source: Source | None = None) -> None:
    """Checks that the axes of an array are axes of the mesh, or parts of them.

    Args:
        array: The array.
        sizes: Of the axes.
        source: The text that the array was read from, where a fault is to be marked in it.

    Raises:
        ShardingError: an axis that is not in the mesh, a part that it cannot be cut into.
    """
    named = [(name, dim.span) for dim in array.dims for name in dim.axes]
    named += [(name, array.span) for name in array.unreduced]
    for name, span in named:
        axis, part = whole_axis(name), sub_axis(name)
        if axis not in sizes:
            raise ShardingError(
                f"axis {cut(axis)} is not in the mesh; the mesh has {', '.join(sizes)}",
                "name one of these axes, or give another mesh: --mesh X=4,Y=4",
                place_of(source, span),
            )
        if part is not None and sizes[axis] % part.after:
            raise ShardingError(
                f"{name} is no part of {axis}: the size of {axis} is {sizes[axis]}, "
                f"which {part.before} x {part.size} does not divide",
                f"choose numbers whose product divides {sizes[axis]}",
                place_of(source, span),
            )


def ways(axes: Sequence[str], sizes: Sizes) -> int:
    """Into how many blocks some axes or parts of axes cut.

    >>> ways(["X:(1)2", "Y"], {"X": 4, "Y": 3})
    6
    """
    parts = ((sub_axis(name), name) for name in axes)
    return math.prod(part.size if part else sizes[name] for part, name in parts)


def grid(array: Array, sizes: Sizes) -> tuple[int, ...]:
    """Into how many blocks each dimension is cut."""
    return tuple(ways(dim.axes, sizes) for dim in array.dims)


def replication(array: Array, sizes: Sizes) -> int:
    """How many chips hold each block, partial sums counted as copies."""
    return math.prod(sizes.values()) // math.prod(grid(array, sizes))


def coordinate(name: str, sizes: Sizes, chip: Mapping[str, int]) -> int:
    """Where a chip stands along an axis or a part of one.

    >>> [coordinate("X:(2)2", {"X": 4}, {"X": x}) for x in range(4)]
    [0, 1, 0, 1]
    """
    part = sub_axis(name)
    if part is None:
        return chip[name]
    return chip[part.axis] // (sizes[part.axis] // part.after) % part.size


def block_of(array: Array, sizes: Sizes, chip: Mapping[str, int]) -> tuple[int, ...]:
    """The number of the block that a chip holds, along each dimension."""
    numbers = []
    for dim in array.dims:
        number = 0
        for name in dim.axes:
            number = number * ways([name], sizes) + coordinate(name, sizes, chip)
        numbers.append(number)
    return tuple(numbers)


def chips_of(array: Array, sizes: Sizes, block: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """The chips that hold a block: any coordinate of each axis with any of the others.

    >>> from shardsim.notation import Dim
    >>> chips_of(Array(name="A", dims=(Dim("I", ("X:(2)2",)),)), {"X": 4, "Y": 2}, [1])
    {'X': (1, 3), 'Y': (0, 1)}
    """
    wanted: dict[str, int] = {}
    for dim, index in zip(array.dims, block, strict=True):
        number = index
        for name in reversed(dim.axes):
            number, wanted[name] = divmod(number, ways([name], sizes))
    return {
        axis: tuple(
            place
            for place in range(size)
            if all(
                coordinate(name, sizes, {axis: place}) == number
                for name, number in wanted.items()
                if whole_axis(name) == axis
            )
        )
        for axis, size in sizes.items()
    }


def local_shape(array: Array, sizes: Sizes, extents: Mapping[str, int]) -> tuple[int, ...]:
    """The extents that one chip holds.

    Raises:
        ShardingError: no extent for a dimension, or one that its axes do not divide.
    """
    shape = []
    for dim, count in zip(array.dims, grid(array, sizes), strict=True):
        extent = extents.get(dim.name)
        if extent is None:
            raise ShardingError(
                f"dimension {cut(dim.name)} has no extent", f"give it: --dims {dim.name}=8192"
            )
        if extent % count:
            raise ShardingError(
                f"dimension {cut(dim.name)} of {extent} cannot be cut into {count} equal blocks",
                f"choose an extent of {dim.name} that {count} divides, or other axes",
            )
        shape.append(extent // count)
    return tuple(shape)


def merged(array: Array, sizes: Sizes) -> Array:
    """The same sharding in the fewest axes: no axis of size 1, no two parts that are one.

    >>> from shardsim.notation import Dim
    >>> array = Array(name="A", dims=(Dim("I", ("X:(1)2", "X:(2)2", "Y")),))
    >>> str(merged(array, {"X": 4, "Y": 1}))
    'A[I_X]'
    """
    major_first = sorted(array.unreduced, key=_place)
    return replace(
        array,
        dims=tuple(replace(dim, axes=_merged(dim.axes, sizes)) for dim in array.dims),
        unreduced=_merged(major_first, sizes),
    )


def _place(name: str) -> tuple[str, int]:
    part = sub_axis(name)
    return (name, 1) if part is None else (part.axis, part.before)


def _merged(axes: Sequence[str], sizes: Sizes) -> tuple[str, ...]:
    found: list[SubAxis] = []
    for name in axes:
        part = sub_axis(name) or SubAxis(name, 1, sizes[name])
        last = found[-1] if found else None
        if last is not None and (last.axis, last.after) == (part.axis, part.before):
            found[-1] = SubAxis(part.axis, last.before, last.size * part.size)
        elif part.size > 1:
            found.append(part)
    return tuple(part.axis if part.size == sizes[part.axis] else str(part) for part in found)
