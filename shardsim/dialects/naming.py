"""What other notations leave out: the names of an array and of its dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from shardsim.errors import InputError, NotationError, Place, ShardingError
from shardsim.notation import Array, Dim
from shardsim.placement import check_axes
from shardsim.vocabulary import Dtype

__all__ = ["Naming", "Reading"]

_LETTERS = "IJKLMNOPQRST"


class Reading(NamedTuple):
    """An array that was read, and the extents where the text says them."""

    array: Array
    extents: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Naming:
    """How an array is called that is read from another notation.

    Args:
        name: The name of the array.
        dims: The names of its dimensions; `None` for I, J, K and so on, as many as it has.
        option: What gives the names on the command line, for the errors.

    >>> Naming().named(2, None), Naming("W", ("B", "D")).named(1, None)
    (('I', 'J'), ('B', 'D'))
    """

    name: str | None = "A"
    dims: tuple[str, ...] | None = field(default=None)
    option: str = "--names I,J"

    def named(self, rank: int | None, place: Place | None) -> tuple[str, ...]:
        """The names of the dimensions, where the text has `rank`, or does not say how many.

        Raises:
            ShardingError: more dimensions than names, or neither is known.
        """
        if self.dims is not None:
            if rank is not None and rank > len(self.dims):
                raise ShardingError(
                    f"the sharding has {rank} dimensions, and {len(self.dims)} names are given: "
                    f"{', '.join(self.dims) or 'none'}",
                    "give one name for each dimension",
                    place,
                )
            return self.dims
        if rank is None:
            raise ShardingError(
                "the sharding does not say how many dimensions the array has",
                f"name them: {self.option}",
                place,
            )
        letters = _LETTERS[:rank]
        return (*letters, *(f"D{k}" for k in range(len(letters), rank)))

    def array(
        self,
        axes: Sequence[Sequence[str]] | None,
        sizes: Mapping[str, int],
        place: Place | None,
        *,
        unreduced: Sequence[str] = (),
        dtype: Dtype | None = None,
        whole: bool = True,
    ) -> Array:
        """The array whose dimensions are sharded so; dimensions behind those are not sharded.

        Args:
            axes: For each dimension its axes; `None` where none is sharded and none counted.
            sizes: The mesh.
            place: Where to point when it is no array on this mesh.
            unreduced: The axes it is still to be summed over.
            dtype: Its element type.
            whole: Whether `axes` has all dimensions, one for each name.

        Raises:
            InputError: an axis that is not in the mesh, or is used twice; names that do not fit.
        """
        rank = None if axes is None else len(axes)
        names = self.named(rank, place)
        if whole and rank is not None and rank != len(names):
            raise ShardingError(
                f"the sharding has {rank} dimensions, and {len(names)} names are given: "
                f"{', '.join(names)}",
                "give one name for each dimension",
                place,
            )
        found = [tuple(one) for one in axes or ()]
        found += [()] * (len(names) - len(found))
        try:
            array = Array(
                name=self.name,
                dims=tuple(Dim(name, one) for name, one in zip(names, found, strict=True)),
                unreduced=tuple(unreduced),
                dtype=dtype,
            )
            check_axes(array, sizes)
        except InputError as error:
            if isinstance(error, NotationError | ShardingError):
                raise error.at(place) from None
            raise
        return array
