"""A mesh as a number of several digits, and which digits a list of chips says.

Chips are numbered row-major over the axes of the mesh. Each axis, or each of the parts that
shardings cut it into, is a digit of that number. A list of chips in the order of the blocks that
they hold says the digits of each dimension, if digits of the mesh can say it at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from shardsim.notation import SubAxis, sub_axis, whole_axis

__all__ = ["cut_axes", "digits_of", "found_axes", "iota"]


def cut_axes(names: Iterable[str], sizes: Mapping[str, int]) -> list[SubAxis]:
    """The digits of the mesh, major first, cut wherever one of the names needs it.

    >>> [str(digit) for digit in cut_axes(["X:(2)2", "Y"], {"X": 8, "Y": 3})]
    ['X:(1)2', 'X:(2)2', 'X:(4)2', 'Y:(1)3']
    """
    cuts: dict[str, set[int]] = {axis: {1, size} for axis, size in sizes.items()}
    for name in names:
        part = sub_axis(name)
        if part is not None:
            cuts[part.axis] |= {part.before, part.after}
    return [
        SubAxis(axis, before, after // before)
        for axis, points in cuts.items()
        for before, after in zip(sorted(points), sorted(points)[1:], strict=False)
    ]


def digits_of(name: str, digits: Sequence[SubAxis], sizes: Mapping[str, int]) -> list[int]:
    """The positions of the digits that make up an axis or a part of one."""
    part = sub_axis(name) or SubAxis(name, 1, sizes[name])
    return [
        position
        for position, digit in enumerate(digits)
        if digit.axis == whole_axis(name)
        and part.before <= digit.before
        and digit.after <= part.after
    ]


def iota(digits: Sequence[int], order: Sequence[int]) -> tuple[list[int], list[int]]:
    """The chips in another order of their digits, in the fewest digits: `<=[4,2]T(1,0)`.

    Args:
        digits: The sizes of the digits of a chip's number, major first.
        order: Their positions, in the order they are to have.

    >>> iota([2, 2, 2], [2, 0, 1])
    ([4, 2], [1, 0])
    >>> iota([4, 2], [0, 1])
    ([8], [0])
    """
    groups: list[list[int]] = []
    for position in order:
        if digits[position] == 1:
            continue
        if groups and all(digits[k] == 1 for k in range(groups[-1][-1] + 1, position)):
            follows = groups[-1][-1] < position
        else:
            follows = False
        if follows:
            groups[-1].append(position)
        else:
            groups.append([position])
    in_order = sorted(groups)
    reshape = [math.prod(digits[k] for k in group) for group in in_order]
    return reshape or [1], [in_order.index(group) for group in groups] or [0]


def found_axes(
    places: Sequence[tuple[int, ...]], counts: Sequence[int], sizes: Mapping[str, int]
) -> list[list[str]] | None:
    """For each number of a place, the axes it is made of, major first; `None` if there are none.

    Args:
        places: For each chip, in order, some numbers: the block it holds along each dimension.
        counts: How many values each of them has.
        sizes: The mesh.

    >>> found_axes([(0,), (2,), (1,), (3,)], [4], {"X": 2, "Y": 2})
    [['Y', 'X']]
    """
    found: list[list[tuple[int, int, str]]] = [[] for _ in counts]
    stride = math.prod(sizes.values())
    for axis, size in sizes.items():
        stride //= size
        along = [places[k * stride] for k in range(size)]
        below = 1  # what is less major than the next digit
        while below < size:
            step = along[below]
            length = 1
            while length * below < size and along[length * below] == tuple(
                length * one for one in step
            ):
                length += 1
            moved = [k for k, one in enumerate(step) if one]
            if length == 1 or size % (below * length) or len(moved) > 1:
                return None
            if moved:
                part = SubAxis(axis, size // (below * length), length)
                name = axis if length == size else str(part)
                found[moved[0]].append((step[moved[0]], length, name))
            below *= length
    result = []
    for digits, count in zip(found, counts, strict=True):
        digits.sort()
        weight = 1
        for distance, length, _ in digits:
            if distance != weight:
                return None
            weight *= length
        if weight != count:
            return None
        result.append([name for _, _, name in reversed(digits)])
    return result
