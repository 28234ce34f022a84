"""From sizes and a layout to a mesh.

Without a layout, axes are laid over the dimensions in row-major order, as an array is reshaped: one
axis may lie on several dimensions, and several axes may share one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from shardsim.errors import MeshError, Place
from shardsim.mesh.axes import Axis, Mesh
from shardsim.mesh.orders import ring_order, snake_order
from shardsim.mesh.pieces import Piece, pieces_of
from shardsim.mesh.segments import Segment, piece_of
from shardsim.notation.names import WHOLE_AXIS_NAME
from shardsim.vocabulary import DimensionKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shardsim.hardware import Link
    from shardsim.topology import Coordinate, Dimension, Topology

__all__ = ["DEFAULT_NAMES", "lay_mesh"]

DEFAULT_NAMES = ("X", "Y", "Z", "W")
WAYS_TO_LAY = (
    "write {axis}=DIMENSION, x+y for several, y:(4)4 for a part; snake or ring for all chips"
)
ORDERS = {"snake": snake_order, "ring": ring_order}


def lay_mesh(
    topology: Topology,
    sizes: Mapping[str, int] | None = None,
    layout: Mapping[str, str] | None = None,
    place: Place | None = None,
    *,
    devices: Sequence[Coordinate] | None = None,
    partial: bool = False,
) -> Mesh:
    """Lays axes over the chips of a topology.

    Args:
        topology: The chips.
        sizes: Axis name to size, major first; by default X, Y, Z, W over the dimensions in order,
            as long as the layout says, or X over all devices.
        layout: Axis name to what it lies on: a dimension, several (`x+y`), a part (`y:(4)4`); or,
            for one axis over all chips, `snake` or `ring`. By default row-major order.
        place: Where this is written, for the errors.
        devices: All chips in row-major order of the mesh, instead of a layout.
        partial: The devices are all that the mesh has; other chips take no part.

    Raises:
        MeshError: sizes or names do not match the dimensions.
    """
    if sizes is None:
        sizes = _default_sizes(topology, layout, devices, place)
    for name in sizes:
        _check_name(name, place)
    if not sizes:
        raise MeshError("the mesh has no axes", "write it as X=4,Y=4", place)
    if devices is not None:
        if layout is not None:
            raise MeshError("layout and devices both say where axes lie", "keep one", place)
        if partial:
            return _in_order(topology, sizes, devices)
        order = _checked(topology, devices, place)
        _check_product(topology, sizes, place)
        return _in_order(topology, sizes, order)
    if layout is not None:
        _check_layout(sizes, layout, place)
        named = _named_order(topology, sizes, layout, place)
        if named is not None:
            _check_product(topology, sizes, place)
            return _in_order(topology, sizes, named)
    if topology.missing:
        chips = ", ".join(map(str, sorted(topology.missing)[:3]))
        raise MeshError(
            f"{topology.name} has no chip at {chips}; {topology.size} are left, and no grid",
            "name the chips in the order of the mesh: devices",
            place,
        )
    _check_product(topology, sizes, place)
    if layout is None:
        chosen = _row_major(topology, sizes, place)
    else:
        chosen = _as_said(topology, sizes, layout, place)
    return _as_found(
        Mesh(
            topology=topology,
            axes=tuple(
                Axis(name=name, size=size, parts=parts)
                for (name, size), parts in zip(sizes.items(), chosen, strict=True)
            ),
        )
    )


def _as_found(mesh: Mesh) -> Mesh:
    """The mesh with the segments that a collective along each axis finds."""
    return replace(
        mesh,
        axes=tuple(replace(axis, segments=mesh.group((axis.name,)).segments) for axis in mesh.axes),
    )


def _default_sizes(
    topology: Topology,
    layout: Mapping[str, str] | None,
    devices: Sequence[Coordinate] | None,
    place: Place | None,
) -> dict[str, int]:
    """An order of chips is one axis X; the axes of a layout are as long as what they lie on."""
    if devices is not None:
        return {DEFAULT_NAMES[0]: topology.size}
    if layout is not None:
        return {name: _length(topology, name, text, place) for name, text in layout.items()}
    if len(topology.shape) > len(DEFAULT_NAMES):
        raise MeshError(
            f"{topology.name} has {len(topology.shape)} dimensions; the default mesh has 4",
            "name the axes: mesh",
            place,
        )
    return dict(zip(DEFAULT_NAMES, topology.shape, strict=False))


def _length(topology: Topology, axis: str, text: str, place: Place | None) -> int:
    """How many chips an axis takes by its layout."""
    whole = {dimension.name: dimension.size for dimension in topology.dimensions}
    if text in ORDERS and text not in whole:
        return topology.size
    size = 1
    for piece in pieces_of(text, axis, place):
        if piece.dimension not in whole:
            raise _no_dimension(topology, axis, piece, place)
        size *= piece.size or whole[piece.dimension]
    return size


def _no_dimension(topology: Topology, axis: str, piece: Piece, place: Place | None) -> MeshError:
    names = ", ".join(dimension.name for dimension in topology.dimensions)
    return MeshError(
        f"layout puts axis {axis} on dimension {piece.dimension}; {topology.name} has {names}",
        WAYS_TO_LAY.format(axis=axis),
        place,
    )


def _check_name(name: str, place: Place | None) -> None:
    if WHOLE_AXIS_NAME.fullmatch(name) is None:
        lower = "".join(c for c in name.lower() if c.isalnum()).lstrip("0123456789")
        raise MeshError(
            f"{name!r} cannot be an axis name: capitals are read one by one (I_XY is X then Y)",
            f"use one capital letter, or a lower-case word{f' such as {lower}' if lower else ''}",
            place,
        )


def _said(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


def _check_product(topology: Topology, sizes: Mapping[str, int], place: Place | None) -> None:
    if math.prod(sizes.values()) == topology.size:
        return
    factors = " x ".join(map(str, sizes.values()))
    product = f"{factors} = " if len(sizes) > 1 else ""
    raise MeshError(
        f"the mesh {_said(sizes)} has {product}{math.prod(sizes.values())} chips, "
        f"but {topology.name} has {topology.size}",
        f"the sizes must multiply to {topology.size}; "
        f"{topology.name} has the dimensions {'x'.join(map(str, topology.shape))}",
        place,
    )


# Parts of dimensions.


def _row_major(
    topology: Topology, sizes: Mapping[str, int], place: Place | None
) -> list[tuple[Segment, ...]]:
    """The segments of each axis when the grid is reshaped in row-major order."""
    left = list(topology.shape)
    chosen = []
    at = 0
    for size in sizes.values():
        segments = []
        wanted = size
        while wanted > 1:
            while at < len(left) and left[at] == 1:
                at += 1
            taken = math.gcd(wanted, left[at])
            if taken not in {wanted, left[at]}:
                raise _misaligned(topology, sizes, place)
            left[at] //= taken
            wanted //= taken
            segments.append(piece_of(topology.dimensions[at], at, left[at], taken))
        chosen.append(tuple(segments))
    return chosen


def _misaligned(topology: Topology, sizes: Mapping[str, int], place: Place | None) -> MeshError:
    shape = "x".join(map(str, topology.shape))
    way_out = "choose sizes that do, or name the chips in the order of the mesh: devices"
    if sorted(sizes.values()) == sorted(topology.shape):
        free = list(topology.dimensions)
        pairs = []
        for name, size in sizes.items():
            under = next(dimension for dimension in free if dimension.size == size)
            free.remove(under)
            pairs.append(f"{name}={under.name}")
        way_out = f"say which axis lies on which dimension: layout {','.join(pairs)}"
    return MeshError(
        f"the mesh {_said(sizes)} does not match the dimensions {shape} of {topology.name} in "
        "order: an axis must be whole dimensions, or divide one",
        way_out,
        place,
    )


def _check_layout(sizes: Mapping[str, int], layout: Mapping[str, str], place: Place | None) -> None:
    for axis in layout:
        if axis not in sizes:
            raise MeshError(
                f"layout names axis {axis}, which is not in the mesh ({', '.join(sizes)})",
                "name the axes of the mesh",
                place,
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


def _as_said(
    topology: Topology, sizes: Mapping[str, int], layout: Mapping[str, str], place: Place | None
) -> list[tuple[Segment, ...]]:
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
                raise _no_dimension(topology, axis, piece, place)
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


# Orders of chips.


def _named_order(
    topology: Topology, sizes: Mapping[str, int], layout: Mapping[str, str], place: Place | None
) -> list[Coordinate] | None:
    """The order of `snake` or `ring`; None where the layout says neither."""
    names = {dimension.name for dimension in topology.dimensions}
    word = next((w for w in layout.values() if w in ORDERS and w not in names), None)
    if word is None:
        return None
    wide = [name for name, size in sizes.items() if size > 1]
    if len(wide) > 1:
        raise MeshError(
            f"layout {word} is for one axis over all chips; the mesh has {_said(sizes)}",
            "name the chips in the order of the mesh: devices",
            place,
        )
    if not topology.is_regular:
        raise MeshError(
            f"layout {word} needs a whole grid; {topology.name} lacks links or chips",
            "name the chips in the order of the mesh: devices",
            place,
        )
    if word == "ring":
        return ring_order(topology.shape, place)
    return snake_order(topology.shape)


def _checked(
    topology: Topology, devices: Sequence[Coordinate], place: Place | None
) -> list[Coordinate]:
    chips = set(topology.coordinates())
    order = [tuple(chip) for chip in devices]
    for chip in order:
        if chip not in chips:
            shape = "x".join(map(str, topology.shape))
            raise MeshError(
                f"devices names chip {list(chip)}, which {topology.name} has not",
                f"write the coordinates of a chip in the grid of {shape}",
                place,
            )
    twice = (
        next((chip for chip in order if order.count(chip) > 1), None)
        if (len(set(order)) < len(order))
        else None
    )
    if twice is not None:
        raise MeshError(f"devices names chip {list(twice)} twice", "name each once", place)
    left = sorted(chips - set(order))
    if left:
        raise MeshError(
            f"devices leaves out {len(left)} of {len(chips)} chips, such as {list(left[0])}",
            "name every chip once",
            place,
        )
    return order


def _in_order(topology: Topology, sizes: Mapping[str, int], order: Sequence[Coordinate]) -> Mesh:
    """A mesh whose chips stand in the order given, row by row."""
    wide = [d for d in topology.dimensions if d.size > 1] or list(topology.dimensions)
    link = min((d.link for d in wide), key=lambda link: (link.one_way_bandwidth, -link.latency))
    return _as_found(
        Mesh(
            topology=topology,
            axes=tuple(
                Axis(name=name, size=size, parts=_given(name, size, link))
                for name, size in sizes.items()
            ),
            order=tuple(order),
        )
    )


def _given(name: str, size: int, link: Link) -> tuple[Segment, ...]:
    """An axis along an order of chips; the group finds out how they are connected."""
    if size == 1:
        return ()
    return (Segment(name=name, size=size, kind=DimensionKind.RING, link=link, reason="as given"),)
