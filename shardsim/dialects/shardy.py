"""Shardy: `[{"X"}, {}]`, around it `#sdy.sharding<@mesh, [{"X":(1)2}, {}], unreduced={"Y"}>`.

One pair of braces for each dimension, in it its axes or parts of axes, major first. Axes that are
`replicated` explicitly are read and checked; they lie as if nothing was said of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from shardsim.dialects.naming import Naming
from shardsim.dialects.scanning import Scanner
from shardsim.dialects.whole import fewest_axes
from shardsim.errors import ShardingError, Source
from shardsim.notation import Array, SubAxis, sub_axis, whole_axis

__all__ = ["read", "write"]

_EXAMPLE = 'write for example [{"X"}, {}] or <@mesh, [{"X":(1)2}, {}], unreduced={"Y"}>'
_PRIORITY = re.compile(r"p[0-9]+")


def write(array: Array, sizes: Mapping[str, int], extents: Mapping[str, int] | None = None) -> str:
    """The sharding of an array for Shardy; two parts of an axis that follow each other are one.

    Raises:
        ShardingError: an axis that is not in the mesh.

    >>> from shardsim.notation import parse_array
    >>> write(parse_array("A[I_{X:(1)2}, J]"), {"X": 4, "Y": 2})
    '[{"X":(1)2}, {}]'
    >>> write(parse_array("A[I_X, J]{U_Y}"), {"X": 4, "Y": 2})
    '#sdy.sharding<@mesh, [{"X"}, {}], unreduced={"Y"}>'
    """
    few = fewest_axes(array, sizes)
    dims = f"[{', '.join(_axes(dim.axes) for dim in few.dims)}]"
    if not few.unreduced:
        return dims
    order = list(sizes)
    in_order = sorted(few.unreduced, key=lambda name: order.index(whole_axis(name)))
    return f"#sdy.sharding<@mesh, {dims}, unreduced={_axes(in_order)}>"


def _axes(names: Sequence[str]) -> str:
    parts = [(name, sub_axis(name)) for name in names]
    texts = [f'"{p.axis}":({p.before}){p.size}' if p else f'"{name}"' for name, p in parts]
    return f"{{{', '.join(texts)}}}"


def read(text: str | Source, sizes: Mapping[str, int], naming: Naming | None = None) -> Array:
    """The array that a sharding of Shardy says.

    Raises:
        NotationError: it cannot be read.
        ShardingError: an open dimension, a priority, an axis that is not in the mesh.

    >>> str(read('[{"X":(2)2, "Y"}, {}]', {"X": 4, "Y": 2}))
    'A[I_{X:(2)2,Y}, J]'
    """
    scanner = Scanner(text, "the Shardy sharding", _EXAMPLE)
    first = scanner.token
    if scanner.accept("#"):
        scanner.word("sdy.sharding")
    else:
        scanner.accept("sdy.sharding")
    wrapped = scanner.accept("<")
    if wrapped is not None:
        scanner.expect("@")
        scanner.word("the name of the mesh")
        scanner.expect(",")
    dims = _dimensions(scanner)
    sets: dict[str, tuple[str, ...]] = {}
    while scanner.accept(","):
        if not scanner.at("replicated", "unreduced"):
            raise scanner.unexpected("replicated={..} or unreduced={..}")
        word = scanner.take()
        if word.text in sets:
            raise scanner.fault(f"{word.text} is given twice", "give it once", word)
        scanner.expect("=")
        scanner.expect("{")
        sets[word.text] = _names(scanner)
    if wrapped is not None:
        scanner.expect(">")
    scanner.end()
    naming = naming or Naming()
    place = scanner.place(first._replace(end=scanner.tokens[-2].end))
    array = naming.array(dims, sizes, place, unreduced=sets.get("unreduced", ()))
    replicated = sets.get("replicated", ())
    naming.array(dims, sizes, place, unreduced=(*array.unreduced, *replicated))  # checks them
    return array


def _dimensions(scanner: Scanner) -> list[tuple[str, ...]]:
    scanner.expect("[")
    dims: list[tuple[str, ...]] = []
    while not scanner.accept("]"):
        if dims:
            scanner.expect(",", "or ']'")
        scanner.expect("{")
        dims.append(_names(scanner))
        if scanner.token.kind == "word" and _PRIORITY.fullmatch(scanner.token.text):
            raise ShardingError(
                f"{scanner.token.text} is a priority, which guides the compiler and says no place",
                "leave the priorities out",
                scanner.place(),
            )
    return dims


def _names(scanner: Scanner) -> tuple[str, ...]:
    """Axes and parts of axes, up to the closing brace."""
    found: list[str] = []
    while not scanner.accept("}"):
        if found:
            scanner.expect(",", "or '}'")
        if scanner.at("?"):
            raise ShardingError(
                "the dimension is open: the compiler may shard it further",
                "write the closed sharding that it ends with, without '?'",
                scanner.place(),
            )
        found.append(_axis(scanner))
    return tuple(found)


def _axis(scanner: Scanner) -> str:
    """`"X"` or `"X":(1)2`."""
    start = scanner.token
    axis = scanner.axis().text
    if not scanner.accept(":"):
        return axis
    scanner.expect("(")
    before = scanner.number("the product before the part")
    scanner.expect(")")
    name = str(SubAxis(axis, before, scanner.number("the size of the part")))
    if sub_axis(name) is None:
        raise scanner.fault(
            f"{name} is no part of an axis: the first number is 1 at least, the second 2",
            token=start,
        )
    return name
