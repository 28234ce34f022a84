"""Moves of one array on a mesh: what they cost, the cheapest sequences, and their steps."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.notation import Array, Dim
from shardsim.planner.layout import Layout, Move, MoveKind, cut_alike, layouts, moves_from, moves_to
from shardsim.planner.paths import Edge, Late, Paths
from shardsim.planner.steps import CollectiveStep, SliceStep, Step, Value
from shardsim.vocabulary import CollectiveKind, TransferKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from shardsim.call import Call
    from shardsim.cost import CollectivePrice
    from shardsim.planner.atoms import Atoms
    from shardsim.planner.prices import Prices
    from shardsim.planner.worth import Worth
    from shardsim.sharding import ShardedArray

__all__ = ["ArrayMoves", "layout_of", "with_layout"]

BLOCKS = (CollectiveKind.ALL_GATHER, CollectiveKind.ALL_TO_ALL, TransferKind.PERMUTE)
"""Of these V is what all chips of a group hold together; of the others what one holds."""


def layout_of(array: Array, atoms: Atoms) -> Layout:
    """The layout that the notation says."""
    return Layout(
        tuple(atoms.split(dim.axes) for dim in array.dims),
        tuple(sorted(atoms.split(array.unreduced))),
    )


def with_layout(array: Array, layout: Layout, atoms: Atoms) -> Array:
    """The array under another layout."""
    return Array(
        name=array.name,
        dims=tuple(
            Dim(dim.name, atoms.joined(axes))
            for dim, axes in zip(array.dims, layout.axes, strict=True)
        ),
        unreduced=atoms.joined(atoms.in_order(layout.unreduced)),
        dtype=array.dtype,
    )


class ArrayMoves:
    """All moves of one array, with their costs.

    Attributes:
        sharded: The array, in any layout.
        atoms: What its axes are made of.
        prices: Of collectives on its mesh.
        worth: What a cost is.
        plain: Whether an axis that the array is cut over on the way stays where it is, as by the
            four rules: nothing is cut only to be gathered over more links.
    """

    def __init__(
        self,
        sharded: ShardedArray,
        atoms: Atoms,
        prices: Prices,
        worth: Worth,
        *,
        plain: bool = False,
    ) -> None:
        self.sharded = sharded
        self.atoms = atoms
        self.prices = prices
        self.worth = worth
        self.plain = plain
        self.bytes = Fraction(sharded.global_bytes)
        self._costs: dict[tuple[object, ...], int] = {}
        self._least: dict[tuple[object, ...], int] = {}
        self._even: dict[tuple[int, tuple[str, ...]], bool] = {}

    def layout(self) -> Layout:
        """The array's own layout."""
        return layout_of(self.sharded.array, self.atoms)

    def forwards(self, start: Layout, kinds: frozenset[MoveKind] | None = None) -> Paths:
        """Cheapest ways from a layout; `kinds`: by some moves only."""
        return self.from_all({start: 0}, kinds)

    def from_all(
        self, starts: Mapping[Layout, int], kinds: frozenset[MoveKind] | None = None
    ) -> Paths:
        """Cheapest ways from several layouts, each of which costs something already."""
        own = frozenset(itertools.chain(*(start.used for start in starts)))
        movable = own if self.plain else frozenset(self.atoms.names)

        def walk(layout: Layout) -> tuple[Iterable[Edge], Late | None]:
            found = moves_from(layout, self.atoms.names)
            edges = (
                self._edge(move.result, layout, move)
                for move in found
                if (kinds is None or move.kind in kinds)
                and (move.kind is None or movable.issuperset(move.axes))
                and self._is_even(move.dim, move.result)
            )
            if kinds is not None and TransferKind.PERMUTE not in kinds:
                return edges, None
            return edges, self._permutes(layout, movable, forwards=True)

        return Paths(starts, walk, self.worth.both)

    def backwards(self, goal: Layout | None) -> Paths:
        """Cheapest ways to a layout; None: to any without partial sums."""
        names = frozenset(self.atoms.names)
        cut = goal.used if self.plain and goal is not None else names

        def walk(layout: Layout) -> tuple[Iterable[Edge], Late | None]:
            edges = (
                self._edge(before, before, move)
                for before, move in moves_to(layout, self.atoms.names)
                if (move.kind is not None or cut.issuperset(move.axes)) and self.is_possible(before)
            )
            return edges, self._permutes(layout, names, forwards=False)

        dims = len(self.sharded.array.dims)
        open_goals = (Layout(cuts) for cuts in layouts(self.atoms.names, dims))
        goals = filter(self.is_possible, open_goals) if goal is None else (goal,)
        return Paths(dict.fromkeys(goals, 0), walk, self.worth.both)

    def _edge(self, to: Layout, before: Layout, move: Move) -> Edge:
        """A move in the graph; a collective that is not priced yet, by what it takes at least."""
        ways = before.ways(self.atoms.sizes)
        moved = frozenset(move.axes)
        known = self._costs.get((move.kind, moved, ways))
        if known is not None or move.kind is None:
            return Edge(to, move, self._cost(before, move) if known is None else known)
        gathers = move.kind is CollectiveKind.ALL_GATHER
        key = (gathers, moved, ways)
        if key not in self._least:
            local, count = self.bytes / ways, self.atoms.ways(move.axes)
            comes = local * (count - 1) if gathers else local * (count - 1) / count
            axes = self.atoms.joined(self.atoms.in_order(moved))
            self._least[key] = self.worth.of(self.prices.least(axes, comes), comes, local)
        return Edge(to, move, self._least[key], self._late_price(before, move))

    def _permutes(self, layout: Layout, movable: frozenset[str], *, forwards: bool) -> Late | None:
        """The permutes from (or to) a layout along some axes, where there are any."""
        ways = tuple(self.atoms.ways(axes) for axes in layout.axes)
        if self.atoms.are_many or all(count == 1 for count in ways):
            return None
        local = self.bytes / layout.ways(self.atoms.sizes)
        least = self.worth.of(self.prices.least_permute(local), local, 2 * local)

        def edges() -> Iterator[Edge]:
            free = tuple(atom for atom in self.atoms.names if atom not in layout.unreduced)
            sizes = tuple(self.atoms.sizes[atom] for atom in free)
            for axes in cut_alike(free, sizes, len(layout.axes))[ways]:
                if axes != layout.axes:
                    other = Layout(axes, layout.unreduced)
                    start, end = (layout, other) if forwards else (other, layout)
                    move = Move(TransferKind.PERMUTE, self._moved(start, end), None, end)
                    if movable.issuperset(move.axes):
                        yield Edge(other, move, least, self._late_price(start, move))

        return Late(least, edges)

    def _late_price(self, before: Layout, move: Move) -> Callable[[], int]:
        return lambda: self._cost(before, move)

    def _moved(self, before: Layout, after: Layout) -> tuple[str, ...]:
        """The axes along which a permute moves blocks: those that count otherwise afterwards."""
        old, new = self._weights(before), self._weights(after)
        return tuple(atom for atom in self.atoms.names if old.get(atom) != new.get(atom))

    def _weights(self, layout: Layout) -> dict[str, tuple[int, int]]:
        """For each axis its dimension, and how many blocks a step along it goes on."""
        weights = {}
        for dim, axes in enumerate(layout.axes):
            weight = 1
            for axis in reversed(axes):
                weights[axis] = (dim, weight)
                weight *= self.atoms.sizes[axis]
        return weights

    def _cost(self, before: Layout, move: Move) -> int:
        ways = before.ways(self.atoms.sizes)
        if move.kind is TransferKind.PERMUTE:
            key: tuple[object, ...] = (before, move.result)
        else:
            key = (move.kind, frozenset(move.axes), ways)
        if key not in self._costs:
            local = self.bytes / ways
            if move.kind is None:
                after = local / self.atoms.ways(move.axes)
                self._costs[key] = self.worth.of(Fraction(0), Fraction(0), local + after)
            else:
                call, price = self.priced(before, move)
                held = local + self.bytes / move.result.ways(self.atoms.sizes)
                axes = len(call.group.axes)
                self._costs[key] = self.worth.of(price.estimate, price.wire_bytes, held, axes)
        return self._costs[key]

    def priced(self, before: Layout, move: Move) -> tuple[Call, CollectivePrice]:
        """What a move does, and its price."""
        assert move.kind is not None
        axes = self.atoms.joined(self.atoms.in_order(move.axes))
        size = self.bytes / before.ways(self.atoms.sizes)
        if move.kind in BLOCKS:
            size *= self.atoms.ways(move.axes)
        if isinstance(move.kind, CollectiveKind):
            return self.prices.collective(move.kind, axes, size)
        return self.prices.permute(axes, size, before, move.result, self.atoms)

    def _is_even(self, dim: int | None, result: Layout) -> bool:
        """Whether a dimension is cut evenly."""
        if dim is None:
            return True
        key = (dim, result.axes[dim])
        if key not in self._even:
            self._even[key] = self.sharded.extents[dim] % self.atoms.ways(key[1]) == 0
        return self._even[key]

    def is_possible(self, layout: Layout) -> bool:
        """Whether all dimensions are cut evenly."""
        return all(self._is_even(dim, layout) for dim in range(len(layout.axes)))

    def steps(self, value: Value, moves: Iterable[Move], number: int) -> tuple[Step, ...]:
        """Moves as steps of a plan that read `value`, and write values from `number` on."""
        steps: list[Step] = []
        before = layout_of(value.sharded.array, self.atoms)
        for index, move in enumerate(_slices_together(moves)):
            array = with_layout(value.sharded.array, move.result, self.atoms)
            result = Value(number + index, value.sharded.moved_to(array))
            steps.append(self._step(value, before, move, result))
            value, before = result, move.result
        return tuple(steps)

    def _step(self, value: Value, before: Layout, move: Move, result: Value) -> Step:
        dim = None if move.dim is None else value.sharded.array.dims[move.dim].name
        axes = self.atoms.joined(move.axes)
        if move.kind is None:
            return SliceStep(axes=axes, operand=value, result=result)
        call, price = self.priced(before, move)
        return CollectiveStep(
            kind=move.kind,
            axes=axes,
            call=call,
            dim=dim,
            operand=value,
            result=result,
            price=price,
        )


def _slices_together(moves: Iterable[Move]) -> Iterator[Move]:
    """Slices that follow each other as one."""
    for is_slice, run in itertools.groupby(moves, key=lambda move: move.kind is None):
        some = list(run)
        if is_slice:
            yield Move(
                None, tuple(axis for move in some for axis in move.axes), None, some[-1].result
            )
        else:
            yield from some
