"""An array bound to a mesh: which part of it each chip holds.

Several mesh axes on one dimension are ordered, major first: in `A[I_XY]` the chip at (x, y) holds
block `x * |Y| + y` of I.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shardsim.errors import InputError, InputErrors, MeshError, Place, ShardingError, Source
from shardsim.notation import Array, Dim
from shardsim.notation.rules import place_of
from shardsim.units import Bytes
from shardsim.vocabulary import Dtype

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shardsim.mesh import Mesh
    from shardsim.topology import Coordinate

__all__ = ["ShardedArray", "bind", "check_arrays"]

MOST_ELEMENTS = 10**30


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardedArray:
    """An array with extents, an element type and a mesh.

    Attributes:
        array: The notation: dimensions with their axes, and unreduced axes.
        extents: Global extents, one per dimension.
        dtype: Element type.
        mesh: The mesh its axes belong to.
    """

    array: Array
    extents: tuple[int, ...]
    dtype: Dtype
    mesh: Mesh

    @property
    def local_shape(self) -> tuple[int, ...]:
        """What one chip holds."""
        return tuple(
            extent // self.ways(dim)
            for dim, extent in zip(self.array.dims, self.extents, strict=True)
        )

    @property
    def local_bytes(self) -> Bytes:
        """Bytes on one chip."""
        return math.prod(self.local_shape) * self.dtype.bytes

    @property
    def global_bytes(self) -> Bytes:
        """Bytes of one whole copy."""
        return math.prod(self.extents) * self.dtype.bytes

    @property
    def replication(self) -> int:
        """How many chips hold each element: the chips that its axes do not tell apart.

        The partial sums of an unreduced array count as copies, since each has the array's size.
        """
        return self.mesh.topology.size // math.prod(self.ways(dim) for dim in self.array.dims)

    def ways(self, dim: Dim) -> int:
        """Into how many blocks a dimension is cut."""
        return math.prod(self.mesh.axis(axis).size for axis in dim.axes)

    def block(self, chip: Coordinate) -> tuple[slice, ...]:
        """The part of the global array that a chip holds."""
        parts = []
        for dim, size in zip(self.array.dims, self.local_shape, strict=True):
            index = 0
            for axis in dim.axes:
                index = index * self.mesh.axis(axis).size + self.mesh.position(chip, axis)
            parts.append(slice(index * size, (index + 1) * size))
        return tuple(parts)

    def moved_to(self, array: Array) -> ShardedArray:
        """The same values under another sharding (same dimensions in the same order)."""
        assert array.dim_names == self.array.dim_names
        return replace(self, array=array)


def bind(
    array: Array,
    mesh: Mesh,
    extents: Mapping[str, int],
    dtype: Dtype,
    source: Source | None = None,
) -> ShardedArray:
    """Binds one array to a mesh and to extents.

    Raises:
        ShardingError: an extent is missing, or not divisible by the sizes of its axes.
        MeshError: an axis is not in the mesh.
    """
    errors = list(_faults(array, mesh, extents, source))
    if errors:
        raise errors[0] if len(errors) == 1 else InputErrors(tuple(errors))
    return ShardedArray(
        array=array,
        extents=tuple(extents[dim.name] for dim in array.dims),
        dtype=array.dtype or dtype,
        mesh=mesh,
    )


def check_arrays(
    arrays: Iterable[Array], mesh: Mesh, extents: Mapping[str, int], source: Source | None
) -> None:
    """Reports all faults of several arrays at once, each (message) once.

    Raises:
        InputErrors: as `bind`, together.
    """
    found: dict[str, InputError] = {}
    for array in arrays:
        for error in _faults(array, mesh, extents, source):
            found.setdefault(error.message, error)
    if found:
        errors = tuple(found.values())
        raise errors[0] if len(errors) == 1 else InputErrors(errors)


def _faults(
    array: Array, mesh: Mesh, extents: Mapping[str, int], source: Source | None
) -> Iterable[InputError]:
    for axis in array.unreduced:
        try:
            mesh.axis(axis, place_of(source, array.span))
        except MeshError as error:
            yield error
    for dim in array.dims:
        place = place_of(source, dim.span)
        known = True
        for axis in dim.axes:
            try:
                mesh.axis(axis, place)
            except MeshError as error:
                known = False
                yield error
        if dim.name not in extents:
            yield ShardingError(
                f"dimension {dim.name} has no extent", f"give it one: {dim.name}=8192", place
            )
        elif known:
            ways = math.prod(mesh.axis(axis).size for axis in dim.axes)
            if extents[dim.name] % ways:
                yield _uneven(dim, extents[dim.name], mesh, place)
    elements = math.prod(extents.get(dim.name, 1) for dim in array.dims)
    if elements > MOST_ELEMENTS:
        yield ShardingError(
            f"{array} has more than 1e30 elements",
            "make an extent smaller",
            place_of(source, array.span),
        )


def _uneven(dim: Dim, extent: int, mesh: Mesh, place: Place | None) -> ShardingError:
    sizes = [mesh.axis(axis).size for axis in dim.axes]
    ways = math.prod(sizes)
    named = " x ".join(f"{axis}={size}" for axis, size in zip(dim.axes, sizes, strict=True))
    total = f" = {ways}" if len(sizes) > 1 else ""
    axis = "axis" if len(sizes) == 1 else "axes"
    below = extent - extent % ways
    near = f"{below} or {below + ways}" if below else str(ways)
    return ShardingError(
        f"dimension {dim.name} of extent {extent} is not divisible over {axis} {named}{total}",
        f"use an extent that is a multiple of {ways}, such as {near}, or let it be padded to "
        f"{below + ways} (uneven: pad): {ways - extent % ways} of {below + ways} would be waste",
        place,
    )
