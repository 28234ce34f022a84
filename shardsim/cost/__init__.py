"""What things cost by formula: closed forms that know no hops.

`CostModel` is handed to the planner as an argument. Nothing here reads a step program, and no step
program reads this: the two meet in `comparison` and in the tests, where they must agree.

    terms.py       a time in two parts, and the prices
    exact.py       one ring, line or switch
    permute.py     every chip to one other, by a table
    phases.py      what a collective over several segments does on each
    schedule.py    the longest chain of phases: streams and chunks
    bounds.py      the busiest link, where no form is exact
    relations.py   which of them holds of a call, and how it stands to the simulation
    estimate.py    what is likely where there is only a lower bound
    shares.py      shares that load all links alike
    choice.py      the method where nobody says one
    wire.py        bytes on the wire
    book.py        the book's first-order formulas, also as text
    words.py       the closed forms as text
    routing.py     what tokens send that choose a few of many shards
    pipeline.py    a collective and a matmul done together, in ring steps
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.call import Call, Method, make_call
from shardsim.cost.book import book_seconds
from shardsim.cost.choice import Wanted, choose_method
from shardsim.cost.estimate import estimate
from shardsim.cost.relations import exact_terms, relation
from shardsim.cost.terms import CollectivePrice, MatmulPrice, Terms
from shardsim.cost.wire import wire_bytes
from shardsim.units import Bytes
from shardsim.vocabulary import CallKind, Dtype, LatencyModel

if TYPE_CHECKING:
    from shardsim.hardware import Chip
    from shardsim.matmul import MatmulShape
    from shardsim.mesh import Group, Permutation

__all__ = ["CollectivePrice", "CostModel", "MatmulPrice", "Terms", "Wanted"]


@dataclass(frozen=True, slots=True)
class CostModel:
    """The closed forms under one latency model.

    Attributes:
        latency_model: What a hop costs.
        wanted: What is asked of the collectives' methods.
        tile: The side of the matrix unit: matmuls are padded to multiples of it.
    """

    latency_model: LatencyModel = LatencyModel.ADDITIVE
    wanted: Wanted = field(default_factory=Wanted)
    tile: int = 1

    def method(self, kind: CallKind, group: Group, size: Bytes) -> Method:
        """The method of a collective of V = `size` bytes."""
        return choose_method(kind, group, size, self.wanted, self.latency_model)

    def call(
        self, kind: CallKind, group: Group, size: Bytes, permutation: Permutation | None = None
    ) -> Call:
        """A collective of V = `size` bytes, by its method."""
        method = self.method(kind, group, size)
        return make_call(kind, group, size, method, permutation=permutation)

    def collective(self, call: Call) -> CollectivePrice:
        """The price of one call."""
        segments = call.group.segments
        exact, known = exact_terms(call, self.latency_model), relation(call, self.latency_model)
        return CollectivePrice(
            call=call,
            latency_model=self.latency_model,
            book=book_seconds(call.kind, call.size, segments),
            exact=exact,
            estimate=estimate(call, self.latency_model, exact.total, known),
            relation=known,
            wire_bytes=wire_bytes(call),
        )

    def matmul(self, shape: MatmulShape, traffic: Bytes, dtype: Dtype, chip: Chip) -> MatmulPrice:
        """The roofline of a local matmul.

        Args:
            shape: Its local extents.
            traffic: Bytes between HBM and the chip: local operands read, local result written.
            dtype: The type it is computed in.
            chip: Peak FLOP/s and HBM bandwidth.
        """
        flops = Fraction(shape.padded(self.tile).flops)
        return MatmulPrice(
            compute=flops / chip.peak(dtype),
            memory=Fraction(traffic) / chip.hbm_bandwidth,
            waste=1 - shape.flops / flops if flops else Fraction(0),
        )
