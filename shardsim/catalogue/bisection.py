"""How many bytes a second cross a cut of a topology into halves, and all of its links together."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.vocabulary import DimensionKind

if TYPE_CHECKING:
    from shardsim.topology import Topology
    from shardsim.units import BytesPerSecond

__all__ = ["bisection", "links_together"]


def bisection(topology: Topology) -> BytesPerSecond | None:
    """Bytes/s one way from one half of the chips to the other, where that is least.

    Each dimension is cut in the middle, for all that is in it: a line once, a ring twice, a switch
    at the ports of the smaller half; the least of them counts. Links that differ from the rest
    count for what they are. None for a single chip.

    Source: the usual definition, with planes for cuts. Where all sizes are even and all links
    equal, no other halves are cheaper to cut; of an odd size one side is a chip the longer.

    >>> from shardsim.catalogue.references import find_topology
    >>> float(bisection(find_topology("v5e:16x16")))
    1440000000000.0
    """
    cuts = [_cut(topology, index) for index, size in enumerate(topology.shape) if size > 1]
    return min(cuts, default=None)


def links_together(topology: Topology) -> BytesPerSecond:
    """Bytes/s of all directed links; of a switch, of all ports, out and in.

    >>> from shardsim.catalogue.references import find_topology
    >>> float(links_together(find_topology("v5e:16x16")))
    46080000000000.0
    """
    return sum((_all_of(topology, index) for index in range(len(topology.shape))), Fraction(0))


def _all_of(topology: Topology, index: int) -> BytesPerSecond:
    dimension = topology.dimensions[index]
    if dimension.size == 1:
        return Fraction(0)
    if topology.is_regular:
        rows = topology.size // dimension.size
        return rows * dimension.directed_links * dimension.link.one_way_bandwidth
    return sum(
        (_rate(topology, chip, (index, way)) for chip in topology.coordinates() for way in (1, -1)),
        Fraction(0),
    )


def _cut(topology: Topology, index: int) -> BytesPerSecond:
    """Bytes/s from the lower to the upper half of a dimension, or back where that is less."""
    dimension = topology.dimensions[index]
    half = dimension.size // 2
    switch = dimension.kind is DimensionKind.SWITCH
    if topology.is_regular:
        rows = topology.size // dimension.size
        crossing = {DimensionKind.LINE: 1, DimensionKind.RING: 2}.get(dimension.kind, half)
        return rows * crossing * dimension.link.one_way_bandwidth
    up = down = into_upper = into_lower = Fraction(0)
    for chip in topology.coordinates():
        lower = chip[index] < half
        out, back = _rate(topology, chip, (index, 1)), _rate(topology, chip, (index, -1))
        if switch:
            up, down = up + lower * out, down + (not lower) * out
            into_upper, into_lower = into_upper + (not lower) * back, into_lower + lower * back
            continue
        for rate, way in ((out, 1), (back, -1)):
            there = topology.neighbour(chip, (index, way))
            if there is not None and (there[index] < half) is not lower:
                up, down = up + lower * rate, down + (not lower) * rate
    if switch:
        up, down = min(up, into_upper), min(down, into_lower)
    return min(up, down)


def _rate(topology: Topology, chip: tuple[int, ...], key: tuple[int, int]) -> BytesPerSecond:
    link = topology.link(chip, key)
    return Fraction(0) if link is None else link.one_way_bandwidth
