"""Names of slices as Google Cloud gives them, `v5e-16` or `v4-8`: a count, and no shape.

The number of a v5e or v6e counts chips; that of the others counts cores, two a chip.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from shardsim.catalogue.generations import CUBE, Generation, WrapRule, fits
from shardsim.errors import Place, TopologyError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["cloud_name_error", "shape_of"]

COUNTED_IN_CHIPS = ("v5e", "v6e")


def cloud_name_error(text: str, generation: Generation, number: int, place: Place) -> TopologyError:
    """The error for a name such as `v5e-16`, with the shape to write instead.

    Args:
        text: The name.
        generation: The chip that it names.
        number: The number behind it.
        place: Where it stands.
    """
    name = generation.chip.name
    in_chips = name in COUNTED_IN_CHIPS
    counted, what = (number, "chips") if in_chips else (number // 2, "cores, two a chip")
    is_whole = in_chips or number % 2 == 0
    shape = shape_of(counted, generation) if is_whole else None
    example = "x".join([str(CUBE)] * generation.rank)
    chips = f"{counted:,} chip{'s' * (counted != 1)}"
    if shape is not None:
        way_out = f"{text} has {chips}: write {name}:{'x'.join(map(str, shape))}"
    elif is_whole:
        way_out = f"no slice of {name} has {chips}; write a shape such as {name}:{example}"
    else:
        way_out = f"{number} cores are no whole number of chips; write a shape: {name}:{example}"
    return TopologyError(f"{text} counts {what}, and does not say their shape", way_out, place)


def shape_of(chips: int, generation: Generation) -> tuple[int, ...] | None:
    """The slice of so many chips that is closest to a square or a cube; None where none fits.

    Where a generation joins cubes of 4x4x4, whole cubes come first, since only they wrap.
    """
    if not 1 <= chips <= generation.pod_chips:
        return None
    in_cubes = generation.rule is WrapRule.CUBES
    shapes = [shape for shape in _shapes(chips, generation.rank) if fits(shape, generation)]
    best = min(
        shapes,
        key=lambda shape: (in_cubes and any(size % CUBE for size in shape), sum(shape)),
        default=None,
    )
    return best and (tuple(size for size in best if size > 1) or (1,))


def _shapes(chips: int, rank: int, least: int = 1) -> Iterator[tuple[int, ...]]:
    """All shapes of so many chips, sizes in ascending order.

    >>> list(_shapes(8, 3))
    [(1, 1, 8), (1, 2, 4), (2, 2, 2)]
    """
    if rank == 1:
        yield (chips,)
        return
    for size in range(least, math.isqrt(chips) + 1):
        if chips % size == 0 and chips // size >= size ** (rank - 1):
            yield from ((size, *rest) for rest in _shapes(chips // size, rank - 1, size))
