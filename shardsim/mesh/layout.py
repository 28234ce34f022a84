"""Axes on the dimensions, or parts of dimensions, that a layout names."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shardsim.errors import MeshError
from shardsim.mesh.pieces import pieces_of
from shardsim.mesh.segments import piece_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shardsim.errors import Place
    from shardsim.mesh.pieces import Piece
    from shardsim.mesh.segments import Segment
    from shardsim.topology import Dimension, Topology

__all__ = ["as_said", "no_dimension"]

WAYS_TO_LAY = (
    "write {axis}=DIMENSION, x+y for several, y:(4)4 for a part; snake or ring for all chips"
)


@dataclass(slots=True)
class _Taken:
    """What axes have taken of one dimension so far: (spacing, size) of each part.

    `reserved`: parts that the layout names, of axes to come too.
    """

    parts: list[tuple[int, int]] = field(default_factory=list)
    reserved: list[tuple[int, int]] = field(default_factory=list)

    def free(self, size: int, wanted: int) -> list[tuple[int, int]]:
        """The free parts of a dimension, from the outermost on, as far as `wanted` needs them.

        >>> _Taken(parts=[(2, 4)]).free(16, 4)
        [(8, 2), (1, 2)]
        """
        found = []
        top = size
        for spacing, count in sorted({*self.parts, *self.reserved, (1, 1)}, reverse=True):
            length = math.gcd(wanted, top // (spacing * count))
            if length > 1:
                found.append((top // length, length))
                wanted //= length
            top = spacing
        return found


def as_said(
    topology: Topology, sizes: Mapping[str, int], layout: Mapping[str, str], place: Place | None
) -> list[tuple[Segment, ...]]:
    """The segments of each axis, where the layout says on what it lies.

    Args:
        topology: The chips.
        sizes: Axis name to size.
        layout: Axis name to what it lies on: a dimension, several (`x+y`), a part (`y:(4)4`).
        place: Where this is written, for the errors.

    Raises:
        MeshError: an axis lies on nothing, on what is not there, or does not fit beside others.
    """
    names = [dimension.name for dimension in topology.dimensions]
    taken = {name: _Taken() for name in names}
    chosen = []
    for axis, text in layout.items():
        for piece in pieces_of(text, axis, place):
            part = _named_part(topology, piece)
            if part is not None:
                taken[piece.dimension].reserved.append(part)
    for axis, size in sizes.items():
        said = layout.get(axis)
        if said is None and size > 1:
            raise MeshError(
                f"layout puts axis {axis} on no dimension; {topology.name} has {', '.join(names)}",
                WAYS_TO_LAY.format(axis=axis),
                place,
            )
        pieces = () if said is None else pieces_of(said, axis, place)
        for piece in pieces:
            if piece.dimension not in names:
                raise no_dimension(topology, axis, piece, place)
        chosen.append(_segments(topology, axis, size, pieces, taken, place))
    return chosen


def _named_part(topology: Topology, piece: Piece) -> tuple[int, int] | None:
    """Spacing and size of a piece that says them, where there is such a part."""
    sizes = {dimension.name: dimension.size for dimension in topology.dimensions}
    covered = (piece.before or 0) * (piece.size or 0)
    if covered == 0 or sizes.get(piece.dimension, 1) % covered:
        return None
    assert piece.size is not None
    return sizes[piece.dimension] // covered, piece.size


def _segments(
    topology: Topology,
    axis: str,
    size: int,
    pieces: Sequence[Piece],
    taken: Mapping[str, _Taken],
    place: Place | None,
) -> tuple[Segment, ...]:
    """The segments of one axis; a dimension without a part gives what the axis still needs."""
    names = [dimension.name for dimension in topology.dimensions]
    segments, wanted = [], size
    for piece in pieces:
        index = names.index(piece.dimension)
        dimension, parts = topology.dimensions[index], taken[piece.dimension]
        if piece.size is None or piece.before is None:
            found = parts.free(dimension.size, wanted)
        else:
            found = [_part_of(dimension, piece, axis, parts, place)]
        for spacing, length in found:
            if wanted % length:
                raise _does_not_fit(topology, axis, size, pieces, place)
            wanted //= length
            if length > 1:
                parts.parts.append((spacing, length))
                segments.append(piece_of(dimension, index, spacing, length))
    if wanted > 1 or math.prod(segment.size for segment in segments) != size:
        raise _does_not_fit(topology, axis, size, pieces, place)
    return tuple(segments)


def _does_not_fit(
    topology: Topology, axis: str, size: int, pieces: Sequence[Piece], place: Place | None
) -> MeshError:
    lengths = {dimension.name: dimension.size for dimension in topology.dimensions}
    on = " and ".join(piece.dimension for piece in pieces)
    chips = " x ".join(str(lengths[piece.dimension]) for piece in pieces)
    return MeshError(
        f"axis {axis} of size {size} does not fit on {on or 'nothing'} ({chips or 'no'} chips), "
        "beside what other axes take of it",
        "an axis must be whole dimensions, or divide one",
        place,
    )


def _part_of(
    dimension: Dimension, piece: Piece, axis: str, parts: _Taken, place: Place | None
) -> tuple[int, int]:
    """Spacing and size of a part that the layout names."""
    assert piece.before is not None
    assert piece.size is not None
    name, length, covered = piece.dimension, piece.size, piece.before * piece.size
    if covered == 0 or dimension.size % covered:
        raise MeshError(
            f"layout of axis {axis}: {name}:({piece.before}){length} is no part of the "
            f"{dimension.size} chips of {name}",
            f"the two numbers must multiply to a divisor of {dimension.size}",
            place,
        )
    spacing = dimension.size // covered
    if any(spacing < other * count and other < spacing * length for other, count in parts.parts):
        raise MeshError(
            f"layout puts two axes on one part of dimension {name}",
            f"write the parts: {name}:(1){length} is the outer one, "
            f"{name}:({length}){max(1, dimension.size // length)} the inner",
            place,
        )
    return spacing, length


def no_dimension(topology: Topology, axis: str, piece: Piece, place: Place | None) -> MeshError:
    """The error for a piece of a layout whose dimension the topology does not have."""
    names = ", ".join(dimension.name for dimension in topology.dimensions)
    return MeshError(
        f"layout puts axis {axis} on dimension {piece.dimension}; {topology.name} has {names}",
        WAYS_TO_LAY.format(axis=axis),
        place,
    )
