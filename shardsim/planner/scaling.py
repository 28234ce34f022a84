"""Ways priced with one dimension longer or shorter, and the extents up to which something holds.

Prices are those of the same closed forms. Extents between the multiples that the axes ask for are
priced as if they divided.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.matmul import MatmulShape
from shardsim.planner.steps import CollectiveStep, MatmulStep
from shardsim.vocabulary import Objective

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from shardsim.cost import CollectivePrice, CostModel
    from shardsim.planner.choices import Alternative
    from shardsim.planner.steps import Value
    from shardsim.units import Seconds

__all__ = ["Scaling", "last_extent"]

REACH = 4096
"""Extents are tried from so much smaller to so much larger."""
STRIDE = 8


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
        """Seconds of its collectives, as plans are ranked by them, or by the book's formulas."""
        prices = [self._price(step, dim, factor) for step in _collectives(way)]
        return sum((p.book if book else p.estimate for p in prices), Fraction(0))

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
        left, right = (
            {name: extent * self._growth([name], dim, factor) for name, extent in side.items()}
            for side in step.local_extents
        )
        shape = MatmulShape.of(left, right, step.result.sharded.array.dim_names)
        traffic = sum(
            (
                v.sharded.local_bytes * self._growth(v.sharded.array.dim_names, dim, factor)
                for v in values
            ),
            Fraction(0),
        )
        chip = step.result.sharded.mesh.topology.chip
        return self.cost.matmul(shape, traffic, step.dtype, chip).seconds

    def _growth(self, names: Iterable[str], dim: str, factor: Fraction) -> Fraction:
        """How much larger something with these dimensions is when one of them is."""
        return factor ** sum(self.again.get(name, name) == dim for name in names)


def _collectives(way: Alternative) -> Iterator[CollectiveStep]:
    return (step for step in way.steps if isinstance(step, CollectiveStep))


def last_extent(holds: Callable[[int], bool], start: int, *, smaller: bool) -> int | None:
    """The last extent, going from `start`, for which something holds; None where it always does.

    It is looked for in large steps first, so what changes back within one may be missed.

    >>> last_extent(lambda extent: extent < 100, 8, smaller=False)
    99
    >>> last_extent(lambda extent: extent < 100, 8, smaller=True) is None
    True
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
