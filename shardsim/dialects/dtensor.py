"""PyTorch DTensor: `(Shard(0), Replicate())`, one placement for each axis of the mesh, in order.

`Shard(d)` cuts what is left of dimension d, so that the axes of one dimension are major first in
the order of the mesh. An axis that is less major than one behind it is a `_StridedShard`; its split
factor says into how many blocks the axes behind it cut the dimension before it does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod

from shardsim.dialects.naming import Naming
from shardsim.dialects.scanning import Scanner, Token
from shardsim.dialects.whole import whole_axes
from shardsim.errors import NotationError, ShardingError, Source
from shardsim.notation import Array
from shardsim.notation.tokens import shown

__all__ = ["read", "write"]

_EXAMPLE = "write for example (Shard(0), Replicate()), [Shard(dim=1), Partial()] or S(0)R"
_SHARD, _STRIDED = ("Shard", "S"), ("_StridedShard", "_S")
_REPLICATE, _PARTIAL = ("Replicate", "R"), ("Partial", "P", "_Partial")
_WORDS = re.compile(r"[RP]*(?:_?S)?")


def write(array: Array, sizes: Mapping[str, int], extents: Mapping[str, int] | None = None) -> str:
    """The placements of an array.

    Raises:
        ShardingError: it is sharded over a part of an axis, which a placement cannot say.

    >>> from shardsim.notation import parse_array
    >>> write(parse_array("A[I_X, J]"), {"X": 4, "Y": 2})
    '(Shard(0), Replicate())'
    >>> write(parse_array("A[I_YX, J]"), {"X": 4, "Y": 2})
    '(_StridedShard(dim=0, sf=2), Shard(0))'
    """
    array = whole_axes(array, sizes, "a placement is for a whole axis of the mesh")
    order = list(sizes)
    placements = ["Partial()" if axis in array.unreduced else "Replicate()" for axis in order]
    for number, dim in enumerate(array.dims):
        for position, axis in enumerate(dim.axes):
            place = order.index(axis)
            factor = prod(sizes[a] for a in dim.axes[:position] if order.index(a) > place)
            strided = f"_StridedShard(dim={number}, sf={factor})"
            placements[place] = strided if factor > 1 else f"Shard({number})"
    comma = "," if len(placements) == 1 else ""
    return f"({', '.join(placements)}{comma})"


def read(text: str | Source, sizes: Mapping[str, int], naming: Naming | None = None) -> Array:
    """The array that a list of placements says; it has no more dimensions than they name.

    Raises:
        NotationError: it cannot be read.
        ShardingError: not one placement for each axis, no names for the dimensions where none is
            sharded, a strided shard whose chips hold no block.

    >>> str(read("(_StridedShard(0, split_factor=2), Shard(0))", {"X": 4, "Y": 2}))
    'A[I_YX]'
    """
    scanner = Scanner(text, "the placements", _EXAMPLE)
    first = scanner.token
    found = _placements(scanner)
    naming = naming or Naming()
    place = scanner.place(first._replace(end=scanner.tokens[-2].end))
    if len(found) != len(sizes):
        raise ShardingError(
            f"there are {len(found)} placements, and the mesh has {len(sizes)} axes: "
            f"{', '.join(sizes)}",
            "write one placement for each axis of the mesh, in their order",
            place,
        )
    rank = _rank(found, naming, scanner)
    names = naming.named(rank, place)
    dims: list[list[str]] = [[] for _ in names]
    unreduced = []
    for axis, one in reversed(list(zip(sizes, found, strict=True))):
        if one.dim is None:
            unreduced += [axis] if one.partial else []
            continue
        axes = dims[one.dim % len(names)]
        before = [k for k in range(len(axes) + 1) if prod(sizes[a] for a in axes[:k]) == one.factor]
        if not before:
            raise ShardingError(
                f"a split factor of {one.factor} leaves the chips with no one block: the axes "
                f"behind cut dimension {one.dim} into {prod(sizes[a] for a in axes)}",
                "give the number of blocks that the more major axes behind it make",
                scanner.place(one.token),
            )
        axes.insert(before[0], axis)
    return naming.array(dims, sizes, place, unreduced=unreduced)


class _Placement:
    """What one axis does: shards `dim`, leaves a sum open, or neither."""

    def __init__(
        self, token: Token, dim: int | None = None, factor: int = 1, *, partial: bool = False
    ) -> None:
        self.token = token
        self.dim = dim
        self.factor = factor
        self.partial = partial


def _rank(found: list[_Placement], naming: Naming, scanner: Scanner) -> int | None:
    """How many dimensions there are: as many as are named, or the last sharded one tells."""
    sharded = [one for one in found if one.dim is not None]
    count = None if naming.dims is None else len(naming.dims)
    for one in sharded:
        assert one.dim is not None
        if count is None and one.dim < 0:
            raise ShardingError(
                f"dimension {one.dim} counts from the last, and their number is not known",
                f"name the dimensions: {naming.option}",
                scanner.place(one.token),
            )
        if count is not None and not -count <= one.dim < count:
            raise ShardingError(
                f"there is no dimension {one.dim}: the array has {count}",
                f"count the dimensions from 0, or name all of them: {naming.option}",
                scanner.place(one.token),
            )
    if count is not None:
        return count
    return max(one.dim or 0 for one in sharded) + 1 if sharded else None


def _placements(scanner: Scanner) -> list[_Placement]:
    """A list in parentheses or brackets, or placements written together, `S(0)R`."""
    closing = {"(": ")", "[": "]"}.get(scanner.token.text)
    if closing is not None:
        scanner.take()
    found: list[_Placement] = []
    while scanner.token.kind != "end" and not (closing and scanner.at(closing)):
        found += _word(scanner)
        if scanner.accept(","):
            continue
        if closing is not None and not scanner.at(closing) and scanner.token.kind != "word":
            raise scanner.unexpected(f"',' or '{closing}'")
    if not found:
        raise scanner.unexpected("a placement")
    if closing is not None:
        scanner.expect(closing)
    scanner.end()
    return found


def _word(scanner: Scanner) -> list[_Placement]:
    """The placements of one word: `Shard(0)`, `Replicate()`, or `RRP` and `RS(0)` in short."""
    word = scanner.word("a placement")
    token = word.text.rpartition(".")[2]
    if token in (*_SHARD, *_STRIDED):
        return [_shard(scanner, word, strided=token in _STRIDED)]
    if token in _REPLICATE:
        _nothing(scanner)
        return [_Placement(word)]
    if token in _PARTIAL:
        return [_partial(scanner, word)]
    if not token or _WORDS.fullmatch(token) is None:
        raise scanner.fault(f"{shown(word.text)} is no placement", token=word)
    found = [_Placement(word, partial=letter == "P") for letter in token if letter in "RP"]
    if token.endswith("S"):
        found.append(_shard(scanner, word, strided=token.endswith("_S")))
    return found


def _nothing(scanner: Scanner) -> None:
    if scanner.accept("("):
        scanner.expect(")")


def _partial(scanner: Scanner, word: Token) -> _Placement:
    """`Partial()`, `Partial(sum)`, `Partial(reduce_op='sum')`, `P`, `P(sum)`."""
    if scanner.accept("("):
        if scanner.accept("reduce_op"):
            scanner.expect("=")
        if not scanner.at(")"):
            token = scanner.take()
            if token.text.strip("'\"") != "sum":
                raise ShardingError(
                    f"the partial values are joined by {shown(token.text.strip(chr(39)))}, and the "
                    "notation knows sums only",
                    "write Partial() where they are summed",
                    scanner.place(token),
                )
        scanner.expect(")")
    return _Placement(word, partial=True)


def _shard(scanner: Scanner, word: Token, *, strided: bool) -> _Placement:
    """The rest of a shard: `(0)`, `(dim=0)`, `(dim=0, sf=2)`, `(0, split_factor=2)`."""
    scanner.expect("(")
    if scanner.accept("dim"):
        scanner.expect("=")
    sign = -1 if scanner.accept("-") else 1
    token = scanner.token
    dim = sign * scanner.number("the dimension")
    if abs(dim) >= 100:
        raise scanner.fault("a tensor has fewer than 100 dimensions", token=token)
    factor = 1
    if strided:
        scanner.expect(",")
        if scanner.accept("sf", "split_factor"):
            scanner.expect("=")
        factor = scanner.number("the split factor")
    elif scanner.at(","):
        raise NotationError(
            "a Shard has one number, the dimension",
            "write _StridedShard(dim=0, sf=2) for a split factor",
            scanner.place(),
        )
    scanner.expect(")")
    return _Placement(word, dim, factor)
