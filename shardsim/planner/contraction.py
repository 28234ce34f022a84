"""Ways to do a contraction: for each pair of operands that are multiplied, a dot; cheapest first.

Operands may be multiplied in any order that the dimensions allow. What a product of some of them
costs is kept for every layout that it can have, so that the layouts of intermediates and the order
are chosen together (dynamic programming), not one dot after another.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from shardsim.planner.choices import Alternative
from shardsim.planner.dot import Dot, Pair, Placement, Side
from shardsim.planner.layout import Layout
from shardsim.planner.moving import ArrayMoves
from shardsim.planner.steps import Step, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from shardsim.planner.atoms import Atoms
    from shardsim.planner.prices import Prices
    from shardsim.planner.worth import Worth
    from shardsim.sharding import ShardedArray

__all__ = ["Candidate", "Network", "Space", "Split", "Tree"]

Part = frozenset[int]
"""Some of the operands, by number."""

Tree = int | tuple["Tree", "Tree"]
"""An order of multiplying: an operand, or two parts that are multiplied last."""


@dataclass(frozen=True, slots=True)
class Space:
    """Where plans are looked for: which axes may be moved, how, and what is made small."""

    atoms: Atoms
    prices: Prices
    worth: Worth
    plain: bool = False

    def moves(self, sharded: ShardedArray) -> ArrayMoves:
        """The moves of an array."""
        return ArrayMoves(sharded, self.atoms, self.prices, self.worth, plain=self.plain)


class Split(NamedTuple):
    """Some operands as a product of two parts of them."""

    left: Part
    right: Part

    @property
    def whole(self) -> Part:
        """Both."""
        return self.left | self.right


class Candidate(NamedTuple):
    """A way to do all of it: its cost, the last dot, and the placement there."""

    cost: int
    split: Split
    placement: Placement


class Network:
    """A contraction of two or more operands, with what its parts cost.

    Args:
        space: Where plans are looked for.
        operands: The values multiplied.
        summed: Dimensions summed over.
        result: The result; its layout is ignored where the goal is open.
        goal: The layout wanted; None leaves it open, but for partial sums.
        product: Makes the array of a product of some dimensions under a name.
        product_names: For the products of some operands only, in the order in which they are made.
    """

    def __init__(
        self,
        space: Space,
        operands: tuple[Value, ...],
        *,
        summed: frozenset[str],
        result: ShardedArray,
        goal: Layout | None,
        product: Callable[[str, tuple[str, ...]], ShardedArray],
        product_names: tuple[str, ...],
    ) -> None:
        self.space = space
        self.operands = operands
        self.summed = summed
        self.result = result
        self.goal = goal
        self.all: Part = frozenset(range(len(operands)))
        self._product = product
        self.product_names = product_names
        self._sides: dict[Part, Side] = {}
        self._seeds: dict[Part, dict[Layout, tuple[int, Split, Placement]]] = {}
        self._dots: dict[Split, Dot] = {}
        self._whole = space.moves(result)
        self.home = self._whole.backwards(goal)

    # What is multiplied with what.

    def names(self, part: Part) -> tuple[str, ...]:
        """The dimensions of a product of some operands, in order of appearance."""
        if part == self.all:
            return self.result.array.dim_names
        inside = [self.operands[number].sharded.array.dim_names for number in sorted(part)]
        outside = {
            name
            for number in self.all - part
            for name in self.operands[number].sharded.array.dim_names
        }
        found = dict.fromkeys(itertools.chain(*inside))
        done = self.summed - outside
        if len(part) == 1:
            return tuple(found)
        return tuple(name for name in found if name not in done)

    def splits(self, part: Part) -> Iterator[Split]:
        """The ways to divide some operands in two that share a dimension, where any do.

        The one that multiplies from left to right comes first: of equal orders it is taken.
        """
        first = min(part)
        others = sorted(part - {first})
        found = []
        for count in reversed(range(len(others))):
            for more in itertools.combinations(others, count):
                left = frozenset((first, *more))
                found.append(Split(left, part - left))
        joined = [s for s in found if set(self.names(s.left)) & set(self.names(s.right))]
        yield from joined or found

    # What it costs.

    def side(self, part: Part) -> Side:
        """Some operands multiplied, as an operand."""
        if part not in self._sides:
            if len(part) == 1:
                (number,) = part
                moves = self.space.moves(self.operands[number].sharded)
                layout = moves.layout()
                self._sides[part] = Side(moves, moves.forwards(layout), layout.unreduced)
            else:
                moves = self._moves_of(self.names(part))
                costs = {layout: cost for layout, (cost, _, _) in self.seeds(part).items()}
                sums = tuple(sorted(self.space.atoms.names))  # as layouts have them
                self._sides[part] = Side(moves, moves.from_all(costs), sums)
        return self._sides[part]

    def _moves_of(self, names: tuple[str, ...]) -> ArrayMoves:
        """The moves of a product; what it is called is decided when steps are made."""
        return self.space.moves(self._product(self.product_names[0], names))

    def seeds(self, part: Part) -> Mapping[Layout, tuple[int, Split, Placement]]:
        """For each layout that a product can be left in, how it is cheapest made."""
        if part not in self._seeds:
            found: dict[Layout, tuple[int, Split, Placement]] = {}
            for split in self.splits(part):
                for layout, (cost, placement) in self.dot(split).seeds().items():
                    if layout not in found or cost < found[layout][0]:
                        found[layout] = cost, split, placement
            self._seeds[part] = found
        return self._seeds[part]

    def dot(self, split: Split) -> Dot:
        """The last dot of some operands."""
        if split not in self._dots:
            names = self.names(split.whole)
            left, right = self.names(split.left), self.names(split.right)
            summed = tuple(name for name in left if name in right and name not in names)
            product = self._whole if split.whole == self.all else self._moves_of(names)
            pair = Pair(left, right, names, summed)
            self._dots[split] = Dot(pair, self.side(split.left), self.side(split.right), product)
        return self._dots[split]

    def cheapest(
        self,
        most_flops: int | None = None,
        rank: Callable[[Placement], int] | None = None,
        allow: Callable[[Placement], bool] | None = None,
    ) -> Candidate | None:
        """The cheapest way, or None where there is none; see `Dot.cheapest`."""
        best: Candidate | None = None
        for split in self.splits(self.all):
            found = self.dot(split).cheapest(self.home, most_flops, rank, allow)
            if found is not None and (best is None or found[0] < best.cost):
                best = Candidate(found[0], split, found[1])
        return best

    def every(self) -> Iterator[Candidate]:
        """Every placement of the last dot that leads to the goal, in no order."""
        both = self.space.worth.both
        for split in self.splits(self.all):
            dot = self.dot(split)
            for placement, matmul in dot.placements():
                cost, home = dot.total(placement, matmul), self.home.to(placement.product)
                if cost is not None and home is not None:
                    yield Candidate(both(cost, home), split, placement)

    def untouched(self) -> Candidate | None:
        """The way that moves nothing: the two operands and the product stay as they are."""
        split = next(self.splits(self.all))
        dot = self.dot(split)
        left, right = (dot.left.moves.layout(), dot.right.moves.layout())
        for placement, matmul in dot.placements():
            is_goal = self.goal is None or placement.product == self.goal
            if (placement.left, placement.right) == (left, right) and is_goal:
                self.home.to(placement.product)
                return Candidate(matmul, split, placement)
        return None

    # Its steps.

    def tree(self, candidate: Candidate) -> Tree:
        """The order in which a way multiplies."""
        split, placement = candidate.split, candidate.placement
        return self._tree(split.left, placement.left), self._tree(split.right, placement.right)

    def _tree(self, part: Part, layout: Layout) -> Tree:
        if len(part) == 1:
            return min(part)
        start, _ = self.side(part).paths.way(layout)
        _, split, placement = self.seeds(part)[start]
        return self._tree(split.left, placement.left), self._tree(split.right, placement.right)

    def alternative(
        self, candidate: Candidate, number: int, *, textbook: bool, moved: bool = True
    ) -> Alternative:
        """A way as steps that write values from `number` on; `moved`: the product to the goal."""
        builder = _Builder(self, number)
        dot = self.dot(candidate.split)
        value = builder.multiplied(dot, candidate.split, candidate.placement)
        start = candidate.placement.product
        stays = not moved or start == self.goal
        moves = () if stays else self.home.way(start)[1]
        builder.moved(self._whole, value, tuple(reversed(moves)))
        return Alternative(steps=tuple(builder.steps), textbook=textbook)


class _Builder:
    """Collects the steps of a way."""

    def __init__(self, network: Network, number: int) -> None:
        self.network = network
        self.steps: list[Step] = []
        self.first = number
        self.names = iter(network.product_names)

    @property
    def number(self) -> int:
        return self.first + len(self.steps)

    def operand(self, part: Part, layout: Layout) -> Value:
        """Some operands multiplied, in a layout."""
        side = self.network.side(part)
        start, moves = side.paths.way(layout)
        if len(part) == 1:
            value = self.network.operands[min(part)]
        else:
            _, split, placement = self.network.seeds(part)[start]
            value = self.multiplied(self.network.dot(split), split, placement)
        return self.moved(side.moves, value, moves)

    def multiplied(self, dot: Dot, split: Split, placement: Placement) -> Value:
        left = self.operand(split.left, placement.left)
        right = self.operand(split.right, placement.right)
        is_last = split.whole == self.network.all
        name = self.network.result.array.name if is_last else next(self.names)
        step = dot.matmul(placement, (left, right), self.number, name)
        self.steps.append(step)
        return step.result

    def moved(self, moves: ArrayMoves, value: Value, way: tuple[object, ...]) -> Value:
        steps = moves.steps(value, way, self.number)  # type: ignore[arg-type]
        self.steps += steps
        return steps[-1].result if steps else value
