"""One array from one sharding to another: the cheapest moves, and other ways to compare."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from shardsim.notation import Array, Dim
from shardsim.planner.atoms import Atoms
from shardsim.planner.choices import Alternative, Choice
from shardsim.planner.moving import ArrayMoves, layout_of
from shardsim.planner.prices import Prices
from shardsim.planner.steps import CollectiveStep, Step, Value
from shardsim.planner.worth import measured
from shardsim.units import format_bytes, format_seconds
from shardsim.vocabulary import CollectiveKind

if TYPE_CHECKING:
    from shardsim.planner.choices import Balance, Flip
    from shardsim.planner.layout import Layout, MoveKind
    from shardsim.sharding import ShardedArray
    from shardsim.vocabulary import Objective

__all__ = ["Resharding", "without_narrow_axes"]


def without_narrow_axes(sharded: ShardedArray) -> ShardedArray:
    """The same array without its axes of size 1: sharded over one chip is not sharded."""
    mesh, array = sharded.mesh, sharded.array

    def wide(axes: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(axis for axis in axes if mesh.axis(axis).size > 1)

    dims = tuple(Dim(dim.name, wide(dim.axes)) for dim in array.dims)
    return sharded.moved_to(
        Array(name=array.name, dims=dims, unreduced=wide(array.unreduced), dtype=array.dtype)
    )


@dataclass(frozen=True, kw_only=True)
class Resharding:
    """One array to be brought into another layout.

    Attributes:
        prices: Of collectives on the mesh.
        objective: What is made small.
        value: The array as it is.
        array: As it is to be.
        kinds: By these moves only; None: by all.
        everywhere: Whether axes that neither layout names may be used on the way.
        number: The first free value number.
    """

    prices: Prices
    objective: Objective
    value: Value
    array: Array
    kinds: frozenset[MoveKind] | None = None
    everywhere: bool = False
    number: int

    @cached_property
    def _moves(self) -> ArrayMoves:
        arrays = (self.value.sharded.array, self.array)
        named = [axis for array in arrays for axis in (*array.axes, *array.unreduced)]
        if self.everywhere and self.kinds is None:
            named += self.prices.mesh.sizes
        atoms = Atoms.of(self.prices.mesh, named, cut=self.kinds is None)
        return ArrayMoves(self.value.sharded, atoms, self.prices, self.prices.worth(self.objective))

    @cached_property
    def _goal(self) -> Layout:
        return layout_of(self.array, self._moves.atoms)

    def _cheapest(self, kinds: frozenset[MoveKind] | None) -> Alternative | None:
        """The cheapest way by some moves; None where there is none."""
        paths = self._moves.forwards(self._moves.layout(), kinds)
        if paths.to(self._goal) is None:
            return None
        _, moves = paths.way(self._goal)
        return Alternative(steps=self._moves.steps(self.value, moves, self.number), textbook=True)

    @cached_property
    def _best(self) -> Alternative | None:
        return self._cheapest(self.kinds)

    @property
    def is_possible(self) -> bool:
        """Whether there is a way."""
        return self._best is not None

    @property
    def chosen(self) -> Alternative:
        """The cheapest way, where there is one."""
        assert self._best is not None
        return self._best

    def _ways(self) -> list[Alternative]:
        """By gathers and slices alone, and without permutes; none where the moves are given."""
        gathers: frozenset[MoveKind] = frozenset(
            {CollectiveKind.ALL_GATHER, CollectiveKind.ALL_REDUCE, None}
        )
        no_permutes: frozenset[MoveKind] = frozenset({*CollectiveKind, None})
        if self.kinds is not None:
            return []
        found = map(self._cheapest, (gathers, no_permutes))
        return [way for way in found if way is not None]

    @cached_property
    def alternatives(self) -> tuple[Alternative, ...]:
        """The cheapest way, then others that differ."""
        ways = {tuple(step.text for step in way.steps): way for way in self._ways()}
        ways[tuple(step.text for step in self.chosen.steps)] = self.chosen
        return tuple(
            sorted(
                ways.values(),
                key=lambda w: (measured(self.objective, w, [self.value]), w is not self.chosen),
            )
        )

    def choice(self, text: str, why: tuple[str, ...], name: str | None = "") -> Choice:
        """The same as a choice of a plan.

        Args:
            text: What is done, in the notation.
            why: Sentences.
            name: Of the result, where it is to have another.
        """
        chosen = self.chosen
        if name != "" and chosen.steps:
            last = _renamed(chosen.steps[-1], name)
            chosen = replace(chosen, steps=(*chosen.steps[:-1], last))
        return Choice(text=text, chosen=chosen, explained=_Explained(self, chosen, why))

    def reasons(self) -> tuple[str, ...]:
        """Why this way: what the others would take, and what this one is bound by."""
        chosen = self.chosen
        if not chosen.steps:
            return ("nothing to do: every chip has its block already",)
        taken = f"{format_seconds(chosen.estimate)}, {format_bytes(chosen.wire_bytes)} a chip"
        said = [f"the cheapest sequence of moves: {taken}"]
        said += [
            f"{way.label} instead: {format_seconds(way.estimate)}, "
            f"{format_bytes(way.wire_bytes)} a chip"
            for way in self.alternatives
            if way is not chosen
        ]
        collectives = [step for step in chosen.steps if isinstance(step, CollectiveStep)]
        latency = sum((step.price.exact.latency for step in collectives), Fraction(0))
        if 2 * latency > chosen.seconds:
            said.append("most of that is latency: the array is small for this machine")
        return tuple(said)


@dataclass(frozen=True)
class _Explained:
    resharding: Resharding
    chosen: Alternative
    why: tuple[str, ...]

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        found = self.resharding.alternatives
        own = self.resharding.chosen
        return tuple(self.chosen if way is own else way for way in found)

    def reasons(self) -> tuple[str, ...]:
        return self.why

    def flips(self) -> tuple[Flip, ...]:
        return ()

    def balances(self, way: Alternative) -> tuple[Balance, ...]:
        return ()


def _renamed(step: Step, name: str | None) -> Step:
    """The same step, its result under another name."""
    sharded = step.result.sharded
    array = replace(sharded.array, name=name)
    return replace(step, result=Value(step.result.number, sharded.moved_to(array)))
