"""Parts of a mesh axis: `X:(1)2` is the part of X of size 2 with a product of 1 before it.

An axis of size 4 is a number of two binary digits; `X:(1)2` is the major digit (chips 0, 1 | 2, 3)
and `X:(2)2` the minor one. Inside the notation an axis is a string, and so is a part of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "PART",
    "SubAxis",
    "alike",
    "first_overlap",
    "overlap",
    "sub_axis",
    "taken_out",
    "whole_axis",
]

PART = r":\([1-9][0-9]{0,8}\)(?:[2-9]|[1-9][0-9]{1,8})"  # behind the name of an axis
_SUB_AXIS = re.compile(r"([^\s:(){},]+):\(([1-9][0-9]{0,8})\)([2-9]|[1-9][0-9]{1,8})")


@dataclass(frozen=True, slots=True)
class SubAxis:
    """A part of a mesh axis.

    Args:
        axis: The name of the whole axis.
        before: The product of the parts that are more major; 1 for the major-most.
        size: How many ways it splits.

    >>> str(SubAxis("X", before=2, size=4))
    'X:(2)4'
    """

    axis: str
    before: int
    size: int

    @property
    def after(self) -> int:
        """What is before the next part: `before` times `size`."""
        return self.before * self.size

    def __str__(self) -> str:
        return f"{self.axis}:({self.before}){self.size}"


def sub_axis(name: str) -> SubAxis | None:
    """The part that a name means; `None` for a whole axis.

    >>> sub_axis("X:(1)2"), sub_axis("X")
    (SubAxis(axis='X', before=1, size=2), None)
    """
    match = _SUB_AXIS.fullmatch(name) if ":" in name else None
    return None if match is None else SubAxis(match[1], int(match[2]), int(match[3]))


def whole_axis(name: str) -> str:
    """The axis of the mesh that a name is, or is a part of.

    >>> whole_axis("X:(1)2"), whole_axis("X")
    ('X', 'X')
    """
    part = sub_axis(name)
    return name if part is None else part.axis


def overlap(one: str, other: str) -> bool:
    """Whether two names cannot stand in one array.

    Two parts of an axis can where some way to write its size as a product has both as factors: one
    ends where the other begins or before, and what is between is a whole number.

    >>> overlap("X:(1)2", "X:(2)2"), overlap("X:(1)4", "X:(2)2"), overlap("X", "X:(1)2")
    (False, True, True)
    >>> overlap("X:(1)2", "X:(3)2")
    True
    """
    if whole_axis(one) != whole_axis(other):
        return False
    first, second = sub_axis(one), sub_axis(other)
    if first is None or second is None:
        return True
    if first.before > second.before:
        first, second = second, first
    return second.before % first.after != 0


def taken_out(axes: Iterable[str], name: str) -> tuple[str, ...] | None:
    """Axes without one of them, or without the minor-most part of one; None where it is in none.

    The size of a whole axis is not known here, so its part is taken for the minor-most.

    >>> taken_out(["X", "Y"], "X:(2)2"), taken_out(["X:(1)4"], "X:(2)2"), taken_out(["Y"], "X")
    (('X:(1)2', 'Y'), ('X:(1)2',), None)
    """
    found = tuple(axes)
    if name in found:
        return tuple(axis for axis in found if axis != name)
    part = sub_axis(name)
    for position, axis in enumerate(found) if part is not None else ():
        if part is None or whole_axis(axis) != part.axis:
            continue
        outer = sub_axis(axis) or SubAxis(axis, 1, part.after)
        if part.after != outer.after or part.before <= outer.before:
            continue
        rest = SubAxis(part.axis, outer.before, part.before // outer.before)
        return (*found[:position], str(rest), *found[position + 1 :])
    return None


def alike(some: Iterable[str], others: Iterable[str]) -> bool:
    """Whether two lists of axes may be the same, neighbouring parts of an axis put together.

    The size of a whole axis is not known here, so parts from its major end may be all of it.

    >>> alike(["X:(1)2", "X:(2)2"], ["X"]), alike(["X:(2)2", "X:(1)2"], ["X"])
    (True, False)
    """
    one, other = _together(some), _together(others)
    return len(one) == len(other) and all(map(_may_be, one, other))


def _may_be(one: str, other: str) -> bool:
    """Whether two names may mean the same chips: an axis, and a part that may be all of it."""
    first, second = sub_axis(one), sub_axis(other)
    if one == other or (first is None) == (second is None):
        return one == other
    part = first or second
    return part is not None and part.before == 1 and whole_axis(one) == whole_axis(other)


def _together(names: Iterable[str]) -> list[str]:
    joined: list[str] = []
    for name in names:
        part = sub_axis(name)
        last = sub_axis(joined[-1]) if joined else None
        if part and last and part.axis == last.axis and last.after == part.before:
            joined[-1] = str(SubAxis(part.axis, last.before, last.size * part.size))
        else:
            joined.append(name)
    return joined


def first_overlap(names: Iterable[str]) -> tuple[int, str] | None:
    """The position of the first name that overlaps one before it, and that one.

    >>> first_overlap(["X:(1)2", "Y", "X"])
    (2, 'X:(1)2')
    """
    seen: dict[str, list[str]] = {}
    for position, name in enumerate(names):
        parts = seen.setdefault(whole_axis(name), [])
        for other in parts:
            if overlap(name, other):
                return position, other
        parts.append(name)
    return None
