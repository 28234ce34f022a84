"""A local contraction as the matrix unit sees it: what is to be done, without a price."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["MatmulShape"]

Extent = int | Fraction


class MatmulShape(NamedTuple):
    """A local contraction as one matmul, or several of the same shape.

    Attributes:
        batch: How many: the dimensions that both operands and the result have.
        rows: The left operand's other dimensions of the result.
        depth: What is summed over.
        columns: The right operand's.
    """

    batch: Extent
    rows: Extent
    depth: Extent
    columns: Extent

    @classmethod
    def of(
        cls, left: Mapping[str, Extent], right: Mapping[str, Extent], result: Iterable[str]
    ) -> MatmulShape:
        """From the operands' local extents and the result's dimensions.

        >>> MatmulShape.of({"B": 2, "I": 8, "J": 4}, {"B": 2, "J": 4, "K": 16}, "BIK")
        MatmulShape(batch=2, rows=8, depth=4, columns=16)
        """
        kept = set(result)
        both = {name for name in left if name in right}
        return cls(
            math.prod(left[name] for name in left if name in both and name in kept),
            math.prod(left[name] for name in left if name not in both),
            math.prod(left[name] for name in left if name in both and name not in kept),
            math.prod(right[name] for name in right if name not in both),
        )

    @property
    def flops(self) -> Extent:
        """Twice the product of all extents."""
        return 2 * self.batch * self.rows * self.depth * self.columns

    def padded(self, tile: int) -> MatmulShape:
        """As a matrix unit of `tile` x `tile` does it: whole tiles only.

        >>> MatmulShape(1, 8, 300, 512).padded(128)
        MatmulShape(batch=1, rows=128, depth=384, columns=512)
        """
        sides = (self.rows, self.depth, self.columns)
        if tile == 1:
            return self
        return MatmulShape(self.batch, *(math.ceil(Fraction(e) / tile) * tile for e in sides))
