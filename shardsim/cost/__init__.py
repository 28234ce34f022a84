"""What things cost by formula: closed forms that know no hops.

`CostModel` is handed to the planner as an argument. Nothing here reads a step program, and no step
program reads this: the two meet in `comparison` and in the tests, where they must agree exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.cost.book import book_seconds
from shardsim.cost.exact import exact_terms, relation
from shardsim.cost.terms import CollectivePrice, MatmulPrice, Terms
from shardsim.cost.wire import wire_bytes
from shardsim.cost.words import book_in_words, exact_in_words
from shardsim.units import Bytes, Flops
from shardsim.vocabulary import Algorithm, CollectiveKind, Dtype, LatencyModel

if TYPE_CHECKING:
    from shardsim.hardware import Chip
    from shardsim.mesh import Axis

__all__ = ["CollectivePrice", "CostModel", "MatmulPrice", "Terms"]


@dataclass(frozen=True, slots=True)
class CostModel:
    """The closed forms under one latency model."""

    latency_model: LatencyModel = LatencyModel.ADDITIVE

    def collective(
        self, kind: CollectiveKind, size: Bytes, axis: Axis, algorithm: Algorithm
    ) -> CollectivePrice:
        """The price of one collective of V = `size` bytes along one mesh axis."""
        n, link = axis.size, axis.link
        return CollectivePrice(
            book_formula=book_in_words(kind, n),
            exact_formula=exact_in_words(kind, n, algorithm, self.latency_model),
            book=book_seconds(kind, size, n, link),
            exact=exact_terms(kind, size, n, link, algorithm, self.latency_model),
            relation=relation(kind, n, link, algorithm, self.latency_model),
            wire_bytes=wire_bytes(kind, size, n, algorithm),
        )

    def matmul(self, flops: Flops, traffic: Bytes, dtype: Dtype, chip: Chip) -> MatmulPrice:
        """The roofline of a local matmul.

        Args:
            flops: On one chip: twice the product of the local extents of all its dimensions.
            traffic: Bytes between HBM and the chip: local operands read, local result written.
            dtype: The type it is computed in.
            chip: Peak FLOP/s and HBM bandwidth.
        """
        return MatmulPrice(
            compute=Fraction(flops) / chip.peak(dtype),
            memory=Fraction(traffic) / chip.hbm_bandwidth,
        )
