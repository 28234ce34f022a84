"""What most notations cannot say: a part of an axis."""

from __future__ import annotations

from collections.abc import Mapping

from shardsim.errors import ShardingError
from shardsim.notation import Array, sub_axis
from shardsim.placement import check_axes, merged

__all__ = ["fewest_axes", "whole_axes"]


def fewest_axes(array: Array, sizes: Mapping[str, int]) -> Array:
    """The array with parts that follow each other as one; axes of size 1 stay.

    Raises:
        ShardingError: an axis that is not in the mesh.
    """
    check_axes(array, sizes)
    return merged(array, {axis: max(size, 2) for axis, size in sizes.items()})


def whole_axes(array: Array, sizes: Mapping[str, int], what: str) -> Array:
    """The array in whole axes, where its parts make them up.

    Args:
        array: The array.
        sizes: The mesh.
        what: The notation, and what it names: "a PartitionSpec names whole axes".

    Raises:
        ShardingError: a part of an axis is left; an axis that is not in the mesh.

    >>> from shardsim.notation import parse_array
    >>> str(whole_axes(parse_array("A[I_{X:(1)2,X:(2)2}]"), {"X": 4}, ""))
    'A[I_X]'
    """
    found = fewest_axes(array, sizes)
    for name in (*found.axes, *found.unreduced):
        if sub_axis(name) is not None:
            raise ShardingError(
                f"{what}, and {name} is a part of one",
                "give the mesh an axis for the part, such as X=4 as X=2,Z=2",
            )
    return found
