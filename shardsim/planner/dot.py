"""One dot of two operands: every way to place its axes, priced; and the cheapest of them.

In a local matmul each axis has one role: it cuts a dimension, in every operand that has it, or it
is idle. An axis on a summed dimension leaves partial sums. Or one operand holds partial sums over
the axis already, and carries them through: the product of a partial sum is a partial sum. Which
moves bring the operands there and the product to its goal is a matter of cheapest paths, so the
cheapest placement is the least sum of three path costs and a matmul.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from shardsim.matmul import MatmulShape
from shardsim.planner.layout import Layout, layouts
from shardsim.planner.moving import ArrayMoves, with_layout
from shardsim.planner.steps import MatmulStep, Value
from shardsim.vocabulary import Dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from shardsim.cost import MatmulPrice
    from shardsim.planner.paths import Paths

__all__ = ["Dot", "Pair", "Placement", "Side", "compute_dtype"]

Names = tuple[str, ...]


class Pair(NamedTuple):
    """The dimensions of a dot.

    Attributes:
        left: Dimension names of the left operand; `right`, `result` likewise.
        summed: Dimensions summed over.
    """

    left: Names
    right: Names
    result: Names
    summed: Names

    @property
    def dims(self) -> Names:
        """All dimensions, in order of appearance."""
        return tuple(dict.fromkeys((*self.left, *self.right)))


class Placement(NamedTuple):
    """A way to place the axes: the layouts that the matmul reads, and the one that it leaves.

    Attributes:
        left: Of the left operand; `right` likewise.
        product: Of the product, with the partial sums that the matmul makes or carries.
        cuts: The axes of each dimension.
    """

    left: Layout
    right: Layout
    product: Layout
    cuts: tuple[Names, ...]


@lru_cache(maxsize=256)
def _placements(pair: Pair, atoms: Names, left: Names, right: Names) -> tuple[Placement, ...]:
    """All placements; `left`, `right`: axes over which an operand may hold partial sums."""
    return tuple(
        placement
        for carried_left in _choices(left)
        for carried_right in _choices(tuple(atom for atom in right if atom not in carried_left))
        for placement in _of_rest(pair, atoms, carried_left, carried_right)
    )


def _choices(axes: Names) -> Iterator[Names]:
    for count in range(len(axes) + 1):
        yield from itertools.combinations(axes, count)


def _of_rest(pair: Pair, atoms: Names, left: Names, right: Names) -> Iterator[Placement]:
    free = tuple(atom for atom in atoms if atom not in left and atom not in right)
    for cuts in layouts(free, len(pair.dims)):
        on = dict(zip(pair.dims, cuts, strict=True))
        partial = itertools.chain(left, right, *(on[name] for name in pair.summed))
        yield Placement(
            Layout(tuple(on[name] for name in pair.left), left),
            Layout(tuple(on[name] for name in pair.right), right),
            Layout(tuple(on[name] for name in pair.result), tuple(sorted(partial))),
            cuts,
        )


@dataclass(frozen=True, slots=True)
class Side:
    """An operand: how it can be moved, and what it costs to have it in a layout.

    Attributes:
        moves: Of the array.
        paths: From the layouts that it can be had in.
        sums: Axes over which it may hold partial sums, in the order of a layout's.
    """

    moves: ArrayMoves
    paths: Paths
    sums: Names


def compute_dtype(left: Dtype, right: Dtype) -> Dtype:
    """The type a matmul is computed in: the wider operand's, a float before an integer.

    >>> compute_dtype(Dtype.BF16, Dtype.INT8).value
    'bf16'
    """
    return max(left, right, key=lambda dtype: (not dtype.is_integer, dtype.bytes))


class Dot:
    """All placements of one dot.

    Attributes:
        pair: Its dimensions.
        left: The left operand; `right` likewise.
        product: The moves of what comes out.
    """

    def __init__(self, pair: Pair, left: Side, right: Side, product: ArrayMoves) -> None:
        self.pair = pair
        self.left = left
        self.right = right
        self.product = product
        self.atoms = product.atoms
        self.worth = product.worth
        self.dtype = compute_dtype(left.moves.sharded.dtype, right.moves.sharded.dtype)
        sharded = (left.moves.sharded, right.moves.sharded)
        self.extents = {
            name: extent
            for one in sharded
            for name, extent in zip(one.array.dim_names, one.extents, strict=True)
        }
        self._matmuls: dict[tuple[int, ...], int] = {}

    def placements(self, most_flops: int | None = None) -> Iterator[tuple[Placement, int]]:
        """Each placement that cuts all dimensions evenly, with the cost of its matmul.

        Args:
            most_flops: Leave out those with more FLOPs on a chip.
        """
        every = _placements(self.pair, self.atoms.names, self.left.sums, self.right.sums)
        extents = [self.extents[name] for name in self.pair.dims]
        known: dict[tuple[Names, ...], int | None] = {}
        for placement in every:
            if placement.cuts not in known:
                ways = tuple(map(self.atoms.ways, placement.cuts))
                even = not any(e % way for e, way in zip(extents, ways, strict=True))
                fits = even and (most_flops is None or self._flops(ways) <= most_flops)
                known[placement.cuts] = self._matmul_cost(ways) if fits else None
            cost = known[placement.cuts]
            if cost is not None:
                yield placement, cost

    def _matmul_cost(self, ways: tuple[int, ...]) -> int:
        if ways not in self._matmuls:
            cut = dict(zip(self.pair.dims, ways, strict=True))
            seconds = self.matmul_price(cut).seconds
            held = sum(self._traffic(cut), Fraction(0))
            self._matmuls[ways] = self.worth.of(seconds, Fraction(0), held)
        return self._matmuls[ways]

    def _traffic(self, cut: dict[str, int]) -> Iterator[Fraction]:
        """Bytes of both operands and the product on one chip."""
        for moves in (self.left.moves, self.right.moves, self.product):
            names = moves.sharded.array.dim_names
            yield moves.bytes / math.prod(cut[name] for name in names)

    def _flops(self, ways: Iterable[int]) -> int:
        """On one chip, each dimension cut so many times."""
        extents = (self.extents[name] for name in self.pair.dims)
        return 2 * math.prod(e // way for e, way in zip(extents, ways, strict=True))

    def matmul_price(self, cut: dict[str, int]) -> MatmulPrice:
        """The roofline of the local matmul, each dimension cut so many times."""
        prices = self.product.prices
        traffic = sum(self._traffic(cut), Fraction(0))
        local = {name: self.extents[name] // ways for name, ways in cut.items()}
        left, right = ({name: local[name] for name in side} for side in self.pair[:2])
        shape = MatmulShape.of(left, right, self.pair.result)
        return prices.cost.matmul(shape, traffic, self.dtype, prices.mesh.topology.chip)

    def total(self, placement: Placement, matmul: int) -> int | None:
        """The product as the matmul leaves it: operands brought there, and multiplied."""
        left, right = self.left.paths.to(placement.left), self.right.paths.to(placement.right)
        if left is None or right is None:
            return None
        return self.worth.both(self.worth.both(left, right), matmul)

    def seeds(self) -> dict[Layout, tuple[int, Placement]]:
        """For each layout that a product can be left in, the cheapest placement and its cost."""
        found: dict[Layout, tuple[int, Placement]] = {}
        for placement, matmul in self.placements():
            cost = self.total(placement, matmul)
            if cost is not None and (
                placement.product not in found or cost < found[placement.product][0]
            ):
                found[placement.product] = cost, placement
        return found

    def cheapest(
        self,
        home: Paths,
        most_flops: int | None = None,
        rank: Callable[[Placement], int] | None = None,
        allow: Callable[[Placement], bool] | None = None,
    ) -> tuple[int, Placement] | None:
        """The cheapest placement, the product brought to a goal; None where none can be.

        The paths are found within a radius that grows until no placement beyond it can be cheaper.

        Args:
            home: Ways to the goal (or goals), walked backwards.
            most_flops: On one chip.
            rank: Of placements that cost the same, the one with the lowest is taken.
            allow: Which placements may be taken; None: all.
        """
        searches = (self.left.paths, self.right.paths, home)
        places = [one for one in self.placements(most_flops) if allow is None or allow(one[0])]
        radius = 0
        while places:
            for search in searches:
                search.advance(radius)
            best, least_open = self._within(places, searches, radius)
            if best is not None and (least_open is None or best[0] < least_open):
                return best[0], min(best[1], key=rank or (lambda _: 0))
            ahead = [search.reached for search in searches if search.reached is not None]
            if not ahead:
                return None
            grown = 2 * min(ahead)
            radius = grown if best is None else max(min(ahead), min(grown, best[0]))
        return None

    def _within(
        self,
        places: list[tuple[Placement, int]],
        searches: tuple[Paths, Paths, Paths],
        radius: int,
    ) -> tuple[tuple[int, list[Placement]] | None, int | None]:
        """The best placements whose paths are all known, and the least that others can cost."""
        left, right, product = (search.best for search in searches)
        # what lies beyond the radius costs at least what comes next
        beyond = [
            None if search.reached is None else max(radius, search.reached) for search in searches
        ]
        both = self.worth.both
        best: tuple[int, list[Placement]] | None = None
        least: int | None = None
        for placement, matmul in places:
            a, b, c = left.get(placement.left), right.get(placement.right), None
            c = product.get(placement.product)
            known = a is not None and b is not None and c is not None
            a = beyond[0] if a is None else a
            b = beyond[1] if b is None else b
            c = beyond[2] if c is None else c
            if a is None or b is None or c is None:
                continue
            cost = both(both(a, b), both(matmul, c))
            if known:
                if best is None or cost < best[0]:
                    best = cost, [placement]
                elif cost == best[0]:
                    best[1].append(placement)
            elif least is None or cost < least:
                least = cost
        return best, least

    def matmul(
        self, placement: Placement, operands: tuple[Value, Value], number: int, name: str | None
    ) -> MatmulStep:
        """The local matmul as a step that writes a value of some number and name."""
        cut = {
            name: self.atoms.ways(axes)
            for name, axes in zip(self.pair.dims, placement.cuts, strict=True)
        }
        sharded = self.product.sharded
        array = replace(with_layout(sharded.array, placement.product, self.atoms), name=name)
        return MatmulStep(
            operands=operands,
            result=Value(number, sharded.moved_to(array)),
            contracted=self.pair.summed,
            flops=self._flops(cut.values()),
            traffic=sum(self._traffic(cut), Fraction(0)),
            dtype=self.dtype,
            price=self.matmul_price(cut),
        )
