"""From one sharding of an array to another by the cheapest sequence of moves: a shortest path."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.call import ALGORITHMS, ONLY_ALL_REDUCE
from shardsim.errors import PlanError
from shardsim.planner.layout import ALL_KINDS, Layout, Move, layout_of, moves, with_layout
from shardsim.planner.steps import CollectiveStep, SliceStep, Step, Value
from shardsim.vocabulary import Algorithm, CollectiveKind, Objective

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from shardsim.call import Call
    from shardsim.cost import CollectivePrice, CostModel
    from shardsim.mesh import Mesh
    from shardsim.sharding import ShardedArray
    from shardsim.units import Bytes

__all__ = ["Cost", "Resharder", "check_algorithm", "check_used"]

Cost = tuple[Fraction, Fraction, int]
FREE = Fraction(0)


@dataclass(slots=True)
class Resharder:
    """Finds cheapest sequences on one mesh, and remembers them.

    Attributes:
        mesh: Where.
        cost: The closed forms that price a move.
        objective: What is made small; the other quantity breaks ties, then the number of steps.
    """

    mesh: Mesh
    cost: CostModel
    objective: Objective
    paths: dict[tuple[object, ...], _Paths] = field(default_factory=dict)
    prices: dict[tuple[object, ...], tuple[Call, CollectivePrice]] = field(default_factory=dict)

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
        if key not in self.paths:
            self.paths[key] = _Paths(
                start, lambda layout: self._priced_moves(value, layout, axes, kinds)
            )
        return self.paths[key].to(goal)

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
        dim = None if move.dim is None else value.sharded.array.dims[move.dim].name
        if move.kind is None:
            assert dim is not None
            return SliceStep(axis=move.axes[0], dim=dim, operand=value, result=result)
        call, price = self._priced(move, self._size(move, value.sharded.local_bytes))
        return CollectiveStep(
            kind=move.kind,
            axes=move.axes,
            call=call,
            dim=dim,
            operand=value,
            result=result,
            price=price,
        )

    def _size(self, move: Move, local: Bytes) -> Bytes:
        """V of a move: all shards together, or the unreduced array on one chip."""
        gathers = move.kind in {CollectiveKind.ALL_GATHER, CollectiveKind.ALL_TO_ALL}
        return local * self.mesh.ways(move.axes) if gathers else local

    def _priced(self, move: Move, size: Bytes) -> tuple[Call, CollectivePrice]:
        """What a move does, and its price."""
        assert move.kind is not None
        key = (move.kind, move.axes, size)
        if key not in self.prices:
            call = self.cost.call(move.kind, self.mesh.group(move.axes), size)
            self.prices[key] = call, self.cost.collective(call)
        return self.prices[key]

    def of(self, seconds: Fraction, wire: Fraction, steps: int) -> Cost:
        """What is compared, the objective first."""
        if self.objective is Objective.TIME:
            return (seconds, wire, steps)
        return (wire, seconds, steps)

    def _priced_moves(
        self,
        value: ShardedArray,
        layout: Layout,
        axes: tuple[str, ...],
        kinds: frozenset[CollectiveKind],
    ) -> Iterator[tuple[Move, Cost]]:
        """The moves that cut every dimension evenly, with what they cost."""
        local = self._local_bytes(value, layout)
        for move in moves(layout, axes, kinds):
            if move.dim is None or self._is_even(move.result.axes[move.dim], value, move.dim):
                yield move, self._move_cost(move, local)

    def _move_cost(self, move: Move, local: Bytes) -> Cost:
        if move.kind is None:
            return (FREE, FREE, 1)
        _, price = self._priced(move, self._size(move, local))
        return self.of(price.exact.total, price.wire_bytes, 1)

    def _is_even(self, axes: tuple[str, ...], value: ShardedArray, dim: int) -> bool:
        ways = self.mesh.ways(axes)
        return value.extents[dim] % ways == 0

    def _local_bytes(self, value: ShardedArray, layout: Layout) -> Bytes:
        ways = math.prod(self.mesh.axis(axis).size for axes in layout.axes for axis in axes)
        return math.prod(value.extents) * value.dtype.bytes / ways


class _Paths:
    """Shortest paths from one layout, found (Dijkstra) only as far as they are asked for.

    Ties go by the order of the layouts, so the paths are the same every time.
    """

    def __init__(
        self, start: Layout, edges: Callable[[Layout], Iterable[tuple[Move, Cost]]]
    ) -> None:
        self.start = start
        self.edges = edges
        self.best: dict[Layout, Cost] = {start: (FREE, FREE, 0)}
        self.came: dict[Layout, tuple[Layout, Move]] = {}
        self.done: set[Layout] = set()
        self.queue = [(self.best[start], start)]

    def to(self, goal: Layout) -> tuple[Cost, tuple[Move, ...]] | None:
        """The least cost and the moves, or None where the goal cannot be reached."""
        while goal not in self.done:
            if not self.queue:
                return None
            cost, layout = heapq.heappop(self.queue)
            if layout not in self.done:
                self.done.add(layout)
                self._go_on(cost, layout)
        way = []
        layout = goal
        while layout != self.start:
            layout, move = self.came[layout]
            way.append(move)
        return self.best[goal], tuple(reversed(way))

    def _go_on(self, cost: Cost, layout: Layout) -> None:
        for move, added in self.edges(layout):
            if move.result in self.done:
                continue
            total = (cost[0] + added[0], cost[1] + added[1], cost[2] + added[2])
            if move.result not in self.best or total < self.best[move.result]:
                self.best[move.result] = total
                self.came[move.result] = (layout, move)
                heapq.heappush(self.queue, (total, move.result))


def check_algorithm(algorithm: Algorithm | None, mesh: Mesh) -> None:
    """Refuses an algorithm that no axis of the mesh can run.

    Raises:
        PlanError: a ring is asked for and every axis is a line, or the like.
    """
    segments = [segment for axis in mesh.axes for segment in axis.segments]
    kinds = {segment.kind: None for segment in segments}
    if algorithm is None or not segments or any(algorithm in ALGORITHMS[kind] for kind in kinds):
        return
    needs = next(kind for kind, words in ALGORITHMS.items() if algorithm in words)
    names = ", ".join(f"{axis.name} ({axis.reason})" for axis in mesh.axes)
    known = [word.value for kind in kinds for word in ALGORITHMS[kind]]
    raise PlanError(
        f"algorithm {algorithm.value} needs a {needs.value}, "
        f"and no axis of the mesh is one: {names}",
        f"leave the algorithm out, or choose {' or '.join(known)}",
    )


def check_used(algorithm: Algorithm | None, steps: Sequence[Step]) -> None:
    """Refuses an algorithm that none of a plan's collectives took.

    Raises:
        PlanError: each runs on something else, or is another collective.
    """
    collectives = [step for step in steps if isinstance(step, CollectiveStep)]
    taken = {word.value: None for step in collectives for word in step.call.method.algorithms}
    if algorithm is None or not collectives or algorithm.value in taken:
        return
    kinds = " and ".join({step.kind.notation: None for step in collectives})
    only = " (it is for AllReduce on one axis)" if algorithm in ONLY_ALL_REDUCE else ""
    raise PlanError(
        f"algorithm {algorithm.value} is of no use to {kinds} here{only}; "
        f"they take {', '.join(taken)}",
        "leave the algorithm out",
    )
