"""Where something else binds: for which extents communication takes longer than the matmuls."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.planner.choices import Balance, Stretch
from shardsim.planner.scaling import last_extent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shardsim.planner.choices import Alternative
    from shardsim.planner.scaling import Scaling

__all__ = ["balances"]


def balances(way: Alternative, extents: Mapping[str, int], scaling: Scaling) -> tuple[Balance, ...]:
    """For each dimension, how long it may be for the same to take longer as now.

    Args:
        way: The way.
        extents: Of the dimensions.
        scaling: Prices it.
    """
    if not any(step.op not in ("matmul", "slice") for step in way.steps):
        return ()
    found = (
        Balance(
            dim=dim,
            exact=_stretch(way, dim, extent, scaling, book=False),
            book=_stretch(way, dim, extent, scaling, book=True),
        )
        for dim, extent in extents.items()
    )
    return tuple(one for one in found if one.exact.ends or one.book.ends)


def _stretch(way: Alternative, dim: str, extent: int, scaling: Scaling, *, book: bool) -> Stretch:
    def talks(at: int) -> bool:
        factor = Fraction(at, extent)
        return scaling.talk(way, dim, factor, book=book) > scaling.compute(way, dim, factor)

    now = talks(extent)
    low, high = (
        last_extent(lambda at: talks(at) == now, extent, smaller=smaller)
        for smaller in (True, False)
    )
    return Stretch(talks=now, low=low, high=high)
