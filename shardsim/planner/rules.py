"""What the four rules of the book say a mesh axis should do in a dot, and why: in sentences.

(1) No contracted dimension sharded: multiply locally. (2) Contracted dimension sharded in one
operand: gather it. (3) In both: multiply, then reduce. (4) Non-contracting dimensions of both:
gather one. Source: "How to Scale Your Model", chapter "Sharded matrices".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardsim.notation import Dim

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shardsim.planner.atoms import Atoms
    from shardsim.planner.dot import Pair, Placement
    from shardsim.planner.layout import Layout

__all__ = ["Rules"]

Role = str | None
"""What an axis does in a matmul: it cuts a dimension, or idles, or an operand carries its sums."""

LEFT_SUMS, RIGHT_SUMS = "{left}", "{right}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules for one dot, whose operands and result have given layouts.

    Attributes:
        pair: The dimensions.
        left: The layout of the left operand, in whole axes; `right` likewise.
        wanted: The layout asked of the result, or None where it is free.
        names: Of both operands, for people.
        is_local: Whether partial sums are left as they are (`·_LOCAL`).
    """

    pair: Pair
    left: Layout
    right: Layout
    wanted: Layout | None
    names: tuple[str, str]
    is_local: bool = False

    @property
    def axes(self) -> frozenset[str]:
        """All axes in play."""
        used = self.left.used | self.right.used
        return used | self.wanted.used if self.wanted is not None else used

    def carriers(self, axis: str) -> tuple[str, ...]:
        """The operands that hold partial sums over an axis, as roles."""
        left = (LEFT_SUMS,) if axis in self.left.unreduced else ()
        right = (RIGHT_SUMS,) if axis in self.right.unreduced else ()
        return (*left, *right)

    def where(self, axis: str) -> tuple[Role, Role, Role]:
        """The dimension that an axis is on in the left operand, the right one and the result."""
        return (
            _on(axis, self.pair.left, self.left),
            _on(axis, self.pair.right, self.right),
            None if self.wanted is None else _on(axis, self.pair.result, self.wanted),
        )

    def allow(self, placement: Placement) -> bool:
        """Whether a placement of whole axes follows the rules."""
        on = {
            axis: name
            for name, axes in zip(self.pair.dims, placement.cuts, strict=True)
            for axis in axes
        }
        on |= dict.fromkeys(placement.left.unreduced, LEFT_SUMS)
        on |= dict.fromkeys(placement.right.unreduced, RIGHT_SUMS)
        return on.keys() <= self.axes and all(
            on.get(axis) in self.roles(axis) for axis in self.axes
        )

    def roles(self, axis: str) -> tuple[Role, ...]:
        """The roles that the rules allow an axis; the cheapest of them is taken.

        Where the result asks for the axis elsewhere, it may be moved before the matmul too; partial
        sums of an operand may be reduced after the matmul as well.
        """
        return tuple(dict.fromkeys((*self.carriers(axis), *self._rule_roles(axis))))

    def _rule_roles(self, axis: str) -> tuple[Role, ...]:
        left, right, result = self.where(axis)
        if self.wanted is not None and axis in self.wanted.unreduced:
            return (
                tuple(dim for dim in (left, right) if dim in self.pair.summed) or self.pair.summed
            )
        placed = tuple(dict.fromkeys(dim for dim in (left, right) if dim is not None))
        if not placed:
            return (result,)
        if len(placed) == 1 and (left == right or placed[0] not in self.pair.summed):
            stays = placed[0] in self.pair.summed or self.wanted is None or result == placed[0]
            return placed if stays else tuple(dict.fromkeys((placed[0], None, result)))
        kept = tuple(dim for dim in placed if dim not in self.pair.summed)
        if len(kept) == 2:
            return tuple(dict.fromkeys((*kept, result or kept[0])))
        return tuple(dict.fromkeys((None, *kept, result)))

    def reasons(self, parts: Iterable[str], atoms: Atoms) -> Iterator[str]:
        """What is done about an axis, in a sentence: the rule, or where sums are reduced.

        Args:
            parts: Of the axis; a sentence that several have is said once.
            atoms: For writing parts as in the notation.
        """
        said: dict[str, list[str]] = {}
        for part in parts:
            if part in self.axes:
                said.setdefault(self._reason(part, atoms), []).append(part)
        for sentence, those in said.items():
            yield f"{' and '.join(atoms.joined(those))}: {sentence}"

    def _reason(self, axis: str, atoms: Atoms) -> str:
        left, right, _ = self.where(axis)
        a, b = self.names
        carriers = self.carriers(axis)
        wanted = self.wanted is not None and axis in self.wanted.unreduced
        if len(carriers) == 2:
            return (
                f"{a} and {b} both hold partial sums over it: one must be reduced before the matmul"
            )
        if carriers:
            who = f"{a if carriers[0] == LEFT_SUMS else b} holds partial sums over it"
            if wanted:
                return f"{who}: the product carries them into the result"
            return f"{who}: reduce before the matmul or after it, whichever costs less"
        if wanted and not (left == right and left in self.pair.summed):
            return (
                "the result is to be left as partial sums over it: "
                f"cut a contracted dimension over it in both {a} and {b}"
            )
        return self._rule(axis, atoms)

    def _rule(self, axis: str, atoms: Atoms) -> str:
        left, right, result = self.where(axis)
        a, b = self.names
        if left is None and right is None:
            cut = f"no operand is sharded over it; the result's {result} is cut locally"
            return cut if result is not None else "nothing is sharded over it"
        if left is not None and left == right:
            return self._in_both(axis, left, atoms)
        if left is None or right is None:
            dim, name = (left, a) if left is not None else (right, b)
            if dim in self.pair.summed:
                return (
                    f"rule 2: the contracted dimension {dim} is sharded over it in {name} "
                    f"only: gather {name} over it{_or_move(result)}"
                )
            later = "" if result == dim or self.wanted is None else f"; {_then(result)}"
            return f"rule 1: {dim} of {name} is not contracted: multiply locally{later}"
        if left in self.pair.summed or right in self.pair.summed:
            dim, name = (left, a) if left in self.pair.summed else (right, b)
            return (
                f"rule 2: the contracted dimension {dim} of {name} is sharded over it: "
                f"gather {name} over it{_or_move(result)}"
            )
        return (
            f"rule 4: it is on {left} of {a} and on {right} of {b}, neither contracted: "
            "gather one of them"
        )

    def _in_both(self, axis: str, dim: str, atoms: Atoms) -> str:
        """The rule for an axis that is on the same dimension of both operands."""
        a, b = self.names
        left = self.left.axes[self.pair.left.index(dim)]
        right = self.right.axes[self.pair.right.index(dim)]
        one, other = (Dim(dim, atoms.joined(axes)) for axes in (left, right))
        alike = f"once {dim} is sharded alike: {a} has {one} and {b} has {other}"
        if dim in self.pair.summed:
            if left != right:
                sums = self._sums(axis)
                return f"rule 3, {alike}, so one is moved first; then multiply locally and {sums}"
            return (
                f"rule 3: the contracted dimension {dim} is sharded over it in both {a} and {b}: "
                f"multiply locally, then {self._sums(axis)}"
            )
        if left[: left.index(axis) + 1] != right[: right.index(axis) + 1]:
            return f"rule 1, {alike}, so one is moved first; then multiply locally"
        return f"rule 1: the batch dimension {dim} is sharded alike in {a} and {b}"

    def _sums(self, axis: str) -> str:
        kept = self.is_local or (self.wanted is not None and axis in self.wanted.unreduced)
        return "leave the partial sums to the result" if kept else "reduce the partial sums"


def _on(axis: str, names: tuple[str, ...], layout: Layout) -> Role:
    return next((name for name, axes in zip(names, layout.axes, strict=True) if axis in axes), None)


def _or_move(result: Role) -> str:
    return "" if result is None else f", or move it to {result}, where the result has it"


def _then(result: Role) -> str:
    if result is None:
        return "the result does not keep it, so gather before or after, whichever costs less"
    return f"the result has it on {result}, so move it before or after, whichever costs less"
