"""Where another way would be taken, or something else bind: for which extent of each dimension.

Every way of a list is priced again with one dimension larger or smaller, by the same closed forms;
the extent at which the answer changes is found by bisection, to a whole number. Extents between the
multiples that the axes ask for are priced as if they divided.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from shardsim.planner.choices import Balance, Flip
from shardsim.planner.steps import CollectiveStep, MatmulStep
from shardsim.vocabulary import Objective

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from shardsim.cost import CollectivePrice, CostModel
    from shardsim.planner.choices import Alternative
    from shardsim.planner.steps import Value
    from shardsim.units import Seconds

__all__ = ["Balance", "Flip", "Scaling", "balances", "flips"]

REACH = 4096
"""Extents are tried from so much smaller to so much larger."""
STRIDE = 8
MOST_WAYS = 12
ROUNDS = 4
FAR = 64


class Scaling:
    """Ways priced with one dimension longer or shorter.

    Args:
        cost: The closed forms.
        objective: What a way is measured by.
        again: Names under which a plan has a dimension once more, and which dimension that is:
            they are scaled with it.
    """

    def __init__(
        self, cost: CostModel, objective: Objective, again: Mapping[str, str] | None = None
    ) -> None:
        self.cost = cost
        self.objective = objective
        self.again = again or {}
        self._prices: dict[tuple[object, ...], CollectivePrice] = {}

    def measure(self, way: Alternative, dim: str, factor: Fraction) -> tuple[Fraction, Fraction]:
        """What a way is measured by, and what breaks ties."""
        prices = [self._price(step, dim, factor) for step in _collectives(way)]
        wire = sum((price.wire_bytes for price in prices), Fraction(0))
        seconds = self.compute(way, dim, factor)
        seconds += sum((price.estimate for price in prices), Fraction(0))
        return (wire, seconds) if self.objective is Objective.BYTES else (seconds, wire)

    def compute(self, way: Alternative, dim: str, factor: Fraction) -> Seconds:
        """Seconds of its matmuls."""
        return sum(
            (self._matmul(step, dim, factor) for step in way.steps if isinstance(step, MatmulStep)),
            Fraction(0),
        )

    def talk(self, way: Alternative, dim: str, factor: Fraction, *, book: bool) -> Seconds:
        """Seconds of its collectives."""
        prices = [self._price(step, dim, factor) for step in _collectives(way)]
        return sum((p.book if book else p.exact.total for p in prices), Fraction(0))

    def _price(self, step: CollectiveStep, dim: str, factor: Fraction) -> CollectivePrice:
        size = step.size * self._growth(step.operand.sharded.array.dim_names, dim, factor)
        call = step.call
        key = (call.kind, call.group.axes, call.permutation, size)
        if key not in self._prices:
            again = self.cost.call(call.kind, call.group, size, call.permutation)
            self._prices[key] = self.cost.collective(again)
        return self._prices[key]

    def _matmul(self, step: MatmulStep, dim: str, factor: Fraction) -> Seconds:
        values: tuple[Value, ...] = (*step.operands, step.result)
        dims = {name for value in values for name in value.sharded.array.dim_names}
        flops = step.flops * self._growth(dims, dim, factor)
        traffic = sum(
            (
                v.sharded.local_bytes * self._growth(v.sharded.array.dim_names, dim, factor)
                for v in values
            ),
            Fraction(0),
        )
        chip = step.result.sharded.mesh.topology.chip
        return self.cost.matmul(flops, traffic, step.dtype, chip).seconds

    def _growth(self, names: Iterable[str], dim: str, factor: Fraction) -> Fraction:
        """How much larger something with these dimensions is when one of them is."""
        return factor ** sum(self.again.get(name, name) == dim for name in names)


def _collectives(way: Alternative) -> Iterator[CollectiveStep]:
    return (step for step in way.steps if isinstance(step, CollectiveStep))


class Again(Protocol):
    """Plans with another extent of a dimension."""

    def __call__(self, dim: str, extent: int, /) -> tuple[Alternative, int] | None:
        """The plan, and the extent near to the one asked for that it is for."""


def flips(
    ways: Sequence[Alternative],
    chosen: Alternative,
    extents: Mapping[str, int],
    scaling: Scaling,
    again: Again,
) -> tuple[Flip, ...]:
    """For each dimension, for which of its extents the way taken is the best of all.

    The edges are those among the ways that are known here; then what is planned beside each edge
    joins them, until the plan there is the one that is promised.

    Args:
        ways: All that are compared, the best first.
        chosen: The one taken.
        extents: Of the dimensions.
        scaling: Prices them.
        again: What would be planned with another extent of a dimension, and the extent near to
            that for which it is planned.
    """
    compared = [chosen, *(way for way in ways if way is not chosen)][:MOST_WAYS]
    found = []
    for dim, extent in extents.items():
        best = _Best(chosen, [(way, extent) for way in compared], dim, extent, scaling)
        if best.better(extent):  # taken for other reasons than what is measured here
            continue
        low = _checked_edge(best, again, smaller=True)
        high = _checked_edge(best, again, smaller=False)
        if low is not None or high is not None:
            found.append(
                Flip(
                    dim=dim,
                    low=low,
                    below=None if low is None else best.at(low - 1),
                    high=high,
                    above=None if high is None else best.at(high + 1),
                )
            )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Best:
    """Which of some ways is the best at each extent of a dimension; of equal ones the first.

    Ways that send the same are one: they differ in what is cut where, for nothing.

    Attributes:
        chosen: The way taken.
        ways: All, each with the extent that it was planned for.
        dim: The dimension.
        extent: Its extent.
        scaling: Prices a way for another extent.
    """

    chosen: Alternative
    ways: list[tuple[Alternative, int]]
    dim: str
    extent: int
    scaling: Scaling

    def measure(self, entry: tuple[Alternative, int], extent: int) -> tuple[Fraction, Fraction]:
        """What a way is measured by at an extent."""
        way, base = entry
        return self.scaling.measure(way, self.dim, Fraction(extent, base))

    def at(self, extent: int) -> Alternative:
        """The best one."""
        return min(self.ways, key=lambda entry: self.measure(entry, extent))[0]

    def better(self, extent: int) -> list[tuple[Alternative, int]]:
        """The ways that are better than the one taken and send something else."""
        limit = self.measure((self.chosen, self.extent), extent)
        others = (entry for entry in self.ways if entry[0].label != self.chosen.label)
        return [entry for entry in others if self.measure(entry, extent) < limit]

    def edge(self, *, smaller: bool) -> int | None:
        """The last extent for which the way taken is the best; None where it always is.

        It is looked for in large steps first, so what changes back within one may be missed.
        """
        near = self.extent
        limit = max(near // REACH, 1) if smaller else near * REACH
        while near != limit:
            far = max(near // STRIDE, limit) if smaller else min(near * STRIDE, limit)
            rivals = self.better(far)
            while rivals:
                far = self._bisected(near, far, rivals) + (-1 if smaller else 1)
                inside = far + (1 if smaller else -1)
                rivals = [] if inside == near else self.better(inside)
                if not rivals:
                    return inside
                far = inside
            near = far
        return None

    def _bisected(self, yes: int, no: int, rivals: list[tuple[Alternative, int]]) -> int:
        """The last extent between two for which no rival is better."""
        while abs(yes - no) > 1:
            middle = (yes + no) // 2
            limit = self.measure((self.chosen, self.extent), middle)
            if any(self.measure(rival, middle) < limit for rival in rivals):
                no = middle
            else:
                yes = middle
        return yes

    def learn(self, way: Alternative, extent: int) -> bool:
        """Adds what is planned at an extent, where it is better than all that are known there."""
        known = min(self.measure(entry, extent) for entry in self.ways)
        if self.measure((way, extent), extent) >= known:
            return False
        self.ways.append((way, extent))
        return True


def _checked_edge(best: _Best, again: Again, *, smaller: bool) -> int | None:
    """Where the way taken stops to be the best, as plans on both sides of it say."""
    for _ in range(ROUNDS):
        edge = best.edge(smaller=smaller)
        beside = _beside(best.extent, edge, smaller=smaller)
        planned = [again(best.dim, extent) for extent in beside]
        new = [best.learn(*found) for found in planned if found is not None]
        if not any(new):
            break
    return edge


def _beside(extent: int, edge: int | None, *, smaller: bool) -> tuple[int, ...]:
    """Extents on both sides of an edge; where there is none, one that is far away."""
    if edge is None:
        far = max(extent // FAR, 1) if smaller else extent * FAR
        return () if far == extent else (far,)
    return (edge, edge - 1) if smaller else (edge, edge + 1)


def _edge(holds: Callable[[int], bool], start: int, *, smaller: bool) -> int | None:
    """The last extent, going from `start`, for which something holds; None where it always does.

    It is looked for in large steps first, so what changes back within one may be missed.
    """
    near = start
    limit = max(start // REACH, 1) if smaller else start * REACH
    while near != limit:
        far = max(near // STRIDE, limit) if smaller else min(near * STRIDE, limit)
        if not holds(far):
            return _bisected(holds, near, far)
        near = far
    return None


def _bisected(holds: Callable[[int], bool], yes: int, no: int) -> int:
    """The last extent between two for which it holds."""
    while abs(yes - no) > 1:
        middle = (yes + no) // 2
        if holds(middle):
            yes = middle
        else:
            no = middle
    return yes


def balances(way: Alternative, extents: Mapping[str, int], scaling: Scaling) -> tuple[Balance, ...]:
    """For each dimension, where communication takes as long as the matmuls of a way."""
    if not any(step.op not in ("matmul", "slice") for step in way.steps):
        return ()
    found = []
    for dim, extent in extents.items():

        def talks(at: int, *, book: bool, dim: str = dim, extent: int = extent) -> bool:
            factor = Fraction(at, extent)
            talk = scaling.talk(way, dim, factor, book=book)
            return talk > scaling.compute(way, dim, factor)

        crossings = [_crossing(talks, extent, book=book) for book in (False, True)]
        exact, book = crossings
        some = exact or book
        if some is not None:
            found.append(
                Balance(
                    dim=dim,
                    exact=None if exact is None else exact[0],
                    book=None if book is None else book[0],
                    talks_below=some[1],
                    talks=talks(extent, book=False),
                )
            )
    return tuple(found)


def _crossing(talks: Callable[..., bool], extent: int, *, book: bool) -> tuple[int, bool] | None:
    """The first extent at which matmuls take as long or longer (or the last), nearest to `extent`.

    Returns:
        The extent, and whether communication takes longer below it.
    """
    now = talks(extent, book=book)
    for smaller in (False, True) if now else (True, False):
        edge = _edge(lambda at: talks(at, book=book) == now, extent, smaller=smaller)
        if edge is not None:
            talks_below = now is not smaller
            if smaller:
                return (edge, talks_below) if talks_below else (edge - 1, talks_below)
            return (edge + 1, talks_below) if talks_below else (edge, talks_below)
    return None
