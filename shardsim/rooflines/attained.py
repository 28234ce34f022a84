"""FLOP/s attained as one dimension grows: the curve that bends where another thing binds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardsim.rooflines.bounds import Roofline
    from shardsim.units import FlopsPerSecond

__all__ = ["Attained", "attained_over", "doublings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attained:
    """What a chip attains at several extents of a dimension, where all overlaps.

    Attributes:
        label: Which load, for people.
        dim: The dimension.
        extents: Its extents.
        rates: FLOP/s at each.
        peak: FLOP/s of the unit.
    """

    label: str
    dim: str
    extents: tuple[int, ...]
    rates: tuple[FlopsPerSecond, ...]
    peak: FlopsPerSecond

    def to_dict(self) -> dict[str, Any]:
        """An entry of `attained` in the JSON of `roofline --json`."""
        return {
            "label": self.label,
            "dim": self.dim,
            "extents": list(self.extents),
            "flops_per_second": [float(rate) for rate in self.rates],
        }


def attained_over(
    roofline: Roofline, dim: str, extents: Sequence[int], label: str = ""
) -> Attained:
    """FLOPs over the longest of the times, at each extent; all else as it is.

    Args:
        roofline: At any extent.
        dim: The dimension that grows.
        extents: How long it is.
        label: For people.

    >>> from shardsim.rooflines import ask_roofline
    >>> one = ask_roofline("X[B, D] · W[D, F] -> Y[B, F]", on="v5e", dims="B=64,D=4096,F=4096")
    >>> found = attained_over(one.roofline, "B", [128, 512])
    >>> [round(float(rate) / 1e12) for rate in found.rates]
    [99, 197]
    """
    rates = [roofline.attained_at(dim, Fraction(extent)) for extent in extents]
    return Attained(
        label=label,
        dim=dim,
        extents=tuple(extents),
        rates=tuple(rates),
        peak=roofline.peak or Fraction(0),
    )


def doublings(most: int, parts: int = 4) -> list[int]:
    """Extents from 1 on, so many to each doubling, the last of them `most`.

    >>> doublings(8, 1)
    [1, 2, 4, 8]
    """
    count = most.bit_length() * parts
    found = [round(2 ** (step / parts)) for step in range(count) if 2 ** (step / parts) < most]
    return list(dict.fromkeys([*found, most]))
