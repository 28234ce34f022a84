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
    """One step between layouts: a collective, or a local slice (`kind` None)."""

    kind: CollectiveKind | None
    axis: str
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
    """All moves from a layout: collectives of some kinds, and slices over idle ones of `axes`."""
    dims = range(len(layout.axes))
    for axis in layout.unreduced:
        rest = tuple(name for name in layout.unreduced if name != axis)
        reduced = Layout(layout.axes, rest)
        if CollectiveKind.ALL_REDUCE in kinds:
            yield Move(CollectiveKind.ALL_REDUCE, axis, None, reduced)
        if CollectiveKind.REDUCE_SCATTER in kinds:
            for dim in dims:
                yield Move(CollectiveKind.REDUCE_SCATTER, axis, dim, _appended(reduced, dim, axis))
    for dim in dims:
        if layout.axes[dim]:
            yield from _moves_of_minor_axis(layout, dim, kinds)
    if kinds == ALL_KINDS:
        for axis in axes:
            if axis not in layout.used:
                for dim in dims:
                    yield Move(None, axis, dim, _appended(layout, dim, axis))


def _moves_of_minor_axis(
    layout: Layout, dim: int, kinds: frozenset[CollectiveKind]
) -> Iterator[Move]:
    axis = layout.axes[dim][-1]
    without = Layout(
        (*layout.axes[:dim], layout.axes[dim][:-1], *layout.axes[dim + 1 :]), layout.unreduced
    )
    if CollectiveKind.ALL_GATHER in kinds:
        yield Move(CollectiveKind.ALL_GATHER, axis, None, without)
    if CollectiveKind.ALL_TO_ALL in kinds:
        for other in range(len(layout.axes)):
            if other != dim:
                yield Move(CollectiveKind.ALL_TO_ALL, axis, other, _appended(without, other, axis))


def _appended(layout: Layout, dim: int, axis: str) -> Layout:
    """The axis becomes the minor-most of a dimension."""
    return Layout(
        (*layout.axes[:dim], (*layout.axes[dim], axis), *layout.axes[dim + 1 :]), layout.unreduced
    )
