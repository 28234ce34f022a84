"""One name for each meaning of a dimension.

In `In[B, D] ·_D W[D, F] ·_F V[F, D] -> Out[B, D]` the D that the first dot sums is not that of V
and Out. While the operands may be multiplied in any order, the two must not be taken for one, so
the later is called D' in the plan.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shardsim.notation import Array, Contraction, Dim

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Meanings", "renamed"]


class Meanings:
    """The dimensions of a contraction, each meaning under a name of its own.

    Attributes:
        operands: For each operand its dimension names.
        result: Those of the result.
        summed: Dimensions summed over.
        extents: New names with the extent that they stand for.
        again: New names with the dimension that they are once more.

    >>> from shardsim.notation import parse
    >>> found = Meanings(parse("In[B, D] ·_D W[D, F] ·_F V[F, D] -> Out[B, D]"), {"D": 8})
    >>> found.operands[2], found.result, sorted(found.summed), found.extents
    (('F', "D'"), ('B', "D'"), ['D', 'F'], {"D'": 8})
    """

    def __init__(self, statement: Contraction, extents: Mapping[str, int]) -> None:
        taken = {name for array in statement.operands for name in array.dim_names}
        now: dict[str, str] = {}
        gone: set[str] = set()
        self.extents: dict[str, int] = {}
        self.again: dict[str, str] = {}
        self.operands: list[tuple[str, ...]] = []
        summed: set[str] = set()
        for index, array in enumerate(statement.operands):
            for name in array.dim_names:
                if name in gone:
                    gone.remove(name)
                    now[name] = _fresh(name, taken)
                    taken.add(now[name])
                    self.extents[now[name]] = extents[name]
                    self.again[now[name]] = name
            self.operands.append(tuple(now.get(name, name) for name in array.dim_names))
            for name in statement.contracted[index - 1] if index else ():
                summed.add(now.get(name, name))
                gone.add(name)
        self.summed = frozenset(summed)
        self.result = tuple(now.get(name, name) for name in statement.result.dim_names)


def _fresh(name: str, taken: set[str]) -> str:
    """The name with as many primes as it needs."""
    while name in taken:
        name += "'"
    return name


def renamed(array: Array, names: tuple[str, ...]) -> Array:
    """The array, its dimensions under other names."""
    dims = (Dim(name, dim.axes) for name, dim in zip(names, array.dims, strict=True))
    return replace(array, dims=tuple(dims))
