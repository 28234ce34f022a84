"""An array as the notation writes it: `A[I_X, J]{U_Y}`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from shardsim.errors import NotationError, Place, RepeatedAxisError
from shardsim.notation.names import (
    ARRAY_NAME,
    AXIS_NAME,
    DIM_NAME,
    NAME_AN_AXIS,
    UNREDUCED,
    axes_text,
    dtype_named,
    is_local,
    leading_collective,
    looks_like_dtype,
)
from shardsim.notation.subaxes import first_overlap, whole_axis
from shardsim.notation.tokens import cut, shown
from shardsim.vocabulary import Dtype

__all__ = ["Array", "Dim", "Span", "check_array_name", "first_repeat", "unknown_dtype"]

Span = tuple[int, int]


def first_repeat(names: Iterable[str]) -> int | None:
    """The position of the first name that has come before.

    >>> first_repeat("ABCB")
    3
    """
    seen: set[str] = set()
    for position, name in enumerate(names):
        if name in seen:
            return position
        seen.add(name)
    return None


def unknown_dtype(word: str, place: Place | None = None) -> NotationError:
    """The error for a word that should be an element type, or looks like one."""
    return NotationError(
        f"there is no element type {shown(word)}",
        f"use one of {', '.join(Dtype)}, or give the array another name",
        place,
    )


def check_array_name(name: str) -> None:
    """Checks the name of an array.

    Raises:
        NotationError: not a name, or one that means something else.
    """
    if ARRAY_NAME.fullmatch(name) is None:
        raise NotationError(
            f"{shown(name)} is not the name of an array",
            "name an array with a letter, then letters, digits and _; a prime goes last: W_in'",
        )
    known = dtype_named(name) is not None
    if known or leading_collective(name.rstrip("'").split("_")) is not None:
        taken = "an element type" if known else "a collective"
        raise NotationError(f"{shown(name)} names {taken}, not an array", "choose another name")
    if looks_like_dtype(name):
        raise unknown_dtype(name)


def _check_axis(axis: str) -> None:
    if AXIS_NAME.fullmatch(axis) is None:
        raise NotationError(
            f"{shown(axis)} is not the name of an axis",
            NAME_AN_AXIS,
        )


@dataclass(frozen=True, slots=True)
class Dim:
    """One dimension of an array and the mesh axes it is sharded over, major first.

    >>> str(Dim("I", ("X", "Y")))
    'I_XY'
    """

    name: str
    axes: tuple[str, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if DIM_NAME.fullmatch(self.name) is None or is_local(self.name):
            raise NotationError(
                f"{shown(self.name)} is not the name of a dimension",
                "name a dimension with a letter, then letters and digits, such as I, D2 or J'",
            )
        for axis in self.axes:
            _check_axis(axis)

    def __str__(self) -> str:
        return self.name + axes_text(self.axes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """An array: its dimensions, how each is sharded, and the axes it is still to be summed over.

    Args:
        name: `None` for an array without a name, such as `bf16[B, D]`.
        dims: The dimensions, in order.
        unreduced: The axes of `{U_X}`; they are a set, and kept sorted.
        dtype: The element type, where the text says it.
        span: Where the array stands in the text of its statement.

    Raises:
        NotationError: a bad name; a dimension twice; an axis used twice.

    >>> str(Array(name="C", dims=(Dim("I"), Dim("K", ("Y",))), unreduced=("X",)))
    'C[I, K_Y]{U_X}'
    """

    name: str | None
    dims: tuple[Dim, ...]
    unreduced: tuple[str, ...] = ()
    dtype: Dtype | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "unreduced", tuple(sorted(self.unreduced)))
        if self.name is not None:
            check_array_name(self.name)
        for axis in self.unreduced:
            _check_axis(axis)
        repeat = first_repeat(self.dim_names)
        if repeat is not None:
            raise NotationError(
                f"dimension {cut(self.dim_names[repeat])} is twice in {cut(str(self))}",
                "give each dimension of an array a name of its own, such as I and I'",
            )
        self._check_axes(self.axes + self.unreduced)

    def _check_axes(self, axes: tuple[str, ...]) -> None:
        found = first_overlap(axes)
        if found is None:
            return
        axis, other = axes[found[0]], found[1]
        if axis == other:
            ways_out = tuple(self._using_once(axis))
            raise RepeatedAxisError(
                f"axis {cut(axis)} is used twice in {cut(str(self))}",
                f"choose {' or '.join(ways_out)}, or take another axis for one use",
                ways_out=ways_out,
            )
        raise NotationError(
            f"{cut(other)} and {cut(axis)} overlap in {cut(str(self))}",
            f"leave one of them out, or take parts that follow each other, such as "
            f"{whole_axis(axis)}:(1)2 and {whole_axis(axis)}:(2)2",
        )

    def _using_once(self, axis: str) -> list[str]:
        """The texts of this array that keep `axis` in one of its places."""

        def text(keep: int | None) -> str:
            return self._text(
                [
                    d.name
                    + axes_text(list(dict.fromkeys(a for a in d.axes if a != axis or k == keep)))
                    for k, d in enumerate(self.dims)
                ],
                list(dict.fromkeys(a for a in self.unreduced if a != axis or keep is None)),
            )

        places: list[int | None] = [k for k, d in enumerate(self.dims) if axis in d.axes]
        return [text(keep) for keep in [*places, *([None] if axis in self.unreduced else [])]]

    @property
    def axes(self) -> tuple[str, ...]:
        """All axes that shard a dimension, in the order of the dimensions."""
        return tuple(axis for dim in self.dims for axis in dim.axes)

    @property
    def dim_names(self) -> tuple[str, ...]:
        """The names of the dimensions, in order."""
        return tuple(dim.name for dim in self.dims)

    def dim(self, name: str) -> Dim:
        """The dimension of that name.

        Raises:
            NotationError: the array has no such dimension.
        """
        for dim in self.dims:
            if dim.name == name:
                return dim
        known = ", ".join(self.dim_names) or "none"
        raise NotationError(
            f"{cut(str(self))} has no dimension {cut(name)}", f"name one of its dimensions: {known}"
        )

    def with_axes(self, name: str, axes: Iterable[str]) -> Array:
        """The same array, dimension `name` sharded over `axes` too, as its minor-most axes.

        >>> str(Array(name="A", dims=(Dim("I", ("X",)), Dim("J"))).with_axes("I", ["Y"]))
        'A[I_XY, J]'
        """
        target, more = self.dim(name), tuple(axes)
        return replace(
            self,
            dims=tuple(replace(d, axes=d.axes + more) if d is target else d for d in self.dims),
        )

    def with_unreduced(self, axes: Iterable[str]) -> Array:
        """The same array, unreduced over exactly `axes`."""
        return replace(self, unreduced=tuple(axes))

    def _text(self, dims: Sequence[str], unreduced: Sequence[str]) -> str:
        words = [word for word in (self.name, self.dtype and self.dtype.value) if word]
        sums = f"{{{UNREDUCED}{axes_text(unreduced)}}}" if unreduced else ""
        return f"{': '.join(words)}[{', '.join(dims)}]{sums}"

    def __str__(self) -> str:
        return self._text([str(dim) for dim in self.dims], self.unreduced)
