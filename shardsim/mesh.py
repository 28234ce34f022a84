"""Named logical axes laid over the dimensions of a topology.

Today one mesh axis is one whole dimension; an axis of size 1 needs none.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardsim.errors import MeshError, NotYetError, Place
from shardsim.hardware import Link
from shardsim.notation.names import AXIS_NAME
from shardsim.vocabulary import DimensionKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shardsim.topology import Coordinate, Dimension, Topology

__all__ = ["DEFAULT_NAMES", "Axis", "Mesh", "lay_mesh"]

DEFAULT_NAMES = ("X", "Y", "Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One mesh axis: its size, and the links it runs over.

    `index` is the topology dimension under it; None for an axis of size 1 without one.
    """

    name: str
    size: int
    kind: DimensionKind
    link: Link
    index: int | None
    dimension: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mesh:
    """Axes in order (major first) over a topology."""

    topology: Topology
    axes: tuple[Axis, ...]

    @property
    def sizes(self) -> dict[str, int]:
        """Axis name to size, in order."""
        return {axis.name: axis.size for axis in self.axes}

    def axis(self, name: str, place: Place | None = None) -> Axis:
        """The axis of that name.

        Raises:
            MeshError: there is none; the message lists the axes.
        """
        for axis in self.axes:
            if axis.name == name:
                return axis
        names = list(self.sizes)
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        near = near or [known for known in names if known.lower() == name.lower()]
        hint = f"did you mean {near[0]}?" if near else f"add {name}=SIZE to the mesh"
        raise MeshError(
            f"axis {name} is not in the mesh; the mesh has {', '.join(names)}", hint, place
        )

    def position(self, chip: Coordinate, name: str) -> int:
        """Where a chip stands along an axis."""
        index = self.axis(name).index
        return 0 if index is None else chip[index]


def lay_mesh(
    topology: Topology,
    sizes: Mapping[str, int] | None = None,
    layout: Mapping[str, str] | None = None,
    place: Place | None = None,
) -> Mesh:
    """Lays axes over dimensions: in order, or as `layout` (axis to dimension name) says.

    Without `sizes` the axes are X, Y, Z over the dimensions in order.

    Raises:
        MeshError: sizes or names do not match the dimensions.
        NotYetError: an axis over several dimensions, or several axes on one.
    """
    if sizes is None:
        sizes = dict(zip(DEFAULT_NAMES, topology.shape, strict=False))
        if len(topology.shape) > len(DEFAULT_NAMES):
            raise MeshError(
                f"{topology.name} has {len(topology.shape)} dimensions; the default mesh has 3",
                "name the axes: mesh",
                place,
            )
    for name in sizes:
        _check_name(name, place)
    if not sizes:
        raise MeshError("the mesh has no axes", "write it as X=4,Y=4", place)
    if layout is None:
        chosen = _in_order(topology, sizes, place)
    else:
        chosen = _as_said(topology, sizes, layout, place)
    return Mesh(
        topology=topology,
        axes=tuple(
            _axis(name, size, index, topology)
            for (name, size), index in zip(sizes.items(), chosen, strict=True)
        ),
    )


def _check_name(name: str, place: Place | None) -> None:
    if AXIS_NAME.fullmatch(name) is None:
        lower = "".join(c for c in name.lower() if c.isalnum()).lstrip("0123456789")
        raise MeshError(
            f"{name!r} cannot be an axis name: capitals are read one by one (I_XY is X then Y)",
            f"use one capital letter, or a lower-case word{f' such as {lower}' if lower else ''}",
            place,
        )


def _axis(name: str, size: int, index: int | None, topology: Topology) -> Axis:
    under: Dimension = topology.dimensions[0 if index is None else index]
    return Axis(
        name=name,
        size=size,
        kind=DimensionKind.LINE if index is None else under.kind,
        link=under.link,
        index=index,
        dimension="" if index is None else under.name,
        reason="1 chip: no link" if index is None else under.reason,
    )


def _in_order(
    topology: Topology, sizes: Mapping[str, int], place: Place | None
) -> list[int | None]:
    """Dimension indices for the axes: those of size 1 are skipped on both sides where needed."""
    if tuple(sizes.values()) == topology.shape:
        return list(range(len(sizes)))
    wide = [index for index, size in enumerate(topology.shape) if size > 1]
    if [size for size in sizes.values() if size > 1] == [topology.shape[i] for i in wide]:
        rest = iter(wide)
        return [next(rest) if size > 1 else None for size in sizes.values()]
    raise _mismatch(topology, sizes, place)


def _mismatch(
    topology: Topology, sizes: Mapping[str, int], place: Place | None
) -> MeshError | NotYetError:
    shape = "x".join(map(str, topology.shape))
    factors = " x ".join(map(str, sizes.values()))
    product = f"{factors} = " if len(sizes) > 1 else ""
    said = ", ".join(f"{name}={size}" for name, size in sizes.items())
    if math.prod(sizes.values()) != topology.size:
        return MeshError(
            f"the mesh {said} has {product}{math.prod(sizes.values())} chips, "
            f"but {topology.name} has {topology.size}",
            f"the sizes must multiply to {topology.size}; "
            f"{topology.name} has the dimensions {shape}",
            place,
        )
    if sorted(sizes.values()) == sorted(topology.shape):
        free = list(topology.dimensions)
        pairs = []
        for name, size in sizes.items():
            under = next(dimension for dimension in free if dimension.size == size)
            free.remove(under)
            pairs.append(f"{name}={under.name}")
        return MeshError(
            f"the mesh {said} does not match the dimensions {shape} of {topology.name} in order",
            f"say which axis lies on which dimension: layout {','.join(pairs)}",
            place,
        )
    return NotYetError(
        f"the mesh {said} over the dimensions {shape} of {topology.name} is not supported yet",
        "supported: one mesh axis over one whole dimension, sizes equal "
        f"(here: {' and '.join(str(size) for size in topology.shape)}); "
        "axes over several dimensions or a part of one come later",
        place,
    )


def _as_said(
    topology: Topology, sizes: Mapping[str, int], layout: Mapping[str, str], place: Place | None
) -> list[int | None]:
    names = [dimension.name for dimension in topology.dimensions]
    chosen: list[int | None] = []
    for axis in layout:
        if axis not in sizes:
            raise MeshError(
                f"layout names axis {axis}, which is not in the mesh ({', '.join(sizes)})",
                "name the axes of the mesh",
                place,
            )
    for axis, size in sizes.items():
        said = layout.get(axis)
        if said is None and size == 1:
            chosen.append(None)
            continue
        if said not in names:
            what = f"dimension {said}" if said is not None else "no dimension"
            raise MeshError(
                f"layout puts axis {axis} on {what}; {topology.name} has {', '.join(names)}",
                f"write {axis}=DIMENSION",
                place,
            )
        index = names.index(said)
        if index in chosen:
            raise NotYetError(
                f"layout puts two axes on dimension {said}; that is not supported yet",
                "supported: one mesh axis over one whole dimension",
                place,
            )
        if topology.shape[index] != size:
            raise NotYetError(
                f"axis {axis} of size {size} lies on dimension {said} of size "
                f"{topology.shape[index]}; a part of a dimension is not supported yet",
                f"give axis {axis} the size {topology.shape[index]}",
                place,
            )
        chosen.append(index)
    bare = [d.name for i, d in enumerate(topology.dimensions) if i not in chosen and d.size > 1]
    if bare:
        raise MeshError(
            f"layout leaves dimension {', '.join(bare)} of {topology.name} without an axis",
            "lay an axis over every dimension longer than 1",
            place,
        )
    return chosen
