"""What arrays take on a machine: bytes on each chip, copies, how long it takes to read them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from shardsim.catalogue import one_chip
from shardsim.documents import Faults
from shardsim.documents.fields import dtype_of
from shardsim.errors import ShardingError, Source
from shardsim.notation import Array, parse_array
from shardsim.placement import check_axes, replication, ways
from shardsim.scenario import make_mesh
from shardsim.scenario.pairs import extents_of
from shardsim.units import Bytes, Seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shardsim.catalogue import Reference
    from shardsim.hardware import Channel, Chip
    from shardsim.mesh import Mesh
    from shardsim.vocabulary import Dtype

__all__ = ["Holding", "hold_arrays"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """Arrays on a machine; an extent that its axes do not divide counts as it is on average.

    Attributes:
        arrays: The arrays.
        extents: Of their dimensions.
        dtype: Of arrays that say none.
        mesh: The machine.
    """

    arrays: tuple[Array, ...]
    extents: Mapping[str, int]
    dtype: Dtype
    mesh: Mesh

    @property
    def chip(self) -> Chip:
        """What the machine consists of."""
        return self.mesh.topology.chip

    @property
    def elements(self) -> int:
        """Of one whole copy of each array."""
        return sum(math.prod(self.extents[n] for n in one.dim_names) for one in self.arrays)

    @property
    def whole_bytes(self) -> Bytes:
        """Of one whole copy of each array."""
        return sum((self._bytes(one) for one in self.arrays), Fraction(0))

    @property
    def all_bytes(self) -> Bytes:
        """Of all copies, on all chips."""
        sizes = self.mesh.sizes
        return sum((self._bytes(a) * replication(a, sizes) for a in self.arrays), Fraction(0))

    @property
    def elements_per_chip(self) -> Fraction:
        """On one chip."""
        whole = ((math.prod(self.extents[n] for n in a.dim_names), a) for a in self.arrays)
        return sum(
            (Fraction(count, ways(a.axes, self.mesh.sizes)) for count, a in whole), Fraction(0)
        )

    @property
    def bytes_per_chip(self) -> Bytes:
        """On one chip."""
        return self.all_bytes / self.mesh.topology.size

    @property
    def free_bytes_per_chip(self) -> Bytes:
        """What is left of a chip's HBM; below 0 where they do not fit."""
        return self.chip.hbm_capacity - self.bytes_per_chip

    @property
    def chips_needed(self) -> Fraction:
        """One whole copy of each over the HBM of a chip: so many chips, before rounding up."""
        return self.whole_bytes / self.chip.hbm_capacity

    def seconds(self, channel: Channel) -> Seconds:
        """How long a chip takes to bring its part through a channel."""
        return self.bytes_per_chip / channel.bandwidth

    def _bytes(self, array: Array) -> Bytes:
        count = math.prod(self.extents[name] for name in array.dim_names)
        return count * (array.dtype or self.dtype).bytes


def hold_arrays(
    arrays: Sequence[str] | str,
    *,
    on: Reference,
    dims: Mapping[str, int] | str,
    mesh: Mapping[str, int] | str | None = None,
    layout: Mapping[str, str] | str | None = None,
    dtype: str = "bf16",
) -> Holding:
    """What arrays take on a machine.

    Args:
        arrays: Each in the notation, with its type or not: `int8[I_XY, J]`.
        on: The machine.
        dims: The extents.
        mesh: As in a scenario.
        layout: As in a scenario.
        dtype: Of arrays that say none.

    Raises:
        InputError: one thing is wrong.
        InputErrors: several are.

    >>> held = hold_arrays("int8[I_XY, J]", on="v5p:2x8x2", dims="I=128,J=2048")
    >>> int(held.bytes_per_chip), held.all_bytes / held.whole_bytes
    (16384, Fraction(2, 1))
    """
    made = make_mesh(one_chip(on), mesh=mesh, layout=layout)
    texts = [arrays] if isinstance(arrays, str) else list(arrays)
    extents = extents_of(dims)
    faults = Faults()
    parsed = [faults.attempt(partial(_array, text, made.sizes, extents)) for text in texts]
    faults.raise_any()
    return Holding(
        arrays=tuple(array for array in parsed if array is not None),
        extents=extents,
        dtype=dtype_of(dtype),
        mesh=made,
    )


def _array(text: str, sizes: Mapping[str, int], extents: Mapping[str, int]) -> Array:
    source = Source(text, "array")
    array = parse_array(source)
    check_axes(array, sizes, source)
    for dim in array.dims:
        if dim.name not in extents:
            raise ShardingError(
                f"dimension {dim.name} of {array} has no extent",
                f"add it to the dims: {dim.name}=8192",
                source.place(0, len(text)),
            )
    return array
