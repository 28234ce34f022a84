"""From sizes and a layout to a mesh.

Without a layout, axes are laid over the dimensions in row-major order, as an array is reshaped: one
axis may lie on several dimensions, and several axes may share one.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from shardsim.errors import MeshError, Place
from shardsim.mesh.axes import Axis, Mesh
from shardsim.mesh.layout import as_said, no_dimension
from shardsim.mesh.orders import ring_order, snake_order
from shardsim.mesh.pieces import pieces_of
from shardsim.mesh.segments import Segment, piece_of
from shardsim.notation.names import WHOLE_AXIS_NAME
from shardsim.vocabulary import DimensionKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shardsim.hardware import Link
    from shardsim.topology import Coordinate, Topology

__all__ = ["DEFAULT_NAMES", "lay_mesh"]

DEFAULT_NAMES = ("X", "Y", "Z", "W")
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
        chosen = as_said(topology, sizes, layout, place)
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
            raise no_dimension(topology, axis, piece, place)
        size *= piece.size or whole[piece.dimension]
    return size


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


# Row-major order.


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
