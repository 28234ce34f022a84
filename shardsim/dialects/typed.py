"""JAX's types with shardings: `f32[8@X,16]`, `bf16[1024@(X,Y),4096]`, `f32[8,16]{U:X}`.

An extent for each dimension, behind `@` its axes, major first. Behind the brackets `{U:X}` says the
axes it is still to be summed over; `{R:X}` is about its gradient, and the array lies as if it was
not there. `{V:X}` stands on a type inside `shard_map`, whose extents are those of one chip.
"""

from __future__ import annotations

from collections.abc import Mapping

from shardsim.dialects.naming import Naming, Reading
from shardsim.dialects.scanning import Scanner
from shardsim.dialects.whole import whole_axes
from shardsim.errors import NotationError, ShardingError, Source
from shardsim.notation import Array
from shardsim.notation.names import dtype_named
from shardsim.notation.tokens import cut, shown
from shardsim.vocabulary import Dtype

__all__ = ["read", "write"]

_EXAMPLE = "write for example f32[8@X,16] or bf16[1024@(X,Y),4096]{U:Z}"
_OF_JAX = {
    Dtype.INT64: "i64",
    Dtype.INT32: "i32",
    Dtype.INT16: "i16",
    Dtype.INT8: "i8",
    Dtype.INT4: "i4",
}
_HERE = {name: dtype for dtype, name in _OF_JAX.items()}
_SEVERAL = (Dtype.FP8, Dtype.FP4)


def write(array: Array, sizes: Mapping[str, int], extents: Mapping[str, int] | None = None) -> str:
    """The type of an array, with the short names of element types.

    Raises:
        ShardingError: a part of an axis, an extent or an element type that is missing.

    >>> from shardsim.notation import parse_array
    >>> write(parse_array("A: bf16[I_XY, J]"), {"X": 4, "Y": 2}, {"I": 1024, "J": 4096})
    'bf16[1024@(X,Y),4096]'
    """
    array = whole_axes(array, sizes, "a type of JAX names whole axes")
    known = extents or {}
    missing = [dim.name for dim in array.dims if dim.name not in known]
    if missing:
        raise ShardingError(
            f"a type of JAX has extents, and {cut(', '.join(missing))} has none",
            f"give them: --dims {','.join(f'{name}=8192' for name in missing)}",
        )
    if array.dtype is None or array.dtype in _SEVERAL:
        said = "none is given" if array.dtype is None else f"{array.dtype} could be several of them"
        raise ShardingError(
            f"a type of JAX has an element type, and {said}", "give one: --dtype bf16"
        )
    dims = ",".join(
        str(known[d.name]) + (f"@{_axes(d.axes)}" if d.axes else "") for d in array.dims
    )
    sums = f"{{U:{_axes(tuple(a for a in sizes if a in array.unreduced))}}}"
    dtype = _OF_JAX.get(array.dtype, array.dtype.value)
    return f"{dtype}[{dims}]{sums if array.unreduced else ''}"


def _axes(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"({','.join(names)})"


def read(text: str | Source, sizes: Mapping[str, int], naming: Naming | None = None) -> Reading:
    """The array that a type says, and its extents.

    Raises:
        NotationError: it cannot be read.
        ShardingError: an axis that is not in the mesh, a type inside `shard_map`.

    >>> array, extents = read("float32[8@X,16]", {"X": 4})
    >>> str(array), extents
    ('A: f32[I_X, J]', {'I': 8, 'J': 16})
    """
    scanner = Scanner(text, "the type", _EXAMPLE)
    first = scanner.word("an element type")
    dtype = _HERE.get(first.text) or dtype_named(first.text)
    if dtype is None:
        raise scanner.fault(
            f"there is no element type {shown(first.text)}",
            f"use one of {', '.join(Dtype)}",
            first,
        )
    scanner.expect("[")
    sizes_of: list[int] = []
    dims: list[tuple[str, ...]] = []
    while not scanner.accept("]"):
        if dims:
            scanner.expect(",", "or ']'")
        sizes_of.append(_extent(scanner))
        dims.append(_named(scanner) if scanner.accept("@") else ())
    sets = _behind(scanner)
    scanner.end()
    naming = naming or Naming()
    place = scanner.place(first._replace(end=scanner.tokens[-2].end))
    unreduced, reduced = sets.get("U", ()), sets.get("R", ())
    array = naming.array(dims, sizes, place, unreduced=unreduced, dtype=dtype)
    naming.array(dims, sizes, place, unreduced=(*unreduced, *reduced))  # checks them
    return Reading(array, dict(zip(array.dim_names, sizes_of, strict=True)))


def _extent(scanner: Scanner) -> int:
    token = scanner.token
    extent = scanner.number("an extent")
    if extent < 1:
        raise scanner.fault("an extent of 0 leaves nothing to shard", "give it 1 at least", token)
    return extent


def _named(scanner: Scanner) -> tuple[str, ...]:
    """`X` or `(X,Y)`."""
    if not scanner.accept("("):
        return (scanner.word("an axis").text,)
    names = [scanner.word("an axis").text]
    while not scanner.accept(")"):
        scanner.expect(",", "or ')'")
        names.append(scanner.word("an axis").text)
    return tuple(names)


def _behind(scanner: Scanner) -> dict[str, tuple[str, ...]]:
    """The axes of `{U:X, R:(Y,Z)}`."""
    sets: dict[str, tuple[str, ...]] = {}
    if not scanner.accept("{"):
        return sets
    while not scanner.accept("}"):
        if sets:
            scanner.expect(",", "or '}'")
        word = scanner.word("U, the axes it is to be summed over")
        if word.text not in ("U", "R") or word.text in sets:
            raise _no_set(scanner, word.text, known=word.text in sets).at(scanner.place(word))
        scanner.expect(":")
        sets[word.text] = _named(scanner)
    return sets


def _no_set(scanner: Scanner, word: str, *, known: bool) -> ShardingError | NotationError:
    if known:
        return NotationError(f"{word} is given twice", "give it once")
    if word == "V":
        return ShardingError(
            "V stands on a type inside shard_map: its extents are those of one chip",
            "take the type of the whole array, outside shard_map",
        )
    return NotationError(f"{shown(word)} has no meaning here", scanner.example)
