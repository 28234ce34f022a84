"""A sharding on a mesh, with all that is said of it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from shardsim.dialects import Naming, Said, read_dialect, translate
from shardsim.errors import NotationError, ShardingError, Source
from shardsim.notation import Array, parse_array
from shardsim.notation.tokens import cut
from shardsim.placement import check_axes, chips_of, grid, local_shape, replication, ways
from shardsim.vocabulary import Dtype

__all__ = ["Inspection", "inspect_sharding"]

FORMAT = "shardsim/sharding/1"
MOST_BLOCKS = 4096
_DEFAULT = Dtype.BF16


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """A sharding on a mesh.

    Attributes:
        array: The notation.
        sizes: The axes of the mesh in order, with their sizes.
        machine: The name of the topology.
        extents: The extents of all dimensions, or none.
    """

    array: Array
    sizes: Mapping[str, int]
    machine: str
    extents: Mapping[str, int] = field(default_factory=dict)

    @property
    def sized(self) -> bool:
        """Whether the extents and the element type are known."""
        return len(self.extents) == len(self.array.dims) and self.array.dtype is not None

    @property
    def notations(self) -> dict[str, Said]:
        """The array in every other notation, or why one cannot say it."""
        return translate(self.array, self.sizes, self.extents)

    @property
    def grid(self) -> tuple[int, ...]:
        """Into how many blocks each dimension is cut."""
        return grid(self.array, self.sizes)

    @property
    def replication(self) -> int:
        """How many chips hold each block, partial sums counted as copies."""
        return replication(self.array, self.sizes)

    @property
    def partial(self) -> int:
        """How many partial sums there are of each block; 1 where nothing is to be summed."""
        return ways(self.array.unreduced, self.sizes)

    @property
    def local_shape(self) -> tuple[int, ...]:
        """The extents on one chip."""
        return local_shape(self.array, self.sizes, self.extents)

    @property
    def local_bytes(self) -> Fraction:
        """Bytes on one chip."""
        assert self.array.dtype is not None
        return math.prod(self.local_shape) * self.array.dtype.bytes

    def blocks(self) -> Iterator[tuple[tuple[int, ...], dict[str, tuple[int, ...]]]]:
        """Each block, by its number along each dimension, and the chips that hold it."""
        for block in itertools.product(*(range(count) for count in self.grid)):
            yield block, chips_of(self.array, self.sizes, block)

    def to_dict(self) -> dict[str, Any]:
        """All of it as data; the blocks where there are 4,096 at most."""
        found: dict[str, Any] = {
            "format": FORMAT,
            "sharding": str(self.array),
            "topology": self.machine,
            "mesh": dict(self.sizes),
            "notations": {name: said._asdict() for name, said in self.notations.items()},
            "grid": list(self.grid),
            "replication": self.replication,
            "partial_sums": self.partial,
        }
        if self.sized:
            found["dims"] = dict(self.extents)
            found["local_dims"] = dict(zip(self.array.dim_names, self.local_shape, strict=True))
            found["local_bytes"] = float(self.local_bytes)
        if math.prod(self.grid) <= MOST_BLOCKS:
            found["blocks"] = [
                {"block": list(block), "chips": {axis: list(at) for axis, at in chips.items()}}
                for block, chips in self.blocks()
            ]
        return found


def inspect_sharding(
    text: str | Source,
    sizes: Mapping[str, int],
    *,
    machine: str = "",
    dialect: str | None = None,
    naming: Naming | None = None,
    extents: Mapping[str, int] | None = None,
    dtype: Dtype | None = None,
) -> Inspection:
    """Reads a sharding and looks at it on a mesh.

    Args:
        text: An array in the notation, or in that of `dialect`.
        sizes: The axes of the mesh in order, with their sizes.
        machine: The name of the topology.
        dialect: The notation of the text: one of `DIALECTS`.
        naming: What an array in another notation, and its dimensions, are called.
        extents: The extents of all dimensions.
        dtype: The element type, where the text says none; bf16 where nothing does.

    Raises:
        NotationError: the text cannot be read, has not the dimensions of `extents`, or has another
            element type.
        ShardingError: it is no sharding on this mesh, or extents do not divide.

    >>> one = inspect_sharding("P('X')", {"X": 4}, dialect="jax", extents={"I": 64})
    >>> str(one.array), one.local_shape, one.local_bytes
    ('A: bf16[I_X]', (16,), Fraction(32, 1))
    """
    source = Source(text, origin="sharding") if isinstance(text, str) else text
    said: Mapping[str, int] = {}
    if dialect is None:
        array = parse_array(source)
        check_axes(array, sizes, source)
    else:
        array, said = read_dialect(dialect, source, sizes, naming)
    known = {**said, **(extents or {})}
    for name, extent in known.items():
        if name not in array.dim_names:
            raise NotationError(
                f"there is an extent of {cut(name)}, and {cut(str(array))} has no such dimension",
                f"give the extents of {', '.join(array.dim_names) or 'no dimension'}",
            )
        if said.get(name, extent) != extent:
            raise NotationError(
                f"dimension {name} is {said[name]} long in the text, and {extent} in the dims",
                "give its extent once",
            )
    if dtype is not None and array.dtype not in {None, dtype}:
        raise NotationError(
            f"the element type is {array.dtype} in the text, and {dtype} beside it",
            "give it once",
        )
    if (known or dtype is not None) and array.dtype is None:
        array = replace(array, dtype=dtype or _DEFAULT)
    one = Inspection(array=array, sizes=sizes, machine=machine, extents=known)
    if known:
        try:
            local_shape(array, sizes, known)  # says which extent is missing, or does not divide
        except ShardingError as error:
            raise error.at(source.whole) from None
    return one
