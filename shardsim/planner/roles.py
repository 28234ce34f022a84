"""What a mesh axis may do in a local matmul, and what the four rules say it should.

In a local matmul each mesh axis has one role: it cuts one dimension of the contraction, in every
operand that has it, or it is idle (`None`). An axis on a contracted dimension leaves partial sums.
Or one operand holds partial sums over the axis already, and carries them through: the product of a
partial sum is a partial sum.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardsim.planner.layout import Layout

__all__ = ["Pair", "Role", "Roles", "assignments", "reason", "textbook_roles"]

Role = str | None
Roles = tuple[tuple[str, tuple[str, ...]], ...]
"""For each dimension its axes in order, then the axes whose partial sums an operand carries."""

LEFT_SUMS, RIGHT_SUMS = "{left}", "{right}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two operands, and what becomes of them.

    Attributes:
        left: Dimension names of the left operand; `right`, `result` likewise.
        contracted: Dimensions summed over.
        left_layout: Where the operand's axes are; `right_layout` likewise.
        wanted: The layout asked of the result, or None where it is free.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    result: tuple[str, ...]
    contracted: tuple[str, ...]
    left_layout: Layout
    right_layout: Layout
    wanted: Layout | None

    @property
    def dims(self) -> tuple[str, ...]:
        """All dimensions, in order of appearance."""
        return tuple(dict.fromkeys((*self.left, *self.right)))

    @property
    def roles(self) -> tuple[str, ...]:
        """All roles but idling: dimensions, and sums that an operand can carry."""
        left = (LEFT_SUMS,) if self.left_layout.unreduced else ()
        right = (RIGHT_SUMS,) if self.right_layout.unreduced else ()
        return (*self.dims, *left, *right)

    def carriers(self, axis: str) -> tuple[str, ...]:
        """The operands that hold partial sums over an axis, as roles."""
        left = (LEFT_SUMS,) if axis in self.left_layout.unreduced else ()
        right = (RIGHT_SUMS,) if axis in self.right_layout.unreduced else ()
        return (*left, *right)

    @property
    def axes(self) -> frozenset[str]:
        """All axes in play."""
        used = self.left_layout.used | self.right_layout.used
        return used | self.wanted.used if self.wanted is not None else used

    def where(self, axis: str) -> tuple[Role, Role, Role]:
        """The dimension that an axis is on in the left operand, the right one and the result."""
        return (
            _on(axis, self.left, self.left_layout),
            _on(axis, self.right, self.right_layout),
            None if self.wanted is None else _on(axis, self.result, self.wanted),
        )


def _on(axis: str, names: tuple[str, ...], layout: Layout) -> Role:
    return next((name for name, axes in zip(names, layout.axes, strict=True) if axis in axes), None)


def textbook_roles(pair: Pair, axis: str) -> tuple[Role, ...]:
    """The roles that the four rules allow an axis; the cheapest of them is taken.

    (1) No contracted dimension sharded: multiply locally. (2) Contracted dimension sharded in one
    operand: gather it. (3) In both: multiply, then reduce. (4) Non-contracting dimensions of both:
    gather one. Where the result asks for the axis elsewhere, it may be moved before the matmul too;
    partial sums of an operand may be reduced after the matmul as well.
    """
    return tuple(dict.fromkeys((*pair.carriers(axis), *_rule_roles(pair, axis))))


def _rule_roles(pair: Pair, axis: str) -> tuple[Role, ...]:
    left, right, result = pair.where(axis)
    if pair.wanted is not None and axis in pair.wanted.unreduced:
        return tuple(dim for dim in (left, right) if dim in pair.contracted) or pair.contracted
    placed = tuple(dict.fromkeys(dim for dim in (left, right) if dim is not None))
    if not placed:
        return (result,)
    if len(placed) == 1 and (left == right or placed[0] not in pair.contracted):
        stays = placed[0] in pair.contracted or pair.wanted is None or result == placed[0]
        return placed if stays else tuple(dict.fromkeys((placed[0], None, result)))
    kept = tuple(dim for dim in placed if dim not in pair.contracted)
    if len(kept) == 2:
        return tuple(dict.fromkeys((*kept, result or kept[0])))
    return tuple(dict.fromkeys((None, *kept, result)))


def reason(pair: Pair, axis: str, names: tuple[str, str]) -> str:
    """What is done about an axis, as a sentence: the rule, or where partial sums are reduced."""
    left, right, _ = pair.where(axis)
    a, b = names
    carriers = pair.carriers(axis)
    wanted = pair.wanted is not None and axis in pair.wanted.unreduced
    if len(carriers) == 2:
        return (
            f"{axis}: {a} and {b} both hold partial sums over it: one must be reduced before the "
            "matmul"
        )
    if carriers:
        who = f"{axis}: {a if carriers[0] == LEFT_SUMS else b} holds partial sums over it"
        if wanted:
            return f"{who}: the product carries them into the result"
        return f"{who}: reduce before the matmul or after it, whichever costs less"
    if wanted and not (left == right and left in pair.contracted):
        return (
            f"{axis}: the result is to be left as partial sums over it: "
            f"cut a contracted dimension over it in both {a} and {b}"
        )
    return _rule(pair, axis, names)


def _rule(pair: Pair, axis: str, names: tuple[str, str]) -> str:
    left, right, result = pair.where(axis)
    a, b = names
    if left is None and right is None:
        cut = f"no operand is sharded over it; the result's {result} is cut locally"
        return f"{axis}: {cut if result is not None else 'nothing is sharded over it'}"
    if left == right:
        if left in pair.contracted:
            return (
                f"{axis}: rule 3: the contracted dimension {left} is sharded over it in both "
                f"{a} and {b}: multiply locally, then {_sums(pair, axis)}"
            )
        return f"{axis}: rule 1: the batch dimension {left} is sharded alike in {a} and {b}"
    if left is None or right is None:
        dim, name = (left, a) if left is not None else (right, b)
        if dim in pair.contracted:
            return (
                f"{axis}: rule 2: the contracted dimension {dim} is sharded over it in {name} "
                f"only: gather {name} over it{_or_move(result)}"
            )
        later = "" if result == dim or pair.wanted is None else f"; {_then(result)}"
        return f"{axis}: rule 1: {dim} of {name} is not contracted: multiply locally{later}"
    if left in pair.contracted or right in pair.contracted:
        dim, name = (left, a) if left in pair.contracted else (right, b)
        return (
            f"{axis}: rule 2: the contracted dimension {dim} of {name} is sharded over it: "
            f"gather {name} over it{_or_move(result)}"
        )
    return (
        f"{axis}: rule 4: it is on {left} of {a} and on {right} of {b}, neither contracted: "
        "gather one of them"
    )


def _sums(pair: Pair, axis: str) -> str:
    kept = pair.wanted is not None and axis in pair.wanted.unreduced
    return "leave the partial sums to the result" if kept else "reduce the partial sums"


def _or_move(result: Role) -> str:
    return "" if result is None else f", or move it to {result}, where the result has it"


def _then(result: Role) -> str:
    if result is None:
        return "the result does not keep it, so gather before or after, whichever costs less"
    return f"the result has it on {result}, so move it before or after, whichever costs less"


def assignments(
    pair: Pair, axes: tuple[str, ...], choices: tuple[tuple[Role, ...], ...]
) -> Iterator[Roles]:
    """All ways to give each axis one of its roles, and to order the axes of a dimension."""
    for roles in itertools.product(*choices):
        on = {
            name: tuple(axis for axis, role in zip(axes, roles, strict=True) if role == name)
            for name in pair.roles
        }
        sums = tuple((name, on[name]) for name in pair.roles if name not in pair.dims)
        for orders in itertools.product(*(itertools.permutations(on[dim]) for dim in pair.dims)):
            yield (*zip(pair.dims, orders, strict=True), *sums)
