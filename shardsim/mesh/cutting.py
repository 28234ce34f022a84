"""The parts of dimensions under an axis, cut where a part of the axis begins or ends.

An axis of 8 over dimensions of 2 and 4 has the parts 2 and 4; its sub-axis `X:(2)2` takes the outer
half of the second, so that one is cut in 2 and 2.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING

from shardsim.mesh.segments import Segment, piece_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardsim.notation.subaxes import SubAxis
    from shardsim.topology import Topology

__all__ = ["cut_parts", "spanned"]


def cut_parts(
    parts: Sequence[Segment], topology: Topology, wanted: Sequence[SubAxis]
) -> tuple[Segment, ...] | None:
    """The parts, cut at the ends of some sub-axes, or None where a cut does not fall evenly.

    Args:
        parts: Of one axis, major first.
        topology: Whose dimensions they are parts of.
        wanted: Sub-axes of that axis.
    """
    ends = sorted({end for part in wanted for end in (part.before, part.before * part.size)})
    cut: list[Segment] = []
    before = 1
    for part in parts:
        after = before * part.size
        inside = [end for end in ends if before < end < after]
        bounds = [before, *inside, after]
        if any(high % low for low, high in itertools.pairwise(bounds)):
            return None
        for low, high in itertools.pairwise(bounds):
            cut.append(_piece(part, topology, high // low, after // high))
        before = after
    return tuple(cut)


def _piece(part: Segment, topology: Topology, size: int, minor: int) -> Segment:
    """`size` chips of a part, each step over `minor` of them."""
    if size == part.size:
        return part
    if part.dimension is None:
        return replace(part, size=size, name=f"{part.name}:({part.size // size // minor}){size}")
    dimension = topology.dimensions[part.dimension]
    return piece_of(dimension, part.dimension, part.spacing * minor, size)


def spanned(parts: Sequence[Segment], wanted: SubAxis) -> tuple[int, int]:
    """From which of an axis's parts to which (not included) a sub-axis reaches; they fit it."""
    ends = [math.prod(part.size for part in parts[:index]) for index in range(len(parts) + 1)]
    return ends.index(wanted.before), ends.index(wanted.before * wanted.size)
