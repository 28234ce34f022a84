"""A whole expression in another notation: `P(None, 'X') · P('X', None) -> P(None, None)`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from shardsim.dialects.naming import Naming
from shardsim.dialects.reading import read_dialect
from shardsim.dialects.scanning import LONGEST
from shardsim.errors import NotationError, Source
from shardsim.notation import Array, Contraction, Reshard
from shardsim.notation.tokens import cut, shown

__all__ = ["Translation", "translate_expression"]

_SIGN = re.compile(
    r"""'[^'\n]*'|"[^"\n]*"|[()\[\]{}]|->|→|[·⋅∙•×*]|(?<=\s)@(?=\s)|\\(?:cdot|to|rightarrow)\b"""
)
_EINSUM = re.compile(r"([A-Za-z]*(?:,[A-Za-z]*)*)->([A-Za-z]*)")
_EXAMPLE = "write for example P(None, 'X') · P('X', None) -> P(None, None)"
_LETTERS = "ijklmnopqrst"
_NAMES = "ABCDEFGH"


class Translation(NamedTuple):
    """A statement of the notation, and the extents that the other notation says."""

    notation: str
    extents: dict[str, int]


def translate_expression(
    dialect: str,
    text: str | Source,
    sizes: Mapping[str, int],
    einsum: str | None = None,
) -> Translation:
    """An expression whose arrays are written in another notation, in this one.

    Args:
        dialect: Which notation.
        text: Arrays with dots between them, an arrow, and the result.
        sizes: The axes of the mesh.
        einsum: The dimensions of each array, `bij,bjk->bik`; a chain of matrices by default.

    Raises:
        NotationError: it cannot be read, or does not fit the einsum.
        ShardingError: an array that is no sharding on this mesh.

    >>> translate_expression("jax", "P(None, 'X') · P('X') -> P()", {"X": 4}).notation
    'A[I, J_X] · B[J_X, K] -> C[I, K]'
    >>> translate_expression("dtensor", "S(0)R -> RR", {"X": 4, "Y": 2}, "ij->ij").notation
    'A[I_X, J] -> A[I, J]'
    """
    source = Source(text) if isinstance(text, str) else text
    parts = list(_parts(source))
    marks = [mark for mark, _ in parts[1:]]
    if marks.count("->") != 1 or marks[-1] != "->":
        raise NotationError(
            "the expression needs one arrow, and behind it the sharding of the result",
            _EXAMPLE,
            source.whole,
        )
    count = len(parts) - 1
    if count >= len(_NAMES):
        raise NotationError(f"{count} operands are too many", f"write {len(_NAMES) - 1} at most")
    terms = _terms(einsum, count)
    dims = [None if term is None else _named(term, terms) for term in terms]
    option = f"--einsum {'ij->ij' if count == 1 else 'ij,jk->ik'}"
    names = [_NAMES[k] for k in range(count)]
    names.append(_NAMES[count] if count > 1 else names[0])
    arrays: list[Array] = []
    extents: dict[str, int] = {}
    for (_, piece), name, term in zip(parts, names, dims, strict=True):
        kept = arrays[0].dim_names if term is None and arrays else term
        array, found = read_dialect(dialect, piece, sizes, Naming(name, kept, option))
        for dim, extent in found.items():
            if extents.setdefault(dim, extent) != extent:
                raise NotationError(
                    f"dimension {dim} is {extents[dim]} long, and here {extent}",
                    "give a dimension the same extent everywhere",
                    piece.whole,
                )
        arrays.append(array)
    return Translation(_statement(arrays, source), extents)


def _statement(arrays: Sequence[Array], source: Source) -> str:
    *operands, result = arrays
    place = source.whole
    try:
        if len(operands) == 1:
            return str(Reshard(operand=operands[0], result=result))
        summed = []
        left = list(operands[0].dim_names)
        for position, operand in enumerate(operands[1:], 1):
            later = {name for other in operands[position + 1 :] for name in other.dim_names}
            kept = later | set(result.dim_names)
            gone = tuple(n for n in left if n in operand.dim_names and n not in kept)
            summed.append(gone)
            left = [n for n in dict.fromkeys((*left, *operand.dim_names)) if n not in gone]
        return str(Contraction(operands=tuple(operands), result=result, contracted=tuple(summed)))
    except NotationError as error:
        raise error.at(place) from None


def _parts(source: Source) -> Iterator[tuple[str, Source]]:
    """The arrays of the expression, each with the mark before it, a dot or an arrow."""
    text = source.text
    if len(text) > LONGEST:
        raise NotationError(
            f"the expression has {len(text):,} characters", f"{LONGEST:,} are read at most"
        )
    marks = []
    depth = 0
    for match in _SIGN.finditer(text):
        sign = match[0]
        if sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif depth == 0 and sign[0] not in "'\"":
            arrow = sign in ("->", "→", "\\to", "\\rightarrow")
            marks.append(("->" if arrow else "·", *match.span()))
    bounds = [("", 0, 0), *marks, ("", len(text), len(text))]
    for (mark, _, start), (_, end, _) in pairwise(bounds):
        first = start + len(text[start:end]) - len(text[start:end].lstrip())
        piece = text[first:end].rstrip()
        if not piece:
            raise NotationError("an array is missing here", _EXAMPLE, source.place(min(start, end)))
        whole = text if source.context is None else source.context
        yield mark, Source(piece, source.origin, source.line, source.column + first, whole)


def _terms(einsum: str | None, count: int) -> list[str | None]:
    """The letters of each array; `None` for a reshard, which keeps its dimensions."""
    if einsum is None:
        if count == 1:
            return [None, None]
        return [*(_LETTERS[k : k + 2] for k in range(count)), _LETTERS[0] + _LETTERS[count]]
    source = Source(einsum, origin="einsum")
    place = source.whole
    match = _EINSUM.fullmatch(re.sub(r"\s", "", einsum))
    if match is None:
        raise NotationError(f"{shown(einsum)} is no einsum", "write for example ij,jk->ik", place)
    operands = match[1].split(",")
    for term in (*operands, match[2]):
        if len(set(term)) != len(term):
            raise NotationError(
                f"{cut(term)} has a letter twice",
                "give each dimension of an array a letter of its own",
                place,
            )
    if len(operands) != count:
        raise NotationError(
            f"the einsum has {len(operands)} operands, and the expression has {count}",
            "write as many in both",
            place,
        )
    return [*operands, match[2]]


def _named(term: str, terms: Sequence[str | None]) -> tuple[str, ...]:
    """The dimensions of some letters: capitals, unless the einsum has both cases of one letter."""
    letters = {letter for one in terms for letter in one or ""}
    both = any(letter.swapcase() in letters for letter in letters)
    return tuple(term if both else term.upper())
