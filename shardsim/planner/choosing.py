"""Chooses among the ways to do a contraction, and says why."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from shardsim.planner.atoms import MOST_ATOMS, Atoms
from shardsim.planner.choices import Alternative
from shardsim.planner.contraction import Candidate, Network, Space
from shardsim.planner.layout import Layout
from shardsim.planner.memory import peak_bytes
from shardsim.planner.moving import layout_of
from shardsim.planner.rules import Rules
from shardsim.planner.steps import MatmulStep, SliceStep
from shardsim.planner.worth import measured
from shardsim.vocabulary import Objective, Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shardsim.planner.dot import Placement
    from shardsim.planner.prices import Prices
    from shardsim.planner.steps import Step, Value
    from shardsim.sharding import ShardedArray
    from shardsim.units import Bytes

__all__ = ["MOST_ALTERNATIVES", "Contracting"]

MOST_ALTERNATIVES = 24


@dataclass(frozen=True, kw_only=True)
class Contracting:
    """One contraction to be planned.

    Attributes:
        prices: Of collectives on the mesh.
        objective: What is made small.
        policy: Which plans may be taken.
        operands: The values multiplied.
        names: Of the operands, for people.
        summed: Dimensions summed over.
        result: What is asked for.
        is_open: Whether the result's layout is left to the planner.
        product: Makes the array of a product of some dimensions under a name.
        product_names: For the products of some operands only, in the order in which they are made.
        number: The first free value number.
        most_flops: On one chip, in the cheapest plan; None: as many as pay.
        everywhere: Whether axes that no array names may be used too.
        is_local: Whether nothing may be moved (`·_LOCAL`).
        same_dims: Names that this plan gives to a dimension used once more, with its own name.
    """

    prices: Prices
    objective: Objective
    policy: Policy
    operands: tuple[Value, ...]
    names: tuple[str, ...]
    summed: frozenset[str]
    result: ShardedArray
    is_open: bool
    product: Callable[[str, tuple[str, ...]], ShardedArray]
    product_names: tuple[str, ...]
    number: int
    most_flops: int | None = None
    everywhere: bool = False
    is_local: bool = False
    same_dims: Mapping[str, str] = field(default_factory=dict)

    # Where plans are looked for.

    def _atoms(self, *, cut: bool) -> Atoms:
        arrays = [value.sharded.array for value in self.operands]
        if not self.is_open:
            arrays.append(self.result.array)
        named = [axis for array in arrays for axis in (*array.axes, *array.unreduced)]
        if self.everywhere:
            named += self.prices.mesh.sizes
        return Atoms.of(self.prices.mesh, named, cut=cut)

    def _network(self, *, cut: bool, plain: bool = False) -> Network:
        atoms = self._atoms(cut=cut)
        goal = None if self.is_open else layout_of(self.result.array, atoms)
        return Network(
            Space(atoms, self.prices, self.prices.worth(self.objective), plain),
            self.operands,
            summed=self.summed,
            result=self.result,
            goal=goal,
            product=self.product,
            product_names=self.product_names,
        )

    @cached_property
    def fine(self) -> Network:
        """Parts of axes may be moved by themselves."""
        return self._network(cut=True)

    @cached_property
    def coarse(self) -> Network:
        """Only whole axes are moved."""
        return self._network(cut=False)

    @cached_property
    def _plain(self) -> Network:
        """Whole axes are moved, and only those that the operands have: as by the four rules."""
        return self._network(cut=False, plain=True)

    @cached_property
    def rules(self) -> Rules | None:
        """The four rules for the dot; None where there are several."""
        if len(self.operands) > 2:
            return None
        network = self.coarse
        dot = network.dot(next(network.splits(network.all)))
        left, right = (value.sharded.array for value in self.operands)
        atoms = network.space.atoms
        return Rules(
            pair=dot.pair,
            left=layout_of(left, atoms),
            right=layout_of(right, atoms),
            wanted=network.goal,
            names=(self.names[0], self.names[1]),
            is_local=self.is_local,
        )

    @property
    def is_crowded(self) -> bool:
        """Whether so many axes are in play that only the four rules are followed."""
        return self.coarse.space.atoms.are_many

    # What is chosen.

    @cached_property
    def chosen(self) -> Alternative | None:
        """The plan taken, or None where there is none."""
        if self.is_local:
            return self._local
        if self.is_crowded and self.textbook is not None:
            return self.textbook
        if self.objective is Objective.MEMORY:
            return self._leanest()
        if self.policy is Policy.TEXTBOOK and self.textbook is not None:
            return self.textbook
        return self.cheapest

    @cached_property
    def cheapest(self) -> Alternative | None:
        """The cheapest of all plans; of equal ones one by the rules, then one of whole axes."""
        found = self.best
        if found is None:
            return None
        way = self.fine.alternative(found, self.number, textbook=False)
        return replace(way, textbook=self._rank(found.placement) == 0 and _is_plain(way))

    @cached_property
    def best(self) -> Candidate | None:
        """The same before it is a sequence of steps."""
        return self.fine.cheapest(self.most_flops, self._rank)

    @cached_property
    def dot_by_dot(self) -> Alternative | None:
        """From left to right, each dot the cheapest by itself; None where that is all there is."""
        if len(self.operands) == 2:
            return None
        left = self.operands[0]
        steps: tuple[Step, ...] = ()
        for index, right in enumerate(self.operands[1:], start=2):
            is_last = index == len(self.operands)
            names = self.fine.names(frozenset(range(index)))
            both = (*left.sharded.array.dim_names, *right.sharded.array.dim_names)
            dot = replace(
                self,
                operands=(left, right),
                names=("", ""),
                summed=frozenset(both) - frozenset(names),
                result=self.result
                if is_last
                else self.product(self.product_names[index - 2], names),
                product_names=(),
                is_open=self.is_open or not is_last,
                number=self.number + len(steps),
            )
            if dot.cheapest is None:
                return None
            steps = (*steps, *dot.cheapest.steps)
            left = steps[-1].result
        return Alternative(steps=steps, textbook=False)

    @cached_property
    def _local(self) -> Alternative | None:
        """The plan without any communication, where the operands' shardings allow it."""
        found = self.coarse.untouched()
        if found is None:
            return None
        return self.coarse.alternative(found, self.number, textbook=True, moved=False)

    def _rank(self, placement: Placement) -> int:
        atoms = self.fine.space.atoms
        whole = _joined(placement, atoms)
        if any(axis not in self.coarse.space.atoms.sizes for axes in whole.cuts for axis in axes):
            return 2
        return 0 if self.rules is not None and self.rules.allow(whole) else 1

    @cached_property
    def textbook(self) -> Alternative | None:
        """The cheapest plan by the four rules, or None where none cuts every extent evenly."""
        if self.rules is None:
            return None
        best = self._plain.cheapest(allow=self.rules.allow)
        return None if best is None else self._plain.alternative(best, self.number, textbook=True)

    def _leanest(self) -> Alternative | None:
        """Of all ways that are found, the one that holds the least at once; then the fastest.

        The search adds up what steps hold by themselves, so it may miss one that holds less: the
        fastest plan and that of the fewest bytes are looked at too.
        """
        ways = self._ways()
        for objective in (Objective.TIME, Objective.BYTES):
            other = replace(self, objective=objective).cheapest
            ways += [] if other is None else [other]
        if self.textbook is not None:
            ways.append(self.textbook)
            if self.policy is Policy.TEXTBOOK:
                ways = [way for way in ways if way.textbook]
        return min(ways, key=lambda way: (self.held(way), way.estimate), default=None)

    def held(self, way: Alternative) -> Bytes:
        """The most bytes that a way holds on a chip at once."""
        return peak_bytes(self.operands, way.steps)

    @cached_property
    def _every(self) -> tuple[Candidate, ...]:
        """Every placement of whole axes, cheapest first."""
        return tuple(sorted(self.coarse.every(), key=lambda one: one.cost))

    def _ways(self) -> list[Alternative]:
        """For each thing that the axes may do in the last dot, the cheapest way."""
        kinds: dict[object, Candidate] = {}
        for one in self._every:
            cuts = tuple(frozenset(axes) for axes in one.placement.cuts)
            sums = one.placement.left.unreduced, one.placement.right.unreduced
            kinds.setdefault((one.split, cuts, sums), one)
        rules = self.rules
        ways = []
        for one in kinds.values():
            way = self.coarse.alternative(one, self.number, textbook=False)
            allowed = rules is not None and rules.allow(one.placement)
            ways.append(replace(way, textbook=allowed and _is_plain(way)))
        return ways

    @cached_property
    def alternatives(self) -> tuple[Alternative, ...]:
        """The ways considered, the best first: the plan taken, and the best of each kind."""
        assert self.chosen is not None
        if self.is_local or (self.is_crowded and self.chosen is self.textbook):
            return (self.chosen,)
        ways = {tuple(step.text for step in way.steps): way for way in self._ways()}
        for way in (self.cheapest, self.textbook, self.dot_by_dot, self.chosen):
            if way is not None:
                ways[tuple(step.text for step in way.steps)] = way
        ways[tuple(step.text for step in self.chosen.steps)] = self.chosen
        ordered = sorted(
            ways.values(),
            key=lambda way: (
                measured(self.objective, way, self.operands),
                not way.textbook,
                way is not self.chosen,
            ),
        )
        kept = ordered[:MOST_ALTERNATIVES]
        must = [way for way in ordered if way is self.chosen or way is self.textbook]
        return (*kept, *(way for way in must if way not in kept))

    def again(self, dim: str, extent: int) -> tuple[Alternative, int] | None:
        """What would be planned with another extent of a dimension: the nearest that divides.

        None where there are several dots, or many axes: that would take too long.
        """
        if len(self.operands) > 2 or len(self.fine.space.atoms.names) > MOST_ATOMS:
            return None
        sharded = [*(value.sharded for value in self.operands), self.result]
        ways = [one.ways(d) for one in sharded for d in one.array.dims if d.name == dim]
        step = math.lcm(*ways)
        near = max(round(Fraction(extent, step)), 1) * step
        operands = tuple(
            replace(value, sharded=_resized(value.sharded, dim, near)) for value in self.operands
        )
        other = replace(self, operands=operands, result=_resized(self.result, dim, near))
        return None if other.chosen is None else (other.chosen, near)

    @property
    def extents(self) -> dict[str, int]:
        """Of all dimensions of the operands, by their own names."""
        sharded = [value.sharded for value in self.operands]
        return {
            name: extent
            for one in sharded
            for name, extent in zip(one.array.dim_names, one.extents, strict=True)
            if name not in self.same_dims
        }


