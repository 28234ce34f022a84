"""The text of a layout: which dimensions, or parts of them, an axis lies on.

`x` is a whole dimension, or what no other axis takes of it; `x+y` is several, major first; `y:(4)4`
is a part, written as sub-axes are: the product of the parts before it, then its own size. So of a
dimension of 16, `y:(1)4` is the outer part (4 chips, 4 apart) and `y:(4)4` the inner (4
neighbours).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from shardsim.errors import MeshError, Place

__all__ = ["Piece", "pieces_of"]

_PIECE = re.compile(r"(\w+)(?::\((\d{1,9})\)(\d{1,9}))?")


class Piece(NamedTuple):
    """A dimension by name, or a part of it: the sizes of the parts before it, and its own."""

    dimension: str
    before: int | None = None
    size: int | None = None


def pieces_of(text: str, axis: str, place: Place | None = None) -> tuple[Piece, ...]:
    """The pieces of one axis.

    Raises:
        MeshError: the text is no layout.

    >>> pieces_of("x+y:(4)4", "X")
    (Piece(dimension='x', before=None, size=None), Piece(dimension='y', before=4, size=4))
    """
    pieces = []
    for part in text.split("+"):
        found = _PIECE.fullmatch(part.strip())
        if found is None:
            raise MeshError(
                f"layout of axis {axis}: {part.strip()!r} is no dimension",
                "write x, x+y for several (major first), y:(4)4 for a part: "
                "the parts before it, then its size",
                place,
            )
        name, before, size = found.groups()
        pieces.append(Piece(name, int(before) if before else None, int(size) if size else None))
    return tuple(pieces)
