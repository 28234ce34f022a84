"""JAX: `P('X', None)`, `P(('X', 'Y'), None)`, `P(None, 'X', unreduced={'Y'})`.

One entry for each dimension: `None`, the name of an axis, or a tuple of names, major first.
Dimensions behind the last entry are not sharded. `reduced` says what the gradient is, not where the
array lies: its axes are read and checked, and count as replicated.
"""

from __future__ import annotations

from collections.abc import Mapping

from shardsim.dialects.naming import Naming
from shardsim.dialects.scanning import Scanner, Token
from shardsim.dialects.whole import whole_axes
from shardsim.errors import Source
from shardsim.notation import Array

__all__ = ["read", "write"]

_NAMES = ("P", "PS", "PartitionSpec", "jax.sharding.PartitionSpec", "jax.P", "jax.sharding.P")
_EXAMPLE = "write for example P('X', None), P(('X', 'Y'), None) or P(None, unreduced={'X'})"


def write(array: Array, sizes: Mapping[str, int], extents: Mapping[str, int] | None = None) -> str:
    """The PartitionSpec of an array.

    Raises:
        ShardingError: it is sharded over a part of an axis, which a PartitionSpec cannot say.

    >>> from shardsim.notation import parse_array
    >>> write(parse_array("A[I_XY, J]{U_Z}"), {"X": 4, "Y": 2, "Z": 2})
    "P(('X', 'Y'), None, unreduced={'Z'})"
    """
    array = whole_axes(array, sizes, "a PartitionSpec names whole axes")
    entries = [_entry(dim.axes) for dim in array.dims]
    if array.unreduced:
        names = ", ".join(repr(axis) for axis in sizes if axis in array.unreduced)
        entries.append(f"unreduced={{{names}}}")
    return f"P({', '.join(entries)})"


def _entry(axes: tuple[str, ...]) -> str:
    if not axes:
        return "None"
    return repr(axes[0]) if len(axes) == 1 else repr(axes)


def read(text: str | Source, sizes: Mapping[str, int], naming: Naming | None = None) -> Array:
    """The array that a PartitionSpec says.

    Raises:
        NotationError: it cannot be read.
        ShardingError: an axis that is not in the mesh, an entry that says no sharding.

    >>> str(read("P(None, ('X', 'Y'))", {"X": 4, "Y": 2}))
    'A[I, J_XY]'
    """
    scanner = Scanner(text, "the PartitionSpec", _EXAMPLE)
    if not (scanner.token.kind == "word" and scanner.token.text in _NAMES):
        raise scanner.unexpected("P(")
    first = scanner.take()
    scanner.expect("(")
    dims: list[tuple[str, ...]] = []
    sets: dict[str, tuple[str, ...]] = {}
    while not scanner.accept(")"):
        if dims or sets:
            scanner.expect(",", "or ')'")
            if scanner.accept(")"):
                break
        if scanner.at("unreduced", "reduced"):
            word = scanner.take()
            if word.text in sets:
                raise scanner.fault(f"{word.text} is given twice", "give it once", word)
            scanner.expect("=")
            sets[word.text] = _set(scanner)
        elif sets:
            raise scanner.unexpected("')': the entries of dimensions come first")
        else:
            dims.append(_dimension(scanner))
    scanner.end()
    naming = naming or Naming()
    place = scanner.place(first._replace(end=scanner.tokens[-2].end))
    array = naming.array(dims, sizes, place, unreduced=sets.get("unreduced", ()), whole=False)
    reduced = sets.get("reduced", ())
    naming.array(dims, sizes, place, unreduced=(*array.unreduced, *reduced), whole=False)  # checks
    return array


def _dimension(scanner: Scanner) -> tuple[str, ...]:
    """One entry: `None`, a name, or names in parentheses."""
    if scanner.accept("None"):
        return ()
    if scanner.token.kind == "string":
        return (scanner.axis().text,)
    if scanner.token.kind == "word" and scanner.token.text.split(".")[-1] == "UNCONSTRAINED":
        raise scanner.fault(
            "UNCONSTRAINED leaves the sharding of a dimension to the compiler",
            "write the axes it is to have, or None",
        )
    closing = {"(": ")", "[": "]"}.get(scanner.token.text)
    if closing is None:
        raise scanner.unexpected("None, an axis in quotes, or a tuple of axes")
    scanner.take()
    return tuple(token.text for token in _strings(scanner, closing))


def _set(scanner: Scanner) -> tuple[str, ...]:
    """The axes of `{'X', 'Y'}`, `set()` or `frozenset({'X'})`."""
    wrapped = scanner.accept("frozenset", "set")
    if wrapped is not None:
        scanner.expect("(")
        if scanner.accept(")"):
            return ()
    closing = {"{": "}", "(": ")", "[": "]"}.get(scanner.token.text)
    if closing is None:
        raise scanner.unexpected("a set of axes, such as {'X'}")
    scanner.take()
    names = tuple(token.text for token in _strings(scanner, closing))
    if wrapped is not None:
        scanner.expect(")")
    return names


def _strings(scanner: Scanner, closing: str) -> list[Token]:
    """Texts in quotes with commas between them, up to the closing sign."""
    found: list[Token] = []
    while not scanner.accept(closing):
        if found:
            scanner.expect(",", f"or '{closing}'")
            if scanner.accept(closing):
                break
        found.append(scanner.axis())
    return found
