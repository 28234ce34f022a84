"""Chooses among the ways to do a contraction, and says why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from shardsim.planner.atoms import Atoms
from shardsim.planner.contraction import Candidate, Network, Space, Split
from shardsim.planner.flips import Balance, Flip, Scaling, balances, flips
from shardsim.planner.layout import Layout
from shardsim.planner.memory import peak_bytes
from shardsim.planner.reshard import layout_of
from shardsim.planner.rules import Rules
from shardsim.planner.steps import Alternative, MatmulStep, SliceStep, Value
from shardsim.planner.worth import Worth
from shardsim.units import format_bytes, format_flops, format_seconds
from shardsim.vocabulary import Objective, Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from shardsim.planner.dot import Placement
    from shardsim.planner.reshard import Prices
    from shardsim.sharding import ShardedArray

__all__ = ["MOST_ALTERNATIVES", "Contracting"]

MOST_ALTERNATIVES = 24


@dataclass(frozen=True, kw_only=True)
class Contracting:
    """One contraction to be planned.

    Attributes:
        prices: Of collectives on the mesh.
        objective: What is made small.
        policy: Which plans may be taken.
        operands: The values, and their names for people.
        names: Of the operands, for people.
        summed: Dimensions summed over.
        result: What is asked for.
        is_open: Whether the result's layout is left to the planner.
        product: Makes the array of an intermediate of some dimensions.
        in_order: Whether the operands must be multiplied from left to right.
        number: The first free value number.
    """

    prices: Prices
    objective: Objective
    policy: Policy
    operands: tuple[Value, ...]
    names: tuple[str, ...]
    summed: frozenset[str]
    result: ShardedArray
    is_open: bool
    product: Callable[[tuple[str, ...]], ShardedArray]
    in_order: bool
    number: int

    # Where plans are looked for.

    def _atoms(self, *, cut: bool) -> Atoms:
        arrays = [value.sharded.array for value in self.operands]
        if not self.is_open:
            arrays.append(self.result.array)
        named = [axis for array in arrays for axis in (*array.axes, *array.unreduced)]
        return Atoms.of(self.prices.mesh, named, cut=cut)

    def _network(self, *, cut: bool, plain: bool = False) -> Network:
        atoms = self._atoms(cut=cut)
        goal = None if self.is_open else layout_of(self.result.array, atoms)
        orders = _from_left if self.in_order else None
        return Network(
            Space(atoms, self.prices, Worth(self.objective), plain),
            self.operands,
            summed=self.summed,
            result=self.result,
            goal=goal,
            product=self.product,
            orders=orders,
        )

    @cached_property
    def _fine(self) -> Network:
        """Parts of axes may be moved by themselves, where two operands leave room for that."""
        return self._network(cut=len(self.operands) == 2)

    @cached_property
    def _coarse(self) -> Network:
        """Only whole axes are moved."""
        return self._network(cut=False)

    @cached_property
    def _plain(self) -> Network:
        """Whole axes are moved, and only those that the operands have: as the four rules do."""
        return self._network(cut=False, plain=True)

    @cached_property
    def rules(self) -> Rules | None:
        """The four rules for the dot; None where there are several."""
        if len(self.operands) > 2:
            return None
        network = self._coarse
        dot = network.dot(next(network.splits(network.all)))
        left, right = (value.sharded.array for value in self.operands)
        atoms = network.space.atoms
        return Rules(
            pair=dot.pair,
            left=layout_of(left, atoms),
            right=layout_of(right, atoms),
            wanted=network.goal,
            names=(self.names[0], self.names[1]),
        )

    # What is chosen.

    @cached_property
    def chosen(self) -> Alternative | None:
        """The plan taken, or None where there is none."""
        if self.objective is Objective.MEMORY:
            return self._leanest()
        if self.policy is Policy.TEXTBOOK and self.textbook is not None:
            return self.textbook
        return self.cheapest

    @cached_property
    def cheapest(self) -> Alternative | None:
        """The cheapest of all plans; of equal ones one by the rules, then one of whole axes."""
        network = self._fine
        found = network.cheapest(rank=self._rank)
        if found is None:
            return None
        way = network.alternative(found, self.number, textbook=self._rank(found.placement) == 0)
        return replace(way, textbook=way.textbook and _is_plain(way))

    @cached_property
    def local(self) -> Alternative | None:
        """The plan without any communication, where the operands' shardings allow it."""
        found = self._coarse.untouched()
        return (
            None if found is None else self._coarse.alternative(found, self.number, textbook=True)
        )

    def _rank(self, placement: Placement) -> int:
        atoms = self._fine.space.atoms
        whole = _joined(placement, atoms)
        if any(axis not in self._coarse.space.atoms.sizes for axes in whole.cuts for axis in axes):
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
        """The plan of whole axes that holds the least at once; of equal ones the fastest."""
        allowed = [
            way
            for way in self._ways()
            if self.policy is Policy.CHEAPEST or way.textbook or self.textbook is None
        ]
        return min(allowed, key=lambda way: (self.held(way), way.seconds), default=None)

    def held(self, way: Alternative) -> object:
        """The most bytes that a way holds on a chip at once."""
        return peak_bytes(self.operands, way.steps)

    @cached_property
    def _every(self) -> tuple[Candidate, ...]:
        """Every placement of whole axes, cheapest first."""
        return tuple(sorted(self._coarse.every(), key=lambda one: one.cost))

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
            way = self._coarse.alternative(one, self.number, textbook=False)
            allowed = rules is not None and rules.allow(one.placement)
            ways.append(replace(way, textbook=allowed and _is_plain(way)))
        return ways

    @cached_property
    def alternatives(self) -> tuple[Alternative, ...]:
        """The ways considered, the best first: the plan taken, and the best of each kind."""
        assert self.chosen is not None
        ways = {tuple(step.text for step in way.steps): way for way in self._ways()}
        for way in (self.cheapest, self.textbook, self.chosen):
            if way is not None:
                ways[tuple(step.text for step in way.steps)] = way
        ways[tuple(step.text for step in self.chosen.steps)] = self.chosen
        ordered = sorted(
            ways.values(),
            key=lambda way: (self._measure(way), not way.textbook, way is not self.chosen),
        )
        kept = ordered[:MOST_ALTERNATIVES]
        must = [way for way in ordered if way is self.chosen or way is self.textbook]
        return (*kept, *(way for way in must if way not in kept))

    def _measure(self, way: Alternative) -> tuple[object, ...]:
        match self.objective:
            case Objective.TIME:
                return (way.seconds, way.wire_bytes, len(way.steps))
            case Objective.BYTES:
                return (way.wire_bytes, way.seconds, len(way.steps))
            case Objective.MEMORY:
                return (self.held(way), way.seconds, len(way.steps))

    # Why.

    def reasons(self) -> tuple[str, ...]:
        """The rule for each axis in play, which axes are not used, and whether the rules hold."""
        assert self.chosen is not None
        sizes = {axis: size for axis, size in self.prices.mesh.sizes.items() if size > 1}
        played = self._coarse.space.atoms.parts
        said = []
        for axis, size in sizes.items():
            if axis not in played:
                said.append(f"{axis}: not used: its {size} chips all do the same work")
            elif self.rules is not None:
                parts = self._coarse.space.atoms.parts[axis]
                said += [self.rules.reason(part) for part in parts if part in self.rules.axes]
        if self.is_open:
            array = self.chosen.steps[-1].result.sharded.array
            said.append(f"the result is left open: {array} costs least")
        said += self._repeated(played)
        said += self._departure()
        return tuple(said)

    @cached_property
    def _scaling(self) -> Scaling:
        return Scaling(self.prices.cost, self.objective)

    @property
    def _extents(self) -> dict[str, int]:
        sharded = [value.sharded for value in self.operands]
        return {
            name: extent
            for one in sharded
            for name, extent in zip(one.array.dim_names, one.extents, strict=True)
        }

    def flips(self) -> tuple[Flip, ...]:
        """For which extents the way taken is the best; not asked where memory decides."""
        if self.objective is Objective.MEMORY:
            return ()
        assert self.chosen is not None
        ways = self.alternatives
        if self.policy is Policy.TEXTBOOK:
            ways = tuple(way for way in ways if way.textbook)
        return flips(ways, self.chosen, self._extents, self._scaling)

    def balances(self, way: Alternative) -> tuple[Balance, ...]:
        """For which extents a way is bound by communication."""
        return balances(way, self._extents, self._scaling)

    def _repeated(self, played: Iterable[str]) -> list[str]:
        """Axes in play that are idle in a matmul of the plan."""
        assert self.chosen is not None
        mesh = self.prices.mesh
        said = []
        for step in self.chosen.steps:
            if not isinstance(step, MatmulStep):
                continue
            arrays = [value.sharded.array for value in (*step.operands, step.result)]
            used = {axis.split(":")[0] for a in arrays for axis in (*a.axes, *a.unreduced)}
            idle = [axis for axis in played if axis not in used]
            if idle:
                count = 1
                for axis in idle:
                    count *= mesh.sizes[axis]
                names = " and ".join(idle)
                said.append(
                    f"{names}: idle in the matmul: {count} chips do the same "
                    f"{format_flops(step.flops)} each"
                )
        return said

    def _departure(self) -> list[str]:
        """What the rules would cost, where the plan is not by them."""
        chosen, textbook = self.chosen, self.textbook
        if chosen is None or self.rules is None or chosen.textbook:
            return []
        if textbook is None:
            return ["no plan by these rules cuts every extent evenly, so it departs from them"]
        match self.objective:
            case Objective.TIME:
                before, after = format_seconds(textbook.seconds), format_seconds(chosen.seconds)
            case Objective.BYTES:
                before, after = format_bytes(textbook.wire_bytes), format_bytes(chosen.wire_bytes)
            case Objective.MEMORY:
                before, after = (
                    format_bytes(peak_bytes(self.operands, way.steps)) for way in (textbook, chosen)
                )
        return [f"the plan departs from these rules, which would cost {before} instead of {after}"]


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


def _from_left(split: Split) -> bool:
    """Whether a split multiplies from left to right."""
    return len(split.right) == 1 and min(split.right) == len(split.whole) - 1


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
