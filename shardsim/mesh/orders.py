"""Chips in an order that somebody gives: a list of coordinates, a snake, or a ring.

A snake goes along the last dimension and back, each chip next to the one before; a ring comes back
to its start, so that a slice without wraparound has one ring through all its chips. It needs two
dimensions longer than 1, one of them even: `k x 2` is the simplest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardsim.errors import MeshError, Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardsim.topology import Coordinate

__all__ = ["ring_order", "snake_order"]


def snake_order(shape: Sequence[int]) -> list[Coordinate]:
    """All coordinates of a grid, each next to the one before.

    >>> snake_order([2, 3])
    [(0, 0), (0, 1), (0, 2), (1, 2), (1, 1), (1, 0)]
    """
    if not shape:
        return [()]
    inner = snake_order(shape[1:])
    rows = (reversed(inner) if first % 2 else inner for first in range(shape[0]))
    return [(first, *rest) for first, row in enumerate(rows) for rest in row]


def ring_order(shape: Sequence[int], place: Place | None = None) -> list[Coordinate]:
    """All coordinates of a grid in a ring: the last is next to the first too.

    One column (the first dimension, made even) is kept for the way back.

    Raises:
        MeshError: the grid has no such ring.

    >>> ring_order([2, 3])
    [(0, 0), (0, 1), (0, 2), (1, 2), (1, 1), (1, 0)]
    """
    wide = [index for index, size in enumerate(shape) if size > 1]
    even = [index for index in wide if shape[index] % 2 == 0]
    if len(wide) < 2 or not even:
        text = "x".join(map(str, shape))
        raise MeshError(
            f"no ring goes through all chips of a grid of {text}",
            "a ring needs two dimensions longer than 1, one of them even; snake needs neither",
            place,
        )
    first = even[0]
    others = [index for index in wide if index != first]
    # Along the even dimension, over the rest of the grid without its first chip; then back along
    # the column of that first chip.
    rest = snake_order([shape[index] for index in others])
    column, body = rest[0], rest[1:]
    way: list[tuple[int, Coordinate]] = []
    for at in range(shape[first]):
        way += [(at, chip) for chip in (body if at % 2 == 0 else reversed(body))]
    way = [(0, column), *way, *((at, column) for at in reversed(range(1, shape[first])))]
    return [_coordinate(len(shape), first, at, others, chip) for at, chip in way]


def _coordinate(
    rank: int, first: int, at: int, others: Sequence[int], chip: Coordinate
) -> Coordinate:
    coordinate = [0] * rank
    coordinate[first] = at
    for index, position in zip(others, chip, strict=True):
        coordinate[index] = position
    return tuple(coordinate)
