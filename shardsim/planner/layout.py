"""Layouts of an array, and the moves between them.

A layout is the ordered mesh axes of each dimension, and the axes over which the values are partial
sums. A move changes the minor-most axis of a dimension, so that every chip always holds one
contiguous block. Nothing here knows what a move costs.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardsim.notation import Array, Dim
from shardsim.vocabulary import CollectiveKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardsim.mesh import Mesh
    from shardsim.sharding import ShardedArray

__all__ = [
    "ALL_KINDS",
    "Layout",
    "Move",
    "layout_of",
    "moves",
    "with_layout",
    "without_narrow_axes",
]

ALL_KINDS = frozenset(CollectiveKind)


@dataclass(frozen=True, slots=True, order=True)
class Layout:
    """Axes of each dimension, major first, and unreduced axes in order; axes of size 1 left out."""

    axes: tuple[tuple[str, ...], ...]
    unreduced: tuple[str, ...] = ()

    @property
    def used(self) -> frozenset[str]:
        """All axes that occur."""
        return frozenset(itertools.chain(self.unreduced, *self.axes))


@dataclass(frozen=True, slots=True)
class Move:
    """One step between layouts: a collective over some axes, or a local slice (`kind` None)."""

    kind: CollectiveKind | None
    axes: tuple[str, ...]
    dim: int | None
    result: Layout


def layout_of(array: Array, mesh: Mesh) -> Layout:
    """The layout that the notation says."""

    def wide(axes: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(axis for axis in axes if mesh.axis(axis).size > 1)

    return Layout(tuple(wide(dim.axes) for dim in array.dims), tuple(sorted(wide(array.unreduced))))


def with_layout(array: Array, layout: Layout) -> Array:
    """The array under another layout."""
    dims = zip(array.dims, layout.axes, strict=True)
    return Array(
        name=array.name,
        dims=tuple(Dim(dim.name, axes) for dim, axes in dims),
        unreduced=layout.unreduced,
        dtype=array.dtype,
    )


def without_narrow_axes(sharded: ShardedArray) -> ShardedArray:
    """The same array without its axes of size 1: sharded over one chip is not sharded."""
    layout = layout_of(sharded.array, sharded.mesh)
    return sharded.moved_to(with_layout(sharded.array, layout))


def moves(
    layout: Layout, axes: tuple[str, ...], kinds: frozenset[CollectiveKind]
) -> Iterator[Move]:
    """All moves from a layout: collectives of some kinds, and slices over idle ones of `axes`.

    A collective runs over one axis, or over several at once: any of those that the values are sums
    over; for a gather, the minor-most ones of the dimensions; for an exchange, those of one.
    """
    dims = range(len(layout.axes))
    for summed in _subsets(layout.unreduced):
        rest = tuple(name for name in layout.unreduced if name not in summed)
        reduced = Layout(layout.axes, rest)
        if CollectiveKind.ALL_REDUCE in kinds:
            yield Move(CollectiveKind.ALL_REDUCE, summed, None, reduced)
        if CollectiveKind.REDUCE_SCATTER in kinds:
            for dim in dims:
                for order in itertools.permutations(summed):
                    result = _appended(reduced, dim, order)
                    yield Move(CollectiveKind.REDUCE_SCATTER, order, dim, result)
    if CollectiveKind.ALL_GATHER in kinds:
        yield from _gathers(layout)
    if CollectiveKind.ALL_TO_ALL in kinds:
        yield from _exchanges(layout)
    if kinds == ALL_KINDS:
        for axis in axes:
            if axis not in layout.used:
                for dim in dims:
                    yield Move(None, (axis,), dim, _appended(layout, dim, (axis,)))


def _subsets(axes: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """All choices of one axis or more, in order."""
    for count in range(1, len(axes) + 1):
        yield from itertools.combinations(axes, count)


def _gathers(layout: Layout) -> Iterator[Move]:
    """Each dimension keeps its major-most axes, however many; the rest are gathered together."""
    kept = (range(len(axes), -1, -1) for axes in layout.axes)
    for lengths in itertools.product(*kept):
        pairs = list(zip(layout.axes, lengths, strict=True))
        gathered = tuple(axis for axes, length in pairs for axis in axes[length:])
        if gathered:
            left = Layout(tuple(axes[:length] for axes, length in pairs), layout.unreduced)
            yield Move(CollectiveKind.ALL_GATHER, gathered, None, left)


def _exchanges(layout: Layout) -> Iterator[Move]:
    """The minor-most axes of one dimension, one or more, become those of another."""
    for dim, axes in enumerate(layout.axes):
        for length in range(len(axes)):
            moved = axes[length:]
            left = (*layout.axes[:dim], axes[:length], *layout.axes[dim + 1 :])
            without = Layout(left, layout.unreduced)
            for other in range(len(layout.axes)):
                if other != dim:
                    result = _appended(without, other, moved)
                    yield Move(CollectiveKind.ALL_TO_ALL, moved, other, result)


def _appended(layout: Layout, dim: int, axes: tuple[str, ...]) -> Layout:
    """Axes become the minor-most of a dimension."""
    return Layout(
        (*layout.axes[:dim], (*layout.axes[dim], *axes), *layout.axes[dim + 1 :]),
        layout.unreduced,
    )
