"""Parts of axes: `X:(1)2`."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["SubAxis", "sub_axis"]

_FORM = re.compile(r"(\w+):\((\d{1,9})\)(\d{1,9})")


class SubAxis(NamedTuple):
    """A part of an axis."""

    axis: str
    before: int
    size: int

    def __str__(self) -> str:
        return f"{self.axis}:({self.before}){self.size}"


def sub_axis(name: str) -> SubAxis | None:
    """The part of an axis that a name says."""
    if ":" not in name:
        return None
    match = _FORM.fullmatch(name)
    return SubAxis(match[1], int(match[2]), int(match[3])) if match else None
