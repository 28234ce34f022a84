"""From one sharding of an array to another by the cheapest sequence of moves.

A layout is the ordered mesh axes of each dimension, and the axes over which the values are partial
sums. A move changes the minor-most axis of a dimension, so that every chip always holds one
contiguous block. The cheapest sequence is a shortest path.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.collectives import choose_algorithm
from shardsim.errors import PlanError
from shardsim.notation import Array, Dim
from shardsim.planner.steps import CollectiveStep, SliceStep, Step, Value
from shardsim.vocabulary import Algorithm, CollectiveKind, DimensionKind, Objective

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardsim.cost import CollectivePrice, CostModel
    from shardsim.mesh import Mesh
    from shardsim.sharding import ShardedArray
    from shardsim.units import Bytes

__all__ = ["Cost", "Layout", "Move", "Reshard", "layout_of", "with_layout"]

Cost = tuple[Fraction, Fraction, int]
Tree = tuple[dict["Layout", Cost], dict["Layout", tuple["Layout", "Move"]]]
"""Shortest paths from one layout: the cost of each layout reached, and how it was reached."""

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


@dataclass(slots=True)
class Reshard:
    """Finds cheapest sequences on one mesh, and remembers them.

    Attributes:
        mesh: Where.
        cost: The closed forms that price a move.
        objective: What is made small; the other quantity breaks ties, then the number of steps.
        algorithm: The ring algorithm asked for, if any.
    """

    mesh: Mesh
    cost: CostModel
    objective: Objective
    algorithm: Algorithm | None
    trees: dict[tuple[object, ...], Tree] = field(default_factory=dict)
    prices: dict[tuple[object, ...], CollectivePrice] = field(default_factory=dict)

    def path(
        self, value: ShardedArray, goal: Layout, kinds: frozenset[CollectiveKind] = ALL_KINDS
    ) -> tuple[Cost, tuple[Move, ...]] | None:
        """The cheapest moves from a value's layout to the goal, or None where there are none.

        Args:
            value: The array as it is.
            goal: The layout wanted.
            kinds: The collectives allowed; slices are allowed only together with all of them.
        """
        start = layout_of(value.array, self.mesh)
        axes = tuple(name for name in self.mesh.sizes if name in start.used | goal.used)
        key = (start, axes, value.extents, value.dtype, kinds)
        if key not in self.trees:
            self.trees[key] = self._shortest_paths(value, start, axes, kinds)
        best, came = self.trees[key]
        return (best[goal], _way_back(came, start, goal)) if goal in best else None

    def steps(self, value: Value, moves: tuple[Move, ...], number: int) -> tuple[Step, ...]:
        """The moves as plan steps that read `value` and write values from `number` on."""
        steps: list[Step] = []
        for index, move in enumerate(moves):
            sharded = value.sharded.moved_to(with_layout(value.sharded.array, move.result))
            result = Value(number + index, sharded)
            steps.append(self._step(value, move, result))
            value = result
        return tuple(steps)

    def _step(self, value: Value, move: Move, result: Value) -> Step:
        axis = self.mesh.axis(move.axis)
        dim = None if move.dim is None else value.sharded.array.dims[move.dim].name
        if move.kind is None:
            assert dim is not None
            return SliceStep(axis=axis, dim=dim, operand=value, result=result)
        size = self._size(move, value.sharded.local_bytes)
        return CollectiveStep(
            kind=move.kind,
            axis=axis,
            algorithm=choose_algorithm(self.algorithm, axis.kind),
            dim=dim,
            operand=value,
            result=result,
            size=size,
            price=self._price(move, size),
        )

    def _size(self, move: Move, local: Bytes) -> Bytes:
        """V of a move: all shards together, or the unreduced array on one chip."""
        gathers = move.kind in {CollectiveKind.ALL_GATHER, CollectiveKind.ALL_TO_ALL}
        return local * self.mesh.axis(move.axis).size if gathers else local

    def _price(self, move: Move, size: Bytes) -> CollectivePrice:
        assert move.kind is not None
        key = (move.kind, move.axis, size)
        if key not in self.prices:
            axis = self.mesh.axis(move.axis)
            algorithm = choose_algorithm(self.algorithm, axis.kind)
            self.prices[key] = self.cost.collective(move.kind, size, axis, algorithm)
        return self.prices[key]

    def of(self, seconds: Fraction, wire: Fraction, steps: int) -> Cost:
        """What is compared, the objective first."""
        if self.objective is Objective.TIME:
            return (seconds, wire, steps)
        return (wire, seconds, steps)

    def _move_cost(self, move: Move, local: Bytes) -> Cost:
        if move.kind is None:
            return self.of(Fraction(0), Fraction(0), 1)
        price = self._price(move, self._size(move, local))
        return self.of(price.exact.total, price.wire_bytes, 1)

    def _shortest_paths(
        self,
        value: ShardedArray,
        start: Layout,
        axes: tuple[str, ...],
        kinds: frozenset[CollectiveKind],
    ) -> Tree:
        """Dijkstra's algorithm; ties go by the order of the layouts, so it is repeatable."""
        best: dict[Layout, Cost] = {start: (Fraction(0), Fraction(0), 0)}
        came: dict[Layout, tuple[Layout, Move]] = {}
        queue = [(best[start], start)]
        done: set[Layout] = set()
        while queue:
            cost, layout = heapq.heappop(queue)
            if layout in done:
                continue
            done.add(layout)
            local = self._local_bytes(value, layout)
            for move in self._moves(layout, axes, kinds):
                if not self._even(move.result, value.extents):
                    continue
                added = self._move_cost(move, local)
                total = (cost[0] + added[0], cost[1] + added[1], cost[2] + added[2])
                if move.result not in best or total < best[move.result]:
                    best[move.result] = total
                    came[move.result] = (layout, move)
                    heapq.heappush(queue, (total, move.result))
        return best, came

    def _local_bytes(self, value: ShardedArray, layout: Layout) -> Bytes:
        ways = math.prod(self.mesh.axis(axis).size for axes in layout.axes for axis in axes)
        return math.prod(value.extents) * value.dtype.bytes / ways

    def _even(self, layout: Layout, extents: tuple[int, ...]) -> bool:
        return all(
            extent % math.prod(self.mesh.axis(axis).size for axis in axes) == 0
            for extent, axes in zip(extents, layout.axes, strict=True)
        )

    def _moves(
        self, layout: Layout, axes: tuple[str, ...], kinds: frozenset[CollectiveKind]
    ) -> Iterator[Move]:
        dims = range(len(layout.axes))
        for axis in layout.unreduced:
            rest = tuple(name for name in layout.unreduced if name != axis)
            reduced = Layout(layout.axes, rest)
            if CollectiveKind.ALL_REDUCE in kinds:
                yield Move(CollectiveKind.ALL_REDUCE, axis, None, reduced)
            if CollectiveKind.REDUCE_SCATTER in kinds:
                for dim in dims:
                    yield Move(
                        CollectiveKind.REDUCE_SCATTER, axis, dim, _appended(reduced, dim, axis)
                    )
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


def _way_back(
    came: dict[Layout, tuple[Layout, Move]], start: Layout, goal: Layout
) -> tuple[Move, ...]:
    moves = []
    layout = goal
    while layout != start:
        layout, move = came[layout]
        moves.append(move)
    return tuple(reversed(moves))


def check_algorithm(algorithm: Algorithm | None, mesh: Mesh) -> None:
    """Refuses an algorithm that no axis of the mesh can run.

    Raises:
        PlanError: `line` where every axis longer than 1 is a ring.
    """
    kinds = {axis.kind for axis in mesh.axes if axis.size > 1}
    for kind in kinds:
        choose_algorithm(algorithm, kind)
    if algorithm not in {None, Algorithm.LINE} and kinds == {DimensionKind.LINE}:
        names = ", ".join(f"{axis.name} ({axis.reason})" for axis in mesh.axes)
        raise PlanError(
            f"algorithm {algorithm} needs a ring, and no axis of the mesh is one: {names}",
            "leave the algorithm out, or choose a slice that wraps",
        )
