"""Layouts of an array, and the moves between them.

A layout is the ordered axes of each dimension, and the axes over which the values are partial sums.
Its axes are atoms: whole mesh axes or parts of them. A move changes the minor-most axes of a
dimension, or (permute) exchanges whole blocks, so every chip always holds one contiguous block.
Nothing here knows what a move costs.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from shardsim.vocabulary import CollectiveKind, TransferKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Layout", "Move", "MoveKind", "cut_alike", "layouts", "moves_from", "moves_to"]

MoveKind = CollectiveKind | TransferKind | None
"""A collective, a permute, or (None) a local slice."""

Axes = tuple[str, ...]


class Layout(NamedTuple):
    """Axes of each dimension, major first, and unreduced axes in order."""

    axes: tuple[Axes, ...]
    unreduced: Axes = ()

    @property
    def used(self) -> frozenset[str]:
        """All axes that occur."""
        return frozenset(itertools.chain(self.unreduced, *self.axes))

    def ways(self, sizes: Mapping[str, int]) -> int:
        """Into how many blocks the array is cut."""
        total = 1
        for axes in self.axes:
            for axis in axes:
                total *= sizes[axis]
        return total


class Move(NamedTuple):
    """One step between layouts: a collective over some axes, a permute, or a local slice."""

    kind: MoveKind
    axes: Axes
    dim: int | None
    result: Layout


Arrow = tuple[Layout, Move]
"""A layout before a move, and the move."""


@lru_cache(maxsize=1 << 15)
def moves_from(layout: Layout, atoms: Axes) -> tuple[Move, ...]:
    """All collectives from a layout, and slices over idle ones of `atoms`; not the permutes.

    A collective runs over one axis, or over several at once: any of those that the values are sums
    over; for a gather, the minor-most ones of the dimensions; for an exchange, those of one.
    """
    return tuple(
        itertools.chain(
            _reductions(layout), _gathers(layout), _exchanges(layout), _slices(layout, atoms)
        )
    )


def _reductions(layout: Layout) -> Iterator[Move]:
    for summed in _subsets(layout.unreduced):
        rest = tuple(name for name in layout.unreduced if name not in summed)
        reduced = Layout(layout.axes, rest)
        yield Move(CollectiveKind.ALL_REDUCE, summed, None, reduced)
        for dim in range(len(layout.axes)):
            for order in itertools.permutations(summed):
                yield Move(CollectiveKind.REDUCE_SCATTER, order, dim, _added(reduced, dim, order))


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
            without = _with(layout, dim, axes[:length])
            for other in range(len(layout.axes)):
                if other != dim:
                    yield Move(
                        CollectiveKind.ALL_TO_ALL, moved, other, _added(without, other, moved)
                    )


def _slices(layout: Layout, atoms: Axes) -> Iterator[Move]:
    for axis in atoms:
        if axis not in layout.used:
            for dim in range(len(layout.axes)):
                yield Move(None, (axis,), dim, _added(layout, dim, (axis,)))


@lru_cache(maxsize=1 << 15)
def moves_to(layout: Layout, atoms: Axes) -> tuple[Arrow, ...]:
    """The same, backwards: all layouts from which one move leads to this one, and the move."""
    return tuple(_arrows(layout, atoms))


def _arrows(layout: Layout, atoms: Axes) -> Iterator[Arrow]:
    idle = tuple(axis for axis in atoms if axis not in layout.used)
    dims = range(len(layout.axes))
    for summed in _subsets(idle):
        before = _with_sums(layout, summed)
        yield before, Move(CollectiveKind.ALL_REDUCE, summed, None, layout)
    for dim in dims:
        axes = layout.axes[dim]
        for length in range(len(axes)):
            moved = axes[length:]
            without = _with(layout, dim, axes[:length])
            before = _with_sums(without, moved)
            yield before, Move(CollectiveKind.REDUCE_SCATTER, moved, dim, layout)
            for other in dims:
                if other != dim:
                    before = _added(without, other, moved)
                    yield before, Move(CollectiveKind.ALL_TO_ALL, moved, dim, layout)
        if axes:
            before = _with(layout, dim, axes[:-1])
            yield before, Move(None, axes[-1:], dim, layout)
    for more in _arrangements(idle, len(layout.axes)):
        gathered = tuple(itertools.chain(*more))
        if gathered:
            cut = tuple((*axes, *added) for axes, added in zip(layout.axes, more, strict=True))
            before = Layout(cut, layout.unreduced)
            yield before, Move(CollectiveKind.ALL_GATHER, gathered, None, layout)


@lru_cache(maxsize=1 << 10)
def layouts(atoms: Axes, dims: int) -> tuple[tuple[Axes, ...], ...]:
    """All ways to cut `dims` dimensions over ordered axes, some of `atoms` left idle.

    >>> len(layouts(("X", "Y"), 2))
    11
    """
    return tuple(_arrangements(atoms, dims))


@lru_cache(maxsize=1 << 8)
def cut_alike(
    atoms: Axes, sizes: tuple[int, ...], dims: int
) -> Mapping[tuple[int, ...], tuple[tuple[Axes, ...], ...]]:
    """The same by into how many blocks each dimension is cut.

    >>> cut_alike(("X", "Y"), (2, 2), 1)[4,]
    ((('X', 'Y'),), (('Y', 'X'),))
    """
    size = dict(zip(atoms, sizes, strict=True))
    found: dict[tuple[int, ...], list[tuple[Axes, ...]]] = {}
    for cut in layouts(atoms, dims):
        ways = tuple(math.prod(size[axis] for axis in axes) for axes in cut)
        found.setdefault(ways, []).append(cut)
    return {ways: tuple(cuts) for ways, cuts in found.items()}


def _arrangements(atoms: Iterable[str], dims: int) -> Iterator[tuple[Axes, ...]]:
    if dims == 0:
        yield ()
        return
    for chosen in itertools.chain(((),), _subsets(tuple(atoms))):
        for order in itertools.permutations(chosen):
            for cuts in itertools.combinations_with_replacement(range(len(order) + 1), dims - 1):
                ends = (0, *cuts, len(order))
                yield tuple(order[a:b] for a, b in itertools.pairwise(ends))


def _subsets(axes: Axes) -> Iterator[Axes]:
    """All choices of one axis or more, in order."""
    for count in range(1, len(axes) + 1):
        yield from itertools.combinations(axes, count)


def _with(layout: Layout, dim: int, axes: Axes) -> Layout:
    """Another list of axes on one dimension."""
    return Layout((*layout.axes[:dim], axes, *layout.axes[dim + 1 :]), layout.unreduced)


def _added(layout: Layout, dim: int, axes: Axes) -> Layout:
    """Axes become the minor-most of a dimension."""
    return _with(layout, dim, (*layout.axes[dim], *axes))


def _with_sums(layout: Layout, axes: Axes) -> Layout:
    return Layout(layout.axes, tuple(sorted((*layout.unreduced, *axes))))
