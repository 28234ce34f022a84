"""The notations by name: an array in all of them, and an array from one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from shardsim.dialects import dtensor, hlo, jax, shardy, typed
from shardsim.dialects.naming import Naming, Reading
from shardsim.errors import NotationError, ShardingError, Source
from shardsim.notation import Array
from shardsim.notation.tokens import shown

__all__ = ["DIALECTS", "Said", "read_dialect", "translate"]

_WRITERS = {
    "jax": jax.write,
    "shardy": shardy.write,
    "hlo": hlo.write,
    "types": typed.write,
    "dtensor": dtensor.write,
}
_READERS = {"jax": jax.read, "shardy": shardy.read, "hlo": hlo.read, "dtensor": dtensor.read}
DIALECTS = tuple(_WRITERS)


class Said(NamedTuple):
    """A sharding in one notation, or why that cannot say it."""

    text: str | None
    why_not: str | None = None


def translate(
    array: Array, sizes: Mapping[str, int], extents: Mapping[str, int] | None = None
) -> dict[str, Said]:
    """An array in every other notation, or why one cannot say it.

    Args:
        array: Which.
        sizes: The axes of the mesh in their order, with their sizes.
        extents: The extents, which only `types` needs.

    >>> from shardsim.notation import parse_array
    >>> for name, said in translate(parse_array("A[I_X, J]"), {"X": 4, "Y": 2}).items():
    ...     print(name, said.text or said.why_not)
    jax P('X', None)
    shardy [{"X"}, {}]
    hlo {devices=[4,1,2]<=[8] last_tile_dim_replicate}
    types a type of JAX has extents, and I, J has none
    dtensor (Shard(0), Replicate())
    """
    found = {}
    for name, write in _WRITERS.items():
        try:
            found[name] = Said(write(array, sizes, extents))
        except ShardingError as error:
            found[name] = Said(None, error.message)
    return found


def read_dialect(
    name: str, text: str | Source, sizes: Mapping[str, int], naming: Naming | None = None
) -> Reading:
    """An array from a text in another notation, with the extents where that says them.

    Args:
        name: Which notation: one of `DIALECTS`.
        text: The text.
        sizes: The axes of the mesh in their order, with their sizes.
        naming: What the array and its dimensions are called: A, and I, J, K by default.

    Raises:
        NotationError: there is no such notation, or the text cannot be read.
        ShardingError: it is no sharding on this mesh.

    >>> str(read_dialect("shardy", '[{"X"}, {}]', {"X": 4}).array)
    'A[I_X, J]'
    """
    if name == "types":
        return typed.read(text, sizes, naming)
    if name not in _READERS:
        raise NotationError(
            f"there is no notation {shown(name)}", f"use one of {', '.join(DIALECTS)}"
        )
    return Reading(_READERS[name](text, sizes, naming), {})