def _resized(sharded: ShardedArray, dim: str, extent: int) -> ShardedArray:
    """The array with another extent of one dimension."""
    extents = (
        extent if name == dim else known
        for name, known in zip(sharded.array.dim_names, sharded.extents, strict=True)
    )
    return replace(sharded, extents=tuple(extents))


def _is_plain(way: Alternative) -> bool:
    """Whether no axis is moved that the way itself cut an operand over."""
    cut: dict[int, frozenset[str]] = {}
    for step in way.steps:
        if isinstance(step, MatmulStep):
            continue
        before = cut.get(step.operand.number, frozenset())
        if isinstance(step, SliceStep):
            before |= frozenset(step.axes)
        elif before & frozenset(step.axes):
            return False
        cut[step.result.number] = before
    return True


def _joined(placement: Placement, atoms: Atoms) -> Placement:
    """The same in whole axes, where parts make them up."""

    def layout(one: Layout) -> Layout:
        axes = tuple(map(atoms.joined, one.axes))
        return Layout(axes, tuple(sorted(atoms.joined(atoms.in_order(one.unreduced)))))

    return placement._replace(
        left=layout(placement.left),
        right=layout(placement.right),
        product=layout(placement.product),
        cuts=tuple(map(atoms.joined, placement.cuts)),
    )
